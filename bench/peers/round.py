"""One round of one contender: its own Redis and gateway, a full queue, then the worker."""

import json
import os
import socket
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

from processes import core_seconds, cpu_seconds, start, stop, wait_for

WORKER_CORE = 0
SERVER_CORE = 1
CORES = (WORKER_CORE, SERVER_CORE)
# The part of the jobs before the measurement starts: start-up, handshake, first imports.
WARM_UP = 0.1
# The maximum time without a new push.
STALL_SECONDS = 20
# The time for what a worker does after the last answers.
SETTLE_SECONDS = 0.3
HERE = Path(__file__).parent


# A round is repeated if other processes used more than this part of a core, at most this often. The calmest one counts.
CALM = 0.1
ATTEMPTS = 2
# The maximum wait for a calm machine before an attempt.
CALM_WAIT_SECONDS = 10


class Failure(Exception):
    """A push is missing or was sent twice, or the worker did not run."""


def calmest(contender, jobs, programs, peers):
    """Returns the calmest of a few attempts. Stops after the first calm one."""
    attempts = []
    for _ in range(ATTEMPTS):
        _wait_for_calm()
        attempts.append(run(contender, jobs, programs, peers))
        if attempts[-1]["disturbance"] <= CALM:
            break
    return min(attempts, key=lambda attempt: attempt["disturbance"])


def _wait_for_calm():
    for _ in range(CALM_WAIT_SECONDS):
        before = [core_seconds(core) for core in CORES]
        time.sleep(1)
        if all(core_seconds(core) - then <= CALM for core, then in zip(CORES, before)):
            return


def run(contender, jobs, programs, peers):
    with tempfile.TemporaryDirectory(prefix="peers-") as name:
        directory = Path(name)
        running = []
        try:
            servers, environment, ledger = _start_servers(directory, programs, running)
            places = {"programs": programs, "peers": peers, "redis": environment["REDIS_URL"]}
            environment |= contender.environment
            fill = [word.format(**places) for word in contender.fill]
            subprocess.run([*fill, str(jobs)], check=True, cwd=HERE, env=environment, timeout=300)
            worker_log = directory / "worker.log"
            worker = start(
                WORKER_CORE, [word.format(**places) for word in contender.worker], worker_log, environment, HERE
            )
            running.append(worker)
            try:
                return _measure(worker, servers, jobs, ledger)
            except (Failure, TimeoutError) as error:
                tail = "\n".join(worker_log.read_text(errors="replace").splitlines()[-15:])
                raise Failure(f"{contender.name}: {error}\nlast lines of its log:\n{tail}") from error
        finally:
            for process in reversed(running):
                stop(process)


def _start_servers(directory, programs, running):
    """The servers, the environment of a worker, and a function that fetches a path of the gateway's ledger."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    redis = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--dir", str(directory), "--save", ""]
    running.append(start(SERVER_CORE, redis, directory / "redis.log"))
    ready = directory / "ready.json"
    gateway = directory / "apns"
    # aioapns assumes 1,000 streams until it has read the gateway's settings, and waits forever for
    # a response to streams that were refused. So the gateway allows 1,000 from the start, for all workers.
    simulator = [f"{programs}/apns-simulator", "--dir", str(gateway), "--initial-streams", "1000"]
    running.append(start(SERVER_CORE, simulator, ready))
    wait_for(10, "apns-simulator", lambda: ready.exists() and ready.read_text().endswith("}\n"))
    environment = dict(os.environ, REDIS_URL=f"redis://127.0.0.1:{port}/0", PYTHONPATH=str(HERE))
    for line in (gateway / "provider.env").read_text().splitlines():
        key, _, value = line.partition("=")
        environment[key] = value
    wait_for(10, "redis-server", lambda: _answers(port))
    control = json.loads(ready.read_text().splitlines()[-1])["control"]

    def ledger(path=""):
        with urllib.request.urlopen(f"{control}/ledger{path}", timeout=30) as answer:
            return answer.read().decode()

    return list(running), environment, ledger


def _answers(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
        return True
    except OSError:
        return False


def _measure(worker, servers, jobs, ledger):
    def accepted():
        return json.loads(ledger())["accepted"]

    def used():
        return [cpu_seconds(worker.pid), sum(cpu_seconds(server.pid) for server in servers)]

    before = _wait_for_pushes(worker, accepted, max(1, int(jobs * WARM_UP)))
    cpu_before, cores_before, clock_before = used(), [core_seconds(core) for core in CORES], time.time()
    _wait_for_pushes(worker, accepted, jobs)
    time.sleep(SETTLE_SECONDS)
    whole = time.time() - clock_before
    cpu = [now - then for now, then in zip(used(), cpu_before)]
    cores = [core_seconds(core) - then for core, then in zip(CORES, cores_before)]
    totals = json.loads(ledger())
    _check(jobs, totals, ledger("/ids"))
    seconds, measured = totals["lastArrival"] / 1e9 - clock_before, jobs - before
    return {
        "jobs": jobs, "measured": measured, "seconds": round(seconds, 4), "cpuSeconds": round(cpu[0], 3),
        "jobsPerSecond": round(measured / seconds, 1), "cpuMicrosecondsPerJob": round(cpu[0] / measured * 1e6, 2),
        "serversCpuMicrosecondsPerJob": round(cpu[1] / measured * 1e6, 2),
        "workerCoreUse": round(cpu[0] / seconds, 3),
        "serversCoreUse": round(cpu[1] / seconds, 3),
        # The share of other processes on the more disturbed core.
        "disturbance": round(max(0, *((core - own) / whole for core, own in zip(cores, cpu))), 3),
        "load": round(os.getloadavg()[0], 2),
    }


def _wait_for_pushes(worker, accepted, wanted):
    """Waits until the count is at least `wanted` and returns it."""
    seen, moved = 0, time.monotonic()
    while (count := accepted()) < wanted:
        if worker.poll() is not None:
            raise Failure(f"the worker ended with {worker.returncode}")
        if count > seen:
            seen, moved = count, time.monotonic()
        elif time.monotonic() - moved > STALL_SECONDS:
            raise Failure(f"{wanted - count} pushes missing after {STALL_SECONDS} s without one")
        time.sleep(0.02)
    return count


def _check(jobs, totals, entries):
    counts = [int(line.split()[1]) for line in entries.splitlines()]
    refused = totals["received"] - totals["accepted"]
    if len(counts) < jobs or refused:
        raise Failure(f"{jobs - len(counts)} pushes missing, {refused} refused, {totals['duplicates']} sent twice")
    if totals["duplicates"] or len(counts) > jobs or any(count != 1 for count in counts):
        raise Failure(f"{totals['duplicates']} pushes sent twice, {len(counts) - jobs} that nobody asked for")
