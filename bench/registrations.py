"""Registrations per second through the sidecar, and through libmicrohttpd alone with the same requests."""

import os
import re
import subprocess

from processes import CLIENT_CORE, SINK_CORE, Process, run_pinned, wait_until
from redis_client import Redis
from sinks import token
from stack import Stack, deployed

CONNECTIONS = 64
USER, SECRET = "bench", "bench-secret-0123456789"


def measure(setup, results):
    """The server is on core 0; h2load, and Redis behind the sidecar, are on core 1."""
    with Stack(setup.programs, worker=False) as stack:
        allow(setup, stack)
        servers = {"libmicrohttpd alone": bare(stack), "martlet sidecar": sidecar(setup, stack)}
        try:
            for turn in range(setup.rounds):
                for name, (process, port) in servers.items():
                    run_round(setup, stack, results, turn, name, process, port)
            record = Redis(f"{stack.directory}/redis.sock")("GET", f"push:token:{token(7)}")
            if f'"username":"{USER}"'.encode() not in record:
                raise RuntimeError(f"nothing was registered: {record}")
        finally:
            for process, _ in servers.values():
                process.stop()


def allow(setup, stack):
    subprocess.run(
        [f"{setup.programs}/martlet", "credentials", "add", "user", USER, "--secret", "-"], input=SECRET, text=True,
        env=environment(stack), check=True, capture_output=True)


def environment(stack):
    return {
        "PATH": os.environ["PATH"], "REDIS_URL": f"unix://{stack.directory}/redis.sock",
        "MARTLET_HTTP_ADDRESS": "127.0.0.1:0", "MARTLET_ADMIN_ADDRESS": "off", "MARTLET_REGISTER_LIMIT": "off",
        "GLIBC_TUNABLES": deployed("GLIBC_TUNABLES"), **stack.sink.environment()}


def bare(stack):
    program, port = f"{stack.directory}/bare-mhd", f"{stack.directory}/bare-port"
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bare-mhd.c")
    subprocess.run(["gcc", "-O2", "-Wall", "-o", program, source, "-lmicrohttpd"], check=True)
    process = Process([program, port], CLIENT_CORE, f"{stack.directory}/bare.log")
    wait_until("bare-mhd", lambda: os.path.exists(port) and open(port).read().endswith("\n"), process=process)
    return process, int(open(port).read())


def sidecar(setup, stack, under=()):
    """`under`: the words of a program that runs the sidecar."""
    log = f"{stack.directory}/sidecar.log"
    process = Process([*under, f"{setup.programs}/martlet", "sidecar"], CLIENT_CORE, log, environment(stack))
    found = []

    def listens():
        with open(log) as lines:
            found[:] = re.findall(r'sidecar listens.*"port":(\d+)', lines.read())
        return found
    wait_until("the sidecar", listens, process=process)
    return process, int(found[0])


def load(stack, port, count):
    """Registers `count` times. Returns registrations per second."""
    body = f"{stack.directory}/registration"
    with open(body, "w") as file:
        file.write(f'{{"token":"{token(7)}","platform":"ios"}}')
    output, _, _ = run_pinned(
        ["h2load", "--h1", "-n", count, "-c", CONNECTIONS, "-m", 1, "-d", body,
         "-H", "content-type: application/json", "-H", f"authorization: Bearer {SECRET}", "-H", f"x-username: {USER}",
         f"http://127.0.0.1:{port}/api/push/register"], SINK_CORE)
    counts = next(line for line in output.splitlines() if line.startswith("status codes:"))
    if int(counts.split()[2]) != count:
        raise RuntimeError(f"port {port}: {counts}")
    finished = next(line for line in output.splitlines() if line.startswith("finished in"))
    return float(finished.split(",")[1].split()[0])


def run_round(setup, stack, results, turn, name, process, port):
    used, redis = process.cpu_seconds(), stack.redis_process.cpu_seconds()
    rate = load(stack, port, setup.registrations)
    per = 1e6 / setup.registrations
    results.add(
        "registrations", round=turn, server=name, rate=rate, cpuMicroseconds=(process.cpu_seconds() - used) * per,
        redisMicroseconds=(stack.redis_process.cpu_seconds() - redis) * per)
