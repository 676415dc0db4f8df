"""Checks that `apns-simulator --apple` does what is recorded of Apple's gateway.

usage: simulator.py DIRECTORY_OF_THE_PROGRAMS
"""

import json
import subprocess
import sys
import time
import urllib.request

import h2.events
import h2.exceptions
import h2.settings

from client import NOW, TOKEN, TOPIC, Client

CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


class Simulator:
    def __init__(self, programs, *arguments):
        self.process = subprocess.Popen(
            [f"{programs}/apns-simulator", "--apple", *arguments], stdout=subprocess.PIPE, text=True)
        self.ready = json.loads(self.process.stdout.readline())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def ask(self, path, body):
        request = urllib.request.Request(self.ready["control"] + path, json.dumps(body).encode(), method="POST")
        urllib.request.urlopen(request, timeout=60).close()

    def client(self):
        client = Client(self.ready)
        client.wait(lambda: client.settings())
        return client


def equal(seen, expected, what):
    assert seen == expected, f"{what}: {seen!r}, not {expected!r}"


@check
def the_first_settings_are_a_full_set_with_one_stream(start):
    with start() as simulator:
        equal(simulator.client().settings()[0], {1: 4096, 3: 1, 4: 65535, 5: 16384, 6: 8000}, "SETTINGS")


@check
def a_thousand_streams_are_announced_before_the_first_answer(start):
    with start() as simulator:
        client = simulator.client()
        equal(client.push().status, 200, "status")
        equal(client.streams(), 1000, "streams")
        equal(set(client.settings()[1]), {1, 3, 4, 5, 6}, "settings of the second set")


@check
def a_refusal_lowers_the_streams_to_one_until_an_acceptance_and_a_410_does_not(start):
    with start() as simulator:
        gone, bad = "cd" * 32, "ce" * 32
        simulator.ask("/devices", {"token": gone, "rule": "unregistered"})
        simulator.ask("/devices", {"token": bad, "rule": "bad"})
        client = simulator.client()
        client.push()
        equal(client.push(token=gone).status, 410, "status")
        equal(client.streams(), 1000, "streams after 410")
        equal(client.push(token=bad).reason, "BadDeviceToken", "reason")
        client.wait(lambda: client.streams() == 1)
        equal(client.push().status, 200, "status")
        client.wait(lambda: client.streams() == 1000)


@check
def streams_above_a_lowered_limit_are_reset(start):
    with start("--rtt", "300") as simulator:
        bad = "ce" * 32
        simulator.ask("/devices", {"token": bad, "rule": "bad"})
        client = simulator.client()
        client.push()
        answers = [client.begin(token=bad if n == 0 else TOKEN) for n in range(5)]
        client.wait(lambda: all(answer.is_ended for answer in answers))
        equal(answers[0].status, 400, "status")
        client.push()
        equal(list(client.resets().values()), [[7, 5]] * 4, "codes of RST_STREAM")


@check
def a_refusal_has_an_id_in_upper_case_and_no_content_type(start):
    with start() as simulator:
        client = simulator.client()
        answer = client.push(authorization=False)
        equal((answer.status, answer.reason), (403, "MissingProviderToken"), "answer")
        equal(set(answer.headers), {":status", "apns-id"}, "fields")
        equal(answer.headers["apns-id"], answer.headers["apns-id"].upper(), "apns-id")
        own = "123e4567-e89b-12d3-a456-4266554400a0"
        equal(client.push(headers=[("apns-id", own)]).headers["apns-id"], own, "given apns-id")


@check
def method_and_path_are_looked_at_before_the_provider_token(start):
    with start() as simulator:
        client = simulator.client()
        equal(client.push(method="GET", payload=b"", authorization=False).status, 405, "GET")
        equal(client.push(token="zz", authorization=False).reason, "MissingProviderToken", "bad token without a key")


