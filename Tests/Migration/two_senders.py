"""Sends jobs to two fleets, as two senders have them for a time, and compares what arrived at their simulated APNs."""

import copy
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "Tests/Deploy"))

from checking import Faults  # noqa: E402
from processes import end_all, wait_until  # noqa: E402

APP = "com.example.demo"
OTHER_APP = "com.example.other"
JOBS = 40


def token(number):
    # The simulator refuses a token of zeros.
    return f"{number + 1:064x}"


class Sender:
    """A Redis, a simulated APNs that writes a journal, and a worker."""

    def __init__(self, name, place, programs):
        self.place = place / name
        self.place.mkdir()
        self.programs = programs
        self.socket = self.place / "redis.sock"
        self.journal = self.place / "journal"
        self.running = []
        self.environment = os.environ | {"REDIS_URL": f"unix://{self.socket}", "MARTLET_ADMIN_ADDRESS": "off"}

    def launch(self, name, *command):
        with open(self.place / f"{name}.out", "w") as out, open(self.place / f"{name}.log", "w") as log:
            self.running.append(subprocess.Popen(command, stdout=out, stderr=log, env=self.environment))

    def start(self):
        self.launch("redis", "redis-server", "--port", "0", "--unixsocket", self.socket, "--dir", self.place, "--save", "")
        wait_until("redis", lambda: self.redis("PING") == "PONG")
        self.launch("simulator", self.programs / "apns-simulator", "--dir", self.place / "apns", "--journal", self.journal)
        wait_until("the simulator", lambda: (self.place / "simulator.out").read_text().endswith("\n"))
        for line in (self.place / "apns/provider.env").read_text().splitlines():
            if "=" in line:
                name, value = line.removeprefix("export ").split("=", 1)
                self.environment[name] = value.strip("'\"")
        devices = self.place / "devices.csv"
        devices.write_text("token,user,bundleId\n" + "".join(f"{token(n)},user-{n},{APP}\n" for n in range(JOBS)))
        said = self.martlet("tokens", "import", devices, "--from", "csv", "--json")
        assert json.loads(said)["new"] == JOBS, said
        self.launch("worker", self.programs / "martlet", "worker")

    def martlet(self, *words):
        return subprocess.run(
            [self.programs / "martlet", *words], env=self.environment, check=True, capture_output=True, text=True).stdout

    def redis(self, *words):
        return subprocess.run(["redis-cli", "-s", self.socket, *words], capture_output=True, text=True).stdout.strip()

    def send(self, jobs):
        """Returns when every job has been pushed."""
        self.journal.write_text("")
        self.redis("LPUSH", "push:jobs", *(json.dumps(job) for job in jobs))
        wait_until(f"{len(jobs)} pushes", lambda: self.journal.read_text().count("\n") >= len(jobs))

    def stop(self):
        end_all(self.running)


def corpus():
    """Jobs of several kinds. Without ids: each sender gives its own."""
    jobs = []
    for number in range(JOBS):
        job = {"to": {"user": f"user-{number}"}, "title": "Order", "body": f"Order {number}", "data": {"order": number, "é": None}}
        if number % 3 == 0:
            job |= {"collapseId": f"order-{number}", "ttl": 3600}
        if number % 4 == 0:
            job |= {"priority": 5, "sound": "default"}
        if number % 5 == 0:
            job = {"to": job["to"], "contentAvailable": True, "data": job["data"]}
        jobs.append(job)
    return jobs


def seeded(jobs):
    """The jobs with differences, and the differences that must be found."""
    jobs = copy.deepcopy(jobs)
    expected = []

    def change(number, fields, **members):
        jobs[number] |= members
        expected.append((token(number), "differs", fields))

    change(1, ["payload"], body="Order one")
    change(2, ["payload"], data={"order": "2", "é": None})
    change(3, ["collapseId"], collapseId="order-33")
    del jobs[6]["collapseId"]
    expected.append((token(6), "differs", ["collapseId"]))
    change(4, ["priority"], priority=10)
    change(7, ["topic"], app=OTHER_APP)
    change(8, ["expiration"], ttl=0)
    change(10, ["priority", "pushType"], pushType="alert", priority=10)
    change(12, ["payload"], badge=1)
    jobs[13]["to"] = {"token": token(JOBS)}
    expected += [(token(13), "missing", None), (token(JOBS), "added", None)]
    jobs.append(copy.deepcopy(jobs[14]))
    expected.append((token(14), "added", None))
    for number in (20, 17):
        del jobs[number]
        expected.append((token(number), "missing", None))
    return jobs, sorted(expected, key=str)


def differences(old, new):
    """What the commands of the page say."""
    page = (ROOT / "docs/migrating.md").read_text().split("## Two senders")[1]
    block = next(block for block in re.findall(r"^```bash\n(.*?)^```$", page, re.M | re.S) if "differences()" in block)
    # The last line compares two files of these names in the working directory.
    with tempfile.TemporaryDirectory() as place:
        for name, sender in (("old", old), ("new", new)):
            (Path(place) / f"{name}.journal").symlink_to(sender.journal)
        ended = subprocess.run(["bash", "-euo", "pipefail", "-c", block], cwd=place, capture_output=True, text=True)
    if ended.returncode != 0:
        raise RuntimeError(f"the commands of the page ended with {ended.returncode}: {ended.stderr}")
    found = []
    for line in ended.stdout.splitlines():
        said = json.loads(line)
        kind = next(kind for kind in ("missing", "added", "differs") if kind in said)
        found.append((said["token"], kind, sorted(said["differs"]) if kind == "differs" else None))
    return sorted(found, key=str)


def main():
    programs, faults = Path(sys.argv[1]).resolve(), Faults()
    with tempfile.TemporaryDirectory() as directory:
        old, new = (Sender(name, Path(directory), programs) for name in ("old", "new"))
        try:
            for sender in (old, new):
                sender.start()
            jobs = corpus()
            for sender in (old, new):
                sender.send(jobs)
            found = differences(old, new)
            faults.expect(found == [], f"the same jobs differ: {found}")
            changed, expected = seeded(jobs)
            old.send(jobs)
            new.send(changed)
            found = differences(old, new)
            for difference in expected:
                faults.expect(difference in found, f"not found: {difference}")
            for difference in found:
                faults.expect(difference in expected, f"found, but not there: {difference}")
            faults.expect(len(found) == len(expected), f"{len(found)} differences, expected {len(expected)}")
        except (RuntimeError, TimeoutError, subprocess.CalledProcessError) as error:
            faults.expect(False, f"{error}: {getattr(error, 'stderr', '')}")
        finally:
            for sender in (old, new):
                sender.stop()
    faults.end("two senders")


main()
