"""Each action by real clicks, with and without scripts, and what it changes in Redis."""

import json
import time
from urllib.parse import quote

from browser import Visitor
from case import Case
from seed import APPS, token


class Actions:
    """The actions; the classes below run them with and without scripts."""

    scripts = True

    def operator(self, role="operator"):
        return self.visit(role, scripts=self.scripts)

    def named(self, name):
        return f"{name}-{'with' if self.scripts else 'without'}-scripts"

    def in_an_hour(self, name):
        """A scheduled job."""
        job = self.push({"id": self.named(name), "to": {"user": "carol"}, "title": "Later",
                         "sendAt": int(time.time() * 1000) + 3_600_000})
        self.eventually(f"{job} is scheduled", lambda: self.is_in("scheduled", job))
        return job

    def letter(self, name):
        """A dead letter."""
        job = self.push({"id": self.named(name), "to": {"user": "carol"}, "oops": 1})
        self.eventually(f"{job} is dead", lambda: job in self.dead_ids())
        return job

    def is_in(self, state, job, queue="push:jobs"):
        found = self.fleet.redis("ZRANGE", f"martlet:{{{queue}}}:{state}", 0, -1)
        return any(f'"{job}"'.encode() in element for element in found)

    def audit(self, action, subject):
        entries = self.fleet.redis("XREVRANGE", "martlet:{audit}:log", "+", "-", "COUNT", 30)
        flat = [dict(zip(*[iter(part.decode() for part in fields)] * 2)) for _, fields in entries]
        return [entry for entry in flat if entry["action"] == action and subject in entry["subject"]]

    def test_pause_and_resume_a_queue(self):
        visitor = self.operator()
        visitor.open("queues/push:jobs:high")
        visitor.page.get_by_label("Reason").fill("An upgrade")
        visitor.click("Pause this queue")
        self.assertIn("Paused by omar", visitor.text())
        self.assertIn("An upgrade", visitor.text())
        job = self.push({"id": self.named("high"), "to": {"user": "carol"}, "title": "Hi"}, "push:jobs:high")
        self.assertTrue(self.waits(job, "push:jobs:high"))
        visitor.click("Resume this queue")
        self.fleet.wait_for_record(job, "accepted")
        self.assertTrue(self.audit("pause", "push:jobs:high"))

    def test_cancel_a_scheduled_job(self):
        job = self.in_an_hour("cancel")
        visitor = self.operator()
        visitor.open(f"jobs/{job}")
        visitor.page.get_by_role("link", name="Cancel…").click()
        visitor.click("Cancel the job")
        self.fleet.wait_for_record(job, "cancelled")
        self.assertFalse(self.is_in("scheduled", job))

    def test_run_a_scheduled_job_now(self):
        job = self.in_an_hour("now")
        visitor = self.operator()
        visitor.open(f"jobs/{job}")
        visitor.click("Run now")
        self.fleet.wait_for_record(job, "accepted")

    def test_run_a_job_now_from_the_list(self):
        job = self.in_an_hour("list")
        visitor = self.operator()
        visitor.open("scheduled")
        visitor.click(f"Run now {job}")
        self.fleet.wait_for_record(job, "accepted")

    def test_show_the_payload(self):
        job = self.in_an_hour("payload")
        visitor = self.operator()
        visitor.open(f"jobs/{job}")
        self.assertNotIn("Later", visitor.text())
        visitor.click("Show the payload")
        self.assertIn("Later", visitor.text())
        self.assertTrue(self.audit("reveal", job))

    def test_requeue_a_dead_letter(self):
        job = self.letter("requeue")
        visitor = self.operator()
        visitor.open(f"jobs/{job}")
        visitor.click("Requeue")
        self.assertTrue(self.audit("requeue", job))
        # It is as invalid as before.
        self.eventually("it is dead again", lambda: job in self.dead_ids())

    def test_purge_a_dead_letter(self):
        job = self.letter("purge")
        visitor = self.operator("admin")
        visitor.open(f"jobs/{job}")
        visitor.page.get_by_role("link", name="Purge…").click()
        visitor.click("Purge the job")
        self.assertNotIn(job, self.dead_ids())

    def test_purge_the_selected_letters(self):
        jobs = [self.letter(f"selected-{number}") for number in (1, 2)]
        visitor = self.operator("admin")
        visitor.open("dead")
        visitor.page.get_by_label(f"Select {jobs[0]}").check()
        visitor.click("Purge selected")
        dead = self.dead_ids()
        self.assertNotIn(jobs[0], dead)
        self.assertIn(jobs[1], dead)

    def test_purge_all_that_match(self):
        field = f"unheard-{'of' if self.scripts else 'again'}"
        jobs = [self.push({"id": self.named(f"match-{number}"), "to": {"user": "carol"}, field: 1}) for number in range(3)]
        self.eventually("they are dead", lambda: set(jobs) <= set(self.dead_ids()))
        visitor = self.operator("admin")
        visitor.open(f"dead?reason={field}")
        visitor.page.get_by_role("link", name="Purge all that match").click()
        self.assertIn("3", visitor.text())
        visitor.click("Purge")
        self.eventually("they are gone", lambda: not set(jobs) & set(self.dead_ids()))
        self.assertIn("half-written", self.dead_ids(), "others stay")

    def test_send_a_test_push(self):
        visitor = self.operator()
        visitor.open("devices?user=carol")
        visitor.click("Send a test push")
        self.assertRegex(visitor.heading, "^Job test-")
        job = visitor.heading.removeprefix("Job ")
        self.fleet.wait_for_record(job, "accepted")

    def test_remove_a_device(self):
        name = self.named("leaver")
        value = token(name)
        path = self.fleet.place / "leaver.json"
        when = "2026-05-04T07:30:00.000Z"
        path.write_text(json.dumps({APPS[0]: {value: {
            "createdAt": when, "updatedAt": when, "username": name, "platform": "ios"}}}))
        self.fleet.martlet("tokens", "import", path)
        visitor = self.operator("admin")
        visitor.open(f"devices?user={name}")
        visitor.click("Remove")
        self.assertIn("was removed", visitor.notice)
        self.assertIsNone(self.fleet.redis("GET", f"push:token:{value}"))
        self.assertEqual(self.fleet.redis("SCARD", f"push:user:{name}:tokens"), 0)

    def test_drain_and_undrain_a_worker(self):
        visitor = self.operator()
        visitor.open("workers")
        visitor.click("Drain")
        self.assertIn("claims no more jobs", visitor.notice)

        def says(button):
            visitor.open("workers")
            return visitor.page.get_by_role("button", name=button).count() == 1

        self.eventually("the worker drains", lambda: says("Undrain"))
        job = self.push({"id": self.named("drained"), "to": {"user": "carol"}, "title": "Hi"})
        self.assertTrue(self.waits(job))
        visitor.click("Undrain")
        self.fleet.wait_for_record(job, "accepted")

    def test_disable_an_operator(self):
        name = self.named("eve")
        self.fleet.add_operator(name, "viewer")
        with Visitor(self.browser, self.fleet.url, scripts=self.scripts) as eve:
            eve.sign_in(name)
            self.assertEqual(eve.open("queues"), 200)
            self.assertEqual(eve.heading, "Queues")
            visitor = self.operator("admin")
            visitor.open("credentials")
            visitor.click(f"Disable {name}")
            eve.open("queues")
            self.assertEqual(eve.heading, "Sign in")

    def test_pause_resume_and_cancel_a_broadcast(self):
        job = self.named("sale")
        self.fleet.tell_simulator("/settings", rttMs=3000)
        self.addCleanup(self.fleet.tell_simulator, "/settings", rttMs=0)
        self.push({"id": job, "to": {"app": APPS[2]}, "title": "Sale"})
        visitor = self.operator()
        self.eventually("the broadcast is listed", lambda: visitor.open(f"broadcasts/{job}") == 200)
        visitor.click("Pause broadcast")
        self.eventually("it is paused", lambda: visitor.open(f"broadcasts/{job}") and "paused" in visitor.text())
        visitor.click("Resume broadcast")
        visitor.page.get_by_role("link", name="Cancel…").click()
        visitor.click("Cancel the broadcast")
        self.fleet.wait_for_record(job, "cancelled")

    def test_the_same_form_is_carried_out_once(self):
        job = self.in_an_hour("twice")
        visitor = self.operator()
        visitor.open(f"jobs/{job}")
        form = visitor.page.locator("form", has=visitor.page.get_by_role("button", name="Run now"))
        fields = {field.get_attribute("name"): field.get_attribute("value")
                  for field in form.locator("input[type=hidden]").all()} | {"action": "run-now"}
        before = len(self.audit("run-now", job))
        for _ in range(2):
            answer = visitor.context.request.post(
                f"{visitor.url}jobs/{quote(job)}", form=fields, headers={"Sec-Fetch-Site": "same-origin"})
            self.assertLess(answer.status, 500)
        self.fleet.wait_for_record(job, "accepted")
        outcomes = [entry["outcome"] for entry in self.audit("run-now", job)][: len(self.audit("run-now", job)) - before]
        self.assertEqual(outcomes.count("done"), 1, outcomes)

    def test_a_viewer_may_do_nothing(self):
        job = self.in_an_hour("viewer")
        visitor = self.operator("viewer")
        for path, fields in ((f"jobs/{job}", {"action": "cancel"}), ("queues/push:jobs", {"action": "pause"}),
                             ("workers", {"action": "drain", "worker": "x"})):
            answer = visitor.context.request.post(
                visitor.url + path, form=fields, headers={"Sec-Fetch-Site": "same-origin"})
            self.assertEqual(answer.status, 403, path)
        self.assertTrue(self.is_in("scheduled", job))


class WithScripts(Actions, Case):
    pass


class WithoutScripts(Actions, Case):
    scripts = False
