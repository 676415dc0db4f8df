"""The aioapns client of the Python peers, for the gateway of the environment (the simulator's provider.env)."""

import os
import ssl
from urllib.parse import urlsplit

from aioapns import APNs, NotificationRequest, PushType
from aioapns.connection import APNsProductionClientProtocol


def make_client():
    """Call this on the loop that sends, because the pool binds to it."""
    gateway = urlsplit(os.environ["APNS_ENDPOINT_OVERRIDE"])
    APNsProductionClientProtocol.APNS_SERVER = gateway.hostname
    APNsProductionClientProtocol.APNS_PORT = gateway.port
    with open(os.environ["APNS_KEY_PATH"], encoding="ascii") as file:
        key = file.read()
    return APNs(
        key=key,
        key_id=os.environ["APNS_KEY_ID"],
        team_id=os.environ["APNS_TEAM_ID"],
        topic=os.environ["APNS_BUNDLE_ID"],
        max_connections=1,
        ssl_context=ssl.create_default_context(cafile=os.environ["APNS_CA_CERT"]),
    )


async def send(client, job):
    """Sends one job. A refusal is an error, so that the queue reports it."""
    request = NotificationRequest(
        device_token=job["to"]["token"],
        message={"aps": {"alert": {"title": job["title"], "body": job["body"]}, "sound": "default"}},
        notification_id=job["id"],
        priority="10",
        push_type=PushType.ALERT,
    )
    result = await client.send_notification(request)
    if not result.is_successful:
        raise RuntimeError(f"{result.status}: {result.description}")
