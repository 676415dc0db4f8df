"""The table as Markdown."""

from statistics import median

BEGIN, END = "<!-- make bench-peers -->", "<!-- end -->"

HEAD = """| worker | jobs/s | spread | CPU µs per job | × first row | of its core | servers' CPU µs per job | settings |
|---|--:|--:|--:|--:|--:|--:|---|"""


def table(results):
    """`results` is a list of (contender, rounds) in the order of the table. The others are compared with the first."""
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


def written(results, machine):
    sizes = "; ".join(f"{contender.name} {len(entries)} × {entries[0]['jobs']:,}" for contender, entries in results)
    disturbance = max(entry["disturbance"] for _, entries in results for entry in entries)
    return f"""{BEGIN}
## Other workers with the same work

`make bench-peers` repeats this measurement.
It installs the peers from Debian's packages and PyPI in `.build/peers`, and fails if a push is missing or was sent twice according to the simulator's ledger.

{table(results)}

Medians.
Rounds × jobs: {sizes}.
{machine}.
Other programs used up to {disturbance:.0%} of a core in a round (a round with more than 10 % is repeated once, and the calmer one counts).

- Each job has one device token and the same alert of 209 bytes.
  `apns-simulator` is the sink of all workers.
  Each round has its own Redis, over TCP on loopback.
  The worker has core 0 (CPU: with all its children), Redis and the sink core 1.
- The queue is filled first, through the peer's own API (Martlet and Go: LPUSH).
  The measurement starts after a tenth of the jobs, so that it does not include the start.
- A worker that does not use its whole core waits for the servers or for other programs, so compare its CPU per job.
  This is the case for Martlet: it and its servers take turns, and neither core is full.
- The guarantees differ.
  The Go worker pops with BRPOP and loses its jobs when it dies.
  According to their documentation, Celery by default acknowledges a task before it runs, and arq keeps a job until it has ended, as Martlet does.
  Crashes were not part of the measurement.
- The peers, as written here, neither resolve the owner of a device nor remove stale tokens.
{END}
"""


def section(page):
    """The part of docs/bench.md that `make bench-peers` writes, with its marks. `make bench` keeps it."""
    return page[page.index(BEGIN):page.index(END) + len(END) + 1]
