"""Redis with and without TLS, a simulated APNs and a worker, on the loopback interface."""

import json
import os
import subprocess
import tempfile
import urllib.request
from pathlib import Path

from processes import free_port, wait_until

PASSWORD = "correct-horse-battery"
OPERATOR = "operators-password"
TOKEN = "abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789"

# Commands of the page without a URL are an operator's: they go to this Redis.
REDIS_CLI = """#!/usr/bin/env bash
case " $* " in *' -u '*) exec {program} --no-auth-warning "$@" ;; esac
exec {program} --no-auth-warning -a {operator} -p {port} "$@"
"""


class Servers:
    def __init__(self, programs):
        self.programs = programs
        self.directory = tempfile.TemporaryDirectory()
        self.place = Path(self.directory.name)
        self.port, self.tls_port, self.admin_port = free_port(), free_port(), free_port()
        self.url = f"redis://shop:{PASSWORD}@127.0.0.1:{self.port}"
        self.tls_url = f"rediss://shop:{PASSWORD}@localhost:{self.tls_port}"
        self.operator_url = f"redis://:{OPERATOR}@127.0.0.1:{self.port}"
        self.running = []

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        for process in reversed(self.running):
            process.terminate()
            process.wait(300)
        self.directory.cleanup()

    def launch(self, name, *command, **environment):
        with open(self.place / f"{name}.out", "w") as out, open(self.place / f"{name}.log", "w") as log:
            self.running.append(subprocess.Popen(command, stdout=out, stderr=log, env=os.environ | environment))

    def start(self):
        self.make_certificate()
        self.launch(
            "redis", "redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.place), "--save", "",
            "--tls-port", str(self.tls_port), "--tls-cert-file", str(self.authority), "--tls-auth-clients", "no",
            "--tls-key-file", str(self.place / "redis.key"), "--requirepass", OPERATOR)
        wait_until("redis", lambda: self.redis("PING") == "PONG")
        self.launch("simulator", self.programs / "apns-simulator", "--dir", str(self.place / "apns"))
        wait_until("the simulator", lambda: (self.place / "simulator.out").read_text().endswith("\n"))
        self.control = json.loads((self.place / "simulator.out").read_text())["control"]
        settings = [line.split("=", 1) for line in (self.place / "apns/provider.env").read_text().splitlines() if "=" in line]
        self.provider = {name.removeprefix("export "): value.strip("'\"") for name, value in settings}
        self.register()
        self.start_worker("worker", MARTLET_ADMIN_ADDRESS=f"127.0.0.1:{self.admin_port}")
        wait_until("the worker", lambda: self.redis("SCARD", "martlet:{push:jobs}:workers") == "1")

    def start_worker(self, name, **settings):
        environment = {"REDIS_URL": self.operator_url, "MARTLET_ADMIN_ADDRESS": "127.0.0.1:0", **self.provider, **settings}
        self.launch(name, self.programs / "martlet", "worker", **environment)
        return self.running[-1]

    def make_certificate(self):
        self.authority = self.place / "ca.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
             "subjectAltName=DNS:localhost", "-keyout", self.place / "redis.key", "-out", self.authority],
            check=True, capture_output=True)

    def register(self):
        """Gives alice a device."""
        device = {"createdAt": "2026-01-31T09:30:00.000Z", "updatedAt": "2026-01-31T09:30:00.000Z", "username": "alice",
                  "platform": "ios"}
        backup = self.place / "backup.json"
        backup.write_text(json.dumps({"com.example.app": {TOKEN: device}}))
        subprocess.run(
            [self.programs / "martlet", "tokens", "import", backup], check=True, capture_output=True,
            env=os.environ | {"REDIS_URL": self.operator_url})

    def environment(self, url=None):
        """Of a command of the page."""
        tools = self.place / "bin"
        if not tools.exists():
            program = subprocess.run(["which", "redis-cli"], check=True, capture_output=True, text=True).stdout.strip()
            tools.mkdir()
            (tools / "redis-cli").write_text(REDIS_CLI.format(program=program, operator=OPERATOR, port=self.port))
            (tools / "redis-cli").chmod(0o755)
        return os.environ | {
            "PATH": f"{tools}:{self.programs}:{os.environ['PATH']}", "REDIS_URL": url or self.url, "PASSWORD": PASSWORD,
            "SSL_CERT_FILE": str(self.authority), "NODE_EXTRA_CA_CERTS": str(self.authority)}

    def redis(self, *words):
        ended = subprocess.run(
            ["redis-cli", "-p", str(self.port), "-a", OPERATOR, "--no-auth-warning", *words], capture_output=True, text=True)
        return ended.stdout.strip()

    def record(self, job):
        return json.loads(self.redis("GET", f"push:result:{job}") or "{}")

    def accepted(self):
        with urllib.request.urlopen(f"{self.control}/ledger") as answer:
            return json.load(answer)["accepted"]

    def latencies(self):
        """The number of jobs that had `enqueuedAt`."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.admin_port}/metrics") as answer:
            lines = answer.read().decode().splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.startswith("martlet_queue_latency_seconds_count"))
