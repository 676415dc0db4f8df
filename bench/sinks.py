"""The sinks in place of APNs: apns-simulator with its ledger, and nghttpd as a neutral server."""

import json
import os
import socket
import subprocess
import urllib.request

from processes import SINK_CORE, Process, wait_until


def token(number):
    return f"{number:064x}"


class Simulator:
    name = "apns-simulator"

    def __init__(self, programs, directory, options=()):
        self._directory = os.path.join(directory, "apns")
        ready = os.path.join(directory, "simulator.log")
        self.process = Process(
            [f"{programs}/apns-simulator", "--dir", self._directory, *options], SINK_CORE, ready)
        wait_until("apns-simulator", lambda: b'"ready"' in open(ready, "rb").read(), process=self.process)
        with open(ready) as log:
            line = json.loads(next(line for line in log if '"ready"' in line))
        self.url, self.port, self._control = line["url"], line["port"], line["control"]
        self.authority, self.key = line["caCertificate"], line["keyPath"]
        self.key_id, self.team_id = line["keyId"], line["teamId"]

    def environment(self):
        return {
            "APNS_KEY_ID": self.key_id, "APNS_TEAM_ID": self.team_id, "APNS_KEY_PATH": self.key,
            "APNS_BUNDLE_ID": "com.example.bench", "APNS_ENDPOINT_OVERRIDE": self.url,
            "APNS_CA_CERT": self.authority}

    def ask(self, path, body=None, method=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._control + path, data=data, method=method)
        with urllib.request.urlopen(request, timeout=120) as answer:
            return answer.read()

    def ledger(self):
        return json.loads(self.ask("/ledger"))

    def reset(self):
        self.ask("/ledger/reset", {}, "POST")

    def arrivals(self):
        """apns-id -> unix nanoseconds."""
        lines = self.ask("/ledger/ids").decode().splitlines()
        return {line.split()[0]: int(line.split()[2]) for line in lines}

    def stop(self):
        self.process.stop()


class Nghttpd:
    """Responds with 200 and an empty file to each of the first `tokens` device tokens."""

    name = "nghttpd"

    def __init__(self, directory, tokens):
        self._directory = os.path.join(directory, "nghttpd")
        devices = os.path.join(self._directory, "root", "3", "device")
        os.makedirs(devices)
        for number in range(1, tokens + 1):
            open(os.path.join(devices, token(number)), "w").close()
        self._make_credentials()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"https://127.0.0.1:{self.port}"
        log = os.path.join(directory, "nghttpd.log")
        self.process = Process(
            ["nghttpd", "-m", 1000, "-d", os.path.join(self._directory, "root"), "--address=127.0.0.1", self.port,
             self._certificate_key, self.authority], SINK_CORE, log)
        wait_until("nghttpd", self._listens, process=self.process)

    def _make_credentials(self):
        self._certificate_key = os.path.join(self._directory, "server.key")
        self.authority = os.path.join(self._directory, "server.pem")
        self.key = os.path.join(self._directory, "provider.p8")
        self.key_id, self.team_id = "BENCHKEY01", "BENCHTEAM1"
        quiet = {"check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
             "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
             "-keyout", self._certificate_key, "-out", self.authority], **quiet)
        subprocess.run(
            ["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", self.key],
            **quiet)

    def _listens(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    environment = Simulator.environment

    def stop(self):
        self.process.stop()
