"""Mutations of what Redis holds: numbers, texts, structure, encoding, size and type."""

import json
import re

# Texts of numbers, at the ends of what fits anywhere and beyond.
NUMBERS = """-9223372036854775808 -9223372036854775807 -9007199254740993 -2147483649 -1 0 1 2 4294967296 281474976710656
281474976710657 253402300799999 253402300800000 1700000000000 9007199254740993 9223372036854775806 9223372036854775807
9223372036854775808 18446744073709551615 18446744073709551616 -9223372036854775809 1000000000000000000000000000000 1e308 -1e308
1e-308 1e999 -1e999 0.5 -0 -0.0 1e18 9.3e18 NaN Infinity 0x10 01 +1 1. 1e5""".split()
TEXTS = ["", "\0", "\u202e", "é", "\ud83d\ude00", "%s%n", "../..", "<script>", "a" * 300, "a:b", "a{b}c", "\n\n", "~", "null",
         "-1", "NaN", "9223372036854775807", "1700000000000-18446744073709551615", "0-0"]
BYTES = [b"", b"\0", b"\xff\xfe", b"{", b"[", b"[]", b"{}", b"null", b"MARTLET1 ", b"MARTLET1 999999999 999999999 n 0\n",
         b"MARTLET1 1 1 n 999999999\n{}", b"\n", b"[" * 200, b'{"a":' * 100]
HUGE = 1 << 20
# Redis closes the connection of who sends 512 MiB in one argument.
LARGEST = 64 << 20


class Raw(str):
    """A number as it stands in the text."""


def dumped(value):
    """JSON, in which numbers may have any form and keys may occur twice."""
    if isinstance(value, Raw):
        return value
    if isinstance(value, dict):
        return "{" + ",".join(json.dumps(key) + ":" + dumped(part) for key, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(dumped, value)) + "]"
    return json.dumps(value)


class Mutator:
    """Counts in `count` the values that it has changed."""

    def __init__(self, chance):
        self.chance = chance
        self.count = 0

    def number(self):
        if self.chance.random() < 0.7:
            return self.chance.choice(NUMBERS)
        return str(self.chance.choice((-1, 1)) * ((1 << self.chance.randrange(70)) + self.chance.randrange(-2, 3)))

    def value(self, data):
        """Bytes in place of those of a value."""
        if self.chance.random() < 0.12:
            return self.bytes(data)
        if re.fullmatch(rb"[-+.0-9e]{1,24}", data):
            self.count += 1
            return self.number().encode()
        if data.startswith(b"MARTLET"):
            return self.element(data)
        head, line_end, rest = data.partition(b"\n")
        if line_end and rest.startswith(b"MARTLET1 "):
            return self.json(head) + line_end + (rest if self.chance.random() < 0.5 else self.element(rest))
        if data[:1] in (b"{", b"["):
            return self.json(data)
        if line_end and head.startswith(b"~") or re.match(rb"\d\d:", head):
            return head + line_end + self.json(rest)
        return self.bytes(data)

    def element(self, data):
        """A job of the fleet: a head with numbers, a state of the length that it tells, the producer's bytes."""
        head, _, rest = data.partition(b"\n")
        words = head.split(b" ")
        size = int(words[-1]) if words[-1].isdigit() else 0
        state, job = rest[:size], rest[size:]
        state = self.json(state) if state and self.chance.random() < 0.8 else state
        job = self.json(job) if self.chance.random() < 0.3 else job
        words[-1] = str(len(state)).encode()
        for place in range(1, len(words)):
            if words[place].isdigit() and self.chance.random() < 0.25:
                self.count += 1
                words[place] = self.number().encode()
        return b" ".join(words) + b"\n" + state + job

    def json(self, data):
        try:
            value = json.loads(data)
        except (ValueError, RecursionError):
            return self.bytes(data)
        places = []
        self.collect(value, places)
        if not places:
            return self.bytes(data)
        # Numbers first: they are what arithmetic is done with.
        numbers = [place for place in places if isinstance(place[0][place[1]], (int, float))]
        pool = numbers if numbers and self.chance.random() < 0.7 else places
        for holder, key in self.chance.sample(pool, min(len(pool), self.chance.choice((1, 2, 4, 8, 16, 32)))):
            if isinstance(holder, list) and key >= len(holder) or isinstance(holder, dict) and key not in holder:
                continue
            self.count += 1
            self.replace(holder, key)
        text = dumped(value).encode("utf-8", "surrogatepass")
        return text if len(text) <= LARGEST else data

    def collect(self, value, places):
        pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, part in pairs:
            places.append((value, key))
            self.collect(part, places)

    def replace(self, holder, key):
        old, way = holder[key], self.chance.random()
        if isinstance(old, (int, float)) and way < 0.85 or way < 0.3:
            holder[key] = Raw(self.number())
        elif way < 0.5:
            holder[key] = self.chance.choice(TEXTS)
        elif way < 0.6:
            holder[key] = self.chance.choice((None, True, False, [], {}, [[]], {"a": 1}))
        elif way < 0.7 and isinstance(old, list) and old:
            holder[key] = (old * 1000)[:2000]
        elif way < 0.8 and isinstance(holder, dict):
            del holder[key]
        elif way < 0.85:
            holder[key] = "x" * self.chance.choice((129, 1025, 65_537))
        else:
            holder[key] = [old, old]

    def bytes(self, data):
        self.count += 1
        way = self.chance.random()
        if way < 0.3 or not data:
            return self.chance.choice(BYTES)
        if way < 0.31:
            return data + b"x" * HUGE
        place = self.chance.randrange(len(data))
        if way < 0.5:
            return data[:place]
        if way < 0.7:
            return data[:place] + bytes([self.chance.randrange(256)]) + data[place + 1:]
        if way < 0.8:
            return data * 2
        return data[:place] + self.number().encode() + data[place + 1:]
