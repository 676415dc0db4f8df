"""Regions are refreshed in place, pause when hidden, and say when the connection is lost."""

from case import Case

# Milliseconds. A page asks several times in it.
MINUTE = 60_000


class RefreshingTests(Case):
    def test_a_new_number_appears_without_loading_the_page(self):
        visitor = self.visit("operator")
        visitor.open("queues")
        visitor.page.evaluate("window.stays = true")
        before = visitor.page.locator("main").inner_text()
        for number in range(7):
            self.push({"id": f"fresh-{number}", "to": {"user": "carol"}, "title": "Hi"}, "push:jobs:low")
        visitor.page.wait_for_function("text => document.querySelector('main').innerText !== text", arg=before)
        self.assertIn("47", visitor.text())
        self.assertTrue(visitor.page.evaluate("window.stays"), "the page was not loaded anew")
        self.fleet.redis("LTRIM", "push:jobs:low", 7, -1)

    def test_the_focus_and_open_details_stay(self):
        visitor = self.visit("operator")
        visitor.open("")
        details = visitor.page.locator("main details").first
        details.locator("summary").click()
        details.locator("summary").focus()
        with visitor.page.expect_response(lambda answer: answer.url.rstrip("/") == visitor.url.rstrip("/")):
            pass
        self.assertTrue(visitor.page.locator("main details").first.get_attribute("open") is not None)
        self.assertEqual(visitor.page.evaluate("document.activeElement.tagName"), "SUMMARY")

    def visit_queues(self):
        """The clock of the page can be moved. Returns once the page has asked for its regions."""
        visitor = self.visit("viewer")
        visitor.page.clock.install()
        visitor.open("queues")
        with visitor.page.expect_request(lambda request: request.url.endswith("/queues")):
            visitor.page.clock.run_for(MINUTE)
        return visitor

    def expect_no_request(self, visitor):
        """In a minute of the page. Chromium reports requests in order, so that of a line here tells that all before are known."""
        seen = []
        visitor.page.evaluate("fetch('/favicon.ico')")
        visitor.page.on("request", lambda request: seen.append(request.url))
        visitor.page.clock.run_for(MINUTE)
        visitor.page.evaluate("fetch('/favicon.ico')")
        self.assertEqual([url for url in seen if not url.endswith("/favicon.ico")], [])

    def test_a_hidden_page_asks_for_nothing(self):
        visitor = self.visit_queues()
        visitor.page.evaluate("""
            Object.defineProperty(document, 'hidden', { get: () => true, configurable: true });
            Object.defineProperty(document, 'visibilityState', { get: () => 'hidden', configurable: true });
            document.dispatchEvent(new Event('visibilitychange'));
        """)
        self.expect_no_request(visitor)

    def test_an_operator_pauses_the_refreshing(self):
        visitor = self.visit_queues()
        visitor.page.get_by_role("button", name="Pause updates").click()
        self.expect_no_request(visitor)
        with visitor.page.expect_request(lambda _: True):
            visitor.page.get_by_role("button", name="Resume updates").click()

    def test_a_lost_connection_is_shown(self):
        visitor = self.visit("viewer")
        visitor.open("queues")
        visitor.page.route("**/*", lambda route: route.abort())
        visitor.page.get_by_text("Connection lost").wait_for()
        visitor.page.unroute("**/*")
        visitor.page.get_by_text("Live", exact=True).wait_for()
        visitor.complaints.clear()
