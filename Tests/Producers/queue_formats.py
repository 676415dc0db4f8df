"""Enqueues with the clients of Sidekiq and Celery, and looks for the pushes at the simulator and for what is left in Redis."""

import json
import os
import re
import subprocess
import sys
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "Tests/Deploy"))

from checking import Faults  # noqa: E402
from processes import wait_until  # noqa: E402
from servers import Servers  # noqa: E402

# Debian's, which has the packages.
COMMANDS = {"sidekiq": ("ruby", "-e"), "celery": ("/usr/bin/python3", "-c")}
QUEUES = {"sidekiq": "queue:push", "celery": "push"}
FORMATS = {"MARTLET_QUEUES": "queue:push,push", "MARTLET_QUEUE_FORMATS": "queue:push=sidekiq,push=celery"}


def page():
    """The examples of docs/producers.md."""
    text = (ROOT / "docs/producers.md").read_text()
    section = re.search(r"^## Sidekiq and Celery\n(.*?)^## ", text, re.M | re.S)[1]
    return {name: re.search(rf"^```{word}\n(.*?)^```$", section, re.M | re.S)[1]
            for name, word in (("sidekiq", "ruby"), ("celery", "python"))}


class Check:
    def __init__(self, servers, faults, programs):
        self.servers, self.faults, self.programs = servers, faults, programs
        self.examples = page()
        self.expected = 0

    def enqueue(self, name, *changes):
        """Runs the example, with changes of its text; returns the id that it prints."""
        code = self.examples[name]
        for old, new in changes:
            assert old in code, old
            code = code.replace(old, new)
        ended = subprocess.run(
            [*COMMANDS[name], code], env=os.environ | {"REDIS_URL": self.servers.operator_url}, capture_output=True, text=True, timeout=300)
        if ended.returncode != 0:
            raise RuntimeError(f"{name}: {ended.stdout}{ended.stderr}")
        return ended.stdout.split()[-1]

    def ends(self, job, status, what):
        try:
            wait_until(f"the record {status} of {what}", lambda: self.servers.record(job).get("status") == status)
        except TimeoutError as error:
            self.faults.expect(False, f"{error}: {self.servers.record(job)}")
        self.expected += status == "accepted"
        return self.servers.record(job)

    def length(self, command, name, key):
        return int(self.servers.redis(command, f"martlet:{{{QUEUES[name]}}}:{key}"))

    def control(self, method, path, body=None):
        request = urllib.request.Request(self.servers.control + path, method=method, data=body and json.dumps(body).encode())
        with urllib.request.urlopen(request) as answer:
            return answer.read()

    def worker(self, name, **settings):
        process = self.servers.start_worker(name, **FORMATS | settings)
        wait_until(name, lambda: "worker starts" in (self.servers.place / f"{name}.log").read_text())
        return process

    def stop(self, process):
        process.terminate()
        self.faults.expect(process.wait(300) == 0, "a worker did not end well")

    # --- One format

    def arrives(self, name):
        self.ends(self.enqueue(name), "accepted", f"the example of {name}")
        native = {"id": f"native-{name}", "to": {"user": "alice"}, "title": "alone"}
        self.servers.redis("LPUSH", QUEUES[name], json.dumps(native))
        self.ends(native["id"], "accepted", f"a job alone in the queue of {name}")

    def retries(self, name):
        """Answered 503 until the job waits for its next attempt, then accepted. The element stays as it came."""
        self.control("POST", "/faults", {"kind": "status", "status": 503, "reason": "ServiceUnavailable"})
        job = self.enqueue(name)
        wait_until(f"{name}: the retry", lambda: self.servers.record(job).get("status") == "retrying")
        kept = self.servers.redis("ZRANGE", f"martlet:{{{QUEUES[name]}}}:retry", "0", "-1")
        self.faults.expect(job in kept and ('"args"' in kept or '"headers"' in kept), f"{name}: the retry set has {kept!r}")
        explained = self.martlet("explain", job)
        self.faults.expect("alice" in explained or "retr" in explained, f"{name}: martlet explain says {explained!r}")
        self.control("DELETE", "/faults")
        record = self.ends(job, "accepted", f"a retried job of {name}")
        self.faults.expect(record.get("attempts", 0) > 1, f"{name}: {record.get('attempts')} attempts")

    def buries(self, name, *change):
        job = self.enqueue(name, change)
        record = self.ends(job, "dead", f"a broken element of {name}")
        self.faults.expect("expected one" in record.get("reason", ""), f"{name}: {record.get('reason')}")
        raw = self.martlet("dead", "show", job, "--raw")
        self.faults.expect(json.loads(raw or "{}").get("jid" if name == "sidekiq" else "body"), f"{name}: the dead letter is {raw!r}")

    def martlet(self, *words):
        ended = subprocess.run(
            [self.programs / "martlet", *words], env=os.environ | {"REDIS_URL": self.servers.operator_url} | FORMATS,
            capture_output=True, text=True, timeout=300)
        return ended.stdout or ended.stderr

    def cancels(self, name):
        """While it waits: no worker runs."""
        job = self.enqueue(name)
        said = self.martlet("cancel", job)
        self.faults.expect("waits at place 1 of 1" in said, f"{name}: martlet cancel says {said!r}")
        return job

    # --- Times, of Celery

    def waits(self):
        later = ("ignore_result=True", "ignore_result=True, countdown=5, expires=600")
        job = self.enqueue("celery", later)
        wait_until("the scheduled task", lambda: self.length("ZCARD", "celery", "scheduled") == 1)
        self.faults.expect(not self.servers.record(job), "a task was sent before its eta")
        self.ends(job, "accepted", "a scheduled task")
        self.ends(self.enqueue("celery", ("ignore_result=True", "expires=-60")), "expired", "an expired task")

    # --- Workers

    def survives(self):
        """A worker whose pushes are not processed is killed; another one sends the jobs."""
        self.control("POST", "/faults", {"kind": "stall"})
        first = self.worker("victim")
        jobs = {name: self.enqueue(name) for name in QUEUES}
        for name in QUEUES:
            wait_until(f"{name}: the claim", lambda name=name: self.claimed(name) == 1)
        first.kill()
        first.wait()
        self.control("DELETE", "/faults")
        second = self.worker("heir")
        for name, job in jobs.items():
            self.ends(job, "accepted", f"a job of {name} whose worker was killed")
        return second

    def claimed(self, name):
        keys = self.servers.redis("KEYS", f"martlet:{{{QUEUES[name]}}}:inflight:*").split()
        return sum(int(self.servers.redis("LLEN", key)) for key in keys)

    def run(self):
        worker = self.worker("formats")
        for name in QUEUES:
            self.arrives(name)
            self.retries(name)
        self.buries("sidekiq", "[job]", "[job, 1]")
        self.buries("celery", "kwargs=job", "args=[job, 1]")
        self.waits()
        self.stop(worker)
        worker = self.survives()
        self.stop(worker)
        cancelled = {name: self.cancels(name) for name in QUEUES}
        worker = self.worker("once", MARTLET_DELIVERY="at-most-once")
        for name, job in cancelled.items():
            self.ends(job, "cancelled", f"a cancelled job of {name}")
            self.ends(self.enqueue(name), "accepted", f"an at-most-once job of {name}")
        self.stop(worker)
        self.faults.expect(
            self.servers.accepted() == self.expected, f"{self.servers.accepted()} pushes arrived, expected {self.expected}")
        for name, queue in QUEUES.items():
            left = int(self.servers.redis("LLEN", queue)) + sum(self.length("ZCARD", name, key) for key in ("retry", "scheduled"))
            self.faults.expect(left == 0 and self.claimed(name) == 0, f"{name}: jobs are left")


def main():
    for name, module in (("sidekiq", "require 'sidekiq'"), ("celery", "import celery")):
        if subprocess.run([*COMMANDS[name], module], capture_output=True).returncode != 0:
            print(f"not checked: {name} is not installed")
            return
    faults, programs = Faults(), Path(sys.argv[1]).resolve()
    with Servers(programs) as servers:
        Check(servers, faults, programs).run()
    faults.end("Sidekiq and Celery")


main()
