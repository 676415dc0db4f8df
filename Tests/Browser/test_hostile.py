"""Requests that no page makes: no answer is a fault of the server, repeats markup, or lacks the header fields that protect."""

import http.client
import random
import string
from urllib.parse import quote, urlsplit

from case import PAGES, Case
from test_access import basic

MARKUP = "<script>alert(1)</script>"
TEXTS = [
    MARKUP, "'\"><img src=x onerror=alert(1)>", "../../etc/passwd", "..%2f..", "%00", "\x00", "%", "%zz", "%ff%fe", "\u202eabc",
    "a" * 5000, "-1", "99999999999999999999", "0", "NaN", "{{7*7}}", "${jndi:x}", "push:jobs", "*", "[a-z]", "\r\nSet-Cookie: a=b",
    "😀", "martlet:{push:jobs}:dead", "' OR 1=1 --"]
ROUTES = [
    "", "queues", "queues/{}", "jobs/{}", "dead", "scheduled", "broadcasts", "broadcasts/{}", "activities/{}", "devices", "apps", "workers",
    "policies", "credentials", "audit", "search", "sign-in", "sign-out", "assets/{}", "{}", "{}/{}"]
QUERIES = [
    "cursor", "user", "token", "instance", "whole", "worker", "queue", "reason", "app", "age", "state", "confirm", "notice", "q",
    "next", "kind", "letter", "show", "job", "device"]
PROTECTION = {
    "Content-Security-Policy": "default-src 'none'", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin"}


class HostileTests(Case):
    def ask(self, path, method="GET", body=None, headers=None):
        parts = urlsplit(self.fleet.url)
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=300)
        try:
            connection.putrequest(method, "/" + path, skip_accept_encoding=True)
            for name, value in (basic("ada") | (headers or {})).items():
                connection.putheader(name, value)
            if body is not None:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def check(self, path, method="GET", body=None, headers=None):
        status, fields, content = self.ask(path, method, body, headers)
        shown = f"{method} /{path[:120]} {(body or b'')[:120]}"
        self.assertLess(status, 500, shown)
        # What the HTTP server itself refuses never reaches the dashboard.
        if fields["Content-Security-Policy"] is None:
            self.assertIn(status, (400, 405, 413, 414, 431), shown)
        else:
            for name, value in PROTECTION.items():
                self.assertIn(value, fields[name] or "", shown)
        self.assertIsNone(fields.get("Set-Cookie") if "a=b" in str(fields.get("Set-Cookie")) else None, shown)
        self.assertNotIn(MARKUP.encode(), content, shown)
        self.assertNotIn(b"<img src=x", content, shown)
        return status

    def test_every_route_with_every_text_in_its_path(self):
        for route in ROUTES:
            for text in TEXTS if "{}" in route else [""]:
                self.check(route.replace("{}", quote(text, safe="")))

    def test_every_query_with_every_text(self):
        for route in ("", "queues/push:jobs", "jobs/welcome-bob", "dead", "scheduled", "broadcasts", "devices", "workers", "policies",
                      "credentials", "audit", "search", "sign-in"):
            for name in QUERIES:
                for text in TEXTS:
                    self.check(f"{route}?{name}={quote(text, safe='')}")

    def test_queries_in_pairs(self):
        chance = random.Random(1)
        for _ in range(600):
            route = chance.choice(list(PAGES)).split("?")[0]
            items = [f"{chance.choice(QUERIES)}={quote(chance.choice(TEXTS + ['purge', 'cancel', 'requeue', 'retry', '50']), safe='')}"
                     for _ in range(chance.randint(1, 4))]
            self.check(f"{route}?{'&'.join(items)}")

    def test_every_method(self):
        for route in PAGES:
            for method in ("HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND"):
                status = self.check(route, method)
                if method != "HEAD":
                    self.assertGreaterEqual(status, 400, f"{method} {route}")

    def test_every_action_with_hostile_fields(self):
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        actions = ("pause resume cancel run-now requeue purge requeue-all purge-all reveal test remove drain undrain "
                   "disable enable revoke").split()
        fields = ["queue", "job", "letter", "device", "worker", "name", "kind", "broadcast", "reason", "form"]
        for route in ("queues", "queues/nope", "jobs/nope", "dead", "scheduled", "broadcasts", "broadcasts/nope", "devices?user=nobody",
                      "devices?token=" + "f" * 64, "workers", "credentials", "audit", ""):
            for action in actions:
                for text in (MARKUP, "", "%00", "a" * 3000, "*"):
                    body = f"action={action}&" + "&".join(f"{name}={quote(text, safe='')}" for name in fields)
                    # Not what would really be done to the fleet of the other tests.
                    if action in ("requeue-all", "purge-all") and route == "dead":
                        body += "&reason=no-letter-has-this-reason"
                        route_with_filter = "dead?reason=no-letter-has-this-reason"
                        self.check(route_with_filter, "POST", body.encode(), form)
                    else:
                        self.check(route, "POST", body.encode(), form)

    def test_bodies_that_are_no_forms(self):
        chance = random.Random(2)
        for body in (b"", b"\x00" * 100, b"action", b"=&=&=", b"action=%zz", b"\xff\xfe", b"a=b&" * 20_000, b"{}" * 10,
                     bytes(chance.randrange(256) for _ in range(5000))):
            for type in ("application/x-www-form-urlencoded", "application/json", "multipart/form-data; boundary=x", "text/plain", ""):
                for route in ("queues", "dead", "sign-in", "sign-out"):
                    self.check(route, "POST", body, {"Content-Type": type})

    def test_hostile_headers(self):
        for headers in ({"Cookie": "martlet=" + "a" * 4000}, {"Cookie": ";;;==;"}, {"Host": "evil.example"}, {"Host": MARKUP},
                        {"Authorization": "Basic !!!"}, {"Authorization": "Basic " + "A" * 4000}, {"Authorization": "Bearer x"},
                        {"X-Forwarded-For": MARKUP}, {"X-Forwarded-Prefix": "//evil.example"}, {"X-Forwarded-Proto": "javascript"},
                        {"Origin": MARKUP}, {"Sec-Fetch-Site": MARKUP}, {"Accept-Language": MARKUP}, {"Range": "bytes=0-1"}):
            for method in ("GET", "POST"):
                self.check("queues", method, b"action=x" if method == "POST" else None, headers)

    def test_paths_that_are_no_paths(self):
        chance = random.Random(3)
        for path in ("/", "//", "///evil.example", "/..", "./", "queues/", "queues//", "queues/push:jobs/", "jobs/", "jobs/a/b",
                     "assets/", "assets/..%2f", "QUEUES", "queues;x", "?", "#", "%2e%2e/", "queues%2fpush:jobs"):
            self.check(path)
        for _ in range(300):
            self.check("".join(chance.choice(string.printable[:94]) for _ in range(chance.randint(1, 40))).replace(" ", "+"))

    def test_the_notice_of_an_action_is_shown_once_and_cannot_be_forged(self):
        visitor = self.visit("viewer")
        visitor.open("queues?notice=" + quote(MARKUP))
        self.assertEqual(visitor.page.locator("main > .notice").count(), 0)
