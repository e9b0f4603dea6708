"""The fields of what is answered are taken while the clock runs, so that a driver cannot put work off until it stopped."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent))

from kit import Driver, Model, lane  # noqa: E402
from kit.answers import Answers  # noqa: E402
from kit.lane import Lane, play, play_open  # noqa: E402
from kit.records import digest  # noqa: E402

#: What fetching the fields of one object takes, by a clock that moves for nothing else.
FETCH_NS = 1000
ROWS = [(key, bytes([key])) for key in range(5)]


class Log(list):
    """What happened, in order; and the clock, which only fetching moves."""

    now = 0

    def reading(self) -> int:
        self.append("clock")
        return self.now


LOG = Log()


@pytest.fixture(autouse=True)
def fake_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    LOG.clear()
    LOG.now = 0
    monkeypatch.setattr(lane, "now_ns", LOG.reading)
    monkeypatch.setattr(lane, "processor_ns", lambda: LOG.now)


class Handle:
    """An answer that knows its key alone, as an object of a library that loads a column when it is asked for."""

    def __init__(self, key: int) -> None:
        self.key = key

    @property
    def fields(self) -> tuple[Any, ...]:
        LOG.append(f"fetch {self.key}")
        LOG.now += FETCH_NS
        return ROWS[self.key]


class Lazy(Driver):
    def __init__(self, _: Any = None) -> None:
        pass

    def get(self, key: Any) -> Any:
        LOG.append(f"get {key}")
        return Handle(key)

    def first(self) -> Any:
        return Handle(0)

    def read_all(self) -> list[Any]:
        return [Handle(key) for key, _ in reversed(ROWS)]

    def find(self, above: int) -> list[Any]:
        return self.read_all()

    def update_many(self, states: list[Any]) -> list[Any]:
        return self.read_all()

    def delete_many(self) -> list[Any]:
        return self.read_all()


MODEL = Model(lambda fields: fields, lambda one: one.fields, ("get",))


def played(verb: str, work: Any) -> tuple[dict[str, Any], list[int]]:
    sample, latency = play([Lane(Lazy(), MODEL, verb, work, True)], "row")
    return sample, latency


def test_the_fields_of_each_answer_are_taken_before_the_next_operation_and_before_the_clock_stops() -> None:
    sample, latency = played("get", [2, 0])
    happened = [what for what in LOG if what != "clock"]
    assert happened == ["get 2", "fetch 2", "get 0", "fetch 0"]
    assert (LOG[0], LOG[-1]) == ("clock", "clock")
    assert latency == [FETCH_NS, FETCH_NS] and sample["wall_ns"] == sample["cpu_ns"] == 2 * FETCH_NS
    assert sample["lanes"][0]["digest"] == digest("row", [ROWS[2], ROWS[0]])


@pytest.mark.parametrize(
    ("verb", "work", "times"),
    [("read-all", 2, 2), ("find", (3, 2), 2), ("update-many", [], 1), ("delete-many", 1, 1)],
)
def test_what_is_read_together_is_fetched_in_the_time_of_its_own_operation(verb: str, work: Any, times: int) -> None:
    sample, latency = played(verb, work)
    assert latency == [len(ROWS) * FETCH_NS] * times
    assert sample["wall_ns"] == times * len(ROWS) * FETCH_NS
    assert sample["lanes"][0]["answers"] == times * len(ROWS)
    assert sample["lanes"][0]["digest"] == digest("row", ROWS * times)


def test_the_first_record_of_an_opened_database_is_fetched_in_time() -> None:
    sample, latency = play_open(Lazy, Answers(MODEL, Lazy.kind_of), "row", 3)
    assert latency == [FETCH_NS] * 3
    assert sample["wall_ns"] == 3 * FETCH_NS
    assert sample["lanes"][0]["digest"] == digest("row", [ROWS[0]] * 3)


def test_an_object_that_cannot_tell_its_fields_is_an_operation_that_failed() -> None:
    sample, _ = played("get", [0, len(ROWS), 1])
    assert sample["lanes"][0]["errors"] == {"other": 1}
    assert sample["lanes"][0]["digest"] == digest("row", ROWS[:2])
