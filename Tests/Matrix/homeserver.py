"""A Synapse on the loopback interface, and its accounts."""

import hashlib
import hmac
import json
import subprocess
import urllib.error
import urllib.request
from urllib.parse import quote

from processes import free_port, wait_until

PYTHON = ".build/synapse/bin/python"
SECRET = "registration-secret"
SETTINGS = """
server_name: matrix.test
report_stats: false
signing_key_path: {place}/signing.key
media_store_path: {place}/media
pid_file: {place}/synapse.pid
database: {{name: sqlite3, args: {{database: "{place}/synapse.db"}}}}
listeners: [{{port: {port}, bind_addresses: [127.0.0.1], type: http, resources: [{{names: [client]}}]}}]
registration_shared_secret: registration-secret
macaroon_secret_key: macaroon-secret
form_secret: form-secret
trusted_key_servers: []
# Otherwise it calls no pusher on this machine.
ip_range_whitelist: [127.0.0.0/8]
rc_message: {{per_second: 1000, burst_count: 1000}}
# Counts messages, not rooms.
push: {{group_unread_count_by_room: false}}
"""


def call(method, url, body=None, token=None):
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    data = None if body is None else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data, headers, method=method)) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read() or b"{}")


class Homeserver:
    def __init__(self, place):
        self.place, self.port = place, free_port()
        self.url = f"http://127.0.0.1:{self.port}"

    def start(self):
        """Returns the process."""
        settings = self.place / "homeserver.yaml"
        settings.write_text(SETTINGS.format(place=self.place, port=self.port))
        command = [PYTHON, "-m", "synapse.app.homeserver", "--config-path", settings]
        subprocess.run([*command, "--generate-keys"], check=True, capture_output=True)
        log = open(self.place / "synapse.log", "w")
        process = subprocess.Popen(command, stdout=log, stderr=log)
        wait_until("Synapse", lambda: process.poll() is not None or self.is_up())
        return process

    def is_up(self):
        try:
            return call("GET", f"{self.url}/_matrix/client/versions")[0] == 200
        except OSError:
            return False

    def account(self, name):
        path = f"{self.url}/_synapse/admin/v1/register"
        nonce, password = call("GET", path)[1]["nonce"], f"password-of-{name}"
        mac = hmac.new(SECRET.encode(), b"\0".join(x.encode() for x in (nonce, name, password, "notadmin")), hashlib.sha1)
        _, made = call("POST", path, {"nonce": nonce, "username": name, "password": password, "mac": mac.hexdigest()})
        return Account(self.url, made["user_id"], made["access_token"])


class Account:
    def __init__(self, url, user, token):
        self.url, self.user, self.token = url, user, token

    def ask(self, method, path, body=None):
        status, answer = call(method, f"{self.url}/_matrix/client/v3{path}", body, self.token)
        if status != 200:
            raise OSError(f"{method} {path}: {status} {answer}")
        return answer

    def send(self, room, text, number):
        content = {"msgtype": "m.text", "body": text}
        return self.ask("PUT", f"/rooms/{quote(room)}/send/m.room.message/{number}", content)["event_id"]

    def read(self, room, event):
        self.ask("POST", f"/rooms/{quote(room)}/receipt/m.read/{quote(event)}", {})

    def add_pusher(self, app_id, pushkey, url, **data):
        self.ask("POST", "/pushers/set", {
            "kind": "http", "app_id": app_id, "pushkey": pushkey, "app_display_name": "App", "device_display_name": "Phone",
            "lang": "en", "append": True, "data": {"url": url, **data}})

    def pushkeys(self):
        return {pusher["pushkey"] for pusher in self.ask("GET", "/pushers")["pushers"]}
