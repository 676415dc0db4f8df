"""A Synapse, a sidecar with the Matrix push gateway, a worker and a simulated APNs: who writes to whom, and what reaches the phone."""

import ast
import base64
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from homeserver import Homeserver, call
from processes import end_all, wait_until

BUNDLE, APP = "com.example.demo", "com.example.demo.ios.prod"
IDS, FULL, GONE, OTHER = (number * 32 for number in (b"\x11", b"\x22", b"\x33", b"\x44"))
DEFAULT = {"aps": {"alert": {"loc-key": "Notification"}, "mutable-content": 1}, "client": "c1"}
CHECKS = "not_a_server_error,content_type_conformance,response_schema_conformance"


def key(token):
    return base64.b64encode(token).decode()


class Installation:
    def __init__(self, programs):
        self.programs = Path(programs)
        self.directory = tempfile.TemporaryDirectory()
        self.place = Path(self.directory.name)
        self.socket = self.place / "redis.sock"
        self.running = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        end_all(self.running)
        self.directory.cleanup()

    def launch(self, name, *command, **settings):
        with open(self.place / f"{name}.out", "w") as out, open(self.place / f"{name}.log", "w") as log:
            self.running.append(subprocess.Popen(command, stdout=out, stderr=log, env=os.environ | settings))

    def text(self, name):
        return (self.place / name).read_text()

    def start(self):
        self.launch("redis", "redis-server", "--port", "0", "--unixsocket", self.socket, "--dir", self.place, "--save", "")
        wait_until("redis", lambda: self.redis("PING") == "PONG")
        self.launch("monitor", "redis-cli", "-s", self.socket, "MONITOR")
        self.launch("simulator", self.programs / "apns-simulator", "--dir", self.place / "apns")
        wait_until("the simulator", lambda: self.text("simulator.out").endswith("\n"))
        self.control = json.loads(self.text("simulator.out"))["control"]
        lines = [line.split("=", 1) for line in self.text("apns/provider.env").splitlines() if "=" in line]
        settings = {name.removeprefix("export "): value.strip("'\"") for name, value in lines}
        settings |= {"REDIS_URL": f"unix://{self.socket}", "MARTLET_ADMIN_ADDRESS": "off"}
        apps = self.place / "matrix.json"
        apps.write_text(json.dumps({"apps": {"com.example.demo.ios.*": {"bundleId": BUNDLE, "environment": "production"}}}))
        self.launch("worker", self.programs / "martlet", "worker", **settings)
        self.launch(
            "sidecar", self.programs / "martlet", "sidecar", MARTLET_HTTP_ADDRESS="127.0.0.1:0", MARTLET_MATRIX=str(apps),
            **settings)
        wait_until("the sidecar", lambda: "sidecar listens" in self.text("sidecar.log"))
        port = re.search(r'sidecar listens.*"port":(\d+)', self.text("sidecar.log"))[1]
        self.gateway = f"http://127.0.0.1:{port}/_matrix/push/v1"
        self.homeserver = Homeserver(self.place)
        self.running.append(self.homeserver.start())

    def redis(self, *words):
        return subprocess.run(["redis-cli", "-s", self.socket, *words], capture_output=True, text=True).stdout.strip()

    def jobs(self, token):
        """The jobs for a device, in the order in which the sidecar enqueued them."""
        jobs = []
        for words in re.findall(r'"LPUSH" "push:jobs" (.*)', self.text("monitor.out"), re.I):
            for word in re.findall(r'"(?:[^"\\]|\\.)*"', words):
                jobs.append(json.loads(ast.literal_eval("b" + word)))
        return [job for job in jobs if job["to"]["token"] == token.hex()]

    def await_job(self, token, what, condition):
        """Returns the last job for a device once it is as expected and its push has arrived."""
        def is_there():
            jobs = self.jobs(token)
            return jobs and condition(jobs[-1]["payload"])
        wait_until(f"{what}, the last job being {self.jobs(token)[-1:]}", is_there)
        job = self.jobs(token)[-1]
        wait_until(f"the record of {what}", lambda: self.redis("GET", f"push:result:{job['id']}"))
        return job

    def counted(self, field):
        """What the worker has counted, at most 5 s ago."""
        minutes = self.redis("KEYS", "martlet:{counters}:minute:*").split()
        return sum(int(self.redis("HGET", minute, field) or 0) for minute in minutes)

    def arrived(self, token):
        pushes = call("GET", f"{self.control}/ledger/recent")[1]
        return [push for push in pushes if push["token"] == token.hex() and push["status"] == 200]


def expect(condition, what):
    if not condition:
        raise AssertionError(what)


