"""The APNs engine, h2load and libcurl's multi interface on the same sinks."""

import json
import os
import subprocess
import tempfile
import time

from processes import CLIENT_CORE, busy_seconds, run_pinned
from sinks import Nghttpd, Simulator, token

TOKENS = 1000
WINDOW = 1000  # pushes in flight
BODY_BYTES = 209
# As long as a real provider token, which is sent with every request because HTTP/2 libraries do not index it.
AUTHORIZATION = "bearer " + ".".join([
    "eyJhbGciOiJFUzI1NiIsImtpZCI6IkFCQ0RFMTIzNDUifQ", "eyJpc3MiOiJERUYxMjNHSElKIiwiaWF0IjoxNzAwMDAwMDAwfQ",
    "MEUCIQDx7kq0Yb3nUuO4WmZ9sR2tVfHc5LpJ8gEaXwK6yTzQiAIgB1dNhFoCrSv-Mj_lPeGuYxAkD4W7n2ZtVbR0qLs"])
CURL_SHARE = 15  # libcurl multi is slow, so it sends only this part of the pushes


def measure(setup, results):
    with tempfile.TemporaryDirectory() as directory:
        curl_multi = build_curl_multi(directory)
        # No ledger here, because h2load sends the same apns-id with every request.
        sinks = [
            Nghttpd(directory, TOKENS),
            Simulator(setup.programs, directory, ["--no-auth-check", "--initial-streams", "1000", "--no-ledger"])]
        try:
            for turn in range(setup.rounds):
                for sink in sinks:
                    for connections in (1, 4):
                        run_round(setup, results, turn, sink, connections, curl_multi)
        finally:
            for sink in sinks:
                sink.stop()


def run_round(setup, results, turn, sink, connections, curl_multi):
    pushes = setup.engine_pushes
    rows = {
        "h2load": lambda: h2load(sink, pushes, connections),
        "martlet engine": lambda: engine(setup, sink, pushes, connections),
        "libcurl multi": lambda: curl(curl_multi, sink, pushes // CURL_SHARE, connections)}
    for client, work in rows.items():
        sink_before, busy, started = sink.process.cpu_seconds(), busy_seconds(CLIENT_CORE), time.monotonic()
        sent, seconds, cpu = work()
        others = busy_seconds(CLIENT_CORE) - busy - cpu
        results.add(
            "engine", round=turn, client=client, sink=sink.name, connections=connections, pushes=sent,
            rate=sent / seconds, othersCore=max(0, others) / (time.monotonic() - started),
            cpuMicroseconds=cpu / sent * 1e6,
            sinkMicroseconds=(sink.process.cpu_seconds() - sink_before) / sent * 1e6)


def engine(setup, sink, pushes, connections):
    output, _, _ = run_pinned(
        [f"{setup.programs}/martlet-bench", "--url", sink.url, "--ca", sink.authority, "--key", sink.key,
         "--key-id", sink.key_id, "--team-id", sink.team_id, "--pushes", pushes, "--window", WINDOW,
         "--connections", connections, "--tokens", TOKENS], CLIENT_CORE)
    line = json.loads(output)  # the engine fails if a push is not accepted
    return line["accepted"], line["seconds"], line["cpuSeconds"]


def h2load(sink, pushes, connections):
    """The rate is by its own clock, the CPU by the kernel's, including 10 ms for the start of the process."""
    with tempfile.TemporaryDirectory() as directory:
        body, uris = os.path.join(directory, "body"), os.path.join(directory, "uris")
        with open(body, "w") as file:
            file.write('{"aps":{"alert":"' + "x" * (BODY_BYTES - 20) + '"}}')
        with open(uris, "w") as file:
            file.writelines(f"{sink.url}/3/device/{token(n)}\n" for n in range(1, TOKENS + 1))
        output, cpu, _ = run_pinned(
            ["h2load", "-n", pushes, "-c", connections, "-m", WINDOW // connections, "-d", body, "-i", uris,
             *headers(AUTHORIZATION, "00000000-0000-4000-8000-000000000001")], CLIENT_CORE)
    counts = next(line for line in output.splitlines() if line.startswith("status codes:"))
    accepted = int(counts.split()[2])
    if accepted != pushes:
        raise RuntimeError(f"h2load: {counts}")
    finished = next(line for line in output.splitlines() if line.startswith("finished in"))
    return accepted, pushes / float(finished.split(",")[1].split()[0]), cpu


def headers(authorization, identifier):
    lines = [f"authorization: {authorization}", "apns-topic: com.example.bench", "apns-push-type: alert",
             "apns-priority: 10", f"apns-id: {identifier}"]
    return [word for line in lines for word in ("-H", line)]


def build_curl_multi(directory):
    program = os.path.join(directory, "curl-multi")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "curl-multi.c")
    subprocess.run(["gcc", "-O2", "-Wall", "-o", program, source, "-lcurl"], check=True)
    with open(os.path.join(directory, "authorization"), "w") as file:
        file.write(f"authorization: {AUTHORIZATION}")
    return program


def curl(program, sink, pushes, connections):
    authorization = os.path.join(os.path.dirname(program), "authorization")
    output, _, _ = run_pinned(
        [program, sink.url, sink.authority, authorization, pushes, WINDOW, connections], CLIENT_CORE)
    line = json.loads(output)
    return line["accepted"], line["seconds"], line["cpuSeconds"]
