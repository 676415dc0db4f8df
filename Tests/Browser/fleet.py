"""A Redis with the users of deploy/redis, a simulated APNs, a worker and a dashboard, on the loopback interface."""

import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# bench/ has another module of this name.
sys.path.insert(0, str(ROOT / "Tests/Deploy"))
sys.path.append(str(ROOT / "bench"))
from processes import end_all, free_port, wait_until  # noqa: E402
from redis_client import Redis  # noqa: E402

PASSWORD = "of-the-tests"
# The operators that the tests sign in as, by role; the secret is the name and this.
OPERATORS = {"viewer": "vera", "operator": "omar", "admin": "ada"}
SECRET = "-has-a-long-secret"


def redis_users(directory):
    """The users of deploy/redis, enabled."""
    version = subprocess.run(["redis-server", "--version"], capture_output=True, text=True, check=True).stdout
    is_old = int(re.search(r"v=(\d+)", version)[1]) < 7
    text = (ROOT / f"deploy/redis/users{'-6.2' if is_old else ''}.acl").read_text()
    lines = [re.sub(r"^(user \S+) off resetpass", rf"\1 on >{PASSWORD}", line) for line in text.splitlines()]
    path = Path(directory) / "users.acl"
    path.write_text("\n".join(["user default on nopass ~* &* +@all", *lines]) + "\n")
    return path


