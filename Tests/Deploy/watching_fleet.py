"""A fleet as processes of this machine, watched by a real Prometheus."""

import http.server
import json
import math
import os
import re
import resource
import signal
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import yaml
from checking import ROOT
from processes import PATIENCE, end_all, free_port, wait_until
from watching_faults import NOT_PROVOKED, provoke

# Panels without data as long as all is well. Faults fill each of them.
EMPTY_WHEN_WELL = {"Firing alerts", "Paused routes", "Routes whose stale tokens are kept"}
SECRET = "alice-bearer-token"
PROMETHEUS = ROOT / ".build/prometheus/bin/prometheus"


class WatchedFleet:
    """Redis, a simulated APNs, two workers, a sidecar and Prometheus, on free ports of the loopback interface."""

    def __init__(self, programs, rules):
        self.programs, self.rules = programs, rules
        self.directory = tempfile.TemporaryDirectory()
        self.place = Path(self.directory.name)
        names = ("redis", "apns", "control", "worker-1", "worker-2", "sidecar", "http", "prometheus")
        self.ports = {name: free_port() for name in names}
        self.running = {}
        self.serial = 0
        # What the receiver of the webhook answers.
        self.hook_status = 204

    def __enter__(self):
        return self

    def __exit__(self, *_):
        end_all(self.running.values())
        self.directory.cleanup()

    # --- Processes

    def start_hook(self):
        """A receiver of the webhook; returns the settings of the workers. It ends with this process."""
        fleet = self

        class Hook(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers["content-length"]))
                self.send_response(fleet.hook_status)
                self.end_headers()

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hook)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return {"MARTLET_WEBHOOK_URL": f"http://127.0.0.1:{server.server_address[1]}/", "MARTLET_WEBHOOK_SECRET": "a-secret-of-the-check"}

    def start(self, name, command, environment=None):
        log = open(self.place / f"{name}.log", "w")
        values = {"PATH": os.environ["PATH"], **(environment or {})}
        self.running[name] = subprocess.Popen([str(word) for word in command], env=values, stdout=log, stderr=log)

    def end(self, name, by=signal.SIGKILL):
        self.running[name].send_signal(by)
        self.running[name].wait(PATIENCE)

    def start_all(self):
        self.start("redis", ["redis-server", "--bind", "127.0.0.1", "--port", self.ports["redis"], "--save", "", "--dir", self.place])
        self.start("apns", [self.programs / "apns-simulator", "--dir", self.place / "apns", "--listen", self.local("apns"),
                            "--control", self.local("control")])
        wait_until("redis", lambda: self.redis("PING") == "PONG")
        settings = self.place / "apns/provider.env"
        wait_until("the simulator", lambda: self.answers("control", "/ledger"))
        self.environment = dict(line.split("=", 1) for line in settings.read_text().splitlines())
        self.environment |= {"REDIS_URL": f"redis://{self.local('redis')}", "MARTLET_CONCURRENCY": "16"}
        self.environment |= self.start_hook()
        for name in ("worker-1", "worker-2"):
            self.start(name, [self.programs / "martlet", "worker"], self.environment | {"MARTLET_ADMIN_ADDRESS": self.local(name)})
        sidecar = self.environment | {"MARTLET_ADMIN_ADDRESS": self.local("sidecar"), "MARTLET_HTTP_ADDRESS": self.local("http")}
        sidecar |= {f"MARTLET_{name}_LIMIT": "off" for name in ("REGISTER", "TEST", "AUTH_FAILURE")}
        sidecar |= self.make_certificate()
        self.start("sidecar", [self.programs / "martlet", "sidecar"], sidecar)
        for name in ("worker-1", "worker-2", "sidecar"):
            wait_until(name, lambda name=name: self.answers(name, "/readyz"))
        self.martlet("credentials", "add", "user", "alice", "--secret", "-", text=SECRET)
        self.start_prometheus()

    def make_certificate(self):
        """One that expires soon."""
        pair = {"MARTLET_HTTP_CERT": self.place / "http.pem", "MARTLET_HTTP_KEY": self.place / "http.key"}
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1", "-addext",
                        "subjectAltName=IP:127.0.0.1", "-out", pair["MARTLET_HTTP_CERT"], "-keyout", pair["MARTLET_HTTP_KEY"]],
                       check=True, capture_output=True)
        return {name: str(path) for name, path in pair.items()}

    def start_prometheus(self):
        """With deploy/prometheus/prometheus.yaml, but for these ports, and without the patience of the alerts."""
        configuration = yaml.safe_load((ROOT / "deploy/prometheus/prometheus.yaml").read_text())
        configuration["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
        del configuration["alerting"]
        targets = {"martlet-worker": ("worker-1", "worker-2"), "martlet-sidecar": ("sidecar",)}
        for job in configuration["scrape_configs"]:
            job["static_configs"] = [{"targets": [self.local(name) for name in targets[job["job_name"]]]}]
        (self.place / "prometheus.yaml").write_text(yaml.safe_dump(configuration))
        rules = re.sub(r"^ +for: .*\n", "", self.rules.read_text(), flags=re.M)
        (self.place / "martlet-rules.yaml").write_text(re.sub(r"\[\d+m\]", "[15s]", rules))
        self.start("prometheus", [PROMETHEUS, f"--config.file={self.place}/prometheus.yaml", f"--storage.tsdb.path={self.place}/data",
                                  f"--web.listen-address={self.local('prometheus')}", "--log.level=warn"])
        wait_until("prometheus", lambda: self.answers("prometheus", "/-/ready"))

    # --- Asking

    def local(self, name):
        return f"127.0.0.1:{self.ports[name]}"

    def answers(self, name, path):
        try:
            with urllib.request.urlopen(f"http://{self.local(name)}{path}", timeout=60) as answer:
                return answer.status == 200
        except OSError:
            return False

    def redis(self, *words):
        command = ["redis-cli", "-p", str(self.ports["redis"]), *words]
        return subprocess.run(command, capture_output=True, text=True).stdout.strip()

    def martlet(self, *words, text=""):
        subprocess.run([self.programs / "martlet", *words], env={"PATH": os.environ["PATH"], **self.environment}, input=text, text=True,
                       check=True, capture_output=True)

    def control(self, path, **body):
        data = json.dumps(body).encode()
        urllib.request.urlopen(urllib.request.Request(f"http://{self.local('control')}{path}", data), timeout=PATIENCE).close()

    def ask_sidecar(self, path, secret=SECRET, **body):
        """The status of the answer."""
        command = ["curl", "-s", "--insecure", "--max-time", "60", "-o", os.devnull, "-w", "%{http_code}", "-H", "X-Username: alice", "-H",
                   f"Authorization: Bearer {secret}", "-d", json.dumps(body), f"https://{self.local('http')}{path}"]
        return subprocess.run(command, capture_output=True, text=True).stdout

    def prometheus(self, path, **parameters):
        """The data of an answer of Prometheus' API; an error is raised with its text."""
        address = f"http://{self.local('prometheus')}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(address, timeout=PATIENCE) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            raise ValueError(json.load(error)["error"]) from error

    def has_data(self, query):
        found = self.prometheus("query", query=query)["result"]
        return any(not math.isnan(float(sample["value"][1])) for sample in found)

    def firing(self):
        """The firing alerts by name."""
        return {alert["labels"]["alertname"]: alert for alert in self.prometheus("alerts")["alerts"] if alert["state"] == "firing"}

    # --- Work

    def enqueue(self, *jobs):
        self.redis("LPUSH", "push:jobs", *(job if isinstance(job, str) else json.dumps(job) for job in jobs))

    def job(self, **members):
        """A job to one of few devices, unless `members` name another addressee."""
        self.serial += 1
        job = {"id": f"job-{self.serial}", "to": {"token": f"{self.serial % 3 + 1:064x}"}, "title": "t", "enqueuedAt": int(time.time() * 1000)}
        return job | members

    def work(self):
        """A little of everything that a healthy fleet does."""
        self.enqueue(*(self.job() for _ in range(5)), self.job(sendAt=int(time.time() * 1000) + 500))
        self.ask_sidecar("/api/push/register", token=f"{1:064x}", platform="ios")
        self.ask_sidecar("/api/push/test", title="t")
        self.ask_sidecar("/api/push/test", secret="another-bearer-token")

    def leave_descriptors(self, name, count):
        """Lets a process open no more than `count` further files."""
        pid = self.running[name].pid
        limit = len(os.listdir(f"/proc/{pid}/fd")) + count
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (limit, limit))


