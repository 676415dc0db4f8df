"""Processes on one core each, ended with the bench, and what they use of it."""

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
    """TERM; after it, or after 5 s, KILL for what is left of its group."""
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
    """User and system time of the process, of its living descendants and of those it has waited for."""
    ticks = 0
    for member in tree(pid):
        if fields := _stat(member):
            ticks += sum(int(value) for value in fields[11:15])
    return ticks / TICKS


def core_seconds(core):
    """What everything together has used of a core since boot, interrupts included, idle and stolen time not."""
    with open("/proc/stat", encoding="ascii") as file:
        fields = next(line.split() for line in file if line.startswith(f"cpu{core} "))
    user, nice, system, _, _, interrupt, soft_interrupt = (int(value) for value in fields[1:8])
    return (user + nice + system + interrupt + soft_interrupt) / TICKS


def _stat(pid):
    """The fields of /proc/PID/stat after the name: state, parent, ...; None when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
