"""The timing loop: plays lanes against handles, with everything gathered before the clock starts and everything worked
out after it has stopped."""

from __future__ import annotations

import threading
from typing import Any, Callable, Optional

from .answers import Answers
from .clock import Counts, now_ns, processor_ns
from .driver import Driver, Model


class Lane:
    """One lane: what it does, and what it answered."""

    def __init__(self, driver: Driver, model: Model, verb: str, work: Any, latency: bool) -> None:
        self.driver, self.verb, self.work = driver, verb, work
        self.latency = latency
        self.answers = Answers(model, driver.kind_of)
        self.latency_ns: list[int] = []
        self.start = self.end = self.processor_start = self.processor_end = 0

    def steps(self) -> list[tuple[Callable[..., Any], tuple[Any, ...], Callable[[Any], None]]]:
        """The operations: what is called, with what, and what takes the answer."""
        driver, work, answers = self.driver, self.work, self.answers
        if self.verb == "get":
            return [(driver.get, (key,), answers.found) for key in work]
        if self.verb == "read-all":
            return [(driver.read_all, (), answers.read)] * work
        if self.verb == "insert-one":
            return [(driver.insert_one, (one,), self._inserted) for one in work]
        if self.verb == "insert-many":
            return [(driver.insert_many, (work,), self._inserted_all)]
        if self.verb == "find":
            above, times = work
            return [(driver.find, (above,), answers.read)] * times
        if self.verb == "update-one":
            return [(driver.update_one, (state,), self._updated) for state in work]
        if self.verb == "update-many":
            return [(driver.update_many, (work,), answers.read)]
        return [(driver.delete_many, (), answers.read)]

    def _inserted(self, _: Any) -> None:
        self.answers.acknowledged += 1

    def _inserted_all(self, _: Any) -> None:
        self.answers.acknowledged += len(self.work)

    def _updated(self, there: bool) -> None:
        self.answers.acknowledged += there

    def play(self, met: Callable[[], Any]) -> None:
        """Plays the lane, once all have met."""
        steps, each, ticks, failed = self.steps(), self.latency, self.latency_ns, self.answers.failed
        met()
        self.processor_start = processor_ns()
        self.start = last = now_ns()
        for call, arguments, take in steps:
            try:
                take(call(*arguments))
            except Exception as error:  # whatever a subject raises is a result
                failed(error)
            if each:
                now = now_ns()
                ticks.append(now - last)
                last = now
        self.end = now_ns()
        self.processor_end = processor_ns()


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
    told = [lane.answers.sample(record, lane.end - start) for lane in lanes]
    sample = {"wall_ns": end - start, "cpu_ns": cpu, "lanes": told, "usage": usage}
    return sample, [latency for lane in lanes for latency in lane.latency_ns]


def play_open(open_one: Callable[[], Driver], answers: Answers, record: str, times: int) -> tuple[Any, list[int]]:
    """Opens so often, each time up to the answer of a first query; closes each off the clock."""
    before = Counts.now()
    latency: list[int] = []
    cpu = 0
    for _ in range(times):
        driver: Optional[Driver] = None
        processor_start, start = processor_ns(), now_ns()
        try:
            driver = open_one()
            answers.found(driver.first())
        except Exception as error:  # whatever a subject raises is a result
            answers.failed(error)
        latency.append(now_ns() - start)
        cpu += processor_ns() - processor_start
        if driver is not None:
            driver.close()
    usage = Counts.now().since(before)
    told = answers.sample(record, sum(latency))
    return {"wall_ns": sum(latency), "cpu_ns": cpu, "lanes": [told], "usage": usage}, latency
