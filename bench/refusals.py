"""What a gateway 50 ms away takes that allows one stream after each refusal, until its next acceptance."""

from sinks import Simulator, token
from stack import USERS, Stack

ROUND_TRIP = 50  # ms
SHARES = (0, 5, 50, 95, 100)  # % of the devices that are refused
CONNECTIONS = (1, 4)
# Jobs: 10 to 50 s each.
COUNTS = {0: 100_000, 5: 60_000, 50: 30_000, 95: 4_000, 100: 1_000}


def measure(setup, results):
    for share in SHARES[1:2] if setup.quick else SHARES:
        for connections in CONNECTIONS:
            one(setup, results, share, connections)


def is_refused(user, share):
    # Spread over the users, so that refusals come one by one.
    return user * share // 100 != (user - 1) * share // 100


def one(setup, results, share, connections):
    count = COUNTS[share]
    sink = lambda directory: Simulator(setup.programs, directory, ["--apple", "--rtt", str(ROUND_TRIP)])
    with Stack(setup.programs, sink=sink, APNS_CONNECTIONS_MAX=str(connections)) as stack:
        stack.register_users()
        refused = [user for user in range(1, USERS + 1) if is_refused(user, share)]
        stack.sink.ask("/devices", [
            # About the job: the device is kept, and refused again.
            {"token": token(user), "rule": "fixed", "status": 400, "reason": "BadCollapseId"} for user in refused])
        users = [number % USERS + 1 for number in range(count)]
        stack.prepare(f'{{"to":{{"user":"user{user}"}},"title":"Lunch?"}}' for user in users)
        seconds = stack.run_prepared(sum(not is_refused(user, share) for user in users))
        results.add(
            "refusals", share=share, most=connections, opened=stack.sink.ledger()["connections"], rate=count / seconds)
