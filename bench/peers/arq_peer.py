"""arq + aioapns. As a program: fills the queue with argv[1] jobs; as a module of `arq`: the worker."""

import asyncio
import os
import sys

from aioapns_sender import make_client, send
from arq import create_pool
from arq.connections import RedisSettings

from workload import jobs

redis = RedisSettings.from_dsn(os.environ["REDIS_URL"])


async def startup(context):
    context["apns"] = make_client()


async def push(context, job):
    await send(context["apns"], job)


# Otherwise each job logs two lines.
quiet = {"version": 1, "loggers": {"arq": {"level": "WARNING"}}}


class WorkerSettings:
    functions = [push]
    on_startup = startup
    redis_settings = redis
    # With the defaults of 10 and 0.5 s the worker would mostly wait.
    max_jobs = 256
    poll_delay = 0.01


async def fill(count):
    pool = await create_pool(redis)
    for job in jobs(count):
        await pool.enqueue_job("push", job)


if __name__ == "__main__":
    asyncio.run(fill(int(sys.argv[1])))
