"""The processes of the bench: pinned to a core, measured by the kernel, ended with the bench."""

import os
import subprocess
import time

CLIENT_CORE = 0  # workers and clients
SINK_CORE = 1  # Redis and the sink
# PRIORITY=1: the measured processes run before all others, for a shared machine. It needs root.
COMES_FIRST = os.environ.get("PRIORITY", "") not in ("", "0")
# Redis has a higher priority than the sink on its core, because among equals it would have to wait for the sink.
FIRST, ORDINARY = 2, 1
TICKS = os.sysconf("SC_CLK_TCK")


def pinned(command, core, priority=ORDINARY):
    first = ["chrt", "--rr", str(priority)] if COMES_FIRST else []
    return [*first, "taskset", "-c", str(core), *map(str, command)]


class Process:
    def __init__(self, command, core, log, environment=None, priority=ORDINARY):
        self.log = log
        with open(log, "ab") as output:
            self._child = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *pinned(command, core, priority)],
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                env=environment or os.environ)
        self.pid = self._child.pid

    def run_on(self, cores):
        for thread in os.listdir(f"/proc/{self.pid}/task"):
            os.sched_setaffinity(int(thread), cores)

    def cpu_seconds(self):
        """User and system time of all threads, including ended ones, in nanoseconds."""
        return time.clock_gettime((~self.pid << 3) | 2)

    def proc_cpu_seconds(self):
        """The same from /proc/<pid>/stat, in steps of 10 ms: (user, system)."""
        with open(f"/proc/{self.pid}/stat") as stat:
            fields = stat.read().rpartition(")")[2].split()
        return int(fields[11]) / TICKS, int(fields[12]) / TICKS

    def resident_megabytes(self, peak=False):
        name = "VmHWM:" if peak else "VmRSS:"
        with open(f"/proc/{self.pid}/status") as status:
            return next(int(line.split()[1]) / 1000 * 1.024 for line in status if line.startswith(name))

    def forget_peak(self):
        with open(f"/proc/{self.pid}/clear_refs", "w") as refs:
            refs.write("5")

    def is_running(self):
        return self._child.poll() is None

    def stop(self, seconds=10):
        if self.is_running():
            self._child.terminate()
        try:
            return self._child.wait(seconds)
        except subprocess.TimeoutExpired:
            self._child.kill()
            return self._child.wait()


def busy_seconds(core):
    """The time of all processes on the core, from /proc/stat."""
    with open("/proc/stat") as stat:
        fields = next(line.split() for line in stat if line.startswith(f"cpu{core} "))
    user, nice, system, _, _, irq, softirq, steal = map(int, fields[1:9])
    return (user + nice + system + irq + softirq + steal) / TICKS


def wait_until(what, condition, seconds=20, every=0.005, process=None):
    end = time.monotonic() + seconds
    while not condition():
        if process and not process.is_running():
            raise RuntimeError(f"{what}: the process ended\n{tail(process.log)}")
        if time.monotonic() > end:
            raise RuntimeError(f"gave up waiting for {what}\n{tail(process.log) if process else ''}")
        time.sleep(every)


def run_pinned(command, core, seconds=300):
    """Runs a command and returns (output, CPU seconds, elapsed seconds). Fails if the command fails."""
    before, started = os.times(), time.monotonic()
    result = subprocess.run(pinned(command, core), capture_output=True, text=True, timeout=seconds)
    elapsed, after = time.monotonic() - started, os.times()
    if result.returncode != 0:
        raise RuntimeError(f"{command[0]} failed: {result.stderr[-500:] or result.stdout[-500:]}")
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return result.stdout, cpu, elapsed


def tail(path, count=5):
    with open(path, errors="replace") as log:
        return "".join(log.readlines()[-count:])
