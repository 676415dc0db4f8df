"""docs/bench.md: the budgets first, then every table."""

import os
import platform
import statistics
import subprocess
import time

from budgets import judge
from processes import COMES_FIRST
from stages import ORDER

README = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "README.md")
START_MARK, END_MARK = "<!-- bench -->", "<!-- /bench -->"


def write(setup, results, docs):
    verdicts = judge(setup, results)
    if not results.select("machine"):
        results.add("machine", **machine(), comesFirst=COMES_FIRST)
    lines = ["# What was measured", "", *introduction(setup, results)]
    for title, body in sections(setup, results, verdicts):
        lines += ["", f"## {title}", "", *body]
    with open(f"{docs}/bench.md", "w") as file:
        file.write("\n".join(lines) + "\n")
    if docs == "docs":
        show(verdicts, README)
    return "\n".join(budget_table(verdicts))


def show(verdicts, path):
    """The budgets in the README, between its two marks."""
    with open(path) as file:
        text = file.read()
    head, start, rest = text.partition(START_MARK)
    _, end, tail = rest.partition(END_MARK)
    if not (start and end):
        raise RuntimeError(f"{path}: expected {START_MARK} and {END_MARK}")
    with open(path, "w") as file:
        file.write(head + start + "\n" + "\n".join(budget_table(verdicts)) + "\n" + end + tail)


def sections(setup, results, verdicts):
    yield "Budgets", budget_table(verdicts)
    yield "The engine", [
        "Pushes of 209 bytes, each with its own apns-id; 1,000 under way. `h2load` sends one and the same request.",
        "libcurl's multi interface sends a part of as many.", "", *engine_table(results)]
    yield "Jobs, LPUSH to ack", [
        "![throughput over backlog](throughput.png)", "",
        "All jobs are in the list before the worker sees it. An audience's unit is a push, the others' a job.", "",
        *job_table(results)]
    yield "Redis", [
        "Commands are what Redis executed, those inside of scripts included; reads are its reads from connections,",
        "so a pipelined exchange counts once.", "", *redis_table(results)]
    yield "Latency, LPUSH to the request's arrival", ["![latency](latency.png)", "", *latency_table(results)]
    yield "Registrations", [
        "POST /api/push/register over 64 kept connections: credential checked, device registered in Redis, answered.",
        "The server is on core 0, h2load and Redis on core 1.", "", *registration_table(results)]
    yield "Memory and start", memory_table(results)
    yield "Where the CPU of a job goes", [
        "![CPU by stage](stages.png)", "",
        "From a profile at full load, laid over the CPU of a job measured without the profiler.", "",
        *stage_table(results), "", "The symbols with most samples:", "", *symbol_table(results)]


def introduction(setup, results):
    facts = results.select("machine")[0]
    comes_first = facts["comesFirst"]
    command = "make bench" + (" QUICK=1" if setup.quick else "") + (" PRIORITY=1" if comes_first else "")
    lines = [
        f"By `{command}` on {facts['date']}: {facts['cores']} cores of {facts['cpu']},",
        f"{facts['system']}, {facts['redis']}, load average {facts['loadAverage']:.1f}.",
        "Workers and clients on core 0, Redis and the sink on core 1, all over loopback.",
        f"Medians of {setup.rounds} rounds, with the lowest and the highest in brackets.",
        f"Other processes had {others(results)} of core 0 meanwhile: rates suffer from it more than CPU does."]
    if comes_first:
        lines.append("What is measured ran before all others (chrt --rr 1), for the machine was shared.")
    return lines + [
        "Every push of every round was counted: one missing or sent twice fails the run.",
        "[bench.jsonl](bench.jsonl) holds every round."]


def others(results):
    """What was not ours: where it is much, rates are too low, and CPU is what to look at."""
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


def budget_table(verdicts):
    return table(["what", "budget", "measured", "met"], [
        [v.what, v.limit, f"{v.measured:.2f} {v.unit}".rstrip(), "yes" if v.is_met else "**no**"] for v in verdicts])


def spread(lines, field, digits=1, scale=1.0):
    values = [line[field] * scale for line in lines if line.get(field) is not None]
    if not values:
        return ""
    middle = f"{statistics.median(values):,.{digits}f}"
    return middle if len(values) == 1 else f"{middle} ({min(values):,.{digits}f} to {max(values):,.{digits}f})"


def groups(results, kind, *fields):
    """Lines of each combination of the fields, in order of appearance."""
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
        per = lines[-1]["pushes"] if case == "audience" else 1
        parts = ", ".join(f"{name} {count / per:.2f}" for name, count in calls if count / per >= 0.005)
        rows.append([case, f"{backlog:,}", spread(lines, "commandsPerUnit", 2), spread(lines, "readsPerUnit", 3),
                     spread(lines, "redisMicroseconds"), parts])
    return table(["case", "queued", "commands/unit", "reads/unit", "Redis CPU us/unit", "of which"], rows)


def latency_table(results):
    return table(["load", "p50 ms", "p99 ms", "p99.9 ms", "jobs/s offered", "worker's core"], [
        [case, spread(lines, "p50", 2), spread(lines, "p99", 2), spread(lines, "p999", 2), spread(lines, "offered", 0),
         spread(lines, "workerCore", 0, 100) + (" %" if "workerCore" in lines[0] else "")]
        for (case,), lines in groups(results, "latency", "case")])


def registration_table(results):
    return table(["server", "requests/s", "CPU us/request", "Redis CPU us/request"], [
        [server, spread(lines, "rate", 0), spread(lines, "cpuMicroseconds"), spread(lines, "redisMicroseconds")]
        for (server,), lines in groups(results, "registrations", "server")])


def memory_table(results):
    full = [line for line in results.select("jobs", case="single")]
    return table(["what", "measured"], [
        ["start to ready", spread(results.select("start"), "readyMilliseconds") + " ms"],
        ["at rest, resident", spread(results.select("rest"), "residentMegabytes") + " MB"],
        ["at rest, of a core", spread(results.select("rest"), "corePercent", 3) + " %"],
        ["full load, resident at most", spread(full, "peakMegabytes") + " MB"],
        ["audience run, resident at most", spread(results.select("jobs", case="audience"), "peakMegabytes") + " MB"]])


def stage_table(results):
    lines = results.select("stages")
    return table(["stage", "us/job"], [
        [name, spread([line["microseconds"] for line in lines], name, 2)] for name in ORDER])


def symbol_table(results):
    symbols = results.select("stages")[-1]["symbols"]
    return table(
        ["share", "symbol"], [[f"{share:.1%}", f"`{demangled(name)}`"] for name, share in symbols.items()])


def demangled(frame):
    """Without the file's path; Swift's names readable where the toolchain is at hand."""
    name = frame.rpartition(" (")[0].split("+0x")[0]
    if not name.startswith("$s"):
        return name
    result = subprocess.run(["swift", "demangle", "--simplified", "--compact", name], capture_output=True, text=True)
    return result.stdout.strip() or name
