#!/usr/bin/env python3
"""Mutates what Redis holds, and visits every page, route and command while workers run.

  Tests/Fuzz/State/run.py PROGRAMS [--seconds N] [--mutations N] [--seed N]

PROGRAMS is the directory of martlet and apns-simulator. It ends with 1 when a program crashes, does not answer, or answers with
5xx, and names the keys that cause it. The seed repeats the mutations, though not the timing of the programs.
"""

import argparse
import json
import random
import sys
import time

from mutations import Mutator
from real import RealFleet
from state import State
from visits import Broken, Visitor

# Values that are changed before all is visited.
BATCH = 1000
COMMANDS = 3
# In one of so many rounds, keys change their types, too.
TYPES_EVERY = 4


class Fuzzer:
    def __init__(self, fleet, seed):
        self.fleet, self.seed = fleet, seed
        self.state = State(fleet.redis)
        self.mutations = self.rounds = 0
        self.visitor = Visitor(fleet, fleet.names(), random.Random(seed))

    def round(self):
        """Throws Broken after a report."""
        number = self.rounds
        changes = self.changes(number)
        self.rounds += 1
        try:
            self.try_out(changes, number)
        except Broken as error:
            print(f"seed {self.seed}, round {number}: {error}", flush=True)
            self.reduce(changes, number, error.where)
            raise

    def changes(self, number):
        mutator = Mutator(random.Random(f"{self.seed} {number}"))
        changes, whole = [], set()
        while mutator.count < BATCH:
            changes.append(self.state.mutation(mutator, number % TYPES_EVERY == TYPES_EVERY - 1, whole))
        self.mutations += mutator.count
        return changes

    def try_out(self, changes, number):
        self.state.restore()
        self.visitor.allows_refusals = number % TYPES_EVERY == TYPES_EVERY - 1
        self.visitor.chance = random.Random(f"{self.seed} {number} visits")
        self.fleet.redis.pipeline_all([command for _, commands in changes for command in commands])
        self.fleet.push_jobs(number)
        for visit in (self.visitor.pages, self.visitor.routes, lambda: self.visitor.commands(COMMANDS)):
            visit()
            self.fleet.check()

    def reduce(self, changes, number, where):
        """Halves the changes for as long as one half still breaks the same."""
        reason = None
        while len(changes) > 1:
            middle = len(changes) // 2
            for half in (changes[:middle], changes[middle:]):
                self.fleet.revive(self.state)
                try:
                    self.try_out(half, number)
                    # What a program does on its own.
                    time.sleep(6)
                    self.fleet.check()
                except Broken as error:
                    if error.where == where:
                        changes, reason = half, error
                        break
            else:
                break
        print(f"  {len(changes)} changes: {reason}")
        for key, commands in changes[:20]:
            print(f"  {key.decode(errors='replace')}: {repr(commands)[:1500]}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--mutations", type=int, default=sys.maxsize)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--keep-going", action="store_true", help="goes on after a fault, with the programs started again")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    faults = 0
    with RealFleet(options.programs) as fleet:
        fuzzer = Fuzzer(fleet, options.seed)
        begun = shown = time.monotonic()
        while time.monotonic() - begun < options.seconds and fuzzer.mutations < options.mutations:
            try:
                fuzzer.round()
            except Broken:
                faults += 1
                if not options.keep_going:
                    break
                fleet.revive(fuzzer.state)
            if time.monotonic() - shown > 30:
                shown = time.monotonic()
                print(f"{fuzzer.mutations} mutations, {fuzzer.rounds} rounds, {fuzzer.visitor.count} visits", flush=True)
        seconds = time.monotonic() - begun
        print(json.dumps({
            "seed": options.seed, "mutations": fuzzer.mutations, "rounds": fuzzer.rounds, "visits": fuzzer.visitor.count,
            "anotherType": fuzzer.visitor.other_types, "families": len(fuzzer.state.families), "faults": faults,
            "seconds": round(seconds)}))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
