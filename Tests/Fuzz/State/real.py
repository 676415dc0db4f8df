"""The fleet that is tried: Redis, a simulated APNs, `martlet all`, a worker with a webhook, and a state that real jobs have left."""

import http.server
import json
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "Browser"))
from fleet import Fleet, end_all, free_port, wait_until  # noqa: E402
from redis_client import Redis, encode  # noqa: E402
from seed import APPS, Seed, token  # noqa: E402
from visits import SECRET, Broken  # noqa: E402

# Copies of a living worker's heartbeat, so that many reports are mutated at once.
CLONES = 30
QUEUES = ["push:jobs:high", "push:jobs", "push:jobs:low"]


class Pipelined(Redis):
    def pipeline_all(self, commands):
        """Sends commands; an error reply is no error."""
        self._socket.sendall(b"".join(map(encode, commands)))
        for _ in commands:
            try:
                self._reply()
            except RuntimeError:
                pass


class Receiver(http.server.BaseHTTPRequestHandler):
    """Accepts every third batch of events."""

    count = 0

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        Receiver.count += 1
        self.send_response(200 if Receiver.count % 3 == 0 else 503)
        self.end_headers()

    def log_message(self, *_):
        pass


class RealFleet(Fleet):
    def __init__(self, programs):
        super().__init__(programs, workers=1)
        self.sidecar_port, self.admin_ports = free_port(), [free_port(), free_port()]
        self.receiver = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
        threading.Thread(target=self.receiver.serve_forever, daemon=True).start()
        self.settings |= {
            "MARTLET_EVENTS": "stream", "MARTLET_LOG": "error", "MARTLET_RESULT_TTL": "1h", "SWIFT_BACKTRACE": "enable=no",
            "MARTLET_REGISTER_LIMIT": "off", "MARTLET_TEST_LIMIT": "off", "MARTLET_AUTH_FAILURE_LIMIT": "off"}

    def __enter__(self):
        super().__enter__()
        try:
            self.redis = Pipelined(self.socket)
            self.fill()
        except BaseException:
            self.__exit__()
            raise
        return self

    # MARK: programs

    def start_worker(self, name="worker-0", **settings):
        url = f"http://127.0.0.1:{self.receiver.server_address[1]}/"
        self.launch(
            name, self.programs / "martlet", "worker",
            **self.settings | self.provider | {
                "REDIS_URL": self.redis_url("martlet"), "MARTLET_ADMIN_ADDRESS": f"127.0.0.1:{self.admin_ports[0]}",
                "MARTLET_WEBHOOK_URL": url, "MARTLET_WEBHOOK_SECRET": "whsec_" + "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="})

    def start_dashboard(self, name="all", **_):
        self.launch(
            name, self.programs / "martlet", "all",
            **self.settings | self.provider | {
                "REDIS_URL": self.redis_url("martlet"), "MARTLET_ADMIN_ADDRESS": f"127.0.0.1:{self.admin_ports[1]}",
                "MARTLET_HTTP_ADDRESS": f"127.0.0.1:{self.sidecar_port}",
                "MARTLET_DASHBOARD_ADDRESS": f"127.0.0.1:{self.port}"})
        wait_until(name, lambda: self.answers(self.url) or self._ended(name), limit=120)

    def check(self):
        for name, process in self.running.items():
            if process.poll() is not None:
                raise Broken(name, f"ended with {process.returncode}: {self.log(name)[-600:]}")

    def revive(self, state):
        """Puts the state back, and starts again what has ended."""
        state.restore()
        for name, start in (("worker-0", self.start_worker), ("all", self.start_dashboard)):
            if self.running[name].poll() is not None:
                start()

    def command(self, words, timeout):
        environment = {"PATH": "/usr/bin:/bin", "REDIS_URL": self.redis_url("martlet-operator")} | self.settings | self.provider
        return subprocess.run(
            [self.programs / "martlet", *map(str, words)], env=environment, capture_output=True, text=True, errors="replace",
            stdin=subprocess.DEVNULL, timeout=timeout)

    # MARK: state

    def fill(self):
        seed = Seed(self)
        for number, name in enumerate(["alice", "bob", "carol", "dave", "erin", "frank"]):
            for device in range(1 + number % 3):
                seed.device(f"{name} {device}", name, APPS[(number + device) % 3], age_days=3 + number)
        seed.device("heidi 0", "heidi")
        for number in range(40):
            seed.device(f"reader {number}", app=APPS[2])
        seed.register()
        seed.refusals()
        for kind, name in (("user", "alice"), ("user", "bob"), ("key", "backend"), ("instance", "home-1"), ("instance", "home-2")):
            self.martlet("credentials", "add", kind, name, "--secret", "-", stdin=name + SECRET)
        for number in range(12):
            self.push({"id": f"order-{number}", "to": {"user": "alice"}, "title": "On its way", "enqueuedAt": seed.now})
        for name in ("bob", "dave", "heidi", "nobody"):
            self.push({"id": f"hello-{name}", "to": {"user": name}, "title": "Hello", "dedupe": f"hello-{name}"})
        seed.dead_letters()
        seed.scheduled()
        seed.activities()
        self.push({"id": "spring-sale", "to": {"app": APPS[2]}, "title": "The sale has begun"})
        seed.instances()
        self.wait_for_record("hello-dave", "retrying")
        self.wait_for_record("spring-sale", "accepted", "partial")
        self.paused_broadcast()
        seed.waiting(20)
        self.visits_of_operators()
        self.clone_heartbeats()

    def paused_broadcast(self):
        self.rule(token("reader 1"), "throttled")
        self.push({"id": "summer-sale", "to": {"app": APPS[2]}, "title": "Again"})
        self.wait_for_record("summer-sale", "retrying", "partial", "accepted")
        self.command(("broadcast", "pause", "summer-sale"), 60)
        self.command(("cancel", "no-such-job"), 60)

    def visits_of_operators(self):
        from random import Random
        from visits import Visitor
        visitor = Visitor(self, self.names(), Random(1))
        for _ in range(3):
            visitor.pages()
            visitor.routes()

    def clone_heartbeats(self):
        for queue in QUEUES:
            tag = f"martlet:{{{queue}}}:"
            worker = self.redis("SMEMBERS", tag + "workers")[0].decode()
            report = json.loads(self.redis("GET", f"{tag}heartbeat:{worker}"))
            route = {"environment": "production", "topic": APPS[0], "reason": "TopicDisallowed", "since": 1_700_000_000_000}
            report |= {"pausedRoutes": [route], "stoppedRemovals": [route],
                       "slowApps": [{"app": APPS[1], "inFlight": 3, "concurrency": 4, "waiting": 5}]}
            for number in range(CLONES):
                self.redis("SADD", tag + "workers", f"clone-{number}")
                self.redis("SET", f"{tag}heartbeat:clone-{number}", json.dumps(report), "EX", 600)

    def names(self):
        return {
            "queues": QUEUES, "user": ["alice", "bob", "dave"], "token": [token("alice 0"), token("dave 0")],
            "instance": ["home-1", "home-2"],
            "jobs": ["order-1", "hello-dave", "hello-bob", "spring-sale", "reminder-1", "newsletter-1", "hint-1", "digest-1"]}

    def push_jobs(self, number):
        """Work on the mutated state."""
        now = int(time.time() * 1000)
        jobs = [{"to": {"user": name}, "title": "Hello", "dedupe": f"hello-{name}"} for name in ("alice", "bob", "dave")]
        jobs += [{"to": {"instance": name}, "class": kind} for name in ("home-1", "home-2")
                 for kind in ("attention_ping", "safety_critical")]
        jobs += [{"to": {"app": APPS[2]}, "title": "Sale"}, {"to": {"user": "alice"}, "title": "Later", "sendAt": now + 500},
                 {"id": f"order-{number % 12}", "to": {"token": token("alice 0")}, "title": "Hello", "replyTo": "replies"}]
        self.redis.pipeline_all([("LPUSH", QUEUES[number % 2], json.dumps(job)) for job in jobs])


__all__ = ["RealFleet", "end_all"]
