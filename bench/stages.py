"""The cost of each stage of a job, from a profile of the worker at full load."""

import re
import subprocess
from collections import Counter

import jobs
from processes import SINK_CORE, pinned
from stack import Stack

# The innermost frame that matches gives the stage. Names are mangled: length, then name.
STAGES = [
    ("ack", r"5Queue7Settler|5Queue10SettlementV|5Queue17SettlementBacklog|5Queue17PendingSettlement|5Queue11ClaimLedger"),
    ("record", r"6Worker16SettlementWriter|4Jobs9JobResult|6Worker5Tally|6Worker10JobOutcomeV|6Worker11PushOutcome"),
    ("parse", r"6Worker6Intake|4Jobs9JobReader|4Jobs3JobV|4Jobs9AddresseeO|4Jobs12NotificationV.*[pP]ars"
              r"|5Queue8EnvelopeV"),
    ("claim", r"5Queue7Fetcher|5Queue12BlockingMove|5Queue11BlockingPop|5Queue17BlockedConnection|5Queue5ClaimC"),
    ("resolve", r"8Registry"),
    ("answer", r"4APNs10ConnectionC4read|4APNs10ConnectionC14handleReceived|4APNs12HTTP2SessionC7receive"
               r"|4APNs12HTTP2Session.*finishAnswer|4APNs13SecureChannelC7receive|nghttp2_session_mem_recv|SSL_read"
               r"|EVP_Decrypt|tcp_recvmsg|4APNs10APNsAnswer|6Worker8PipelineC8answered"),
    ("submit", r"6Worker12PushComposer|6Worker10SendWindow|6Worker9PushDraft|4APNs|nghttp2_|SSL_write|EVP_Encrypt"
               r"|tcp_sendmsg|6Worker8PipelineC(6submit|4send)|4Jobs.*[pP]ayload"),
    ("conclude", r"6Worker8Pipeline|6Worker8Delivery"),
    ("Redis, shared", r"5Redis|redisReader|hiredis|unix_stream"),
]
ORDER = ["claim", "parse", "resolve", "submit", "answer", "record", "ack", "conclude", "Redis, shared", "loop"]
PATTERNS = [(name, re.compile(pattern)) for name, pattern in STAGES]
TOP = 25  # symbols in the page


def measure(setup, results):
    for turn in range(setup.rounds):
        with Stack(setup.programs) as stack:
            stack.register_users()
            jobs.warm(stack)
            data = f"{stack.directory}/perf.data"
            command = ["perf", "record", "-q", "-F", "1999", "--call-graph", "dwarf,4096", "-o", data, "-p",
                       stack.worker.pid]
            profiler = subprocess.Popen(
                pinned(command, SINK_CORE), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                jobs.run(stack, results, "profiled", turn, setup.profiled_jobs, jobs.user_job)
            finally:
                profiler.send_signal(2)
                profiler.wait(60)
            stages, symbols, samples = read(data)
            cost = reference(setup, results)
            results.add(
                "stages", round=turn, samples=samples,
                microseconds={name: cost * stages[name] / samples for name in ORDER},
                symbols={name: count / samples for name, count in symbols.most_common(TOP)})


def reference(setup, results):
    """Applies the shares to the cost measured without the profiler, if there is one."""
    return results.median("cpuMicroseconds", "jobs", case="single", backlog=setup.backlogs[1]) or results.median(
        "cpuMicroseconds", "jobs", case="profiled")


def without_folder(frame):
    """Removes the folder from `symbol (/folder/program)`."""
    return re.sub(r"\((?:[^()]*/)([^/()]+)\)$", r"(\1)", frame)


def read(data):
    output = subprocess.run(
        ["perf", "script", "-i", data, "-F", "ip,sym,dso", "--no-inline"], capture_output=True, text=True,
        errors="replace", timeout=600).stdout
    stages, symbols, samples = Counter(), Counter(), 0
    for block in output.split("\n\n"):
        frames = [line.strip().split(" ", 1)[1] for line in block.splitlines() if " " in line.strip()]
        if not frames:
            continue
        samples += 1
        stages[stage(frames)] += 1
        symbols[without_folder(frames[0])] += 1
    if not samples:
        raise RuntimeError("perf brought no samples; it needs root or kernel.perf_event_paranoid at most 1")
    return stages, symbols, samples


def stage(frames):
    found = None
    for frame in frames:
        for name, pattern in PATTERNS:
            if pattern.search(frame):
                if name != "Redis, shared":
                    return name
                found = name
    return found or "loop"