def examine_fleet(programs, rules, queries, variables, faults):
    """`queries` are pairs of a panel's title and a query."""
    with WatchedFleet(programs, rules) as fleet:
        try:
            fleet.start_all()
            examine_healthy(fleet, queries, variables, faults)
            examine_faulty(fleet, queries, faults)
        except (TimeoutError, OSError, ValueError, subprocess.SubprocessError) as error:
            logs = "".join(f"\n--- {path.name}\n{path.read_text()[-400:]}" for path in fleet.place.glob("*.log"))
            faults.expect(False, f"{error}{logs}")


def examine_healthy(fleet, queries, variables, faults):
    """Every panel has data, apart from those that show faults, and no alert fires."""
    waiting = [query for title, query in queries if title not in EMPTY_WHEN_WELL]

    def all_have_data():
        fleet.work()
        waiting[:] = [query for query in waiting if not fleet.has_data(query)]
        return not waiting

    try:
        wait_until("data", all_have_data)
    except TimeoutError:
        for query in waiting:
            faults.expect(False, f"no data: {query}")
    faults.checked += len(queries)
    for definition in variables:
        selector, label = re.fullmatch(r"label_values\((.+), (\w+)\)", definition).groups()
        values = fleet.prometheus(f"label/{label}/values", **{"match[]": re.sub(r"\$\w+", ".*", selector)})
        faults.expect(values, f"the variable {definition} has no values")
    expected = {"MartletCertificateExpires"}
    wait_until(f"the end of every alert of the start: {sorted(fleet.firing())}", lambda: set(fleet.firing()) == expected)


def examine_faulty(fleet, queries, faults):
    """Each fault makes its alert fire, and fills its panel."""
    waiting = [(title, query) for title, query in queries if title in EMPTY_WHEN_WELL]
    names = set(re.findall(r"- alert: (\w+)", fleet.rules.read_text()))
    seen = dict(fleet.firing())
    for cause, expected, act in provoke(fleet):
        act()
        missing = set(expected)

        def have_fired():
            waiting[:] = [(title, query) for title, query in waiting if not fleet.has_data(query)]
            seen.update(fleet.firing())
            missing.difference_update(seen)
            return not missing

        try:
            wait_until(cause, have_fired)
        except TimeoutError:
            pass
        faults.expect(not missing, f"{cause}: {sorted(missing)} does not fire")
    for title, query in waiting:
        faults.expect(False, f"panel {title!r} stays empty: {query}")
    for name, alert in seen.items():
        text = json.dumps(alert["annotations"])
        faults.expect("no value" not in text and "<error" not in text and "{{" not in text, f"{name}: {text}")
    silent = names - set(seen) - NOT_PROVOKED
    faults.expect(not silent, f"nothing makes {sorted(silent)} fire")
