"""Runs the tests of docs/testing.md under the page's own script, as they stand and with a wrong expectation."""

import os
import subprocess
import tempfile
from pathlib import Path

from languages import NotInstalled, python_with_redis, require_redis_of_ruby

SCRIPT = "Servers of its own"


def shell_command():
    return ["bash", "-euo", "pipefail"]


def python_command():
    return [python_with_redis()]


def ruby_command():
    require_redis_of_ruby()
    return ["ruby", "-w"]


# By heading.
LANGUAGES = {"Shell": shell_command, "Python": python_command, "Ruby": ruby_command}


def run(script, command, test, programs):
    """Returns the exit code and the output of a test."""
    path = f"{programs}:{os.environ['PATH']}"
    ended = subprocess.run(
        ["bash", script, *command, test], env=os.environ | {"PATH": path}, capture_output=True, text=True, timeout=300)
    return ended.returncode, ended.stdout + ended.stderr


def examine_testing(sections, programs, faults):
    """Returns the languages that were not checked."""
    missing = []
    with tempfile.TemporaryDirectory() as directory:
        script, test = Path(directory) / "with-martlet", Path(directory) / "test"
        script.write_text("".join(sections.get(SCRIPT, [])))
        for name, prepare in LANGUAGES.items():
            try:
                command = prepare()
            except NotInstalled as error:
                missing.append(f"{name} ({error})")
                continue
            text = "".join(sections.get(name, []))
            test.write_text(text)
            code, said = run(script, command, test, programs)
            faults.expect(code == 0 and said.strip() == "passed", f"{name}: ended with {code}: {said}")
            # Nothing was sent twice: a test that expects it must fail.
            wrong = text.replace("[2,0]", "[2,1]").replace("(2, 0)", "(2, 1)").replace("[2, 0]", "[2, 1]")
            test.write_text(wrong)
            code, said = run(script, command, test, programs)
            faults.expect(code != 0 and wrong != text, f"{name}: a wrong expectation ended with {code}: {said}")
    return missing