@check
def the_window_is_64_kib_and_its_updates_come_after_the_round_trip(start):
    with start("--rtt", "400") as simulator:
        client = simulator.client()
        client.push()
        equal(client.connection.outbound_flow_control_window <= 65535, True, "window")
        payload = b'{"aps":{"alert":"' + b"a" * 3000 + b'"}}'
        begun, answers = time.monotonic(), []
        try:
            while True:
                answers.append(client.begin(payload=payload))
        except h2.exceptions.FlowControlError:
            pass
        equal(len(answers), (65535 - 25) // len(payload), "pushes within the window")
        client.wait(lambda: any(isinstance(event, h2.events.WindowUpdated) for event in client.events))
        assert time.monotonic() - begun > 0.39, "an update came before the round trip"
        update = next(event for event in client.events if isinstance(event, h2.events.WindowUpdated))
        assert 32_000 < update.delta <= 65_535, update


@check
def a_header_list_over_8000_bytes_is_refused(start):
    with start() as simulator:
        client = simulator.client()
        equal(client.push(headers=[("x-long", "a" * 9000)]).status, 431, "status")
        equal(client.push().status, 200, "status")


@check
def bundle_ids_are_those_of_the_first_push(start):
    with start("--topic", TOPIC) as simulator:
        old = simulator.client()
        old.push()
        simulator.ask("/settings", {"topics": [TOPIC, "com.example.new"]})
        equal(old.push(topic="com.example.new").reason, "TopicDisallowed", "old connection")
        equal(simulator.client().push(topic="com.example.new").status, 200, "new connection")


@check
def a_second_new_provider_token_makes_its_connection_unusable(start):
    with start() as simulator:
        client = simulator.client()
        client.push()
        first, client.token = client.token, client.new_token(NOW - 60)
        equal(client.push().reason, "TooManyProviderTokenUpdates", "new token on a connection")
        client.token = first
        equal(client.push().status, 429, "the connection afterwards")
        equal(simulator.client().push().status, 200, "another connection")


@check
def the_third_new_provider_token_of_a_team_is_too_many_and_refused_ones_count(start):
    with start() as simulator:
        simulator.client().push()
        expired = simulator.client()
        expired.token = expired.new_token(NOW - 7200)
        equal(expired.push().reason, "ExpiredProviderToken", "second token")
        third = simulator.client()
        third.token = third.new_token(NOW - 120)
        equal(third.push().reason, "TooManyProviderTokenUpdates", "third token")
        equal(simulator.client().push().status, 200, "the first token")


def goaways(client):
    return [(int(e.error_code), e.additional_data or b"") for e in client.events if isinstance(e, h2.events.ConnectionTerminated)]


@check
def a_goaway_has_json_or_text_comes_twice_or_before_any_stream(start):
    text = "Maximum active streams violated for this endpoint."
    with start() as simulator:
        simulator.ask("/faults", {"kind": "goaway", "code": 7, "text": text, "count": 1})
        client = simulator.client()
        client.begin()
        client.wait(lambda: goaways(client))
        equal(goaways(client), [(7, text.encode())], "GOAWAY with text")
        simulator.ask("/faults", {"kind": "goaway", "twice": True, "count": 1})
        client = simulator.client()
        client.begin()
        client.wait(lambda: len(goaways(client)) == 2)
        equal(goaways(client), [(0, b""), (0, b'{"reason":"Shutdown"}')], "two GOAWAYs")
        simulator.ask("/faults", {"kind": "goawayFirst", "text": '{"reason":"BadCertificateEnvironment"}'})
        client = Client(simulator.ready)
        client.wait(lambda: goaways(client))
        equal(goaways(client), [(0, b'{"reason":"BadCertificateEnvironment"}')], "GOAWAY before any stream")


@check
def a_fault_may_be_that_of_open_connections_only(start):
    with start() as simulator:
        old = simulator.client()
        old.push()
        simulator.ask("/faults", {"kind": "status", "status": 500, "open": True})
        equal(old.push().status, 500, "open connection")
        equal(simulator.client().push().status, 200, "later connection")


@check
def a_client_is_asked_for_a_certificate_and_needs_none(start):
    with start() as simulator:
        host, port = simulator.ready["url"].removeprefix("https://").rsplit(":", 1)
        said = subprocess.run(
            ["openssl", "s_client", "-connect", f"{host}:{port}", "-alpn", "h2", "-tls1_2", "-msg"], stdin=subprocess.DEVNULL,
            capture_output=True, text=True, errors="replace", timeout=60).stdout
        assert "CertificateRequest" in said, "no CertificateRequest"


def main(programs):
    for function in CHECKS:
        name = function.__name__.replace("_", " ")
        try:
            function(lambda *arguments: Simulator(programs, *arguments))
        except Exception as failure:
            sys.exit(f"failed: {name}: {type(failure).__name__} {failure}")
        print(f"ok: {name}")
    print(f"{len(CHECKS)} checks passed")


if __name__ == "__main__":
    main(sys.argv[1])
