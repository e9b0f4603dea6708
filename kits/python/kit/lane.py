"""The timing loop: plays lanes against handles, with everything gathered before the clock starts and everything worked
out after it has stopped."""

from __future__ import annotations

import sys
import threading
from typing import Any, Callable, Optional

from .clock import Counts, now_ns, processor_ns
from .driver import Driver, Failure, Model
from .records import digest, sort_key
from .whole import Whole


class Lane:
    """One lane: what it does, and what it answered."""

    def __init__(self, driver: Driver, model: Model, verb: str, work: Any, latency: bool) -> None:
        self.driver, self.model, self.verb, self.work = driver, model, verb, work
        self.latency = latency
        #: Objects that were found one by one, and those that were read together.
        self.found: list[Any] = []
        self.reads: list[list[Any]] = []
        self.acknowledged = 0
        self.failures: dict[str, tuple[int, str]] = {}
        self.latency_ns: list[int] = []
        self.start = self.end = self.processor_start = self.processor_end = 0

    def steps(self) -> list[tuple[Callable[..., Any], tuple[Any, ...], Callable[[Any], None]]]:
        """The operations: what is called, with what, and who takes the answer."""
        driver, work = self.driver, self.work
        if self.verb == "get":
            return [(driver.get, (key,), self.found.append) for key in work]
        if self.verb == "read-all":
            return [(driver.read_all, (), self.reads.append)] * work
        if self.verb == "insert-one":
            return [(driver.insert_one, (one,), self._inserted) for one in work]
        if self.verb == "insert-many":
            return [(driver.insert_many, (work,), self._inserted_all)]
        if self.verb == "find":
            above, times = work
            return [(driver.find, (above,), self.reads.append)] * times
        if self.verb == "update-one":
            return [(driver.update_one, (state,), self._updated) for state in work]
        if self.verb == "update-many":
            return [(driver.update_many, (work,), self.reads.append)]
        return [(driver.delete_many, (), self.reads.append)]

    def _inserted(self, _: Any) -> None:
        self.acknowledged += 1

    def _inserted_all(self, _: Any) -> None:
        self.acknowledged += len(self.work)

    def _updated(self, there: bool) -> None:
        self.acknowledged += there

    def failed(self, error: Exception) -> None:
        """Counts an operation that failed."""
        kind = error.kind if isinstance(error, Failure) else self.driver.kind_of(error)
        count, message = self.failures.get(kind, (0, str(error)))
        self.failures[kind] = (count + 1, message)

    def play(self, met: Callable[[], Any]) -> None:
        """Plays the lane, once all have met."""
        steps, each, ticks = self.steps(), self.latency, self.latency_ns
        met()
        self.processor_start = processor_ns()
        self.start = last = now_ns()
        for call, arguments, take in steps:
            try:
                take(call(*arguments))
            except Exception as error:  # whatever a subject raises is a result
                self.failed(error)
            if each:
                now = now_ns()
                ticks.append(now - last)
                last = now
        self.end = now_ns()
        self.processor_end = processor_ns()

    def answers(self, record: str) -> tuple[int, str]:
        """How many were answered, and their digest."""
        records = records_of(self.model, self.found)
        for read in self.reads:
            records += sorted(records_of(self.model, read), key=sort_key)
        return len(records) + self.acknowledged, digest(record, records)


def records_of(model: Model, objects: list[Any]) -> list[tuple[Any, ...]]:
    """The records that objects stand for, off the clock; what was not found is none."""
    whole = Whole()
    return [whole.require(one, model.fields(one)) for one in objects if one is not None]


def play(lanes: list[Lane], record: str) -> tuple[dict[str, Any], list[int]]:
    """Plays the lanes side by side; the sample, and the time of each operation."""
    before = Counts.now()
    if len(lanes) == 1:
        lanes[0].play(lambda: None)
    else:
        barrier = threading.Barrier(len(lanes))
        threads = [threading.Thread(target=lane.play, args=(barrier.wait,)) for lane in lanes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    usage = Counts.now().since(before)
    start, end = min(lane.start for lane in lanes), max(lane.end for lane in lanes)
    cpu = max(lane.processor_end for lane in lanes) - min(lane.processor_start for lane in lanes)
    told = [_told(lane.answers(record), lane.end - start, lane.failures) for lane in lanes]
    sample = {"wall_ns": end - start, "cpu_ns": cpu, "lanes": told, "usage": usage}
    return sample, [latency for lane in lanes for latency in lane.latency_ns]


def play_open(
    open_one: Callable[[], Driver],
    answers: Callable[[list[Any]], tuple[int, str]],
    kind_of: Callable[[Exception], str],
    times: int,
) -> tuple[Any, list[int]]:
    """Opens so often, each time up to the answer of a first query; closes each off the clock."""
    before = Counts.now()
    latency: list[int] = []
    failures: dict[str, tuple[int, str]] = {}
    firsts: list[Any] = []
    cpu = 0
    for _ in range(times):
        driver: Optional[Driver] = None
        processor_start, start = processor_ns(), now_ns()
        try:
            driver = open_one()
            firsts.append(driver.first())
        except Exception as error:  # whatever a subject raises is a result
            kind = error.kind if isinstance(error, Failure) else kind_of(error)
            failures[kind] = (failures.get(kind, (0, ""))[0] + 1, str(error))
        latency.append(now_ns() - start)
        cpu += processor_ns() - processor_start
        if driver is not None:
            driver.close()
    usage = Counts.now().since(before)
    told = _told(answers(firsts), sum(latency), failures)
    return {"wall_ns": sum(latency), "cpu_ns": cpu, "lanes": [told], "usage": usage}, latency


def _told(answers: tuple[int, str], wall: int, failures: dict[str, tuple[int, str]]) -> dict[str, Any]:
    for kind, (count, message) in failures.items():
        print(f"{count} operations failed ({kind}), the first with: {message}", file=sys.stderr)
    errors = {kind: count for kind, (count, _) in failures.items()}
    return {"wall_ns": wall, "answers": answers[0], "digest": answers[1], "errors": errors}
