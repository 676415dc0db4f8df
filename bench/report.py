"""Writes docs/bench.md: the budgets, then all tables."""

import os
import platform
import statistics
import subprocess
import time

from budgets import judge
from jobs import AUDIENCE, AUDIENCE_FREE
from peers.report import section as peers_section
from processes import COMES_FIRST
from stages import ORDER


def write(setup, results, docs):
    budgets = judge(setup, results)
    if not results.select("machine"):
        results.add("machine", **machine(), comesFirst=COMES_FIRST)
    lines = ["# What was measured", "", *introduction(setup, results)]
    for title, body in sections(setup, results, budgets):
        lines += ["", f"## {title}", "", *body]
    with open("docs/bench.md") as file:
        peers = peers_section(file.read())
    with open(f"{docs}/bench.md", "w") as file:
        file.write("\n".join([*lines, "", peers]))
    return "\n".join(budget_table(budgets))


def sections(setup, results, budgets):
    yield "Budgets", budget_table(budgets)
    yield "The engine", [
        "Pushes of 209 bytes with their own apns-ids, 1,000 in flight.", "`h2load` sends the same request each time.",
        "libcurl's multi interface sends fewer pushes.", "", *engine_table(results)]
    yield "Jobs, LPUSH to acknowledgement", [
        "![throughput over backlog](throughput.png)", "",
        "All jobs are in the list before the worker starts on it.",
        f"For `single`, also with failures only, and for latency, Redis holds {setup.records:,} records of earlier jobs, "
        "as after a day.",
        "From empty, it doubles its tables at 262,144 and 524,288 keys, and a SET costs twice as much until that is done.",
        "The unit of an audience is a push, of the others a job.", "",
        *job_table(results)]
    yield "Redis", [
        "Commands are all that Redis executed, including those in scripts.",
        "Reads are its reads from connections, so a pipelined exchange counts once.", "", *redis_table(results)]
    yield "Latency, LPUSH to the request's arrival", [
        "![latency](latency.png)", "",
        "Half load comes in bursts, one every 2 ms, from a client that shares the two cores.",
        "A burst that is sent late comes together with the ones behind it, and jobs behind those wait.",
        "The table says by how much a burst was late in the 20 ms before the slowest job of a round.", "",
        *latency_table(results)]
    yield "Registrations", [
        "POST /api/push/register over 64 persistent connections.",
        "Each checks the credential and registers a device in Redis.",
        "The server is on core 0, h2load and Redis on core 1.", "", *registration_table(results)]
    if results.select("window"):
        yield "Apple's window", [
            "APNs' window of 65,535 bytes for each connection, half of which comes back in a round trip.",
            "Further connections open one a second while pushes wait, so a short run does not have them from its beginning.", "",
            *window_table(results)]
    if results.select("refusals"):
        yield "Refusals by Apple's gateway", [
            "At 50 ms, and with one stream after each refusal until the next acceptance, as Apple's gateway is on record.",
            "The refusals are of single jobs, spread evenly.", "", *refusals_table(results)]
    yield "Memory and start", memory_table(results)
    yield "Where the CPU of a job goes", [
        "![CPU by stage](stages.png)", "",
        "From a profile at full load, applied to the CPU of a job measured without the profiler.", "",
        *stage_table(results), "", "The symbols with the most samples:", "", *symbol_table(results)]


def introduction(setup, results):
    facts = results.select("machine")[0]
    comes_first = facts["comesFirst"]
    command = "make bench" + (" QUICK=1" if setup.quick else "") + (" PRIORITY=1" if comes_first else "")
    lines = [
        f"Measured with `{command}` on {facts['date']}: {facts['cores']} cores of {facts['cpu']}, "
        f"{facts['system']}, {facts['redis']}, load average {facts['loadAverage']:.1f}.",
        "Workers and clients ran on core 0, Redis and the sink on core 1, all over loopback.",
        "Workers and sidecars had the settings of glibc that the image has.",
        f"Values are medians of {setup.rounds} rounds, with the lowest and the highest in brackets.",
        f"Other processes had {others(results)} of core 0 meanwhile, which affects rates more than CPU."]
    if comes_first:
        lines.append("The measured processes ran before all others (chrt --rr 1), because the machine was shared.")
    return lines + [
        "Every push of every round was counted.", "A push that is missing or sent twice fails the run.",
        "[bench.jsonl](bench.jsonl) has every round."]


def others(results):
    """The CPU of other processes. If it is high, rates are too low, but the CPU figures hold."""
    lines = results.select("engine") + results.select("jobs")
    shares = [line["othersCore"] for line in lines if "othersCore" in line]
    return f"{statistics.median(shares):.0%} (at most {max(shares):.0%})" if shares else "an unknown part"


def machine():
    with open("/proc/cpuinfo") as info:
        cpu = next((line.split(":")[1].strip() for line in info if line.startswith("model name")), platform.machine())
    redis = subprocess.run(["redis-server", "--version"], capture_output=True, text=True).stdout.split()
    version = next(word[2:] for word in redis if word.startswith("v="))
    return {
        "date": time.strftime("%Y-%m-%d"), "cores": os.cpu_count(), "cpu": cpu,
        "system": f"Linux {platform.release().split('-')[0]}", "redis": f"Redis {version}",
        "loadAverage": os.getloadavg()[2]}


def table(head, rows):
    return ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"] + ["| " + " | ".join(row) + " |" for row in rows]


