"""The sizes of the measurements: complete, or in under two minutes (QUICK=1)."""

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Setup:
    programs: str
    quick: bool
    rounds: int
    engine_pushes: int
    backlogs: tuple  # jobs queued
    records: int  # of earlier jobs, in Redis
    audience: int  # devices of the app
    mixed_jobs: int  # jobs of the five-device and the payload case
    profiled_jobs: int
    idle_samples: int
    half_load_seconds: float
    rest_seconds: float
    registrations: int

    @staticmethod
    def of(programs):
        if os.environ.get("QUICK", "") not in ("", "0"):
            return Setup(
                programs, True, rounds=1, engine_pushes=100_000, backlogs=(1_000, 20_000, 100_000), records=90_000,
                audience=100_000, mixed_jobs=10_000, profiled_jobs=30_000, idle_samples=300, half_load_seconds=2,
                rest_seconds=3, registrations=20_000)
        return Setup(
            programs, False, rounds=5, engine_pushes=300_000, backlogs=(1_000, 100_000, 1_000_000), records=900_000,
            audience=1_000_000, mixed_jobs=50_000, profiled_jobs=100_000, idle_samples=1_500,
            half_load_seconds=8, rest_seconds=10, registrations=100_000)
