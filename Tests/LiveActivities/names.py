"""Names of users that are hard to tell from others: look-alikes, names that contain each other and the separators of keys, and every
way of writing them. What compares two of them compares the one form, byte by byte."""

import unicodedata

# Neighbours are easily taken for each other. All are trimmed, in lower case and NFC.
PATTERNS = [
    "jos\u00e9", "jose", "jos\u0435", "bob", "team:bob", "{bob}", "bo b", "bob:tokens", "bob;", "bob`", "\ud55c", "\ud558", "\u304c",
    "\u304b", "tr\u1ed9i", "troi", "\u05d0\u05e9\u05c1\u05d5\u05dd", "\u05d0\u05e9\u05d5\u05dd", "\u0622\u0645\u0646\u0629",
    "\u0627\u0645\u0646\u0629", "\U0001d157\U0001d165\U0001f426", "\U0001f426", "\u00e5sa}", "asa}{", "\U0001f426" * 29,
    "user:{\u00e9}:notifications"]
# What NFC replaces.
SINGLETONS = {";": "\u037e", "`": "\u1fef", "\u00e5": "\u212b"}


def users(seed, count):
    """`count` different names, neighbours of each other, that no other seed has. At most 128 bytes each."""
    return [f"{PATTERNS[(3 * seed + number) % len(PATTERNS)]}.{seed}" for number in range(count)]


def spelled(name, chance):
    """A text that means the user."""
    other = "".join(SINGLETONS.get(letter, letter) for letter in name)
    return chance.choice([name, unicodedata.normalize("NFD", name), other, f"\u3000{name} "])


def phone(seed, user, number):
    """The id of a phone of a user, who is told by a number. `X:team` of bob and `X` of team:bob must not be taken for each other."""
    return f"X{seed}-{number}" + [":team", "", ":bob"][user]
