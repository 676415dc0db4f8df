"""The languages of docs/producers.md: how the blocks of each become commands."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

GO = {"GO111MODULE": "off", "GOPATH": "/usr/share/gocode", "CGO_ENABLED": "0"}
NODE_MODULES = Path("/usr/share/nodejs")


@dataclass
class Programs:
    """The two examples of a language, ready to run."""

    enqueue: list
    outcome: list


class NotInstalled(Exception):
    pass


def require(*commands):
    for command in commands:
        if shutil.which(command) is None:
            raise NotInstalled(f"{command} is missing")


def run(*command, cwd=None, **environment):
    ended = subprocess.run(command, cwd=cwd, env=os.environ | environment, capture_output=True, text=True)
    if ended.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))} failed:\n{ended.stdout}{ended.stderr}")


def works(*command, **environment):
    return subprocess.run(command, env=os.environ | environment, capture_output=True).returncode == 0


def write(place, names, blocks):
    if len(names) != len(blocks):
        raise RuntimeError(f"{len(names)} blocks are expected, the page has {len(blocks)}")
    paths = [place / name for name in names]
    for path, block in zip(paths, blocks):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block)
    return paths


def shell(place, blocks):
    paths = write(place, ["enqueue.sh", "outcome.sh"], blocks)
    return Programs(*(["bash", "-euo", "pipefail", path] for path in paths))


def python_with_redis():
    # A Python that was installed otherwise does not have Debian's packages.
    found = [path for path in (shutil.which("python3"), "/usr/bin/python3") if path and works(path, "-c", "import redis")]
    if not found:
        raise NotInstalled("redis-py is missing")
    return found[0]


def python(place, blocks):
    program = python_with_redis()
    paths = write(place, ["enqueue.py", "outcome.py"], blocks)
    return Programs(*([program, path] for path in paths))


def node(place, blocks):
    require("node")
    if not works("node", "-e", "require('redis')", NODE_PATH=str(NODE_MODULES)):
        raise NotInstalled("node-redis is missing")
    paths = write(place, ["enqueue.mjs", "outcome.mjs"], blocks)
    modules = place / "node_modules"
    if not modules.exists():
        modules.symlink_to(NODE_MODULES)
    return Programs(*(["env", f"NODE_PATH={NODE_MODULES}", "node", path] for path in paths))


def require_redis_of_ruby():
    require("ruby")
    if not works("ruby", "-e", "require 'redis'"):
        raise NotInstalled("redis-rb is missing")


def ruby(place, blocks):
    require_redis_of_ruby()
    paths = write(place, ["enqueue.rb", "outcome.rb"], blocks)
    return Programs(*(["ruby", "-w", path] for path in paths))


def go(place, blocks):
    require("go")
    if not (Path(GO["GOPATH"]) / "src/github.com/gomodule/redigo").exists():
        raise NotInstalled("redigo is missing")
    paths = write(place, ["enqueue/enqueue.go", "outcome/outcome.go"], blocks)
    programs = [path.with_suffix("") for path in paths]
    for path, program in zip(paths, programs):
        run("go", "vet", path, **GO)
        run("go", "build", "-o", program, path, **GO)
    return Programs(*([program] for program in programs))


def swift(place, blocks):
    require("swift")
    if not Path("/usr/include/hiredis/hiredis.h").exists():
        raise NotInstalled("hiredis is missing")
    write(place, ["Package.swift", "CHiredis/module.modulemap", "producer/Redis.swift", "producer/Producer.swift"], blocks)
    run("swift", "build", "-Xswiftc", "-warnings-as-errors", cwd=place)
    program = place / ".build/debug/producer"
    return Programs([program], [program, "outcome"])


# By heading: what prepares its blocks, and whether its example speaks TLS.
LANGUAGES = {
    "Shell": (shell, True),
    "Python": (python, True),
    "Node": (node, True),
    "Ruby": (ruby, True),
    "Go": (go, True),
    "Swift": (swift, False),
}
