"""What goes wrong in a watched fleet, and the alerts that must fire."""

import json
import time

from processes import wait_until

# Unit tests alone see these fire: they need another clock, 30 or 50 minutes, another version, or a certificate of another age.
NOT_PROVOKED = {"MartletClockOff", "MartletProviderTokenOld", "MartletVersionsDiffer", "MartletCertificateExpiresSoon", "MartletWebhookFails"}
MAXIMUM_DEAD_LETTERS = 100_000
FILL_DEAD = "for i = 1, tonumber(ARGV[1]) do redis.call('ZADD', KEYS[1], i, i) end"
FILL_QUEUE = "for i = 1, tonumber(ARGV[1]) do redis.call('LPUSH', KEYS[1], ARGV[2]) end"
# At 16 jobs a second, what a worker counts with as long as it ends fewer, this is over 5 minutes for one.
LARGE_BACKLOG = 6000


def provoke(fleet):
    """Returns causes, the alerts that each must raise, and what brings it about. Each continues where the one before ended."""

    def refuse_events():
        fleet.hook_status = 410
        fleet.enqueue("not a job")

    def refuse_topic():
        fleet.control("/settings", topics=["com.example.demo"])
        fleet.enqueue(fleet.job(app="com.example.other"))

    def refuse_provider_token():
        fleet.control("/faults", kind="status", status=403, reason="ExpiredProviderToken", count=1)
        fleet.enqueue(fleet.job())

    def refuse_tokens():
        tokens = [f"{number:064x}" for number in range(1000, 1080)]
        for token in tokens:
            fleet.control("/devices", token=token, rule="bad")
            # Only of devices that are registered there is something to remove.
            device = {"username": "", "platform": "ios", "updatedAt": 1, "bundleId": "com.example.demo"}
            fleet.redis("SET", f"push:token:{token}", json.dumps(device))
        fleet.enqueue(*(fleet.job(to={"token": token}) for token in tokens))

    def bury_jobs():
        fleet.redis("EVAL", FILL_DEAD, "1", "martlet:{push:jobs:low}:dead", str(MAXIMUM_DEAD_LETTERS))
        fleet.redis("LPUSH", "push:jobs:low", "not a job")
        fleet.enqueue("not a job")

    def stop_gateway():
        fleet.end("apns")
        hour_ago = int(time.time() - 3600) * 1000
        job = f'{{"to":{{"token":"{1:064x}"}},"title":"t","enqueuedAt":{hour_ago}}}'
        fleet.redis("EVAL", FILL_QUEUE, "1", "push:jobs", str(LARGE_BACKLOG), job)

    def fill_redis():
        fleet.redis("CONFIG", "SET", "maxmemory", "1")
        register(1)
        # What appears for the first time has no increase.
        wait_until("an error in Prometheus", lambda: fleet.has_data('martlet_http_requests_total{status=~"5.."}'))
        register(8)

    def register(count):
        for _ in range(count):
            fleet.serial += 1
            fleet.ask_sidecar("/api/push/register", token=f"{fleet.serial:064x}", platform="ios")

    return [
        ("a webhook that is gone", ["MartletWebhookPaused"], refuse_events),
        ("APNs refuses a topic", ["MartletRoutePaused"], refuse_topic),
        ("APNs refuses the provider token once", ["MartletProviderTokenRefused"], refuse_provider_token),
        ("jobs that are not jobs, and 100,000 dead letters", ["MartletDeadLetters", "MartletDeadLettersDropped"], bury_jobs),
        ("most tokens are invalid", ["MartletRemovalsStopped", "MartletJobsFail"], refuse_tokens),
        ("a sidecar with few file descriptors", ["MartletDescriptorsLow"], lambda: fleet.leave_descriptors("sidecar", 3)),
        ("a killed worker", ["MartletTargetDown", "MartletWorkerLost"], lambda: fleet.end("worker-2")),
        ("an APNs that is gone, and a backlog",
         ["MartletNoAPNsConnection", "MartletBacklogOld", "MartletBacklogSlow", "MartletQueueStuck"], stop_gateway),
        ("a full Redis", ["MartletRedisRefusesWrites", "MartletRedisShortOfMemory", "MartletSidecarErrors"], fill_redis),
        ("a Redis that is gone", ["MartletRedisUnreachable"], lambda: fleet.end("redis")),
        ("no worker", ["MartletNoWorkers"], lambda: fleet.end("worker-1")),
    ]
