"""Judges jobs by a JSON Schema: check-schema.py SCHEMA CORPUS, one job in hex per line; prints 1 or 0 for each."""

import json
import sys

from jsonschema import Draft202012Validator


class NotAJob(ValueError):
    pass


def unique(pairs):
    """A schema cannot see a key that stands twice."""
    members = dict(pairs)
    if len(members) != len(pairs):
        raise NotAJob("duplicate key")
    return members


def refuse(constant):
    """Python takes NaN and Infinity for JSON."""
    raise NotAJob(constant)


def anchored(schema):
    """In Python $ also matches before a last line feed; in a schema's regular expressions it does not."""
    if isinstance(schema, list):
        return [anchored(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: value[:-1] + r"\Z" if key == "pattern" and isinstance(value, str) else anchored(value)
        for key, value in schema.items()
    }


def is_valid(validator, job):
    try:
        value = json.loads(job.decode("utf-8"), object_pairs_hook=unique, parse_constant=refuse)
        # Half a surrogate pair passes json.loads, but is not text.
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except ValueError:
        return False
    return validator.is_valid(value)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        schema = json.load(file)
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(anchored(schema))
    with open(sys.argv[2], encoding="ascii") as corpus:
        for line in corpus:
            print("1" if is_valid(validator, bytes.fromhex(line.strip())) else "0")


main()
