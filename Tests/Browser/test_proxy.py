"""The dashboard below a prefix, behind nginx, which takes the prefix away and adds no header."""

import subprocess

from browser import Visitor
from case import PAGES, Case
from fleet import ROOT, free_port
from processes import wait_until

NGINX = ROOT / ".build/nginx/usr/sbin/nginx"
PREFIX = "/ops/push/"
CONFIGURATION = """
pid {place}/nginx.pid;
error_log {place}/nginx-error.log;
daemon off;
master_process off;
events {{}}
http {{
  access_log off;
  client_body_temp_path {place}/nginx-body;
  proxy_temp_path {place}/nginx-proxy;
  fastcgi_temp_path {place}/nginx-fastcgi;
  uwsgi_temp_path {place}/nginx-uwsgi;
  scgi_temp_path {place}/nginx-scgi;
  server {{
    listen 127.0.0.1:{port};
    location {prefix} {{ proxy_pass {target}; proxy_set_header Host $http_host; }}
    location / {{ return 404; }}
  }}
}}
"""


class ProxyTests(Case):
    @classmethod
    def setUpClass(cls):
        place = cls.fleet.place
        port = free_port()
        path = place / "nginx.conf"
        path.write_text(CONFIGURATION.format(place=place, port=port, prefix=PREFIX, target=cls.fleet.url))
        cls.fleet.launch("nginx", NGINX, "-c", path, "-p", place)
        cls.url = f"http://127.0.0.1:{port}{PREFIX}"
        wait_until("nginx", lambda: cls.fleet.answers(cls.url))

    @classmethod
    def tearDownClass(cls):
        cls.fleet.end("nginx")

    def test_every_page_and_every_link_stays_below_the_prefix(self):
        visitor = self.visit("admin", url=self.url)
        for path, name in PAGES.items():
            with self.subTest(path=path):
                self.assertEqual(visitor.open(path), 200)
                self.assertEqual(visitor.heading, name)
                for link in visitor.page.locator("a[href], link[href], script[src], img[src], form[action]").all():
                    # A button that is called action hides the property of its form.
                    address = link.evaluate(
                        "e => new URL(e.getAttribute('href') ?? e.getAttribute('src') ?? e.getAttribute('action'), document.baseURI).href")
                    self.assertIn(PREFIX, address, path)

    def test_a_page_without_signing_in_leads_to_the_sign_in_page_and_back(self):
        visitor = self.visit(url=self.url)
        visitor.open("queues/push:jobs")
        self.assertEqual(visitor.heading, "Sign in")
        self.assertIn(PREFIX, visitor.page.url)
        visitor.page.get_by_label("Name").fill("vera")
        visitor.page.get_by_label("Secret").fill("vera-has-a-long-secret")
        with visitor.page.expect_navigation():
            visitor.page.get_by_role("button", name="Sign in").click()
        self.assertEqual(visitor.heading, "push:jobs")

    def test_an_action_and_the_notice_after_it_work(self):
        visitor = self.visit("operator", url=self.url)
        visitor.open("queues/push:jobs:high")
        visitor.click("Pause this queue")
        self.assertIn(PREFIX, visitor.page.url)
        self.assertIn("Paused by omar", visitor.text())
        visitor.click("Resume this queue")

    def test_regions_refresh_below_the_prefix(self):
        visitor = self.visit("viewer", url=self.url)
        visitor.open("queues/push:jobs")
        with visitor.page.expect_response(lambda answer: answer.url.endswith("/queues/push:jobs")) as answer:
            pass
        self.assertEqual(answer.value.status, 200)
        self.assertIn(PREFIX, answer.value.url)
