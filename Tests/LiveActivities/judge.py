"""Judges Live Activities by what was enqueued and by what the devices of the simulator show, while workers and Redis die,
devices are offline, APNs refuses and tokens change.

Each seed has users, phones and activities of its own; the seeds of a round share a fleet and its faults.

usage: judge.py DIRECTORY_OF_THE_PROGRAMS [SEEDS] [FIRST_SEED]
"""

import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

import names

APP = "com.example.demo"
TYPE = "Ride_1.Attributes"
QUEUE = "push:jobs"
SEEDS_AT_ONCE = 20
ROUND_SECONDS = 25
FAULTS = [
    {"kind": "status", "status": 503, "reason": "ServiceUnavailable"}, {"kind": "status", "status": 429, "reason": "TooManyRequests"},
    {"kind": "drop", "processed": False}, {"kind": "drop", "processed": True}, {"kind": "goaway"}]
# Until the devices show what they should: jobs of a dead worker run again within 20 s, retries wait longer.
REST_SECONDS = 180


class Fleet:
    """A Redis, a simulated APNs, a sidecar and two workers, each a process."""

    def __init__(self, programs, directory):
        self.programs, self.directory = programs, directory
        self.socket = f"{directory}/redis.sock"
        self.start_redis()
        self.simulator = subprocess.Popen(
            [f"{programs}/apns-simulator", "--dir", f"{directory}/apns", "--journal", f"{directory}/pushes"],
            stdout=subprocess.PIPE, text=True)
        self.apns = json.loads(self.simulator.stdout.readline())
        settings = pathlib.Path(f"{directory}/apns/provider.env").read_text().splitlines()
        self.environment = {
            **os.environ, **dict(line.split("=", 1) for line in settings if "=" in line), "REDIS_URL": f"unix://{self.socket}", "MARTLET_ADMIN_ADDRESS": "off",
            "MARTLET_HTTP_ADDRESS": "127.0.0.1:0", "MARTLET_LOG": "info", "MARTLET_REGISTER_LIMIT": "off"}
        self.sidecar = self.martlet("sidecar")
        line = wait("the sidecar's address", lambda: next(
            (entry for entry in self.log("sidecar") if entry.get("msg", entry.get("message")) == "sidecar listens"), None))
        self.sidecar_url = f"http://127.0.0.1:{line['port']}"
        self.workers = [self.martlet("worker"), self.martlet("worker")]

    def start_redis(self):
        # A Redis that is killed has what it has answered.
        self.redis_process = subprocess.Popen(
            ["redis-server", "--port", "0", "--unixsocket", self.socket, "--dir", self.directory, "--appendonly", "yes",
             "--appendfsync", "always", "--save", ""], stdout=subprocess.DEVNULL)
        wait("Redis", lambda: self.redis("PING", check=False) == "PONG")

    def martlet(self, *words):
        with open(f"{self.directory}/{words[0]}.log", "ab") as log:
            return subprocess.Popen(
                [f"{self.programs}/martlet", *words], env=self.environment, stderr=log, stdout=subprocess.DEVNULL)

    def log(self, name):
        text = pathlib.Path(f"{self.directory}/{name}.log").read_text()
        return [json.loads(line) for line in text.splitlines() if line.startswith("{") and line.endswith("}")]

    def redis(self, *words, check=True):
        result = subprocess.run(["redis-cli", "-s", self.socket, *words], capture_output=True, text=True)
        if check and result.returncode:
            raise RuntimeError(result.stderr)
        return result.stdout.strip()

    def control(self, path, body=None, method=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.apns["control"] + path, data=data, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            text = answer.read().decode()
            return json.loads(text) if text.strip().startswith(("[", "{")) else text

    def enqueue(self, job):
        """As a producer does that tries again until Redis has answered."""
        until = time.monotonic() + 60
        text = json.dumps(job, ensure_ascii=len(job["id"]) % 2 == 0)
        while True:
            result = subprocess.run(
                ["redis-cli", "-s", self.socket, "-x", "LPUSH", QUEUE], input=text, capture_output=True, encoding="utf-8")
            if result.returncode == 0 and result.stdout.strip().isdigit():
                return
            if time.monotonic() > until:
                raise RuntimeError(f"a job was not enqueued: {result.stdout} {result.stderr}")
            time.sleep(0.1)

    def kill_worker(self, index):
        self.workers[index].send_signal(signal.SIGKILL)
        self.workers[index].wait()
        self.workers[index] = self.martlet("worker")

    def kill_redis(self):
        self.redis_process.send_signal(signal.SIGKILL)
        self.redis_process.wait()
        self.start_redis()

    def stop(self):
        for process in [*self.workers, self.sidecar, self.simulator, self.redis_process]:
            process.send_signal(signal.SIGTERM)
        for process in [*self.workers, self.sidecar, self.simulator, self.redis_process]:
            try:
                process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                process.kill()


def wait(what, find, seconds=60):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        found = find()
        if found:
            return found
        time.sleep(0.1)
    raise RuntimeError(f"not within {seconds} s: {what}")


class Activity:
    """What was enqueued for one activity: the judge's own model, from the order of timestamps and times alone."""

    def __init__(self, name, users):
        self.name, self.users = name, users
        self.states = []  # (timestamp, enqueuedAt, number, event)
        self.starts = []  # ids of jobs
        self.has_late_updates = False

    def newest(self):
        return max(self.states, default=None)


def secret(user):
    return f"secret-of-{user.encode().hex()}"


class Scene:
    """The users, phones and activities of a seed."""

    def __init__(self, seed, fleet):
        self.random = random.Random(seed)
        self.fleet, self.seed = fleet, seed
        # In the one form that names of users have. What is sent is written in any.
        *self.users, self.stranger = names.users(seed, 4)
        self.phones = {}  # device id -> user
        self.offline = set()
        self.activities = []
        # Tokens of somebody who has guessed the ids of the activities.
        self.strange_tokens = set()
        for user in [*self.users, self.stranger]:
            subprocess.run(
                [f"{fleet.programs}/martlet", "credentials", "add", "user", self.spelled(user), "--secret", "-"], check=True,
                input=f"{secret(user)}\n", text=True, env=fleet.environment, stdout=subprocess.DEVNULL)
        for place, user in enumerate(self.users):
            for number in range(self.random.randint(1, 2)):
                self.add_phone(names.phone(seed, place, number), user)
        for number in range(4):
            users = self.random.sample(self.users, self.random.choice([1, 1, 2]))
            self.activities.append(Activity(f"live:{seed}:{number}", users))

    def spelled(self, user):
        return names.spelled(user, self.random)

    def add_phone(self, phone, user):
        token = f"{self.random.getrandbits(256):064x}"
        self.phones[phone] = user
        self.fleet.control("/live-activities", {
            "deviceId": phone, "bundleId": APP, "username": self.spelled(user), "bearer": secret(user), "seed": self.seed,
            "sidecar": self.fleet.sidecar_url, "startTokens": {TYPE: token}, "maxDelayMs": 3000})
        self.register(user, f"types/{TYPE}", {"token": token, "bundleId": APP, "deviceId": phone})

    def register(self, user, path, body):
        # The library takes a character for a byte.
        name = self.spelled(user).encode().decode("latin-1")
        request = urllib.request.Request(
            f"{self.fleet.sidecar_url}/activities/{path}", method="PUT", data=json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {secret(user)}", "X-Username": name})
        with urllib.request.urlopen(request, timeout=60) as answer:
            assert answer.status == 200

    def intrude(self, activity):
        """A stranger registers a token for the activity, and claims the phone of somebody else."""
        token, phone = f"{self.random.getrandbits(256):064x}", self.random.choice(list(self.phones))
        self.strange_tokens.add(token)
        try:
            self.register(self.stranger, activity.name, {"token": token, "bundleId": APP, "deviceId": phone})
        except OSError:
            pass  # Redis is down: it may be registered or not.

    def step(self, now):
        """One thing that happens."""
        activity = self.random.choice(self.activities)
        what = self.random.random()
        if not activity.starts:
            self.start(activity, now)
        elif what < 0.06:
            self.start(activity, now)
        elif what < 0.12:
            phone, is_online = self.random.choice(list(self.phones)), self.random.random() < 0.6
            (self.offline.discard if is_online else self.offline.add)(phone)
            self.fleet.control("/live-activities", {"deviceId": phone, "online": is_online})
        elif what < 0.16:
            # A phone without a network gets no new tokens.
            phone = self.random.choice([p for p, user in self.phones.items() if user in activity.users])
            if phone not in self.offline:
                self.fleet.control("/live-activities", {"deviceId": phone, "rotate": activity.name})
        elif what < 0.18:
            self.change(activity, now, "end")
        elif what < 0.22:
            self.intrude(activity)
        else:
            self.change(activity, now, "update")

    def start(self, activity, now):
        for user in activity.users:
            id = f"{activity.name}-start-{self.users.index(user)}-{len(activity.starts)}"
            activity.starts.append((id, user))
            self.fleet.enqueue({
                "id": id, "to": {"user": self.spelled(user)}, "app": APP, "title": "Ride", "enqueuedAt": now,
                "liveActivity": {"event": "start", "id": activity.name, "attributesType": TYPE, "attributes": {},
                                 "contentState": {"n": -1}, "timestamp": now // 1000 - 60}})

    def change(self, activity, now, event):
        newest = activity.newest()
        if newest and newest[3] == "end":
            event, activity.has_late_updates = "update", True
        number = len(activity.states)
        # Some were enqueued before others that came first, as by a producer that tries again.
        at = now - (self.random.choice([0, 0, 0, 1500, 4000]) if event == "update" else 0)
        state = (at // 1000, at, number, event)
        if newest is None or newest[3] != "end":
            activity.states.append(state)
        job = {"id": f"{activity.name}-{number}-{self.random.getrandbits(32):x}", "to": {"activity": activity.name}, "app": APP,
               "enqueuedAt": at, "liveActivity": {"event": event, "contentState": {"n": number}}}
        self.fleet.enqueue(job)
        if self.random.random() < 0.1:
            self.fleet.enqueue(job)

    def faults(self, shown):
        """What is not as it must be: None while it may still change, else a list of sentences."""
        faults = []
        for activity in self.activities:
            newest = activity.newest()
            for phone, user in self.phones.items():
                if user not in activity.users or not activity.starts:
                    continue
                faults += self.faults_of(activity, newest, phone, user, shown)
        return faults

    def faults_of(self, activity, newest, phone, user, shown):
        place = f"{activity.name} on {phone}"
        found = shown.get((phone, activity.name))
        if found is None or found["cards"] == 0:
            if newest and newest[3] == "end":
                return []  # A start after the end of the activity is not sent.
            if found and found.get("lost"):
                return []  # APNs keeps one push for a device that is offline.
            return [] if self.is_uncertain(activity, user) else [f"{place}: not started"]
        faults = []
        if found["cards"] > 1:
            faults.append(f"{place}: {found['cards']} cards")
        if found.get("afterEnd"):
            faults.append(f"{place}: {found['afterEnd']} pushes after the end")
        if newest is None:
            return faults
        card = found["shown"][-1]
        if newest[3] == "end":
            # An update that a producer sends after the end has a later time. If it is decided first, as when the worker with the
            # end dies, it is the newest state.
            is_late = activity.has_late_updates and card["contentState"].get("n") == len(activity.states)
            if not card["ended"] and found.get("newestLost") is None and not is_late:
                faults.append(f"{place}: not ended")
        elif card["contentState"].get("n") != newest[2] and (found.get("newestLost") or 0) < card["timestamp"]:
            faults.append(f"{place}: shows {card['contentState']}, the newest is {newest}")
        return faults

    def is_uncertain(self, activity, user):
        """Whether a start was written to APNs and never answered: it is not sent again, an operator decides."""
        for id, name in activity.starts:
            if name == user:
                record = self.fleet.redis("GET", f"push:result:{id}")
                if record and json.loads(record)["status"] in ("dead", "partial"):
                    return True
        return False


def run_round(programs, seeds):
    with tempfile.TemporaryDirectory(prefix="martlet-live-") as directory:
        fleet = Fleet(programs, directory)
        try:
            return judge(fleet, [Scene(seed, fleet) for seed in seeds], random.Random(seeds[0]))
        finally:
            fleet.stop()


def judge(fleet, scenes, chance):
    stop = threading.Event()
    broken = []

    def live(scene):
        try:
            while not stop.is_set():
                scene.step(int(time.time() * 1000))
                stop.wait(scene.random.uniform(0.05, 0.4))
        except Exception as error:  # Shown, and the round fails.
            broken.append(f"seed {scene.seed}: {error!r}")

    threads = [threading.Thread(target=live, args=(scene,)) for scene in scenes]
    for thread in threads:
        thread.start()
    kills = 0
    until = time.monotonic() + ROUND_SECONDS
    while time.monotonic() < until:
        stop.wait(chance.uniform(1, 4))
        what = chance.random()
        kills += 1
        if what < 0.6:
            fleet.kill_worker(chance.randrange(2))
        elif what < 0.75:
            fleet.kill_redis()
        else:
            fleet.control("/faults", {"count": chance.randint(1, 30)} | chance.choice(FAULTS))
    stop.set()
    for thread in threads:
        thread.join()
    phones = [phone for scene in scenes for phone in scene.phones]
    fleet.control("/faults", method="DELETE")
    fleet.control("/live-activities", [{"deviceId": phone, "online": True} for phone in phones])
    faults = rest(fleet, scenes) + broken + intrusions(fleet, scenes)
    states = sum(len(activity.states) for scene in scenes for activity in scene.activities)
    starts = sum(len(activity.starts) for scene in scenes for activity in scene.activities)
    print(f"{len(scenes)} seeds from {scenes[0].seed}: {states} states, {starts} starts, {kills} faults: {len(faults)} violations")
    for fault in faults:
        print(f"  {fault}")
    for name in sorted({fault.split(" ")[0] for fault in faults}):
        show(fleet, name)
    return len(faults)


def intrusions(fleet, scenes):
    """What a stranger got."""
    strange = {token: scene for scene in scenes for token in scene.strange_tokens}
    with open(f"{fleet.directory}/pushes") as journal:
        pushed = [json.loads(line)["token"] for line in journal if line.endswith("\n")]
    print(f"{len(strange)} tokens of strangers")
    return [f"stranger of seed {strange[token].seed}: a push to {token[:8]}" for token in pushed if token in strange]


def show(fleet, activity):
    """What the fleet knows of an activity that is not as it must be."""
    print(f"  {activity}: {fleet.redis('GET', f'push:activity:{activity}')}")
    for key in fleet.redis("KEYS", f"push:result:{activity}-*").split():
        record = json.loads(fleet.redis("GET", key))
        results = [(result["token"][:8], result["status"], result.get("reason")) for result in record["results"]]
        print(f"    {record['id']}: {record['status']} {record.get('reason')} {results} {record['finishedAt']}")


def rest(fleet, scenes):
    """The faults when the devices show what they should, or when they had the time to."""
    until = time.monotonic() + REST_SECONDS
    while True:
        shown = {(device["deviceId"], activity["activityId"]): activity
                 for device in fleet.control("/live-activities") for activity in device["activities"]}
        faults = [fault for scene in scenes for fault in scene.faults(shown)]
        if not faults or time.monotonic() > until:
            return faults
        time.sleep(1)


def main():
    programs = os.path.abspath(sys.argv[1])
    count = int(sys.argv[2]) if len(sys.argv) > 2 else SEEDS_AT_ONCE
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    violations = 0
    for start in range(first, first + count, SEEDS_AT_ONCE):
        violations += run_round(programs, list(range(start, min(start + SEEDS_AT_ONCE, first + count))))
    print(f"{count} seeds: {violations} violations")
    sys.exit(1 if violations else 0)


main()