def budget_table(budgets):
    return table(["what", "budget", "measured", "met"], [
        [b.what, b.limit, f"{b.measured:,.{0 if b.measured > 1000 else 2}f} {b.unit}".rstrip(), "yes" if b.is_met else "**no**"] for b in budgets])


def spread(lines, field, digits=1, scale=1.0):
    values = [line[field] * scale for line in lines if line.get(field) is not None]
    if not values:
        return ""
    middle = f"{statistics.median(values):,.{digits}f}"
    return middle if len(values) == 1 else f"{middle} ({min(values):,.{digits}f} to {max(values):,.{digits}f})"


def groups(results, kind, *fields):
    """The lines of each combination of the fields, in order of appearance."""
    found = {}
    for line in results.select(kind):
        found.setdefault(tuple(line[field] for field in fields), []).append(line)
    return found.items()


def engine_table(results):
    return table(["sink", "connections", "client", "CPU us/push", "pushes/s", "sink's CPU us/push"], [
        [sink, str(connections), client, spread(lines, "cpuMicroseconds"), spread(lines, "rate", 0),
         spread(lines, "sinkMicroseconds")]
        for (sink, connections, client), lines in groups(results, "engine", "sink", "connections", "client")])


def job_table(results):
    return table(["case", "queued", "units/s", "worker CPU us/unit", "worker's core", "the other core"], [
        [case, f"{backlog:,}", spread(lines, "rate", 0), spread(lines, "cpuMicroseconds"),
         spread(lines, "workerCore", 0, 100) + " %", spread(lines, "sinkCore", 0, 100) + " %"]
        for (case, backlog), lines in groups(results, "jobs", "case", "backlog")])


def redis_table(results):
    rows = []
    for (case, backlog), lines in groups(results, "jobs", "case", "backlog"):
        calls = sorted(lines[-1]["calls"].items(), key=lambda item: -item[1])
        per = lines[-1]["pushes"] if case in (AUDIENCE, AUDIENCE_FREE) else 1
        parts = ", ".join(f"{name} {count / per:.2f}" for name, count in calls if count / per >= 0.005)
        rows.append([case, f"{backlog:,}", spread(lines, "commandsPerUnit", 2), spread(lines, "readsPerUnit", 3),
                     spread(lines, "redisMicroseconds"), parts])
    return table(["case", "queued", "commands/unit", "reads/unit", "Redis CPU us/unit", "of which"], rows)


def latency_table(results):
    return table([
        "load", "p50 ms", "p99 ms", "p99.9 ms", "slowest ms", "late before it, ms", "jobs/s offered",
        "worker's core"], [
        [case, spread(lines, "p50", 2), spread(lines, "p99", 2), spread(lines, "p999", 2), spread(lines, "most", 2),
         spread(lines, "lateBefore", 2), spread(lines, "offered", 0),
         spread(lines, "workerCore", 0, 100) + (" %" if "workerCore" in lines[0] else "")]
        for (case,), lines in groups(results, "latency", "case")])


def registration_table(results):
    return table(["server", "requests/s", "CPU us/request", "Redis CPU us/request"], [
        [server, spread(lines, "rate", 0), spread(lines, "cpuMicroseconds"), spread(lines, "redisMicroseconds")]
        for (server,), lines in groups(results, "registrations", "server")])


def window_table(results):
    return table(["round trip", "payload", "connections at most", "opened", "pushes/s", "by the window of one"], [
        [f"{round_trip} ms", f"{payload} bytes", str(most), spread(lines, "opened", 0), spread(lines, "rate", 0),
         spread(lines, "expected", 0)]
        for (round_trip, payload, most), lines in groups(results, "window", "roundTrip", "payload", "most")])


def refusals_table(results):
    return table(["refused", "connections at most", "opened", "pushes/s"], [
        [f"{share} %", str(most), spread(lines, "opened", 0), spread(lines, "rate", 0)]
        for (share, most), lines in groups(results, "refusals", "share", "most")])


def memory_table(results):
    full = [line for line in results.select("jobs", case="single")]
    return table(["what", "measured"], [
        ["start to ready", spread(results.select("start"), "readyMilliseconds") + " ms"],
        ["at rest, resident memory", spread(results.select("rest"), "residentMegabytes") + " MB"],
        ["at rest, CPU of a core", spread(results.select("rest"), "corePercent", 3) + " %"],
        ["full load, peak resident memory", spread(full, "peakMegabytes") + " MB"],
        ["broadcast, peak resident memory", spread(results.select("jobs", case=AUDIENCE), "peakMegabytes") + " MB"]])


def stage_table(results):
    lines = results.select("stages")
    return table(["stage", "us/job"], [
        [name, spread([line["microseconds"] for line in lines], name, 2)] for name in ORDER])


def symbol_table(results):
    symbols = results.select("stages")[-1]["symbols"]
    return table(
        ["share", "symbol"], [[f"{share:.1%}", f"`{demangled(name)}`"] for name, share in symbols.items()])


def demangled(frame):
    """Removes the path of the file, and demangles Swift names if the toolchain is installed."""
    name = frame.rpartition(" (")[0].split("+0x")[0]
    if not name.startswith("$s"):
        return name
    result = subprocess.run(["swift", "demangle", "--simplified", "--compact", name], capture_output=True, text=True)
    return result.stdout.strip() or name
