"""Fills the list push:jobs with argv[1] jobs, through redis-cli's pipe mode."""

import json
import os
import subprocess
import sys

from workload import jobs


def command(*words):
    encoded = [word.encode() for word in words]
    return b"*%d\r\n" % len(encoded) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in encoded)


def fill(count):
    pipe = subprocess.Popen(
        ["redis-cli", "-u", os.environ["REDIS_URL"], "--pipe"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
    )
    with pipe.stdin as stdin:
        for job in jobs(count):
            stdin.write(command("LPUSH", "push:jobs", json.dumps(job)))
    if pipe.wait() != 0:
        raise SystemExit("redis-cli --pipe failed")


if __name__ == "__main__":
    fill(int(sys.argv[1]))
