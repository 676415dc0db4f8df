"""A private Redis, a sink and a worker, each on its core, and the check that every push arrived once."""

import json
import os
import re
import shutil
import tempfile
import time
import urllib.request

from processes import CLIENT_CORE, FIRST, SINK_CORE, Process, wait_until
from redis_client import Redis
from sinks import Simulator, token

QUEUE = "push:jobs"
APP = "com.example.bench"
USERS = 1000


class Missing(RuntimeError):
    pass


def deployed(variable):
    """The value that the image sets."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../deploy/Containerfile")) as file:
        return re.search(rf"^[^#]*\b{variable}=(\S+)", file.read(), re.M)[1]


class Stack:
    def __init__(self, programs, sink=None, worker=True, under=(), **settings):
        """`under`: the words of a program that runs the worker."""
        self.directory = tempfile.mkdtemp(prefix="martlet-bench-")
        self._programs, self._under, self._settings = programs, under, settings
        self.worker = None
        path = f"{self.directory}/redis.sock"
        self.redis_process = Process(
            ["redis-server", "--port", 0, "--unixsocket", path, "--dir", self.directory, "--save", "",
             "--appendonly", "no"], SINK_CORE, f"{self.directory}/redis.log", priority=FIRST)
        wait_until("redis-server", lambda: os.path.exists(path), process=self.redis_process)
        self.redis = Redis(path)
        self.sink = sink(self.directory) if sink else Simulator(programs, self.directory)
        if worker:
            self.start_worker()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in (self.worker, self.sink, self.redis_process):
            if process:
                process.stop()
        shutil.rmtree(self.directory, ignore_errors=True)

    def start_worker(self):
        """The milliseconds from the start of the process to its readiness."""
        # Variables of the caller must not change the measurement.
        environment = {
            "PATH": os.environ["PATH"], "REDIS_URL": f"unix://{self.directory}/redis.sock",
            "MARTLET_ADMIN_ADDRESS": "127.0.0.1:0", "GLIBC_TUNABLES": deployed("GLIBC_TUNABLES"),
            **self.sink.environment(), **self._settings}
        log = f"{self.directory}/worker.log"
        open(log, "w").close()
        started = time.monotonic()
        self.worker = Process([*self._under, f"{self._programs}/martlet", "worker"], CLIENT_CORE, log, environment)
        wait_until("the worker", self._find_admin, every=0.001, process=self.worker)
        wait_until("the worker's readiness", self._is_ready, every=0.001, process=self.worker)
        return (time.monotonic() - started) * 1000

    def _find_admin(self):
        with open(f"{self.directory}/worker.log") as log:
            found = re.search(r'admin port listens.*"port":(\d+)', log.read())
        self._admin = found and f"http://127.0.0.1:{found[1]}"
        return found

    def _is_ready(self):
        try:
            with urllib.request.urlopen(f"{self._admin}/readyz", timeout=5) as answer:
                return answer.status == 200 and b'"apns":"unreachable"' not in answer.read()
        except OSError:
            return False

    def outcomes(self):
        """The counts of martlet_jobs_total and martlet_apns_pushes_total by label."""
        with urllib.request.urlopen(f"{self._admin}/metrics", timeout=30) as answer:
            text = answer.read().decode()
        jobs = dict(re.findall(r'^martlet_jobs_total\{status="([^"]+)"\} (\d+)', text, re.M))
        pushes = dict(re.findall(r'^martlet_apns_pushes_total\{outcome="([^"]+)"\} (\d+)', text, re.M))
        return {k: int(v) for k, v in jobs.items()}, {k: int(v) for k, v in pushes.items()}

    def prepare(self, jobs):
        """Queues the jobs in a list without a worker. release() moves them at once."""
        def commands():
            batch = []
            for job in jobs:
                batch.append(job)
                if len(batch) == 500:
                    yield ("LPUSH", "bench:prepared", *batch)
                    batch = []
            if batch:
                yield ("LPUSH", "bench:prepared", *batch)
        self.redis.pipeline(commands(), chunk=20)

    def release(self):
        self.redis("RENAME", "bench:prepared", QUEUE)

    def wait_settled(self, seconds=600):
        """Waits until nothing is queued or in flight."""
        workers = f"martlet:{{{QUEUE}}}:workers"
        names = [name.decode() for name in self.redis("SMEMBERS", workers)]
        keys = [QUEUE] + [f"martlet:{{{QUEUE}}}:inflight:{name}" for name in names]
        # Polls rarely while much is queued, so that polling does not load Redis, and the end of a small backlog is not missed.
        end = time.monotonic() + seconds
        while left := sum(self.redis("LLEN", key) for key in keys):
            if time.monotonic() > end:
                raise Missing(f"{left} jobs were not settled within {seconds} s")
            if not self.worker.is_running():
                raise Missing("the worker ended")
            time.sleep(min(0.02, max(0.0001, left * 4e-6)))

    def check(self, accepted):
        """Checks that every push arrived once, by the ledger if there is one, else by the worker's counters."""
        if isinstance(self.sink, Simulator):
            ledger = self.sink.ledger()
            found, twice = ledger["distinct"] + ledger["overflow"], ledger["duplicates"]
        else:
            found, twice = self.outcomes()[1].get("accepted", 0), 0
        if found != accepted or twice:
            raise Missing(f"{accepted} pushes were due; {found} arrived, {twice} of them twice")

    def run_prepared(self, accepted):
        """Releases the prepared jobs and checks what arrived. The seconds until the last job was settled."""
        started = time.monotonic()
        self.release()
        self.wait_settled()
        seconds = time.monotonic() - started
        self.check(accepted)
        return seconds

    def add_records(self, count):
        """Adds records of earlier jobs, and tables with room for as many again: Redis as it is after a day."""
        def each(action, numbers):
            script = f"for n = ARGV[1], ARGV[2] do redis.call({action}) end"
            for first in range(numbers.start, numbers.stop, 50_000):
                self.redis("EVAL", script, 0, first, min(first + 50_000, numbers.stop) - 1)

        # Redis doubles a table of keys step by step, with each command. The second turn completes that.
        for _ in range(2):
            each("'SET', 'bench:record:' .. n, '', 'PX', 86400000", range(count * 6 // 5))
        each("'DEL', 'bench:record:' .. n", range(count // 5))

    def register_users(self, devices=1):
        """Registers users 1 to 1000 with this many devices each. Returns the tokens by user."""
        now = int(time.time() * 1000)
        owned = [[token((user - 1) * devices + n + 1) for n in range(devices)] for user in range(1, USERS + 1)]
        commands = []
        for user, tokens in enumerate(owned, start=1):
            commands.append(("SADD", f"push:user:user{user}:tokens", *tokens))
            record = json.dumps(
                {"username": f"user{user}", "platform": "ios", "updatedAt": now, "bundleId": APP,
                 "environment": "production"})
            commands += [("SET", f"push:token:{name}", record, "EX", 31536000) for name in tokens]
        self.redis.pipeline(commands)
        return owned

    def register_audience(self, count):
        now = int(time.time() * 1000)
        record = '{"username":"user%d","platform":"ios","updatedAt":' + str(now) + ',"bundleId":"' + APP + \
            '","environment":"production"}'

        def commands():
            for n in range(1, count + 1):
                name = token(n)
                yield ("SET", f"push:token:{name}", record % n, "EX", 31536000)
                yield ("ZADD", f"push:app:{APP}:tokens:{shard(name)}", 0, name)
        self.redis.pipeline(commands())


def shard(name, count=16):
    """The shard of a token in the registry: FNV-1a with both halves folded."""
    value = 0xCBF29CE484222325
    for byte in name.encode():
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return (value ^ value >> 32) % count
