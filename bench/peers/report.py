"""The table, as Markdown."""

from statistics import median

HEAD = """| worker | jobs/s | spread | CPU µs per job | × first row | of its core | servers' CPU µs per job | settings |
|---|--:|--:|--:|--:|--:|--:|---|"""


def table(results):
    """`results`: (contender, rounds) in the order of the table; the first is what the others are measured against."""
    lines, first = [HEAD], None
    for contender, rounds in results:
        rates = [entry["jobsPerSecond"] for entry in rounds]
        cpu = middle(rounds, "cpuMicrosecondsPerJob")
        first = first or cpu
        cells = [
            contender.name, f"{median(rates):,.0f}", f"{min(rates):,.0f} to {max(rates):,.0f}", f"{cpu:,.1f}",
            f"{cpu / first:,.1f}", f"{middle(rounds, 'workerCoreUse'):.0%}",
            f"{middle(rounds, 'serversCpuMicrosecondsPerJob'):,.1f}", contender.settings,
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def middle(rounds, key):
    return median(entry[key] for entry in rounds)


def page(results, machine):
    sizes = "; ".join(f"{contender.name} {len(entries)} × {entries[0]['jobs']:,}" for contender, entries in results)
    disturbance = max(entry["disturbance"] for _, entries in results for entry in entries)
    return f"""# The same work, by others

`make bench-peers` repeats this: it installs the peers from Debian's packages and PyPI under `.build/peers`, and fails
when a push is missing or was sent twice according to the simulator's ledger.

{table(results)}

Medians. Rounds × jobs: {sizes}. {machine}. Other programs used up to {disturbance:.0%} of a core in a round
(a round with more than 10 % is tried once more, and the calmer counts).

- One device token per job, the same alert of 209 bytes, `apns-simulator` as everyone's sink, and a Redis of its own
  for each round, over TCP on loopback. The worker has core 0 (CPU: with all its children), Redis and the sink core 1.
- The queue is filled first, through the peer's own API (Martlet and Go: LPUSH); measuring starts when a tenth of the
  jobs has gone by, so that start-up is nobody's cost.
- A worker that does not fill its core waits, for the servers or because something else had the core: only its CPU per
  job is its own. Martlet is such a one: it and its servers take turns, and neither core is full.
- Not the same promises: the Go worker pops with BRPOP and keeps nothing of a job, so it loses what it holds when it
  dies; by its documentation Celery acknowledges before it runs a task unless told otherwise, and arq keeps a job until it
  is done, as Martlet does. What happens at a crash was not tried here.
- As written here, no peer finds out who owns a device or removes a stale token.
"""
