"""The instructions that a worker runs for a job, and a sidecar for a registration.

Callgrind counts them: the same on a busy machine as on an idle one. What a process runs at its start is not counted, as it is in both of two
measurements, of which only the difference counts. The kernel's instructions are not counted either.
"""

import re

import jobs
import registrations
from stack import Stack

COUNTED = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
JOBS = (2_000, 8_000)
REGISTRATIONS = (500, 2_000)
SECONDS = 300  # a program runs fifty times as long


def measure(setup, results):
    for turn in range(setup.rounds):
        for server, count, sizes in (("worker", worker, JOBS), ("sidecar", sidecar, REGISTRATIONS)):
            less, more = (count(setup, size) for size in sizes)
            results.add("instructions", round=turn, server=server, each=(more - less) / (sizes[1] - sizes[0]))


def worker(setup, count):
    with Stack(setup.programs, under=COUNTED) as stack:
        stack.register_users()
        stack.prepare(jobs.user_job(number) for number in range(count))
        stack.run_prepared(count)
        return ended(stack.worker)


def sidecar(setup, count):
    with Stack(setup.programs, worker=False) as stack:
        registrations.allow(setup, stack)
        process, port = registrations.sidecar(setup, stack, under=COUNTED)
        registrations.load(stack, port, count)
        return ended(process)


def ended(process):
    """The instructions of a process, which ends."""
    process.stop(SECONDS)
    with open(process.log) as log:
        return int(re.search(r"Collected : (\d+)", log.read())[1])