def messages(one, alice, bob, room):
    """Both formats, and the counts."""
    first = alice.send(room, "Lunch?", 1)
    ids = one.await_job(IDS, "ids of the first message", lambda payload: payload.get("event_id") == first)["payload"]
    # The invitation may count, too.
    unread = ids["unread_count"]
    expect(ids["room_id"] == room and unread > 0 and ids["client"] == "c1", ids)
    expect(ids["aps"] == DEFAULT["aps"] | {"badge": unread}, ids)
    full = one.await_job(FULL, "text of the first message", lambda payload: payload.get("event_id") == first)
    aps = full["payload"]["aps"]
    expect(aps["alert"] == {"title": "alice", "subtitle": "Kitchen", "body": "Lunch?"} and aps["badge"] == unread, aps)
    expect(full["priority"] == 10 and full["app"] == BUNDLE, full)
    wait_until("both pushes", lambda: all(len(one.arrived(token)) == 1 for token in (IDS, FULL)))
    second = alice.send(room, "At noon", 2)
    for token in (IDS, FULL):
        job = one.await_job(token, "the second message", lambda payload: payload.get("event_id") == second)
        expect(job["payload"]["aps"]["badge"] == job["payload"]["unread_count"] == unread + 1, job)
        wait_until("two pushes", lambda: len(one.arrived(token)) == 2)
    print("Messages arrive in both formats, with their counts.")
    repeat(one, room, second, full)
    bob.read(room, second)
    badge = one.await_job(FULL, "the update of counts", lambda payload: payload["aps"] == {"badge": 0})
    expect(badge["payload"].get("event_id") is None and "dedupe" not in badge, badge)
    wait_until("the update of counts", lambda: len(one.arrived(FULL)) == 3)
    print("A read receipt sends the new badge.")


def repeat(one, room, event, job):
    """The same notification again, as after an answer that was lost."""
    device = {"app_id": APP, "pushkey": key(FULL), "pushkey_ts": 1}
    body = {"notification": {"event_id": event, "room_id": room, "type": "m.room.message", "devices": [device]}}
    expect(call("POST", f"{one.gateway}/notify", body) == (200, {"rejected": []}), "the repetition was refused")
    again = one.jobs(FULL)[-1]
    expect(again["id"] == one.jobs(FULL)[-2]["id"] != job["id"], again)
    wait_until("the duplicate", lambda: one.counted("jobs:duplicate") == 1)
    expect(len(one.arrived(FULL)) == 2, "the repetition was sent")
    print("The same notification again is not sent.")


def rejections(one, alice, bob, room):
    """Synapse removes the pushers that the gateway rejects, and no other."""
    bob.add_pusher(APP, key(GONE), f"{one.gateway}/notify")
    bob.add_pusher("org.example.unknown", key(OTHER), f"{one.gateway}/notify")
    set_at = int(time.time())
    wait_until("the next second, because pushers have seconds", lambda: int(time.time()) > set_at)
    call("POST", f"{one.control}/devices", {"token": GONE.hex(), "rule": "unregistered"})
    third = alice.send(room, "Soup", 3)
    job = one.await_job(GONE, "the message to the phone without the app", lambda payload: payload.get("event_id") == third)
    wait_until("APNs' answer", lambda: one.redis("HLEN", "martlet:gone:127.0.0.1") == "1")
    expect(json.loads(one.redis("GET", f"push:result:{job['id']}"))["stale"] == 1, job)
    alice.send(room, "Bread", 4)
    wait_until("the removal of two pushers", lambda: bob.pushkeys() == {key(IDS), key(FULL)})
    expect(len(one.jobs(GONE)) == 1 and not one.jobs(OTHER), "a rejected pusher got a job")
    expect(one.redis("KEYS", "push:token:*") == one.redis("KEYS", "push:app:*") == "", "the gateway has registered a device")
    print("Synapse removes the pushers of a device that is gone and of an unknown app, and no other.")


def specification(one):
    subprocess.run(
        [Path(".build/schemathesis/bin/schemathesis").absolute(), "run", Path(__file__).with_name("push_notifier.yaml").absolute(),
         "--url", one.gateway, "--seed", "1", "--max-examples", "100", "--no-color", "--phases", "examples,coverage,fuzzing",
         "--suppress-health-check", "all", "--checks", CHECKS], check=True, cwd=one.place)


def main():
    with Installation(sys.argv[1]) as one:
        one.start()
        alice, bob = one.homeserver.account("alice"), one.homeserver.account("bob")
        room = alice.ask("POST", "/createRoom", {"name": "Kitchen", "invite": [bob.user]})["room_id"]
        bob.ask("POST", f"/join/{room}", {})
        bob.add_pusher(APP, key(IDS), f"{one.gateway}/notify", format="event_id_only", default_payload=DEFAULT)
        bob.add_pusher(APP, key(FULL), f"{one.gateway}/notify")
        messages(one, alice, bob, room)
        rejections(one, alice, bob, room)
        specification(one)
        expect('"level":"error"' not in one.text("sidecar.log"), "the sidecar logged errors")


main()
