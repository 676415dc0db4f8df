#!/usr/bin/env python3
"""Keeps what a release has left in Redis, and checks that later programs read it.

usage: Tests/Upgrade/keys.py keep PROGRAMS     writes Tests/Upgrade/released.json, with the programs of the release
       Tests/Upgrade/keys.py check PROGRAMS    loads it, and lets the programs read all of it and go on

The state is that of real registrations, jobs and operators: every family of keys, and what read commands say of them. `check` fails if a
page, a route or a command does, if a command says less than the release said, or if a job that was left does not end.
"""
import json
import pathlib
import sys
import time
from random import Random

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "Tests/Fuzz/State"))
sys.dont_write_bytecode = True
from real import QUEUES, RealFleet, end_all  # noqa: E402
from state import State, family  # noqa: E402
from visits import Broken, Visitor  # noqa: E402

FILE = ROOT / "Tests/Upgrade/released.json"
# What reads without a change. The answers of the release are kept.
QUESTIONS = [
    *(("credentials", "list", kind, "--json") for kind in ("user", "key", "instance", "operator")),
    ("dead", "list", "--json"), ("broadcast", "list", "--json"), ("broadcast", "show", "summer-sale", "--json"),
    *(("result", job) for job in ("order-1", "hello-bob", "hello-nobody", "spring-sale")),
    ("tokens", "export", "-"),
]
# They depend on the moment.
VOLATILE = {"age", "ageSeconds", "exportedAt", "lastUsedAt", "usedAt", "progress", "worker"}
# Those of processes that have ended, of the past minutes, and what any process makes.
LEFT_OUT = (b":heartbeat:", b":keeper", b":workers", b":inflight:", b":landing:", b":tombstone:", b"martlet:{limit}", b":sender", b":walk")
HOUR = 3_600_000


def text(value):
    """Bytes and the lists of a reply, as JSON has them. A byte that is no text becomes a lone surrogate."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    return [text(item) for item in value] if isinstance(value, list) else value


def commands(key, kind, content, left):
    """What makes a key again."""
    key, content = key.encode("utf-8", "surrogateescape"), [item.encode("utf-8", "surrogateescape") if isinstance(item, str) else item
                                                            for item in ([content] if kind == "string" else content)]
    if kind == "string":
        yield ("SET", key, content[0])
    elif kind == "zset":
        for member, score in zip(content[::2], content[1::2]):
            yield ("ZADD", key, score, member)
    elif kind == "stream":
        for identifier, fields in reversed(content):
            yield ("XADD", key, identifier, *(field.encode("utf-8", "surrogateescape") for field in fields))
    else:
        yield ({"hash": "HSET", "list": "RPUSH", "set": "SADD"}[kind], key, *content)
    if left:
        yield ("PEXPIRE", key, max(left, HOUR))


def asked(fleet):
    answers = {}
    for question in QUESTIONS:
        ended = fleet.command(question, 60)
        if ended.returncode:
            raise SystemExit(f"martlet {' '.join(question)}: {ended.stderr or ended.stdout}")
        lines = ended.stdout.strip()
        try:
            answers[" ".join(question)] = json.loads(lines)
        except json.JSONDecodeError:
            answers[" ".join(question)] = [json.loads(line) for line in lines.splitlines()]
    return answers


def lacking(old, new, place):
    """Where a newer answer says less than the older one. It may say more."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key, value in old.items():
            if key not in VOLATILE:
                yield from lacking(value, new.get(key), f"{place}.{key}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for number, pair in enumerate(zip(old, new)):
            yield from lacking(*pair, f"{place}[{number}]")
    elif old != new:
        yield f"{place}: {str(old)[:200]} was {str(new)[:200]}"


def keep(programs):
    with RealFleet(programs) as fleet:
        # What a stopped fleet leaves, apart from waiting jobs.
        end_all([fleet.running.pop(name) for name in ("worker-0", "all")])
        answers = asked(fleet)
        state = State(fleet.redis)
        keys = [[text(key), text(kind), text(state.contents[key]), left] for key, (_, left, kind) in state.dumps.items()
                if not any(part in key for part in LEFT_OUT) and state.contents[key]]
        version = fleet.martlet("--version").split()[-1]
        FILE.write_text(json.dumps({"version": version, "answers": answers, "keys": keys}, indent=0) + "\n")
        print(f"kept {len(keys)} keys of {len({family(key[0].encode('utf-8', 'surrogateescape')) for key in keys})} families of {version}")


class Upgraded(RealFleet):
    """A fleet that finds what the release has left."""

    def fill(self):
        self.released = json.loads(FILE.read_text())
        end_all([self.running.pop(name) for name in ("worker-0", "all")])
        self.redis("FLUSHALL")
        self.redis.pipeline([command for key in self.released["keys"] for command in commands(*key)])
        self.said = asked(self)
        self.start_worker()
        self.start_dashboard()


def check(programs):
    faults = []
    with Upgraded(programs) as fleet:
        for question, answer in fleet.released["answers"].items():
            faults += lacking(answer, fleet.said[question], question)
        visitor = Visitor(fleet, fleet.names(), Random(1))
        try:
            visitor.pages()
            visitor.routes()
            visitor.commands(25)
            fleet.check()
        except Broken as error:
            faults.append(str(error))
        fleet.command(("dead", "requeue"), 60)
        fleet.command(("broadcast", "resume", "summer-sale"), 60)
        # One was paused when it was left.
        for queue in QUEUES:
            fleet.command(("queue", "resume", queue), 60)
        end = time.monotonic() + 300
        while any(fleet.redis("LLEN", queue) for queue in QUEUES):
            if time.monotonic() > end:
                faults.append(f"jobs wait: {[fleet.redis('LLEN', queue) for queue in QUEUES]}")
                break
            time.sleep(0.1)
        fleet.check()
        families = {family(key[0].encode("utf-8", "surrogateescape")) for key in fleet.released["keys"]}
        version = fleet.released["version"]
    if faults:
        sys.exit("\n".join(faults))
    print(f"{len(families)} families of keys of {version} are read: {len(QUESTIONS)} commands say the same, {visitor.count} visits")


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("keep", "check"):
        sys.exit(__doc__)
    {"keep": keep, "check": check}[sys.argv[1]](pathlib.Path(sys.argv[2]).resolve())


main()
