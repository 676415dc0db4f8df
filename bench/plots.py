"""The PNG plots."""

import statistics

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402  the backend must be chosen first

from stages import ORDER  # noqa: E402

SIZE = (7, 3.6)
INK = "#2a6f97"


def draw(results, docs):
    throughput(results, f"{docs}/throughput.png")
    latency(results, f"{docs}/latency.png")
    stages(results, f"{docs}/stages.png")


def throughput(results, path):
    figure, axes = pyplot.subplots(figsize=SIZE)
    lines = results.select("jobs", case="single")
    backlogs = sorted({line["backlog"] for line in lines})
    rates = [[line["rate"] for line in lines if line["backlog"] == backlog] for backlog in backlogs]
    middle = [statistics.median(values) for values in rates]
    axes.errorbar(
        backlogs, middle, color=INK, marker="o", capsize=4,
        yerr=[[m - min(v) for m, v in zip(middle, rates)], [max(v) - m for m, v in zip(middle, rates)]])
    axes.set(xscale="log", xlabel="jobs queued", ylabel="jobs/s, LPUSH to ack", ylim=(0, max(map(max, rates)) * 1.15),
             title="Single-device jobs on one core")
    save(figure, axes, path)


def latency(results, path):
    figure, axes = pyplot.subplots(figsize=SIZE)
    for case, colour in (("idle", INK), ("half load", "#e07a5f")):
        curves = [line["distribution"] for line in results.select("latency", case=case)]
        middle = [statistics.median(values) for values in zip(*curves)]
        axes.plot(middle, [100 * n / (len(middle) - 1) for n in range(len(middle))], color=colour, label=case)
    axes.set(xscale="log", xlabel="LPUSH to the request at APNs, ms", ylabel="% of jobs", ylim=(0, 100))
    axes.legend(frameon=False)
    save(figure, axes, path)


def stages(results, path):
    figure, axes = pyplot.subplots(figsize=SIZE)
    lines = results.select("stages")
    values = [statistics.median(line["microseconds"][name] for line in lines) for name in ORDER]
    bars = axes.barh(ORDER, values, color=INK)
    axes.bar_label(bars, fmt="%.1f", padding=3)
    axes.invert_yaxis()
    axes.set(xlabel="us of worker CPU a job", title=f"{sum(values):.1f} us a single-device job")
    save(figure, axes, path)


def save(figure, axes, path):
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