class Fleet:
    """`with Fleet(programs) as fleet`: everything runs and is ended with the block."""

    def __init__(self, programs, workers=1, has_operators=True, settings=None):
        self.programs = Path(programs).resolve()
        self.settings = {"MARTLET_TIME_ZONE": "UTC", "MARTLET_QUIET_HOURS": "off"} | (settings or {})
        self.worker_count = workers
        self.has_operators = has_operators
        self.temporary = tempfile.TemporaryDirectory()
        self.place = Path(self.temporary.name)
        self.running = {}
        self.port = free_port()

    def __enter__(self):
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        end_all(list(self.running.values()))
        self.temporary.cleanup()

    @property
    def socket(self):
        return str(self.place / "redis.sock")

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/"

    def redis_url(self, user):
        if f"user {user} " not in (self.place / "users.acl").read_text():
            return f"unix://{self.socket}"
        return f"unix://{user}:{PASSWORD}@{self.socket}"

    def launch(self, name, *command, **environment):
        out = open(self.place / f"{name}.out", "wb")
        log = open(self.place / f"{name}.log", "ab")
        base = {"PATH": os.environ["PATH"], "HOME": str(self.place)}
        self.running[name] = subprocess.Popen(
            list(map(str, command)), stdin=subprocess.DEVNULL, stdout=out, stderr=log, env=base | environment)
        return self.running[name]

    def log(self, name):
        return (self.place / f"{name}.log").read_text(errors="replace")

    def describe(self):
        """What a failure may come from: each process with its last lines, and what each queue and the workers say."""
        for name, process in self.running.items():
            state = "runs" if process.poll() is None else f"has ended with {process.poll()}"
            lines = self.log(name).splitlines()[-5:]
            print(f"{name} {state}", *(line[:300] for line in lines), sep="\n", file=sys.stderr)
        for queue in ("push:jobs:high", "push:jobs", "push:jobs:low"):
            control = self.redis("GET", f"martlet:{{{queue}}}:control")
            print(queue, self.redis("LLEN", queue), "waiting, control", control, file=sys.stderr)
        for name in self.running:
            if (self.place / f"{name}.admin").exists():
                curl = ["curl", "-sS", "--unix-socket", self.place / f"{name}.admin", "http://x/readyz", "http://x/metrics"]
                page = subprocess.run(curl, capture_output=True, text=True).stdout
                told = re.findall(r"^(?:\{.*|martlet_(?:pushes_in_flight|concurrency_limit|jobs_outstanding|apns_\w+connec\S*) \S+)$",
                                  page, re.M)
                print(name, *told, file=sys.stderr)

    def end(self, *names):
        end_all([self.running.pop(name) for name in names])

    def _start(self):
        self.start_redis()
        self.launch("simulator", self.programs / "apns-simulator", "--dir", self.place / "apns")
        wait_until("the simulator", lambda: (self.place / "simulator.out").read_text().endswith("\n"))
        self.control = json.loads((self.place / "simulator.out").read_text())["control"]
        lines = (self.place / "apns/provider.env").read_text().splitlines()
        self.provider = {name.removeprefix("export "): value.strip("'\"")
                         for name, value in (line.split("=", 1) for line in lines if "=" in line)}
        self.settings["MARTLET_APPS"] = str(self.write_apps())
        if self.has_operators:
            for role, name in OPERATORS.items():
                self.add_operator(name, role)
        for number in range(self.worker_count):
            self.start_worker(f"worker-{number}")
        self.start_dashboard()

    def write_apps(self):
        """Two apps of their own beside the default one, all with the simulator's key."""
        key = {"keyId": self.provider["APNS_KEY_ID"], "path": self.provider["APNS_KEY_PATH"]}
        apps = [{"bundleIds": bundle_ids, "teamId": self.provider["APNS_TEAM_ID"], "keys": [key], "share": share,
                 "endpoint": self.provider["APNS_ENDPOINT_OVERRIDE"],
                 "sandboxEndpoint": self.provider["APNS_ENDPOINT_OVERRIDE"], "caCert": self.provider["APNS_CA_CERT"]}
                for bundle_ids, share in ((["com.northwind.parcels", "com.northwind.parcels.courier"], 3),
                                          (["com.northwind.messages"], 2))]
        path = self.place / "apps.json"
        path.write_text(json.dumps({"apps": apps}))
        return path

    def start_redis(self):
        self.launch(
            "redis", "redis-server", "--port", "0", "--unixsocket", self.socket, "--dir", self.place, "--save", "",
            "--appendonly", "no", "--aclfile", redis_users(self.place))
        wait_until("redis", self._is_redis_ready)
        self.redis = Redis(self.socket)

    def _is_redis_ready(self):
        try:
            return Redis(self.socket)("PING") == "PONG"
        except OSError:
            return False

    def start_worker(self, name="worker-0", **settings):
        self.launch(
            name, self.programs / "martlet", "worker",
            **self.settings | self.provider | {
                "REDIS_URL": self.redis_url("martlet-worker"), "MARTLET_LOG": "debug",
                "MARTLET_ADMIN_ADDRESS": f"unix:{self.place / name}.admin"} | settings)
        wait_until(name, lambda: "worker starts" in self.log(name))

    def start_dashboard(self, name="dashboard", port=None, **settings):
        """Returns the URL."""
        port = port or self.port
        self.launch(
            name, self.programs / "martlet", "dashboard",
            **self.settings | {
                "REDIS_URL": self.redis_url("martlet-dashboard"), "MARTLET_ADMIN_ADDRESS": "off",
                "MARTLET_DASHBOARD_ADDRESS": f"127.0.0.1:{port}"} | settings)
        wait_until(name, lambda: self.answers(f"http://127.0.0.1:{port}/") or self._ended(name))
        return f"http://127.0.0.1:{port}/"

    def _ended(self, name):
        if self.running[name].poll() is not None:
            raise TimeoutError(f"{name} has ended: {self.log(name)[-800:]}")

    @staticmethod
    def answers(url):
        try:
            with urllib.request.urlopen(url, timeout=60):
                return True
        except urllib.error.HTTPError:
            return True
        except OSError:
            return False

    def martlet(self, *arguments, check=True, stdin=None, user="martlet-operator"):
        """Runs a command of martlet as an operator and returns its output."""
        environment = {"PATH": os.environ["PATH"], "REDIS_URL": self.redis_url(user)} | self.settings | self.provider
        ended = subprocess.run(
            [self.programs / "martlet", *map(str, arguments)], env=environment, capture_output=True, text=True, input=stdin,
            timeout=300)
        if check and ended.returncode != 0:
            raise RuntimeError(f"martlet {' '.join(map(str, arguments))}: {ended.stderr or ended.stdout}")
        return ended.stdout

    def add_operator(self, name, role):
        self.martlet("credentials", "add", "operator", name, "--role", role, "--secret", "-", stdin=name + SECRET)

    def tell_simulator(self, path, method="POST", **body):
        data = json.dumps(body).encode()
        request = urllib.request.Request(self.control + path, data=data, method=method)
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def rule(self, token, rule, **more):
        """From now on the simulator answers pushes to the token by the rule."""
        self.tell_simulator("/devices", token=token, rule=rule, **more)

    def push(self, job, queue="push:jobs"):
        self.redis("LPUSH", queue, job if isinstance(job, (bytes, str)) else json.dumps(job))

    def record(self, job):
        text = self.redis("GET", f"push:result:{job}")
        return json.loads(text) if text else None

    def wait_for_record(self, job, *statuses):
        wait_until(f"the record of {job}", lambda: (self.record(job) or {}).get("status") in statuses)
        return self.record(job)
