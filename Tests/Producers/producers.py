"""Runs the blocks of docs/producers.md and docs/testing.md, and looks for the pushes at the simulator, and for the records in Redis."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "Tests/Deploy"))

from checking import Faults  # noqa: E402
from languages import LANGUAGES, NotInstalled  # noqa: E402
from processes import wait_until  # noqa: E402
from servers import PASSWORD, Servers  # noqa: E402
from testing import examine_testing  # noqa: E402

JOB = "order-1042-shipped"
REASON = 'unknown field "titel"; did you mean "title"?'


def sections(page="docs/producers.md"):
    """The blocks of each section, by its heading."""
    text = (ROOT / page).read_text()
    parts = re.split(r"^## (.*)$", text, flags=re.M)[1:]
    return {name: re.findall(r"^```\w+\n(.*?)^```$", body, re.M | re.S) for name, body in zip(parts[::2], parts[1::2])}


def run(command, environment):
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)


class Check:
    def __init__(self, servers, faults):
        self.servers = servers
        self.faults = faults
        self.sections = sections()

    def is_true(self, what, condition):
        try:
            wait_until(what, condition)
            self.faults.expect(True, what)
        except TimeoutError as error:
            self.faults.expect(False, str(error))

    def succeeds(self, what, command, environment):
        ended = run(command, environment)
        self.faults.expect(ended.returncode == 0, f"{what} ended with {ended.returncode}: {ended.stdout}{ended.stderr}")
        return ended.stdout

    # --- One language

    def examine(self, name, prepare, has_tls):
        blocks = self.sections.get(name, [])
        place = self.servers.place / name
        programs = prepare(place, blocks)
        self.delivers(name, programs, self.servers.url)
        if has_tls:
            self.delivers(f"{name} with TLS", programs, self.servers.tls_url)
        self.reports_refusals(name, programs)
        # The same program, with a mistake in the job.
        job = f"wrong-{name}"
        wrong = [re.sub(r"\btitle\b", "titel", block.replace(JOB, job)) for block in blocks]
        self.reports_bad_job(name, prepare(place, wrong), job)

    def delivers(self, name, programs, url):
        environment = self.servers.environment(url)
        self.servers.redis("DEL", f"push:result:{JOB}")
        before = self.servers.accepted(), self.servers.latencies()
        said = self.succeeds(f"{name}, outcome without a record", programs.outcome, environment)
        self.faults.expect(name.startswith("Shell") or said.startswith("not processed"), f"{name}: without a record it says {said!r}")
        self.succeeds(f"{name}, enqueue", programs.enqueue, environment)
        self.is_true(f"{name}: the push at the simulator", lambda: self.servers.accepted() == before[0] + 1)
        self.is_true(f"{name}: the record", lambda: self.servers.record(JOB).get("status") == "accepted")
        self.is_true(f"{name}: enqueuedAt in the metric", lambda: self.servers.latencies() == before[1] + 1)
        said = self.succeeds(f"{name}, outcome", programs.outcome, environment)
        self.faults.expect(said.strip() == "accepted", f"{name}: of an accepted job it says {said!r}")

    def reports_refusals(self, name, programs):
        """A program whose job is not enqueued must not end with 0."""
        before = self.servers.accepted()
        self.servers.redis("CONFIG", "SET", "maxmemory", "1")
        full = run(programs.enqueue, self.servers.environment())
        self.servers.redis("CONFIG", "SET", "maxmemory", "0")
        wrong = run(programs.enqueue, self.servers.environment(self.servers.url.replace(PASSWORD, "wrong")))
        for ended, code in ((full, "OOM"), (wrong, "WRONGPASS")):
            said = ended.stdout + ended.stderr
            self.faults.expect(ended.returncode != 0 and code in said, f"{name}, {code}: ended with {ended.returncode}: {said}")
        self.faults.expect(self.servers.accepted() == before, f"{name}: a refused job was sent")

    def reports_bad_job(self, name, programs, job):
        environment = self.servers.environment()
        self.succeeds(f"{name}, enqueue of a wrong job", programs.enqueue, environment)
        self.is_true(f"{name}: the record of a wrong job", lambda: self.servers.record(job).get("status") == "dead")
        said = self.succeeds(f"{name}, outcome of a wrong job", programs.outcome, environment)
        self.faults.expect(said.strip() == f"dead {REASON}", f"{name}: of a wrong job it says {said!r}")

    # --- The sections for all languages

    def follow(self, name):
        """Runs the blocks of a section as they stand; returns what they print."""
        blocks = self.sections.get(name, [])
        self.faults.expect(blocks, f"the section {name!r} has lost its commands")
        return "".join(
            self.succeeds(f"a command of {name!r}", ["bash", "-euo", "pipefail", "-c", block], self.servers.environment())
            for block in blocks)

    def refuses(self, code, *words):
        said = run(["redis-cli", "-u", self.servers.url, *words], self.servers.environment()).stdout
        self.faults.expect(said.startswith(code), f"{' '.join(words)}: expected {code}, Redis says {said!r}")

    def access(self):
        self.follow("Access")
        for words in (["GET", "push:user:alice:tokens"], ["LPUSH", "push:result:x", "1"], ["GET", "push:jobs"], ["SET", "push:jobs", "1"],
                      ["DEL", "push:jobs"], ["LPUSH", "martlet:{push:jobs}:inflight:x", "1"], ["KEYS", "*"]):
            self.refuses("NOPERM", *words)

    def rest(self):
        servers = self.servers
        self.follow("Many jobs")
        self.is_true("the record of sale-7-alice", lambda: servers.record("sale-7-alice").get("status") == "accepted")
        for user in ("bob", "carol"):
            self.is_true(f"the record of sale-7-{user}", lambda: servers.record(f"sale-7-{user}").get("status") == "no_devices")
        before = servers.accepted()
        self.follow("Ids and repetition")
        self.is_true("the record of order-1042-paid", lambda: servers.record("order-1042-paid"))
        self.is_true("both jobs to end", lambda: servers.redis("LLEN", "push:jobs") == "0" and servers.accepted() > before)
        said = self.follow("Results")
        self.faults.expect('"id":"code-77"' in said and '"status":"accepted"' in said, f"BRPOP brought {said!r}")
        self.faults.expect(servers.accepted() == before + 2, f"{servers.accepted() - before} pushes, expected 1 with dedupe and 1 with replyTo")
        self.follow("Bad jobs")
        self.is_true("the record of typo-1", lambda: servers.record("typo-1").get("status") == "dead")
        said = self.succeeds("martlet result typo-1", ["martlet", "result", "typo-1"], servers.environment(servers.operator_url))
        self.faults.expect(REASON in said or REASON.replace('"', '\\"') in said, f"martlet result says {said!r}")

    def errors(self):
        """The codes of the table, from Redis itself."""
        servers = self.servers
        push = ("LPUSH", "push:jobs", '{"to":{"user":"alice"},"title":"never sent"}')
        for setting, refused, usual, code in (
            ("maxmemory", "1", "0", "OOM command not allowed"), ("min-replicas-to-write", "1", "0", "NOREPLICAS")):
            servers.redis("CONFIG", "SET", setting, refused)
            self.refuses(code, *push)
            servers.redis("CONFIG", "SET", setting, usual)
        servers.redis("REPLICAOF", "127.0.0.1", "1")
        self.refuses("READONLY", *push)
        servers.redis("REPLICAOF", "NO", "ONE")
        self.refuses("NOPERM", "LPUSH", "push:other", "x")
        servers.redis("SET", "push:jobs:low", "x")
        self.refuses("WRONGTYPE", "LPUSH", "push:jobs:low", "x")
        servers.redis("DEL", "push:jobs:low")
        said = run(["redis-cli", "-p", str(servers.port), *push], os.environ).stdout
        self.faults.expect(said.startswith("NOAUTH"), f"without a password Redis says {said!r}")


def main():
    faults, missing = Faults(), []
    with Servers(Path(sys.argv[1]).resolve()) as servers:
        check = Check(servers, faults)
        check.access()
        for name, (prepare, has_tls) in LANGUAGES.items():
            try:
                check.examine(name, prepare, has_tls)
            except NotInstalled as error:
                missing.append(f"{name} ({error})")
            except (RuntimeError, subprocess.TimeoutExpired) as error:
                faults.expect(False, f"{name}: {error}")
        check.rest()
        check.errors()
    faults.end("docs/producers.md")
    missing += examine_testing(sections("docs/testing.md"), Path(sys.argv[1]).resolve(), faults)
    faults.end("docs/testing.md")
    for name in missing:
        print(f"not checked: {name}")


main()
