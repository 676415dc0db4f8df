"""Signing in and out, and what others may not do."""

import urllib.error
import urllib.parse
import urllib.request
from base64 import b64encode

from case import Case
from fleet import SECRET


class NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


OPENER = urllib.request.build_opener(NoRedirects)


def ask(url, method="GET", headers=None, form=None):
    """Returns the status, the headers and the body, without following."""
    data = urllib.parse.urlencode(form).encode() if form is not None else None
    request = urllib.request.Request(url, data=data, method=method, headers=headers or {})
    try:
        with OPENER.open(request, timeout=300) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


def basic(name, secret=None):
    return {"Authorization": "Basic " + b64encode(f"{name}:{secret or name + SECRET}".encode()).decode()}


class AccessTests(Case):
    def test_an_operator_signs_in_and_comes_to_the_page_that_was_asked_for(self):
        visitor = self.visit()
        visitor.open("dead?reason=titel")
        self.assertEqual(visitor.heading, "Sign in")
        visitor.page.get_by_label("Name").fill("omar")
        visitor.page.get_by_label("Secret").fill("omar" + SECRET)
        with visitor.page.expect_navigation():
            visitor.page.get_by_role("button", name="Sign in").click()
        self.assertEqual(visitor.heading, "Dead letters")
        self.assertIn("reason=titel", visitor.page.url)

    def test_the_cookie_is_out_of_reach_of_scripts_and_of_other_sites(self):
        visitor = self.visit("viewer")
        [cookie] = visitor.context.cookies()
        self.assertTrue(cookie["httpOnly"])
        self.assertIn(cookie["sameSite"], ("Lax", "Strict"))
        stored = [key for key in self.fleet.redis("KEYS", "martlet:{sessions}:*")]
        self.assertFalse(any(cookie["value"].encode() in key for key in stored), "the cookie itself is not stored")

    def test_a_wrong_secret_is_refused(self):
        visitor = self.visit()
        visitor.sign_in("ada", "not-this-one")
        self.assertEqual(visitor.heading, "Sign in")
        self.assertIn("wrong", visitor.text())
        visitor.open("audit")
        self.assertEqual(visitor.heading, "Sign in")

    def test_failed_sign_ins_are_limited(self):
        statuses = {ask(self.fleet.url, headers=basic("guessed", f"secret-{number}"))[0] for number in range(25)}
        self.assertIn(429, statuses)
        self.assertEqual(ask(self.fleet.url + "queues", headers=basic("ada"))[0], 200, "others are not affected")

    def test_sign_out_ends_the_session(self):
        visitor = self.visit("viewer")
        [cookie] = visitor.context.cookies()
        with visitor.page.expect_navigation():
            visitor.page.get_by_role("button", name="Sign out").click()
        self.assertEqual(visitor.heading, "Sign in")
        status, headers, _ = ask(self.fleet.url + "queues", headers={"Cookie": f"{cookie['name']}={cookie['value']}"})
        self.assertIn(status, (303, 401))
        self.assertNotEqual(status, 200)

    def test_a_revoked_operator_is_out_at_once(self):
        self.fleet.add_operator("zed", "operator")
        visitor = self.visit()
        visitor.sign_in("zed")
        self.assertEqual(visitor.heading, "Overview")
        self.fleet.martlet("credentials", "revoke", "operator", "zed")
        visitor.open("queues")
        self.assertEqual(visitor.heading, "Sign in")

    def test_a_post_of_another_site_is_refused(self):
        def post(**headers):
            return ask(self.fleet.url + "queues/push:jobs", "POST", basic("omar") | headers, {"action": "nothing"})[0]

        # 400: the form reached the page, which has no such action.
        host = self.fleet.url.rstrip("/")
        self.assertEqual(post(), 400)
        self.assertEqual(post(**{"Sec-Fetch-Site": "same-origin"}), 400)
        self.assertEqual(post(Origin=host), 400)
        self.assertEqual(post(**{"Sec-Fetch-Site": "cross-site"}), 403)
        self.assertEqual(post(**{"Sec-Fetch-Site": "same-site"}), 403)
        self.assertEqual(post(Origin="https://evil.example"), 403)
        self.assertEqual(post(Origin="null"), 403)

    def test_a_form_on_another_site_does_nothing(self):
        visitor = self.visit("operator")
        visitor.page.route("https://evil.example/", lambda route: route.fulfill(
            content_type="text/html",
            body=f'<form method=post action="{self.fleet.url}queues/push:jobs"><input name=action value=pause>'
                 "<button>Win</button></form>"))
        visitor.page.goto("https://evil.example/")
        with visitor.page.expect_navigation() as navigation:
            visitor.page.get_by_role("button", name="Win").click()
        self.assertNotEqual(navigation.value.status, 200)
        self.assertEqual(self.fleet.redis("LLEN", "push:jobs"), 0)
        visitor.open("queues/push:jobs")
        self.assertEqual(visitor.page.get_by_role("button", name="Pause this queue").count(), 1)

    def test_no_page_may_be_framed(self):
        headers = ask(self.fleet.url, headers=basic("ada"))[1]
        self.assertIn("frame-ancestors 'none'", headers["Content-Security-Policy"])


class KeyboardTests(Case):
    def focused(self, visitor):
        return visitor.page.evaluate(
            "(() => { const e = document.activeElement; return (e.getAttribute('aria-label') || e.innerText || e.name || '').trim() })()")

    def test_the_first_stop_is_the_link_to_the_content(self):
        visitor = self.visit("operator")
        visitor.open("queues")
        visitor.page.keyboard.press("Tab")
        self.assertEqual(self.focused(visitor), "Skip to the content")
        self.assertTrue(visitor.page.get_by_text("Skip to the content").is_visible())
        visitor.page.keyboard.press("Enter")
        self.assertEqual(visitor.page.evaluate("document.activeElement.id"), "main")

    def test_a_queue_is_paused_by_keyboard_alone(self):
        visitor = self.visit("operator")
        visitor.open("queues")
        for _ in range(60):
            visitor.page.keyboard.press("Tab")
            if self.focused(visitor).startswith("Pause push:jobs:high"):
                break
        self.assertTrue(self.focused(visitor).startswith("Pause push:jobs:high"))
        outline = visitor.page.evaluate(
            "(() => { const s = getComputedStyle(document.activeElement); return s.outlineStyle + ' ' + s.outlineWidth })()")
        self.assertNotIn("none", outline)
        with visitor.page.expect_navigation():
            visitor.page.keyboard.press("Enter")
        self.assertIn("paused", visitor.text())
        visitor.click("Resume push:jobs:high")

    def test_the_menu_of_a_narrow_screen_opens_by_keyboard_without_scripts(self):
        visitor = self.visit("viewer", scripts=False, size={"width": 360, "height": 740})
        visitor.open("")
        menu = visitor.page.locator("summary", has_text="Menu")
        menu.focus()
        visitor.page.keyboard.press("Enter")
        link = visitor.page.locator("details.menu").get_by_role("link", name="Dead letters")
        self.assertTrue(link.is_visible())
        link.click()
        self.assertEqual(visitor.heading, "Dead letters")
