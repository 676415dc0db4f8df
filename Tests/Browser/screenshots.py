"""Makes the pictures of README and docs. usage: screenshots.py DIRECTORY_OF_THE_PROGRAMS DIRECTORY_OF_THE_PICTURES"""

import math
import random
import sys
from pathlib import Path

from browser import Visitor, chromium
from fleet import Fleet
from seed import APPS, Seed, milliseconds

PICTURES = {"overview": "", "job": "jobs/invoice-dave-11", "dead": "dead"}
SIZE = {"width": 1280, "height": 860}
MAXIMUM_BYTES = 200_000


def history(redis, now):
    """The counters of 72 hours, with the rhythm of a day and a bad hour."""
    chance = random.Random(20261122)
    minute = now // 60_000

    def write(kind, number, minutes):
        day = (number * (60 if kind == "hour" else 1) % 1440) / 1440
        pushes = int(minutes * (3600 + 2800 * math.sin((day - 0.3) * 2 * math.pi)) * chance.uniform(0.85, 1.15))
        refused = pushes // chance.randint(60, 90)
        fields = {
            "jobs:accepted": pushes - refused, "jobs:failed": refused // 2, "jobs:retrying": pushes // 300, "jobs:suppressed": pushes // 70,
            "pushes:accepted": pushes - refused, "pushes:failed": refused * 3 // 10, "pushes:stale": refused * 7 // 10, "pushes:uncertain": pushes // 4000,
            "refused:Unregistered": refused * 7 // 10, "refused:BadDeviceToken": refused // 5, "refused:TooManyRequests": refused // 10,
            "claimed:push:jobs": pushes * 8 // 10, "claimed:push:jobs:high": pushes // 10, "claimed:push:jobs:low": pushes // 10,
            "latency:sum": pushes * 9}
        for app, share in zip(APPS, (6, 3, 1)):
            fields[f"app:accepted:{app}"] = pushes * share // 10
            fields[f"app:failed:{app}"] = refused * share // 10
        for bound, part in ((1, 0.2), (2, 0.3), (5, 0.25), (10, 0.15), (25, 0.06), (50, 0.03), (100, 0.01)):
            fields[f"latency:{bound}"] = int(pushes * part)
        redis("HSET", f"martlet:{{counters}}:{kind}:{number}", *(word for pair in fields.items() for word in pair))

    for number in range(minute - 61, minute):
        write("minute", number, 1)
    for number in range(minute // 60 - 72, minute // 60):
        write("hour", number, 60)


def main(programs, directory):
    pictures = Path(directory)
    pictures.mkdir(parents=True, exist_ok=True)
    with Fleet(programs, workers=3) as fleet, chromium() as browser:
        Seed(fleet).all()
        history(fleet.redis, milliseconds())
        for scheme in ("light", "dark"):
            with Visitor(browser, fleet.url, "operator", scheme=scheme, size=SIZE) as visitor:
                for name, path in PICTURES.items():
                    visitor.open(path)
                    picture = pictures / f"dashboard-{name}-{scheme}.png"
                    visitor.page.screenshot(path=picture, animations="disabled")
                    size = picture.stat().st_size
                    print(f"{picture}: {size // 1000} kB")
                    if size > MAXIMUM_BYTES:
                        sys.exit(f"{picture} is larger than {MAXIMUM_BYTES} bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])
