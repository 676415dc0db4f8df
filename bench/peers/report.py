"""The table, as Markdown."""

from statistics import median


def table(results):
    """`results`: (contender, rounds) in the order of the table; the first is what the others are measured against."""
    lines = [
        "| worker | jobs/s | spread | CPU µs per job | CPU × first row | of its core | of Redis's and the sink's | settings |",
        "|---|--:|--:|--:|--:|--:|--:|---|",
    ]
    first = None
    for contender, rounds in results:
        rates = [entry["jobsPerSecond"] for entry in rounds]
        cpu = median(entry["cpuMicrosecondsPerJob"] for entry in rounds)
        first = first or cpu
        lines.append(
            f"| {contender.name} | {median(rates):,.0f} | {min(rates):,.0f}–{max(rates):,.0f} | {cpu:,.1f} "
            f"| {cpu / first:,.1f} | {use(rounds, 'workerCoreUse')} | {use(rounds, 'serverCoreUse')} "
            f"| {contender.settings} |"
        )
    return "\n".join(lines)


def use(rounds, key):
    return f"{median(entry[key] for entry in rounds):.0%}"


def page(results, machine):
    rounds = "; ".join(f"{contender.name} {len(entries)} × {entries[0]['jobs']:,}" for contender, entries in results)
    strangers = max(median(entry["strangersCoreUse"] for entry in entries) for _, entries in results)
    return f"""# The same work, by others

`make bench-peers` repeats this: it installs the peers from Debian's packages and PyPI under `.build/peers`, and fails when
a push is missing or was sent twice according to the simulator's ledger.

{table(results)}

Medians. Rounds × jobs: {rounds}. {machine}.

- One device token per job, the same alert, the same `apns-simulator` as sink and a Redis of its own for each round, over
  TCP on loopback. The worker has core 0, Redis and the sink core 1. CPU is the worker's with all its children.
- The queue is filled first, through the peer's own API (Martlet and Go: LPUSH); measuring starts when a tenth of the jobs
  has gone by, so that start-up is nobody's cost.
- A worker that does not fill its core waits for Redis and the sink, which share theirs: its jobs/s are what these two
  give, and only its CPU per job is its own. What else ran on the worker's core took {strangers:.0%} of it at most (median of
  a contender's rounds).
- Not the same promises: the Go worker pops with BRPOP and keeps nothing of a job, so it loses what it holds when it dies;
  Celery acknowledges before it runs a task unless told otherwise. Martlet and arq keep a job until it is done.
- None of the peers finds out who owns a device, removes a stale token or sends under the same apns-id again; it is not
  measured here. For that see [the bench](bench.md).
"""
