"""One Redis, or a cluster, with what the measurements of growth ask of both."""

import binascii
import os
import socket
import time

from processes import FIRST, SINK_CORE, Process, wait_until
from redis_client import Redis

SLOTS = 16_384


def slot(key):
    start = key.find("{")
    end = key.find("}", start + 1)
    if start >= 0 and end > start + 1:
        key = key[start + 1:end]
    return binascii.crc_hqx(key.encode(), 0) % SLOTS


class Servers:
    """One server, or a cluster of `nodes` whose slots are divided equally."""

    def __init__(self, directory, nodes):
        self.is_cluster, self.count = nodes > 0, max(nodes, 1)
        count = self.count
        ports = [free_port() for _ in range(2 * count)]
        self._ports, self.processes, self.connections = ports[:count], [], []
        for number, port in enumerate(self._ports):
            place = f"{directory}/redis-{number}"
            os.mkdir(place)
            path = f"{place}/redis.sock"
            cluster = ["--cluster-enabled", "yes", "--cluster-port", ports[count + number]] if nodes else []
            self.processes.append(Process(
                ["redis-server", "--port", port, "--bind", "127.0.0.1", "--unixsocket", path, "--dir", place,
                 "--save", "", "--appendonly", "no", *cluster], SINK_CORE, f"{place}/redis.log", priority=FIRST))
            wait_until("redis-server", lambda: os.path.exists(path), process=self.processes[-1])
            self.connections.append(Redis(path))
        if nodes:
            self._join(ports[count:])

    def _join(self, bus_ports):
        for number, redis in enumerate(self.connections):
            redis("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
            redis("CLUSTER", "ADDSLOTSRANGE", number * SLOTS // self.count, (number + 1) * SLOTS // self.count - 1)
            redis("CLUSTER", "MEET", "127.0.0.1", self._ports[0], bus_ports[0])
        wait_until("the cluster", lambda: all(
            b"cluster_state:ok" in redis("CLUSTER", "INFO") and len(redis("CLUSTER", "SLOTS")) == self.count
            for redis in self.connections))

    @property
    def url(self):
        if not self.is_cluster:
            return f"redis://127.0.0.1:{self._ports[0]}"
        return "redis+cluster://" + ",".join(f"127.0.0.1:{port}" for port in self._ports)

    def of(self, key):
        for number in range(self.count - 1):
            if slot(key) < (number + 1) * SLOTS // self.count:
                return self.connections[number]
        return self.connections[-1]

    def __call__(self, name, key, *words):
        return self.of(key)(name, key, *words)

    def pipeline(self, commands, chunk=2000):
        """Each command's first word after its name is its key."""
        batches = {}
        for command in commands:
            redis = self.of(command[1])
            batch = batches.setdefault(id(redis), (redis, []))[1]
            batch.append(command)
            if len(batch) == chunk:
                redis.pipeline(batch)
                batch.clear()
        for redis, batch in batches.values():
            redis.pipeline(batch)

    def cpu_seconds(self):
        return sum(process.cpu_seconds() for process in self.processes)

    def used_memory(self):
        return sum(int(redis.info("memory")["used_memory"]) for redis in self.connections)

    def calls(self):
        return sum(int(redis.info("stats")["total_commands_processed"]) for redis in self.connections)

    def stop(self):
        for process in self.processes:
            process.stop()


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]
