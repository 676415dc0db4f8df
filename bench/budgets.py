"""The budgets and the measured values."""

from dataclasses import dataclass

from jobs import AUDIENCE, AUDIENCE_FREE

NEUTRAL = {"sink": "nghttpd", "connections": 1}


@dataclass(frozen=True)
class Budget:
    what: str
    limit: str
    measured: float
    unit: str
    is_met: bool


def judge(setup, results):
    backlog = setup.backlogs[1]
    h2load, own = (results.select("engine", **NEUTRAL, client=client) for client in ("h2load", "martlet engine"))
    single = results.select("jobs", case="single, nghttpd")
    beside = results.select("engine", sink="nghttpd of the jobs")
    rates = [results.median("rate", "jobs", case="single", backlog=size) for size in setup.backlogs]
    costs = [results.median("cpuMicroseconds", "jobs", case="single", backlog=size) for size in setup.backlogs]
    audience, free = (results.median("rate", "jobs", case=case) for case in (AUDIENCE, AUDIENCE_FREE))
    engine = results.median("rate", "engine", sink="apns-simulator with ledger")
    peaks = results.values("peakMegabytes", "jobs", case=AUDIENCE)
    return [
        at_most("engine: CPU per push, relative to h2load", 1.2, paired("cpuMicroseconds", own, h2load), "x"),
        at_least("engine: rate, relative to h2load", 1, paired("rate", own, h2load), "x"),
        at_most("single-device job: worker CPU, relative to a push of h2load", 2.8,
                paired("cpuMicroseconds", single, beside), "x"),
        at_most("throughput over backlogs: largest to smallest", 1.05, max(rates) / min(rates), "x"),
        at_most("CPU per job over backlogs: largest to smallest", 1.05, max(costs) / min(costs), "x"),
        at_most("Redis commands per job", 3.5, results.median("commandsPerUnit", "jobs", case="single", backlog=backlog), ""),
        at_most("idle: LPUSH to APNs, p50", 1, results.median("p50", "latency", case="idle"), "ms"),
        at_most("idle: LPUSH to APNs, p99", 5, results.median("p99", "latency", case="idle"), "ms"),
        at_most("half load: LPUSH to APNs, p99", 5, results.median("p99", "latency", case="half load"), "ms"),
        at_most("broadcast: peak resident memory", 40, max(peaks), "MB"),
        at_least("broadcast: pushes a second", 100_000, audience, ""),
        at_least("broadcast: rate, relative to the engine on the same sink", 0.8, audience / engine, "x"),
        at_least("the same, Redis on both cores", 0.8, free / engine, "x"),
        at_most("at rest: resident memory", 30, results.median("residentMegabytes", "rest"), "MB"),
        at_most("at rest: CPU of a core", 0.5, results.median("corePercent", "rest"), "%"),
        at_most("start to ready", 100, results.median("readyMilliseconds", "start"), "ms")]


def paired(field, own, other):
    """The median of the ratios of each round. Disturbances of the machine affect both values."""
    ratios = sorted(mine[field] / theirs[field] for mine, theirs in zip(own, other))
    return ratios[len(ratios) // 2]


def at_most(what, limit, measured, unit):
    return Budget(what, f"at most {limit:,g} {unit}".rstrip(), measured, unit, measured <= limit)


def at_least(what, limit, measured, unit):
    return Budget(what, f"at least {limit:,g} {unit}".rstrip(), measured, unit, measured >= limit)
