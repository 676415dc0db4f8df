#!/usr/bin/env python3
"""Receives the events of Martlet, and prints each of them once, as a line of JSON.

usage: webhook_receiver.py [PORT [DATABASE]]

MARTLET_WEBHOOK_SECRET is that of the workers. Needs nothing but Python 3.9. Put a proxy with TLS in front of it.
"""

import base64
import hashlib
import hmac
import http.server
import json
import os
import sqlite3
import sys
import threading
import time

TOLERANCE = 300  # seconds between the clock of the sender and this one
MAXIMUM_BYTES = 1024 * 1024
KEPT_DAYS = 7


class Refused(Exception):
    """The request is not one of Martlet."""


def key_of(secret):
    return base64.b64decode(secret[6:]) if secret.startswith("whsec_") else secret.encode()


def verify(headers, body, secrets, now):
    """Raises Refused unless one of the secrets has signed the request a short time ago."""
    message_id, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not timestamp.isdecimal() or abs(now - int(timestamp)) > TOLERANCE:
        raise Refused("the timestamp is missing, or too far from the clock")
    signed = f"{message_id}.{timestamp}.".encode() + body
    expected = [
        b"v1," + base64.b64encode(hmac.new(key_of(secret), signed, hashlib.sha256).digest()) for secret in secrets
    ]
    given = headers.get("webhook-signature", "").encode().split(b" ")
    # Every pair is compared in constant time.
    if not any([hmac.compare_digest(one, other) for one in expected for other in given]):
        raise Refused("the signature is wrong")


class Inbox:
    """Remembers which events were handled, also after a restart: a batch that was not answered in time comes again."""

    def __init__(self, path, handle):
        self.database = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self.database.execute("CREATE TABLE IF NOT EXISTS seen (id TEXT PRIMARY KEY, at REAL)")
        self.lock = threading.Lock()
        self.handle = handle

    def take(self, batch):
        """Handles the events of a batch, in their order. All or none are marked as handled."""
        with self.lock:
            self.database.execute("BEGIN IMMEDIATE")
            try:
                lost = batch["data"].get("gap")
                if lost is not None:
                    print(f"events were lost before they could be sent: {lost['lost']}", file=sys.stderr, flush=True)
                for event in batch["data"]["events"]:
                    new = self.database.execute("INSERT OR IGNORE INTO seen VALUES (?, ?)", (event["id"], time.time()))
                    if new.rowcount == 1:
                        self.handle(event)
                self.database.execute("DELETE FROM seen WHERE at < ?", (time.time() - KEPT_DAYS * 86400,))
                self.database.execute("COMMIT")
            except BaseException:
                self.database.execute("ROLLBACK")
                raise


class Receiver(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 30
    inbox = None
    secrets = []

    def do_POST(self):
        length = self.headers.get("content-length", "")
        if not length.isdecimal() or int(length) > MAXIMUM_BYTES:
            self.close_connection = True
            return self.answer(413)
        body = self.rfile.read(int(length))
        try:
            verify(self.headers, body, self.secrets, time.time())
            self.inbox.take(json.loads(body))
        except Refused as why:
            return self.answer(401, str(why))
        except Exception as error:  # Martlet sends the batch again.
            return self.answer(500, repr(error))
        self.answer(204)

    def answer(self, status, why=""):
        text = why.encode()
        self.send_response(status)
        if status != 204:
            self.send_header("content-length", str(len(text)))
        self.end_headers()
        if status != 204:
            self.wfile.write(text)

    def log_message(self, format, *arguments):
        print(format % arguments, file=sys.stderr, flush=True)


def main():
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8090
    path = sys.argv[2] if len(sys.argv) > 2 else "events.sqlite"
    Receiver.secrets = os.environ["MARTLET_WEBHOOK_SECRET"].split()
    Receiver.inbox = Inbox(path, lambda event: print(json.dumps(event), flush=True))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Receiver)
    print(f"listens on port {server.server_address[1]}", file=sys.stderr, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
