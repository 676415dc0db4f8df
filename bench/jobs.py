"""Jobs from LPUSH to acknowledgement: backlogs, users with several devices, payloads, a broadcast; and their cost for Redis."""

import json
import time

import engine
from processes import CLIENT_CORE, SINK_CORE, busy_seconds
from sinks import Nghttpd
from stack import APP, USERS, Missing, Stack

DEVICES_PER_USER = 5
SMALL_BACKLOG_TURNS = 20  # a backlog of 1,000 is short, so a round has this many of them
SMALL_BACKLOG = 1_000
AUDIENCE = "audience"
AUDIENCE_FREE = "audience, Redis on both cores"
PAYLOAD = json.dumps({"aps": {"alert": {"title": "Lunch?", "body": "x" * 130}, "sound": "default"}})[:-1] + ',"id":1}'


def measure(setup, results):
    for turn in range(setup.rounds):
        backlogs(setup, results, turn)
        backlogs(setup, results, turn, case="single, failures only", MARTLET_RESULTS="failures")
        neutral_sink(setup, results, turn)
        stale_devices(setup, results, turn)
        payloads(setup, results, turn)
    audience(setup, results)


def user_job(number):
    return f'{{"to":{{"user":"user{number % USERS + 1}"}},"title":"Lunch?","body":"At noon"}}'


def payload_job(number):
    return f'{{"to":{{"user":"user{number % USERS + 1}"}},"payload":{PAYLOAD}}}'


def backlogs(setup, results, turn, case="single", **environment):
    with Stack(setup.programs, **environment) as stack:
        stack.register_users()
        stack.add_records(setup.records)
        warm(stack)
        for backlog in setup.backlogs:
            turns = SMALL_BACKLOG_TURNS if backlog == SMALL_BACKLOG else 1
            run(stack, results, case, turn, backlog, user_job, turns=turns)


def neutral_sink(setup, results, turn):
    backlog = setup.backlogs[1]
    with Stack(setup.programs, sink=lambda directory: Nghttpd(directory, USERS)) as stack:
        stack.register_users()
        run(stack, results, "single, nghttpd", turn, backlog, user_job)
        pushes, seconds, cpu = engine.h2load(stack.sink, setup.engine_pushes, connections=1)
        results.add(
            "engine", round=turn, client="h2load", sink="nghttpd of the jobs", connections=1, pushes=pushes,
            rate=pushes / seconds, cpuMicroseconds=cpu / pushes * 1e6, sinkMicroseconds=None)


def payloads(setup, results, turn):
    with Stack(setup.programs) as stack:
        stack.register_users()
        warm(stack)
        run(stack, results, "payload", turn, setup.mixed_jobs, payload_job)


def stale_devices(setup, results, turn):
    """Five devices per user. One is stale and removed after its first push; four remain."""
    with Stack(setup.programs) as stack:
        owned = stack.register_users(DEVICES_PER_USER)
        since = int(time.time() * 1000) + 60_000
        rules = [{"token": tokens[-1], "rule": "unregistered", "since": since} for tokens in owned]
        for start in range(0, len(rules), 500):
            stack.sink.ask("/devices", rules[start:start + 500], "POST")
        run(stack, results, "five devices", turn, setup.mixed_jobs, user_job, accepted_per_job=DEVICES_PER_USER - 1)
        left = sum(stack.redis("EXISTS", f"push:token:{tokens[-1]}") for tokens in owned)
        if left:
            raise Missing(f"{left} stale devices were not removed")


def audience(setup, results):
    """One broadcast; the rate is that of its pushes. Beside the sink, Redis takes time from the sink that the engine has."""
    with Stack(setup.programs, MARTLET_CONCURRENCY="1000") as stack:
        stack.register_audience(setup.audience)
        for turn in range(setup.rounds):
            for case, cores in ((AUDIENCE, {SINK_CORE}), (AUDIENCE_FREE, {CLIENT_CORE, SINK_CORE})):
                stack.redis_process.run_on(cores)
                run(stack, results, case, turn, 1, lambda _: f'{{"to":{{"app":"{APP}"}},"title":"News"}}',
                    accepted_per_job=setup.audience)
            engine_beside(setup, results, turn, stack)


