"""What the browser tests share: one fleet, one browser, and windows of operators."""

import json
import unittest

from browser import Visitor
from processes import wait_until

# Every page with the name that it must have, on the fleet of seed.py.
PAGES = {
    "": "Overview",
    "queues": "Queues",
    "queues/push:jobs": "push:jobs",
    "queues/push:jobs:low": "push:jobs:low",
    "queues/push:jobs:low?cursor=": "push:jobs:low",
    "jobs/welcome-bob": "Job welcome-bob",
    "jobs/invoice-dave-11": "Job invoice-dave-11",
    "jobs/order-4704-shipped": "Job order-4704-shipped",
    "jobs/reminder-5": "Job reminder-5",
    "jobs/newsletter-1": "Job newsletter-1",
    "jobs/reminder-5?confirm=cancel": "Job reminder-5",
    "jobs/ride-2-arrives": "Job ride-2-arrives",
    "activities/ride-1": "Live Activity ride-1",
    "activities/ride-2": "Live Activity ride-2",
    "dead": "Dead letters",
    "dead?reason=titel": "Dead letters",
    "dead?confirm=purge": "Dead letters",
    "scheduled": "Scheduled and retries",
    "broadcasts": "Broadcasts",
    "broadcasts/spring-sale": "Broadcast spring-sale",
    "devices": "Devices",
    "devices?user=bob": "Devices of bob",
    "devices?user=frank&whole=yes": "Devices of frank",
    "devices?instance=home-1": "Device of instance home-1",
    "apps": "Apps",
    "workers": "Workers",
    "policies": "Policies",
    "policies?instance=home-1": "Policies for home-1",
    "credentials": "Credentials",
    "audit": "Audit",
    "audit?show=refused": "Audit",
}


class Case(unittest.TestCase):
    """The runner sets `fleet` and `browser`."""

    fleet = None
    browser = None

    def visit(self, role=None, **options):
        visitor = Visitor(self.browser, options.pop("url", self.fleet.url), role, **options)
        self.addCleanup(visitor.context.close)
        self.addCleanup(lambda: self.assertEqual(visitor.complaints, [], "the console of the browser"))
        return visitor

    def push(self, job, queue="push:jobs"):
        self.fleet.push(job, queue)
        return job["id"]

    def waits(self, job, queue="push:jobs"):
        """Whether a job is in its list. Others may be there, too: retries of the seed come due at any time."""
        return any(job.encode() in element for element in self.fleet.redis("LRANGE", queue, 0, -1))

    def eventually(self, what, condition):
        wait_until(what, condition)

    def dead_ids(self):
        letters = self.fleet.redis("ZRANGE", "martlet:{push:jobs}:dead", 0, -1)
        return [json.loads(letter.split(b"\n")[0]).get("id") for letter in letters]
