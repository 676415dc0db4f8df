"""The budgets and the measured values."""

from dataclasses import dataclass

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
    h2load, own = ({**NEUTRAL, "client": client} for client in ("h2load", "martlet engine"))
    cpu_ratio = paired(results, "cpuMicroseconds", own, h2load)
    rate_ratio = paired(results, "rate", own, h2load)
    cpu = results.median("cpuMicroseconds", "jobs", case="single", backlog=backlog)
    rates = [results.median("rate", "jobs", case="single", backlog=size) for size in setup.backlogs]
    costs = [results.median("cpuMicroseconds", "jobs", case="single", backlog=size) for size in setup.backlogs]
    audience = results.median("rate", "jobs", case="audience") / results.median(
        "rate", "engine", sink="apns-simulator with ledger")
    peaks = results.values("peakMegabytes", "jobs", case="audience")
    return [
        at_most("engine: CPU per push, relative to h2load", 1.5, cpu_ratio, "x"),
        at_least("engine: rate, relative to h2load", 0.8, rate_ratio, "x"),
        at_most(f"single-device job: worker CPU ({backlog:,} queued)", 20, cpu, "us"),
        at_most("throughput over backlogs: largest to smallest", 1.1, max(rates) / min(rates), "x"),
        at_most("CPU per job over backlogs: largest to smallest", 1.1, max(costs) / min(costs), "x"),
        at_most("Redis commands per job beyond owner resolution", 3.5, commands(setup, results), ""),
        at_most("idle: LPUSH to APNs, p50", 2, results.median("p50", "latency", case="idle"), "ms"),
        at_most("idle: LPUSH to APNs, p99", 10, results.median("p99", "latency", case="idle"), "ms"),
        at_most("broadcast: peak resident memory", 100, max(peaks), "MB"),
        at_least("broadcast: rate, relative to the engine on the same sink", 0.8, audience, "x"),
        at_most("at rest: resident memory", 30, results.median("residentMegabytes", "rest"), "MB"),
        at_most("at rest: CPU of a core", 0.5, results.median("corePercent", "rest"), "%"),
        at_most("start to ready", 200, results.median("readyMilliseconds", "start"), "ms")]


def paired(results, field, own, other):
    """The median of the ratios of each round. Disturbances of the machine affect both values."""
    ratios = sorted(
        mine[field] / theirs[field]
        for mine, theirs in zip(results.select("engine", **own), results.select("engine", **other)))
    return ratios[len(ratios) // 2]


def commands(setup, results):
    """The number of commands that Redis executes, including those in scripts, without SORT, which resolves a user."""
    lines = results.select("jobs", case="single", backlog=setup.backlogs[1])
    return sorted(line["commandsPerUnit"] - line["calls"].get("sort", 0) for line in lines)[len(lines) // 2]


def at_most(what, limit, measured, unit):
    return Budget(what, f"at most {limit:g} {unit}".rstrip(), measured, unit, measured <= limit)


def at_least(what, limit, measured, unit):
    return Budget(what, f"at least {limit:g} {unit}".rstrip(), measured, unit, measured >= limit)
