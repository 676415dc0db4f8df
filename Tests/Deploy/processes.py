"""The services of the compose file as processes of this machine, on free ports of the loopback interface."""

import json
import os
import random
import re
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections import defaultdict
from pathlib import Path

from checking import ROOT

# Stands for docker: `compose exec redis X` and `compose run martlet X` run X, all else has been done already.
DOCKER = """#!/usr/bin/env bash
set -euo pipefail
[ "$1" = compose ] || exit 64
case $2 in
  up) exit 0 ;;
  exec) [ "$3 $4" = 'redis redis-cli' ] && exec redis-cli -p "$REDIS_PORT" "${@:5}" ;;
  run)
    shift 2
    while [[ $1 == --* ]]; do shift; done
    [ "$1" = martlet ] && exec "$PROGRAMS/martlet" "${@:2}" ;;
esac
printf 'unexpected: docker %s\\n' "$*" >&2
exit 64
"""


def settings_of_redis(directory):
    """deploy/compose/redis.conf for a directory of this machine."""
    text = (ROOT / "deploy/compose/redis.conf").read_text()
    path = Path(directory) / "redis.conf"
    path.write_text(re.sub(r"^dir .*$", f"dir {directory}", text, flags=re.M))
    return path


def free_port():
    """Below the ports that the kernel gives to connections: one of those could take it before its server listens there."""
    while True:
        port = random.randrange(10_240, 32_768)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


# Seconds. Only a failure takes that long: no check fails because its machine is slow.
PATIENCE = 300


def wait_until(what, condition, limit=PATIENCE):
    end = time.monotonic() + limit
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"gave up waiting for {what}")
        time.sleep(0.05)