def engine_beside(setup, results, turn, stack):
    """The engine alone on the sink of the broadcast, with its ledger, for comparison."""
    stack.sink.reset()
    pushes, seconds, cpu = engine.engine(setup, stack.sink, setup.engine_pushes, connections=1)
    stack.check(pushes)
    results.add(
        "engine", round=turn, client="martlet engine", sink="apns-simulator with ledger", connections=1, pushes=pushes,
        rate=pushes / seconds, cpuMicroseconds=cpu / pushes * 1e6, sinkMicroseconds=None)


def warm(stack):
    """Opens the connection and fills the caches. It is not measured."""
    stack.prepare(user_job(n) for n in range(1000))
    stack.run_prepared(1000)


def run(stack, results, case, turn, backlog, job, accepted_per_job=1, turns=1):
    seconds = cpu = sink_cpu = redis_cpu = others = 0.0
    commands = reads = 0
    stack.worker.forget_peak()
    user_before, system_before = stack.worker.proc_cpu_seconds()
    for _ in range(turns):
        stack.prepare(job(number) for number in range(backlog))
        accepted_before = 0
        if hasattr(stack.sink, "reset"):
            stack.sink.reset()
        else:
            accepted_before = stack.outcomes()[1].get("accepted", 0)
        calls_before, reads_before = command_calls(stack.redis), read_count(stack.redis)
        asked_before = stack.redis.exchanges
        before = [process.cpu_seconds() for process in (stack.worker, stack.sink.process, stack.redis_process)]
        busy, started = busy_seconds(CLIENT_CORE), time.monotonic()
        stack.release()
        stack.wait_settled()
        seconds += time.monotonic() - started
        others += busy_seconds(CLIENT_CORE) - busy
        after = [process.cpu_seconds() for process in (stack.worker, stack.sink.process, stack.redis_process)]
        cpu += after[0] - before[0]
        sink_cpu += after[1] - before[1]
        redis_cpu += after[2] - before[2]
        own = stack.redis.exchanges - asked_before
        calls_after = command_calls(stack.redis)
        commands += sum(calls_after.values()) - sum(calls_before.values())
        reads += read_count(stack.redis) - reads_before - own - 1
        stack.check(accepted_before + backlog * accepted_per_job)
    jobs, pushes = backlog * turns, backlog * turns * accepted_per_job
    units = pushes if case in (AUDIENCE, AUDIENCE_FREE) else jobs
    user, system = stack.worker.proc_cpu_seconds()
    results.add(
        "jobs", case=case, round=turn, backlog=backlog, jobs=jobs, pushes=pushes, seconds=seconds,
        rate=units / seconds, cpuMicroseconds=cpu / units * 1e6, sinkMicroseconds=sink_cpu / units * 1e6,
        redisMicroseconds=redis_cpu / units * 1e6, workerCore=cpu / seconds,
        sinkCore=(sink_cpu + redis_cpu) / seconds, othersCore=max(0, others - cpu) / seconds,
        procStatMicroseconds=(user - user_before + system - system_before) / units * 1e6,
        systemShare=(system - system_before) / max(1e-9, user - user_before + system - system_before),
        commandsPerUnit=commands / units, readsPerUnit=max(0, reads) / units,
        calls=difference(calls_after, calls_before, backlog),
        residentMegabytes=stack.worker.resident_megabytes(), peakMegabytes=stack.worker.resident_megabytes(peak=True))


POLLING = {"llen", "smembers", "rename", "info", "config|resetstat"}


def command_calls(redis):
    """Calls by command, including those in scripts, without the bench's own."""
    calls = {}
    for name, text in redis.info("commandstats").items():
        command = name.removeprefix("cmdstat_")
        if command not in POLLING:
            calls[command] = int(text.split(",")[0].removeprefix("calls="))
    return calls


def read_count(redis):
    """The number of reads of Redis from connections. A pipelined exchange counts once."""
    return int(redis.info("stats")["total_reads_processed"])


def difference(after, before, jobs):
    return {name: (count - before.get(name, 0)) / jobs for name, count in after.items() if count > before.get(name, 0)}
