"""The jobs of all workers: one device each and an alert of 209 bytes. The id is the apns-id."""

import uuid

BODY = (
    "At noon, at the usual place? Bring the others along, the table is large enough for "
    "six of us, and the soup is said to be really very good, today."
)


def jobs(count):
    for number in range(count):
        yield {
            "id": str(uuid.UUID(int=number + 1, version=4)),
            "to": {"token": f"{number + 1:064x}"},
            "title": "Lunch?",
            "body": BODY,
            "sound": "default",
        }