def end_all(processes, patience=PATIENCE):
    """The last one started is the first to be told."""
    for process in reversed(processes):
        if process.poll() is None:
            process.terminate()
    for process in processes:
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class Fleet:
    def __init__(self, project, programs):
        self.services = project["services"]
        self.programs = programs
        self.ports = defaultdict(free_port)
        self.directory = tempfile.TemporaryDirectory()
        self.place = Path(self.directory.name)
        self.running = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        end_all(self.running.values())
        self.directory.cleanup()

    def local(self, text, owner):
        """The text with this machine's addresses. Each worker has an admin port of its own."""
        text = text.replace("/run/apns", f"{self.place}/apns").replace("0.0.0.0:", "127.0.0.1:")
        text = re.sub(r"(?<=[/,@])(simulator|redis)(?=:\d)", "localhost", text)
        key = lambda port: (owner, port) if port == "9090" else ("", port)
        return re.sub(r"(?<=:)\d{4,5}\b", lambda match: str(self.ports[key(match[0])]), text)

    def environment(self, service, owner):
        values = {name: self.local(str(value), owner) for name, value in service.get("environment", {}).items()}
        return {"PATH": os.environ["PATH"], **values}

    def start(self, owner, name, **settings):
        service = self.services[name]
        entry = service.get("entrypoint", ["/usr/local/bin/martlet"])
        command = [self.programs / Path(entry[0]).name, *(self.local(text, owner) for text in service["command"])]
        log = open(self.place / f"{owner}.log", "w")
        self.running[owner] = subprocess.Popen(command, env=self.environment(service, owner) | settings, stdout=log, stderr=log)

    def is_healthy(self, owner, name):
        service = self.services[name]
        if self.running[owner].poll() is not None:
            raise TimeoutError(f"{owner} has ended: " + self.log(owner))
        test = service["healthcheck"]["test"]
        command = [self.programs / "martlet", *(self.local(text, owner) for text in test[2:])]
        ended = subprocess.run(command, env=self.environment(service, owner), capture_output=True, text=True)
        if ended.returncode not in (0, 1):
            raise TimeoutError(f"the health check of {owner} ended with {ended.returncode}: {ended.stderr or ended.stdout}")
        return ended.returncode == 0

    def log(self, owner):
        return (self.place / f"{owner}.log").read_text()[-600:]

    def redis(self, *arguments):
        port = str(self.ports["", "6379"])
        return subprocess.run(["redis-cli", "-p", port, *arguments], capture_output=True, text=True).stdout.strip()

    def ledger(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.ports['', '2180']}/ledger") as answer:
            return json.load(answer)

    def start_all(self):
        log = open(self.place / "redis.log", "w")
        (self.place / "data").mkdir()
        self.running["redis"] = subprocess.Popen(
            ["redis-server", settings_of_redis(self.place / "data"), "--bind", "127.0.0.1", "--port",
             str(self.ports["", "6379"])], stdout=log, stderr=log)
        wait_until("redis", lambda: self.redis("PING") == "PONG")
        self.start("simulator", "simulator")
        wait_until("the simulator's health", lambda: self.is_healthy("simulator", "simulator"))
        for owner, name in (("worker-1", "worker"), ("worker-2", "worker"), ("sidecar", "sidecar")):
            self.start(owner, name)
        for owner, name in (("worker-1", "worker"), ("worker-2", "worker"), ("sidecar", "sidecar")):
            wait_until(f"the health of {owner}", lambda: self.is_healthy(owner, name))

    def examine(self, faults):
        try:
            self.start_all()
            self.refuse_dashboard(faults)
            self.run_page(faults)
            self.stop_worker(faults)
        except (TimeoutError, OSError) as error:
            faults.expect(False, str(error))

    def refuse_dashboard(self, faults):
        """Without an operator it ends with 2, and says how to add one. As the service says, at an address that others can reach."""
        self.start("dashboard", "dashboard", MARTLET_DASHBOARD_ADDRESS=f"0.0.0.0:{free_port()}")
        code = self.running.pop("dashboard").wait(PATIENCE)
        faults.expect(code == 2, f"a dashboard without an operator ended with {code}: {self.log('dashboard')}")
        faults.expect("martlet credentials add operator" in self.log("dashboard"), "a dashboard does not say how to add an operator")

    def up(self, directory):
        """What `up` starts beside the services that run: the dashboard, if `.env` has its profile."""
        settings = directory / ".env"
        if settings.exists() and "COMPOSE_PROFILES=dashboard\n" in settings.read_text() and "dashboard" not in self.running:
            self.start("dashboard", "dashboard")
            wait_until("the health of the dashboard", lambda: self.is_healthy("dashboard", "dashboard"))

    def run_page(self, faults):
        """Every line of the blocks marked shell of docs/compose.md, as it stands, beside a `.env` of its own."""
        tools, directory = self.place / "bin", self.place / "deploy"
        tools.mkdir()
        directory.mkdir()
        (tools / "docker").write_text(DOCKER)
        (tools / "docker").chmod(0o755)
        environment = self.environment(self.services["martlet"], "page") | {
            "PATH": f"{tools}:{os.environ['PATH']}", "PROGRAMS": str(self.programs), "REDIS_PORT": str(self.ports["", "6379"])}
        blocks = re.findall(r"^```shell\n(.*?)^```$", (ROOT / "docs/compose.md").read_text(), re.M | re.S)
        faults.expect(len(blocks) >= 4, "docs/compose.md has lost its commands")
        for block in blocks:
            block = re.sub(r"(?<=localhost:)\d{4}", lambda match: str(self.ports["", match[0]]), block)
            block = re.sub(r"^cd deploy$", "", block, flags=re.M).replace("curl -s", "curl -s --fail-with-body")
            for line in block.strip().splitlines():
                if line.startswith("docker compose up"):
                    self.up(directory)
                # As a person does who asks for the record of a job that has not ended.
                wait_until(line, lambda line=line: self.follow(line, environment, directory))
        faults.expect("dashboard" in self.running, "docs/compose.md does not lead to a dashboard")
        for job in ("hello-1", "hello-2"):
            record = json.loads(self.redis("GET", f"push:result:{job}") or "{}")
            faults.expect(record.get("status") == "accepted", f"the record of {job} is {record}")
        faults.expect(self.ledger().get("accepted") == 2, f"the simulator's ledger is {json.dumps(self.ledger())[:300]}")

    @staticmethod
    def follow(line, environment, directory):
        command = ["bash", "-euo", "pipefail", "-c", line]
        return subprocess.run(command, env=environment, capture_output=True, cwd=directory).returncode == 0

    def stop_worker(self, faults):
        worker = self.running["worker-1"]
        worker.send_signal(signal.SIGTERM)
        code = worker.wait(PATIENCE)
        faults.expect(code == 0, f"a worker ended with {code} after SIGTERM: {self.log('worker-1')}")
