#!/usr/bin/env python3
"""Reads the events of Martlet from Redis as a consumer group, and prints each of them, as a line of JSON.

REDIS_URL is that of the workers. Needs redis-py: python3-redis, or redis on PyPI.
"""

import json
import os
import redis

STREAM, GROUP, CONSUMER = "push:events", "printer", os.uname().nodename

db = redis.Redis.from_url(os.environ["REDIS_URL"], decode_responses=True)
try:
    db.xgroup_create(STREAM, GROUP, id="0", mkstream=True)
except redis.ResponseError as error:
    if not str(error).startswith("BUSYGROUP"):
        raise
cursor = "0"  # First what an earlier run has taken and not acknowledged, then what is new.
while True:
    for _, entries in db.xreadgroup(GROUP, CONSUMER, {STREAM: cursor}, count=100, block=5000) or []:
        cursor = entries[-1][0] if entries and cursor != ">" else ">"
        for entry, fields in entries:
            if fields:  # None for an entry that was deleted meanwhile.
                print(entry, json.dumps(json.loads(fields["event"])), flush=True)
            db.xack(STREAM, GROUP, entry)
