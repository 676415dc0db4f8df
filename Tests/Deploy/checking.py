"""What the checks of deploy/ share: the list of faults, the settings that exist, durations."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class Faults:
    """Gathers what is wrong, so that one run reports everything."""

    def __init__(self):
        self.found = []
        self.checked = 0

    def expect(self, holds, message):
        self.checked += 1
        if not holds:
            self.found.append(message)
        return bool(holds)

    def end(self, subject):
        for message in self.found:
            print(f"{subject}: {message}", file=sys.stderr)
        if self.found:
            sys.exit(1)
        print(f"{subject}: {self.checked} expectations hold.")
        self.checked = 0


def settings():
    """The names in the tables of docs/settings.md."""
    names = set()
    for line in (ROOT / "docs/settings.md").read_text().splitlines():
        if line.startswith("| `"):
            names |= set(re.findall(r"`([A-Z][A-Z0-9_]+)`", line.split("|")[1]))
    if len(names) < 30:
        sys.exit("docs/settings.md has lost its tables")
    return names


def seconds(text):
    """Of a duration as Martlet and Compose write it."""
    number, unit = re.fullmatch(r"(\d+)(ms|s|m|h)", text).groups()
    return int(number) * {"ms": 0.001, "s": 1, "m": 60, "h": 3600}[unit]


def environment_file(path):
    """The lines NAME=value of a file."""
    lines = [line.strip() for line in path.read_text().splitlines()]
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
