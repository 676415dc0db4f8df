"""An idle worker: its start, memory and CPU. Memory at full load is measured with the jobs."""

import time

from stack import Stack

STARTS = 5  # a start takes only 50 ms


def measure(setup, results):
    for turn in range(setup.rounds):
        with Stack(setup.programs, worker=False) as stack:
            for start in range(STARTS):
                results.add("start", round=turn * STARTS + start, readyMilliseconds=stack.start_worker())
                if start + 1 < STARTS:
                    stack.worker.stop()
            time.sleep(1)
            before, started = stack.worker.cpu_seconds(), time.monotonic()
            time.sleep(setup.rest_seconds)
            used, elapsed = stack.worker.cpu_seconds() - before, time.monotonic() - started
            results.add(
                "rest", round=turn, residentMegabytes=stack.worker.resident_megabytes(),
                corePercent=used / elapsed * 100)
