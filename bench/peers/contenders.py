"""The workers that are compared, with their settings."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Contender:
    name: str
    # Command lines. {programs} and {peers} are the directories of the built programs and of the environments.
    fill: list
    worker: list
    # Jobs of one round: enough for some seconds.
    jobs: int
    settings: str
    environment: dict = field(default_factory=dict)


def from_list(name, worker, settings, **environment):
    fill = ["/usr/bin/python3", "list_filler.py"]
    return Contender(name, fill, worker, 100_000, settings, environment)


CONTENDERS = [
    from_list(
        "Martlet", ["{programs}/martlet", "worker"], "as it comes: records kept, at-least-once",
        MARTLET_ADMIN_ADDRESS="off",
    ),
    from_list("Go, x/net/http2, BRPOP", ["{peers}/go-worker"], "256 goroutines, 1 connection", CONSUMERS="256"),
    Contender(
        "arq + aioapns", ["{peers}/arq/bin/python", "arq_peer.py"],
        ["{peers}/arq/bin/arq", "arq_peer.WorkerSettings", "--custom-log-dict", "arq_peer.quiet"],
        4_000, "max_jobs 256, poll_delay 10 ms",
    ),
    Contender(
        "Celery + aioapns", ["{peers}/celery/bin/python", "celery_peer.py"],
        ["{peers}/celery/bin/celery", "-A", "celery_peer", "worker", "--loglevel=ERROR", "--concurrency=4"],
        2_000, "prefork, 4 processes, a client each",
    ),
    Contender(
        "rq (SimpleWorker) + aioapns", ["{peers}/rq/bin/python", "rq_peer.py"],
        ["{peers}/rq/bin/rq", "worker", "--quiet", "--url", "{redis}", "-w", "rq.SimpleWorker", "push"],
        1_000, "one process, one client",
    ),
    Contender(
        "rq + aioapns", ["{peers}/rq/bin/python", "rq_peer.py"],
        ["{peers}/rq/bin/rq", "worker", "--quiet", "--url", "{redis}", "push"],
        50, "as it comes: a fork and a connection per job",
    ),
]
