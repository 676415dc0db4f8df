"""What one connection to APNs carries through Apple's window of 65,535 bytes, and what several do that open while pushes wait."""

import json

from sinks import Simulator
from stack import USERS, Stack

ROUND_TRIPS = (20, 100, 250)  # ms
PAYLOADS = (300, 3000)  # bytes
CONNECTIONS = (1, 4)
SECONDS = 8  # about, with one connection
PER_ROUND_TRIP = 32_768  # bytes: half of the window comes back at once


def expected(payload, round_trip):
    """Pushes a second over one connection."""
    return PER_ROUND_TRIP / payload / round_trip * 1000


def job(number, size):
    empty = json.dumps({"aps": {"alert": ""}})
    payload = json.dumps({"aps": {"alert": "x" * (size - len(empty))}})
    return f'{{"to":{{"user":"user{number % USERS + 1}"}},"payload":{payload}}}'


def measure(setup, results):
    for round_trip in ROUND_TRIPS[1:2] if setup.quick else ROUND_TRIPS:
        for payload in PAYLOADS:
            for connections in CONNECTIONS:
                one(setup, results, round_trip, payload, connections)


def one(setup, results, round_trip, payload, connections):
    count = int(expected(payload, round_trip) * SECONDS)
    sink = lambda directory: Simulator(setup.programs, directory, ["--apple", "--rtt", str(round_trip)])
    with Stack(setup.programs, sink=sink, APNS_CONNECTIONS_MAX=str(connections)) as stack:
        stack.register_users()
        stack.prepare(job(number, payload) for number in range(count))
        seconds = stack.run_prepared(count)
        results.add(
            "window", roundTrip=round_trip, payload=payload, most=connections, opened=stack.sink.ledger()["connections"],
            rate=count / seconds, expected=expected(payload, round_trip))
