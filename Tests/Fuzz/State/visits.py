"""Visits to pages, routes and commands. A visit raises Broken for an answer that no content of Redis may cause."""

import http.client
import json
import re
import subprocess
import urllib.parse
from html.parser import HTMLParser

SECRET = "-has-a-long-secret"
TIMEOUT = 120
OTHER_TYPE = "has another type"


class Broken(Exception):
    """`where` is the program, page, route or command."""

    def __init__(self, where, what):
        super().__init__(f"{where}: {what}")
        self.where = where


class Document(HTMLParser):
    """The links and the forms of a page."""

    def __init__(self, text):
        super().__init__()
        self.links, self.forms = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if tag == "a" and values.get("href", "").startswith(("./", "../")):
            self.links.append(values["href"])
        if tag == "form":
            self.forms.append((values.get("method", "get"), values.get("action", ""), []))
        if tag in ("input", "button") and values.get("name") and self.forms:
            self.forms[-1][2].append((values["name"], values.get("value", "")))


class Visitor:
    def __init__(self, fleet, names, chance):
        self.fleet, self.names, self.chance = fleet, names, chance
        self.cookie = ""
        self.count = 0
        self.other_types = 0
        # A route answers 500 if its keys have another type: nothing else would be true.
        self.allows_refusals = False

    def request(self, port, method, path, body=None, headers=None):
        self.count += 1
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            text = answer.read().decode("utf-8", "replace")
        except (OSError, http.client.HTTPException) as error:
            raise Broken(f"{method} {path}", repr(error)) from error
        finally:
            connection.close()
        if answer.status >= 500 and path != "/readyz" and not (port == self.fleet.sidecar_port and self.allows_refusals):
            plain = re.sub(r"<[^>]*>|\s+", " ", text)
            raise Broken(f"{method} {path.partition('?')[0]}", f"{answer.status} {plain[-300:]}")
        self.other_types += OTHER_TYPE in text
        return answer, text

    # MARK: pages

    def sign_in(self):
        body = urllib.parse.urlencode({"name": "ada", "secret": "ada" + SECRET})
        answer, _ = self.request(self.fleet.port, "POST", "/sign-in", body, {
            "Content-Type": "application/x-www-form-urlencoded", "Origin": self.fleet.url.rstrip("/"),
            "Sec-Fetch-Site": "same-origin"})
        self.cookie = (answer.getheader("Set-Cookie") or "").partition(";")[0]

    def page(self, path):
        answer, text = self.request(self.fleet.port, "GET", path, headers={"Cookie": self.cookie})
        return Document(text) if answer.status == 200 else None

    def pages(self):
        self.page("/")
        self.sign_in()
        paths = ["/", "/queues", "/dead", "/scheduled", "/broadcasts", "/apps", "/workers", "/policies", "/credentials", "/audit"]
        paths += ["/queues/" + urllib.parse.quote(queue, "") for queue in self.names["queues"]]
        paths += ["/devices?" + urllib.parse.urlencode({kind: name})
                  for kind in ("user", "token", "instance") for name in self.names[kind]]
        paths += ["/policies?instance=home-1", "/broadcasts/spring-sale", "/broadcasts/summer-sale", "/audit?part=refused"]
        paths += ["/activities/ride-1", "/activities/ride-2"]
        paths += ["/credentials?kind=" + kind for kind in ("user", "key", "instance", "operator")]
        paths += ["/jobs/" + job for job in self.names["jobs"]]
        links, forms = [], []
        for path in paths:
            if document := self.page(path):
                links += [urllib.parse.urljoin(path, link) for link in document.links]
                forms += [(urllib.parse.urljoin(path, action or path), fields)
                          for method, action, fields in document.forms if method == "post"]
        for link in self.chance.sample(links, min(len(links), 8)):
            self.page(link)
        for action, fields in self.chance.sample(forms, min(len(forms), 4)):
            if not action.endswith("/sign-out"):
                self.request(
                    self.fleet.port, "POST", action, urllib.parse.urlencode(fields),
                    {"Cookie": self.cookie, "Content-Type": "application/x-www-form-urlencoded",
                     "Origin": self.fleet.url.rstrip("/"), "Sec-Fetch-Site": "same-origin"})

    # MARK: routes

    def routes(self):
        user = {"Authorization": "Bearer alice" + SECRET, "X-Username": "alice"}
        key, instance = {"X-API-Key": "backend" + SECRET}, {
            "X-Nyra-Device-Key": "home-1" + SECRET, "X-Nyra-Instance-Id": "home-1"}
        token, other = self.names["token"][0], f"{self.chance.getrandbits(64):064x}"
        app = {"bundleId": "com.northwind.parcels"}
        for method, path, headers, body in [
            ("POST", "/api/push/register", user, {"token": token}), ("POST", "/api/push/register", user, {"token": other}),
            ("POST", "/api/push/unregister", user, {"token": other}), ("POST", "/api/push/test", user, {}),
            ("GET", "/notifications?limit=50", user, None), ("GET", "/devices?userId=alice&limit=10", key, None),
            ("POST", "/devices", key, {"userId": "alice", "token": other, "platform": "ios"}),
            ("DELETE", f"/devices/{other}", key, None),
            ("POST", "/newtoken", key, {"token": other, **app}),
            ("POST", "/newpush", key, {"title": "t", "body": "b", **app}),
            ("POST", "/push/apns/register", instance, {"token": token, "environment": "production"}),
            ("GET", "/events/since?limit=50", instance, None), ("GET", "/healthz", {}, None), ("GET", "/readyz", {}, None),
        ]:
            self.request(
                self.fleet.sidecar_port, method, path, None if body is None else json.dumps(body),
                headers | {"Content-Type": "application/json"})
        for port in self.fleet.admin_ports:
            for path in ("/metrics", "/readyz", "/healthz"):
                self.request(port, "GET", path)

    # MARK: commands

    def commands(self, count):
        job = self.chance.choice(self.names["jobs"])
        kind = self.chance.choice(("user", "key", "instance", "operator"))
        choices = [
            ("status",), ("status", "--json"), ("status",), ("doctor",), ("result", job), ("explain", job), ("explain", job),
            ("explain", "--user", "alice"), ("explain", "--instance", "home-1"), ("explain", "--token", self.names["token"][0]),
            ("explain", "--activity", "ride-1"),
            ("broadcast", "list"), ("broadcast", "show", "spring-sale"), ("broadcast", "show", "summer-sale", "--json"),
            ("broadcast", "pause", "spring-sale"), ("dead", "list"), ("dead", "list", "--json"), ("dead", "show", job),
            ("dead", "requeue", "--limit", "2"), ("credentials", "list", kind), ("credentials", "list", kind, "--json"),
            ("cancel", job), ("queue", "pause", "push:jobs:low"), ("queue", "resume", "push:jobs:low"),
            ("tokens", "export", self.fleet.place / "export.json"),
        ]
        for command in self.chance.sample(choices, count):
            self.command(command)

    def command(self, words):
        self.count += 1
        try:
            ended = self.fleet.command(words, TIMEOUT)
        except subprocess.TimeoutExpired as error:
            raise Broken(f"martlet {words[0]}", f"{words} does not end") from error
        if ended.returncode not in (0, 1, 2):
            raise Broken(f"martlet {words[0]}", f"{words}: exit {ended.returncode} {ended.stderr[-600:]}")
