"""The keys of a real state: taken, mutated, and put back."""

import re
from collections import defaultdict

# Parts of a key that name one thing of many: an id, a token, a worker, a time.
NAME = re.compile(r"[0-9a-f]{16,}|[A-Za-z0-9.-]*\d[A-Za-z0-9.-]*")
HOSTILE_TIMES = ("1", "9223372036854775000", "100000000000000")


def family(key):
    """`martlet:{push:jobs}:heartbeat:#`: keys of one family hold the same kind of value."""
    return NAME.sub("#", key.decode("utf-8", "replace"))


class State:
    """What Redis held when this was made."""

    def __init__(self, redis):
        self.redis = redis
        keys = sorted(redis("KEYS", "*"))
        self.dumps = {}
        for key in keys:
            dump, left = redis("DUMP", key), redis("PTTL", key)
            if dump is not None:
                # What expires within the run of a round would be missing in it.
                self.dumps[key] = (dump, max(left, 120_000) if left > 0 else 0, redis("TYPE", key))
        self.contents = {key: self.read(key, kind) for key, (_, _, kind) in self.dumps.items()}
        self.families = defaultdict(list)
        for key, content in self.contents.items():
            # A program may have emptied it meanwhile.
            if content:
                self.families[family(key)].append(key)

    def read(self, key, kind):
        command = {
            "string": ("GET", key), "hash": ("HGETALL", key), "list": ("LRANGE", key, 0, 99), "set": ("SMEMBERS", key),
            "zset": ("ZRANGE", key, 0, 199, "WITHSCORES"), "stream": ("XREVRANGE", key, "+", "-", "COUNT", 50)}[kind]
        return self.redis(*command)

    def restore(self):
        """Puts every key back, and deletes all others but those with which a living worker shows that it lives."""
        living = re.compile(rb"heartbeat:|:seal$|:keeper$|:sender$|:tombstone:|inflight:|landing:")
        gone = [("DEL", key) for key in self.redis("KEYS", "*") if key not in self.dumps and not living.search(key)]
        back = [("RESTORE", key, left, dump, "REPLACE") for key, (dump, left, _) in self.dumps.items()]
        self.redis.pipeline(gone + back)

    def mutation(self, mutator, changes_types, whole):
        """A key of a random family, and commands that change it. Keys of `whole` have been replaced already in this round."""
        chance, families = mutator.chance, list(self.families)
        key = next(key for key in iter(lambda: chance.choice(self.families[chance.choice(families)]), None) if key not in whole)
        kind, content = self.dumps[key][2], self.contents[key]
        if kind == "string":
            whole.add(key)
        if changes_types and chance.random() < 0.05:
            mutator.count += 1
            whole.add(key)
            return key, self.other_type(key, mutator)
        if chance.random() < 0.01:
            mutator.count += 1
            return key, [("PEXPIRE", key, chance.choice(HOSTILE_TIMES))]
        return key, getattr(self, "of_" + kind)(key, content, mutator)

    def other_type(self, key, mutator):
        value = mutator.number()
        ways = [("SET", key, value), ("LPUSH", key, value), ("SADD", key, value), ("ZADD", key, "1", value),
                ("HSET", key, value, value), ("XADD", key, "*", "event", value)]
        return [("DEL", key), mutator.chance.choice(ways)]

    def of_string(self, key, content, mutator):
        return [("SET", key, mutator.value(content or b""), "KEEPTTL")]

    def of_hash(self, key, content, mutator):
        place = mutator.chance.randrange(len(content) // 2) * 2
        field, value = content[place:place + 2]
        if mutator.chance.random() < 0.1:
            return [("HSET", key, mutator.bytes(field), value)]
        return [("HSET", key, field, mutator.value(value))]

    def of_list(self, key, content, mutator):
        place = mutator.chance.randrange(len(content))
        value = mutator.value(content[place])
        return [("LSET", key, place, value) if mutator.chance.random() < 0.7 else ("LPUSH", key, value)]

    def of_set(self, key, content, mutator):
        member = mutator.chance.choice(content)
        return [("SADD", key, mutator.bytes(member))] + ([("SREM", key, member)] if mutator.chance.random() < 0.3 else [])

    def of_zset(self, key, content, mutator):
        place = mutator.chance.randrange(len(content) // 2) * 2
        member, score = content[place:place + 2]
        if mutator.chance.random() < 0.4:
            mutator.count += 1
            score = mutator.chance.choice(("-inf", "inf", "-1", "0", "1e308", "-9223372036854775808", "9223372036854775807", "0.5"))
            return [("ZADD", key, score, member)]
        return [("ZREM", key, member), ("ZADD", key, score, mutator.value(member))]

    def of_stream(self, key, content, mutator):
        _, fields = mutator.chance.choice(content)
        fields = list(fields)
        place = mutator.chance.randrange(len(fields))
        fields[place] = mutator.value(fields[place])
        last = mutator.chance.choice(("*", "*", "*", "*", "*", "*", "*", "18446744073709551615-*", "9223372036854775807-*"))
        return [("XADD", key, last, *fields)]
