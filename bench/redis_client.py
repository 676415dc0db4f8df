"""A minimal Redis client."""

import socket


class Redis:
    def __init__(self, path):
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(path)
        self.exchanges = 0
        self._replies = self._socket.makefile("rb", buffering=1 << 16)

    def __call__(self, *words):
        self.exchanges += 1
        self._socket.sendall(encode(words))
        return self._reply()

    def pipeline(self, commands, chunk=2000):
        """Sends commands and returns the number of replies. Raises on an error reply."""
        count, batch = 0, []
        for command in commands:
            batch.append(encode(command))
            if len(batch) == chunk:
                count += self._exchange(batch)
                batch = []
        return count + self._exchange(batch)

    def _exchange(self, batch):
        self._socket.sendall(b"".join(batch))
        for _ in batch:
            self._reply()
        return len(batch)

    def _reply(self):
        line = self._replies.readline()
        kind, rest = line[:1], line[1:-2]
        if kind == b":":
            return int(rest)
        if kind == b"+":
            return rest.decode()
        if kind == b"-":
            raise RuntimeError(f"redis: {rest.decode()}")
        if kind == b"$":
            size = int(rest)
            return None if size < 0 else self._replies.read(size + 2)[:-2]
        if kind == b"*":
            return [self._reply() for _ in range(max(0, int(rest)))]
        raise RuntimeError(f"redis: not a reply: {line!r}")

    def info(self, section):
        lines = self("INFO", section).decode().splitlines()
        return dict(line.split(":", 1) for line in lines if ":" in line)


def encode(words):
    parts = [b"*%d\r\n" % len(words)]
    for word in words:
        data = word if isinstance(word, bytes) else str(word).encode()
        parts.append(b"$%d\r\n%s\r\n" % (len(data), data))
    return b"".join(parts)
