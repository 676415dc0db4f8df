"""All measured rounds as JSON lines, and medians over rounds."""

import json
import statistics
import time


class Results:
    def __init__(self):
        self.lines = []
        self._started = time.monotonic()

    @staticmethod
    def read(path):
        results = Results()
        with open(path) as file:
            results.lines = [json.loads(line) for line in file]
        return results

    def add(self, kind, **fields):
        self.lines.append({"kind": kind, **fields})
        words = [f"{name}={short(value)}" for name, value in fields.items() if not isinstance(value, (list, dict))]
        print(f"[{time.monotonic() - self._started:6.1f} s] {kind:9} " + " ".join(words), flush=True)

    def select(self, kind, **wanted):
        return [line for line in self.lines
                if line["kind"] == kind and all(line.get(name) == value for name, value in wanted.items())]

    def values(self, field, kind, **wanted):
        return [line[field] for line in self.select(kind, **wanted)]

    def median(self, field, kind, **wanted):
        """None if nothing of the kind was measured."""
        values = self.values(field, kind, **wanted)
        return statistics.median(values) if values else None

    def write(self, path):
        with open(path, "w") as file:
            for line in self.lines:
                file.write(json.dumps(line) + "\n")


def short(value):
    return f"{value:.4g}" if isinstance(value, float) else value
