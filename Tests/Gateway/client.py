"""A client of APNs made of h2, a socket and a key: nothing of Martlet."""

import base64
import functools
import json
import socket
import ssl
import time

import h2.config
import h2.connection
import h2.errors
import h2.events
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils

TOKEN = "ab" * 32
TOPIC = "com.example.app"
PAYLOAD = b'{"aps":{"alert":"hello"}}'
PATIENCE = 60
NOW = int(time.time())  # of all tokens: Apple counts new ones


def encoded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


@functools.cache  # each signature is another token
def provider_token(key_path, key_id, team_id, issued_at):
    with open(key_path, "rb") as file:
        key = serialization.load_pem_private_key(file.read(), None)

    def part(value):
        return encoded(json.dumps(value).encode())

    text = part({"alg": "ES256", "kid": key_id}) + "." + part({"iss": team_id, "iat": issued_at})
    r, s = utils.decode_dss_signature(key.sign(text.encode(), ec.ECDSA(hashes.SHA256())))
    return f"bearer {text}.{encoded(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"


class Answer:
    def __init__(self):
        self.headers, self.body, self.is_ended = {}, b"", False

    @property
    def status(self):
        return int(self.headers.get(":status", 0))

    @property
    def reason(self):
        return json.loads(self.body)["reason"] if self.body else None


class Client:
    """One connection. `events` has what the server said beside answers."""

    def __init__(self, ready):
        self.ready = ready
        self.token = self.new_token(NOW)
        context = ssl.create_default_context(cafile=ready["caCertificate"])
        context.set_alpn_protocols(["h2"])
        host, port = ready["url"].removeprefix("https://").rsplit(":", 1)
        self.socket = context.wrap_socket(socket.create_connection((host, int(port)), PATIENCE), server_hostname=host)
        self.connection = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8"))
        self.connection.initiate_connection()
        self.events, self.answers, self.is_closed, self.bytes = [], {}, False, b""
        self.flush()

    def new_token(self, issued_at):
        return provider_token(self.ready["keyPath"], self.ready["keyId"], self.ready["teamId"], issued_at)

    def flush(self):
        if data := self.connection.data_to_send():
            self.socket.sendall(data)

    def receive(self):
        data = self.socket.recv(65536)
        if not data:
            self.is_closed = True
            return
        self.bytes += data
        for event in self.connection.receive_data(data):
            answer = self.answers.get(getattr(event, "stream_id", None))
            if isinstance(event, h2.events.ResponseReceived):
                answer.headers = dict(event.headers)
            elif isinstance(event, h2.events.DataReceived):
                answer.body += event.data
            elif isinstance(event, h2.events.StreamEnded):
                answer.is_ended = True
            elif isinstance(event, h2.events.StreamReset) and answer:
                answer.is_ended = True
            else:
                self.events.append(event)
        self.flush()

    def wait(self, condition):
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end and not self.is_closed, "nothing more came"
            self.receive()

    def resets(self):
        """The codes of RST_STREAM frames by stream. h2 hides those of closed streams."""
        codes, rest = {}, self.bytes
        while len(rest) >= 9:
            length, kind, stream = int.from_bytes(rest[:3], "big"), rest[3], int.from_bytes(rest[5:9], "big")
            if kind == 3:
                codes.setdefault(stream, []).append(int.from_bytes(rest[9:13], "big"))
            rest = rest[9 + length:]
        return codes

    def settings(self):
        """The sets of settings that came, oldest first."""
        changes = [e for e in self.events if isinstance(e, h2.events.RemoteSettingsChanged)]
        return [{int(code): item.new_value for code, item in e.changed_settings.items()} for e in changes]

    def streams(self):
        """The last limit of streams."""
        return [values[3] for values in self.settings()][-1]

    def begin(self, token=TOKEN, topic=TOPIC, payload=PAYLOAD, headers=(), method="POST", authorization=True):
        stream = self.connection.get_next_available_stream_id()
        fields = [(":method", method), (":scheme", "https"), (":authority", "localhost"), (":path", f"/3/device/{token}")]
        if authorization:
            fields.append(("authorization", self.token))
        if topic:
            fields.append(("apns-topic", topic))
        self.answers[stream] = Answer()
        self.connection.send_headers(stream, fields + list(headers), end_stream=not payload)
        if payload:
            self.connection.send_data(stream, payload, end_stream=True)
        self.flush()
        return self.answers[stream]

    def push(self, **fields):
        answer = self.begin(**fields)
        self.wait(lambda: answer.is_ended)
        return answer
