"""rq + aioapns. As a program: fills the queue with argv[1] jobs; as a module of `rq worker`: the task."""

import asyncio
import os
import sys

from aioapns_sender import make_client, send
from redis import Redis
from rq import Queue

from workload import jobs

loop = asyncio.new_event_loop()
asyncio.set_event_loop(loop)
client = None


def push(job):
    # SimpleWorker keeps its process and this client between jobs. The default worker forks for each job.
    global client
    if client is None:
        client = make_client()
    loop.run_until_complete(send(client, job))


def fill(count):
    queue = Queue("push", connection=Redis.from_url(os.environ["REDIS_URL"]))
    queue.enqueue_many([Queue.prepare_data("rq_peer.push", args=(job,)) for job in jobs(count)])


if __name__ == "__main__":
    fill(int(sys.argv[1]))
