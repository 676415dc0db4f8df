"""Processes on one core each, which end with the bench, and their CPU."""

import os
import signal
import subprocess
import time

TICKS = os.sysconf("SC_CLK_TCK")


def start(core, command, log, environment=None, directory=None):
    pinned = ["taskset", "-c", str(core), "setpriv", "--pdeathsig", "KILL", "--", *command]
    with open(log, "ab") as output:
        return subprocess.Popen(
            pinned, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment, cwd=directory,
            start_new_session=True,
        )


def stop(process):
    """Sends TERM, and KILL to what is left of its group after it has ended or after 5 s."""
    process.terminate()
    try:
        process.wait(timeout=5)
    except subprocess.TimeoutExpired:
        pass
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def wait_for(seconds, what, condition):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"gave up waiting for {what}")
        time.sleep(0.02)


def tree(pid):
    """The process and its living descendants."""
    children = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit() and (fields := _stat(int(entry))):
            children.setdefault(int(fields[1]), []).append(int(entry))
    found = [pid]
    for member in found:
        found += children.get(member, [])
    return found


def cpu_seconds(pid):
    """User and system time of the process, its live descendants and those that it has waited for."""
    ticks = 0
    for member in tree(pid):
        if fields := _stat(member):
            ticks += sum(int(value) for value in fields[11:15])
    return ticks / TICKS


def core_seconds(core):
    """The time of all processes on a core since boot, including interrupts, without idle and stolen time."""
    with open("/proc/stat", encoding="ascii") as file:
        fields = next(line.split() for line in file if line.startswith(f"cpu{core} "))
    user, nice, system, _, _, interrupt, soft_interrupt = (int(value) for value in fields[1:8])
    return (user + nice + system + interrupt + soft_interrupt) / TICKS


def _stat(pid):
    """The fields of /proc/PID/stat after the name: state, parent, and so on. None if the process has ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
