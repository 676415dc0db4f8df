"""Celery + aioapns. As a program: fills the queue with argv[1] jobs; as a module of `celery`: the application."""

import asyncio
import os
import sys

from aioapns_sender import make_client, send
from celery import Celery
from celery.signals import worker_process_init

from workload import jobs

app = Celery("celery_peer", broker=os.environ["REDIS_URL"])
loop = None
client = None


@worker_process_init.connect
def start(**_):
    global loop, client
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    client = make_client()


@app.task(name="push", ignore_result=True)
def push(job):
    loop.run_until_complete(send(client, job))


def fill(count):
    for job in jobs(count):
        push.delay(job)


if __name__ == "__main__":
    fill(int(sys.argv[1]))
