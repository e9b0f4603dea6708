"""The clock: the monotonic one of the standard library, the processor time of the whole process, and what the system
counts meanwhile."""

from __future__ import annotations

import resource
import time
from typing import Any, NamedTuple

now_ns = time.perf_counter_ns
processor_ns = time.process_time_ns


def measure() -> dict[str, Any]:
    """What a reading costs, and the smallest step that was seen."""
    readings = 1000
    cost, step = float("inf"), 1 << 62
    for _ in range(20):
        start = last = now_ns()
        for _ in range(readings):
            now = now_ns()
            if now > last:
                step = min(step, now - last)
            last = now
        cost = min(cost, (last - start) / readings)
    return {"name": "time.perf_counter_ns (CLOCK_MONOTONIC)", "cost_ns": cost, "resolution_ns": step}


class Counts(NamedTuple):
    """What was counted up to a moment."""

    voluntary_switches: int
    involuntary_switches: int
    major_faults: int
    read_bytes: int
    written_bytes: int
    own_bytes: int

    @staticmethod
    def now() -> Counts:
        """What is counted now."""
        usage = resource.getrusage(resource.RUSAGE_SELF)
        try:
            with open("/proc/self/io") as file:
                text = file.read()
        except OSError:
            # A kernel without I/O accounting has no such file.
            text = ""
        fields = dict(line.split(": ") for line in text.splitlines())
        read, written = int(fields.get("rchar", 0)), int(fields.get("wchar", 0))
        return Counts(usage.ru_nvcsw, usage.ru_nivcsw, usage.ru_majflt, read, written, len(text))

    def since(self, earlier: Counts) -> dict[str, int]:
        """What was counted in between, without the reading of the counts itself."""
        counts = {name: max(0, value - getattr(earlier, name)) for name, value in self._asdict().items()}
        counts["read_bytes"] = max(0, counts["read_bytes"] - earlier.own_bytes)
        del counts["own_bytes"]
        return counts
