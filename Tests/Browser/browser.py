"""Debian's chromium, driven by Playwright, with what it complains about."""

import os
from contextlib import contextmanager
from urllib.parse import urljoin

from playwright.sync_api import sync_playwright

from fleet import OPERATORS, SECRET

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 360, "height": 740}
# Milliseconds. Only a failure takes that long: no test fails because its machine is slow.
PATIENCE = 300_000


@contextmanager
def chromium():
    with sync_playwright() as playwright:
        # Chromium's sandbox does not work for root.
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        try:
            yield browser
        finally:
            browser.close()


class Visitor:
    """An operator with a browser window of their own."""

    def __init__(self, browser, url, role=None, scripts=True, scheme="light", size=WIDE, secret=None, **options):
        self.url = url
        self.complaints = []
        self.context = browser.new_context(
            java_script_enabled=scripts, color_scheme=scheme, viewport=size, reduced_motion="reduce", locale="en-GB",
            timezone_id="UTC", **options)
        self.context.set_default_timeout(PATIENCE)
        self.page = self.context.new_page()
        self.page.on("console", self._note)
        self.page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        if role:
            self.sign_in(OPERATORS[role], secret)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.context.close()

    def _note(self, message):
        # A page that answers 4xx is in the console, too.
        if message.type in ("error", "warning") and "status of 4" not in message.text:
            self.complaints.append(f"{message.type}: {message.text}")

    def open(self, path=""):
        """Returns the status of the answer."""
        address = urljoin(self.url, path)
        # None if the page was reloading itself, as it does once its session has ended.
        answer = self.page.goto(address) or self.page.goto(address)
        return answer.status

    def sign_in(self, name, secret=None):
        self.open("sign-in")
        self.page.get_by_label("Name").fill(name)
        self.page.get_by_label("Secret").fill(secret or name + SECRET)
        self.page.get_by_role("button", name="Sign in").click()
        self.page.wait_for_load_state()

    @property
    def heading(self):
        return self.page.locator("h1").inner_text()

    def click(self, name, within=None):
        """Clicks the button with this name and waits for the page that it leads to."""
        place = within or self.page.locator("main")
        with self.page.expect_navigation():
            place.get_by_role("button", name=name).first.click()

    @property
    def notice(self):
        """What the page says about the action before."""
        return self.page.locator("main > .notice").first.inner_text()

    def text(self):
        return self.page.locator("main").inner_text()
