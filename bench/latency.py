"""The time from LPUSH to the arrival of the request at APNs, idle and at half of the maximum rate."""

import json
import threading
import time

from redis_client import Redis
from stack import QUEUE, Missing, Stack

IDLE_PAUSE_SECONDS = 0.005  # longer than a job takes, so the worker waits for each
PROBE_EVERY_SECONDS = 0.004
BURST_SECONDS = 0.002  # the interval of the bursts at half load
# A burst that is sent late comes together with those behind it. A job that is sent so soon after it has to wait for them.
LATE_NANOSECONDS = 20_000_000


def measure(setup, results):
    full = full_rate(results, setup)
    for turn in range(setup.rounds):
        with Stack(setup.programs) as stack:
            stack.register_users()
            stack.add_records(setup.records)
            send(stack, "warm", 100, IDLE_PAUSE_SECONDS)
            sent = send(stack, "idle", setup.idle_samples, IDLE_PAUSE_SECONDS)
            stack.wait_settled()
            report(stack, results, "idle", turn, sent)
            half_load(setup, stack, results, turn, full / 2)


def full_rate(results, setup):
    rate = results.median("rate", "jobs", case="single", backlog=setup.backlogs[1])
    return rate or 20_000  # without a measured rate, a guess


def send(stack, prefix, count, pause):
    """Sends one job after the other. Returns the id of each and the time just before its LPUSH."""
    sent = []
    for number in range(count):
        name = f"{prefix}-{number}"
        element = f'{{"id":"{name}","to":{{"user":"user{number % 1000 + 1}"}},"title":"Lunch?"}}'
        sent.append((name, time.time_ns()))
        stack.redis("LPUSH", QUEUE, element)
        time.sleep(pause)
    return sent


def half_load(setup, stack, results, turn, rate):
    stack.sink.reset()
    stop, loaded, bursts = threading.Event(), [], []
    per_burst = max(1, int(rate * BURST_SECONDS))
    load = threading.Thread(target=pour, args=(stack, per_burst, per_burst / rate, stop, loaded, bursts))
    used, started = stack.worker.cpu_seconds(), time.monotonic()
    load.start()
    sent = send(stack, "half", int(setup.half_load_seconds / PROBE_EVERY_SECONDS), PROBE_EVERY_SECONDS)
    stop.set()
    load.join()
    elapsed = time.monotonic() - started
    used = stack.worker.cpu_seconds() - used
    stack.wait_settled()
    stack.check(sum(loaded) + len(sent))
    report(stack, results, "half load", turn, sent, bursts=bursts, offered=sum(loaded) / elapsed, workerCore=used / elapsed)


def pour(stack, per_burst, interval, stop, loaded, bursts):
    """Appends to `bursts` when each was sent, and by how many ms too late."""
    redis = Redis(f"{stack.directory}/redis.sock")
    jobs = [f'{{"to":{{"user":"user{n % 1000 + 1}"}},"title":"Lunch?","body":"At noon"}}' for n in range(per_burst)]
    due = time.monotonic()
    while not stop.is_set():
        bursts.append((time.time_ns(), max(0, time.monotonic() - due) * 1000))
        redis("LPUSH", QUEUE, *jobs)
        loaded.append(len(jobs))
        due += interval
        time.sleep(max(0, due - time.monotonic()))


def report(stack, results, case, turn, sent, bursts=(), **more):
    arrivals = stack.sink.arrivals()
    delays = []
    for name, moment in sent:
        record = json.loads(stack.redis("GET", f"push:result:{name}") or b"{}")
        identifier = record.get("results", [{}])[0].get("apnsId")
        if identifier not in arrivals:
            raise Missing(f"the push of job {name} did not arrive")
        delays.append((arrivals[identifier] - moment) / 1e6)
    slowest = sent[delays.index(max(delays))][1]
    late = [late for moment, late in bursts if slowest - LATE_NANOSECONDS < moment < slowest]
    if late:
        more["lateBefore"] = max(late)
    delays.sort()
    results.add(
        "latency", case=case, round=turn, samples=len(delays), p50=percentile(delays, 0.5),
        p99=percentile(delays, 0.99), p999=percentile(delays, 0.999), most=delays[-1], **more,
        distribution=[percentile(delays, n / 200) for n in range(201)])


def percentile(ordered, share):
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
