"""Fills a fleet with the same jobs in every state, devices and apps each time, as an installation of some size would have them."""

import hashlib
import json
import random
import time

APPS = ["com.northwind.parcels", "com.northwind.messages", "com.northwind.news"]
NAMES = """alice bob carol dave erin frank grace heidi ivan judy kim lena mallory niaj olivia peggy quentin rupert sybil trent
uma victor wendy xavier yara zoe""".split()
TITLES = [
    "Your parcel is on its way", "Lunch?", "New message from Erin", "Your invoice is ready", "Board meeting moved to 14:30",
    "Delivered at the front door", "Heidi commented on your photo", "Storm warning for tonight", "Your table is booked",
    "Security code: look in the app"]


def token(name):
    """A device token that looks like one, the same each time."""
    return hashlib.sha256(f"device of {name}".encode()).hexdigest()


def milliseconds():
    return int(time.time() * 1000)


def iso(at):
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(at / 1000))


class Seed:
    def __init__(self, fleet):
        self.fleet = fleet
        self.redis = fleet.redis
        self.chance = random.Random(20261122)
        self.now = milliseconds()
        self.devices = {}

    def device(self, name, user=None, app=APPS[0], environment="production", platform="ios", age_days=30):
        """Adds a device to those that register() imports, and returns its token."""
        value, at = token(name), self.now - age_days * 86_400_000
        device = {"createdAt": iso(at - 86_400_000), "updatedAt": iso(at), "platform": platform, "environment": environment}
        self.devices.setdefault(app, {})[value] = device | ({"username": user} if user else {})
        return value

    def register(self):
        """Through the import that an installation uses."""
        path = self.fleet.place / "devices.json"
        path.write_text(json.dumps(self.devices))
        self.fleet.martlet("tokens", "import", path)

    def users(self):
        for number, name in enumerate(NAMES):
            for device in range(1 + number % 3):
                self.device(f"{name} {device}", name, APPS[(number + device) % 3],
                            "sandbox" if number % 7 == 6 else "production", age_days=3 + 11 * number % 200)
        self.device("frank tablet", "frank", APPS[1], platform="android")
        for number in range(2500):
            self.device(f"reader {number}", app=APPS[2], age_days=number % 300)
        self.register()
        # Sybil's set names a device that trent owns now.
        self.redis("SADD", "push:user:sybil:tokens", token("trent 0"))

    def refusals(self):
        """What goes wrong, and stays that way."""
        self.fleet.rule(token("bob 0"), "unregistered", since=self.now + 60_000)
        self.fleet.rule(token("dave 0"), "throttled")
        self.fleet.rule(token("heidi 0"), "bad")

    def jobs(self):
        """Accepted, refused and retried ones, dead letters and scheduled ones; returns when the worker has ended them."""
        fleet, last = self.fleet, ""
        for number in range(120):
            name = NAMES[number % len(NAMES)]
            if name in ("bob", "dave", "heidi"):
                continue
            last = f"order-{4700 + number}-shipped"
            fleet.push({"id": last, "to": {"user": name}, "title": self.chance.choice(TITLES), "body": "Tap to open."})
        fleet.push({"id": "welcome-bob", "to": {"user": "bob"}, "title": "Welcome, Bob"})
        fleet.push({"id": "invoice-dave-11", "to": {"user": "dave"}, "title": "Your invoice is ready"})
        fleet.push({"id": "photo-heidi", "to": {"user": "heidi"}, "title": "Heidi, look at this"})
        fleet.push({"id": "nobody-home", "to": {"user": "nobody"}, "title": "Hello"})
        fleet.push({"id": "spring-sale", "to": {"app": APPS[2]}, "title": "The spring sale has begun"})
        self.dead_letters()
        self.scheduled()
        fleet.wait_for_record(last, "accepted")
        fleet.wait_for_record("welcome-bob", "failed", "partial")
        fleet.wait_for_record("invoice-dave-11", "retrying")
        fleet.wait_for_record("spring-sale", "accepted", "partial")

    def dead_letters(self):
        for number in range(1, 8):
            self.fleet.push({"id": f"newsletter-{number}", "to": {"user": "erin"}, "titel": "A field that does not exist"})
        self.fleet.push("this is no JSON at all")
        self.fleet.push('{"id":"half-written","to":{"user":"ali')
        self.fleet.push({"id": "too-many", "to": {"tokens": ["xyz"]}, "title": "A token that is none"})
        self.fleet.push({"id": "<script>alert(1)</script>", "to": {"user": "erin"}, "title": "Markup"})
        self.fleet.push(b"\xff\xfe\x00" + b"\x00" * 4096)
        self.fleet.push({"id": "hint-home-9", "to": {"instance": "home-1"}, "class": "no_such_class"})

    def scheduled(self):
        for number, (name, hours) in enumerate([("carol", 2), ("erin", 9), ("grace", 26), ("kim", 70), ("lena", 160)]):
            self.fleet.push({
                "id": f"reminder-{number + 1}", "to": {"user": name}, "title": "Your appointment is tomorrow",
                "sendAt": self.now + hours * 3_600_000})

    def activities(self):
        """A Live Activity that a phone shows, and one whose state waits for an update token."""
        shown = token("alice's ride")
        device = json.dumps({"username": "alice", "platform": "ios", "updatedAt": self.now, "bundleId": APPS[0],
                             "environment": "production", "kind": "activity", "deviceId": "phone-1", "activity": "ride-1"})
        self.redis("SET", f"push:token:{shown}", device)
        self.redis("SADD", "push:user:alice:tokens", shown)
        self.redis("HSET", "push:activity:ride-1:tokens", shown, device)
        for number, status in ((1, "accepted"), (2, "deferred")):
            self.fleet.push({"id": f"ride-{number}-arrives", "to": {"activity": f"ride-{number}"}, "app": APPS[0],
                             "liveActivity": {"event": "update", "shared": True, "contentState": {"minutes": 3}}})
            self.fleet.wait_for_record(f"ride-{number}-arrives", status)

    def instances(self):
        """An instance with a used limit, and one that is inactive."""
        for name, active in (("home-1", True), ("home-2", False)):
            self.redis("SET", f"push:instance:{name}", json.dumps(
                {"token": token(name), "environment": "production", "bundleId": APPS[1], "updatedAt": self.now,
                 "active": active}))
        for number in range(5):
            self.fleet.push({
                "id": f"hint-{number + 1}", "to": {"instance": "home-1"},
                "class": ["attention_ping", "action_needed", "safety_critical"][number % 3]})
        self.fleet.wait_for_record("hint-5", "accepted", "suppressed")

    def waiting(self, count=40):
        """Jobs that wait in a queue that is paused."""
        self.fleet.martlet("queue", "pause", "push:jobs:low")
        for number in range(count):
            self.fleet.push(
                {"id": f"digest-{number + 1}", "to": {"user": self.chance.choice(NAMES)}, "title": "Your weekly digest"},
                "push:jobs:low")

    def credentials(self):
        for kind, name in (("user", "alice"), ("user", "bob"), ("key", "backend"), ("key", "importer"), ("instance", "home-1")):
            self.fleet.martlet("credentials", "add", kind, name)

    def all(self):
        self.users()
        self.refusals()
        self.credentials()
        self.jobs()
        self.activities()
        self.instances()
        self.waiting()
        return self
