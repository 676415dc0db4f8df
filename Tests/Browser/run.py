"""Runs the browser tests on one fleet. usage: run.py DIRECTORY_OF_THE_PROGRAMS [NAMES]"""

import sys
import unittest
from pathlib import Path

import case
from browser import chromium
from fleet import Fleet
from seed import Seed


def main(programs, *names):
    loader = unittest.TestLoader()
    loader.testNamePatterns = [f"*{name}*" for name in names] or None
    suite = loader.discover(str(Path(__file__).parent))
    if suite.countTestCases() == 0:
        sys.exit("no test has such a name")
    with Fleet(programs) as fleet, chromium() as browser:
        Seed(fleet).all()
        case.Case.fleet, case.Case.browser = fleet, browser
        # One failure may leave the fleet in a state in which each later test waits in vain.
        result = unittest.TextTestRunner(verbosity=2, failfast=True).run(suite)
        errors = [line for line in fleet.log("dashboard").splitlines() if '"level":"error"' in line]
        for line in errors[:10]:
            print(line, file=sys.stderr)
        if not result.wasSuccessful():
            fleet.describe()
        if not result.wasSuccessful() or errors:
            sys.exit(1)


if __name__ == "__main__":
    main(*sys.argv[1:])
