"""An answer is refused where something of it could come after the clock has stopped, or where it is no object of its own."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent))

from kit import Failure, Model  # noqa: E402
from kit.answers import Answers  # noqa: E402
from kit.records import digest  # noqa: E402


class Row:
    def __init__(self, key: int, value: Any) -> None:
        self.key, self.value = key, value


class Late(bytes):
    """Looks like bytes, and need not be any yet."""


MODEL = Model(lambda fields: Row(*fields), lambda row: (row.key, row.value), ("get",))


def answered(*objects: Any, model: Model = MODEL) -> Answers:
    answers = Answers(model, lambda _: "other")
    for one in objects:
        answers.found(one)
    return answers


def test_plain_objects_are_taken() -> None:
    sample = answered(Row(1, b"one"), None, Row(2, b"two")).sample("row", 7)
    assert sample == {"wall_ns": 7, "answers": 2, "digest": digest("row", [(1, b"one"), (2, b"two")]), "errors": {}}


@pytest.mark.parametrize("value", [Late(b"one"), bytearray(b"one"), memoryview(b"one"), True, object(), [b"one"]])
def test_fields_that_could_change_after_they_were_taken_are_refused(value: Any) -> None:
    with pytest.raises(Failure, match="the fields of a Row are no plain"):
        answered(Row(1, value)).sample("row", 7)


def test_objects_that_tell_other_fields_than_a_record_has_are_refused() -> None:
    with pytest.raises(Failure, match="2 objects told 6 fields; a row has 2"):
        answered(Row(1, b"one"), Row(2, b"two"), model=MODEL._replace(fields=lambda row: (row.key, 0, 0))).sample("row", 7)


def test_an_object_may_be_answered_again_for_its_own_record() -> None:
    row = Row(1, b"one")
    assert answered(row, row).sample("row", 7)["answers"] == 2


def test_one_object_that_stands_for_every_record_of_a_read_is_refused() -> None:
    cursor = iter([(1, b"one"), (2, b"two")])
    answers = Answers(MODEL._replace(fields=next), lambda _: "other")
    answers.read([cursor, cursor])
    with pytest.raises(Failure, match="answered for two records: each takes an object of its own"):
        answers.sample("row", 7)


def test_objects_that_are_no_list_are_refused() -> None:
    answers = answered()
    answers.read(iter([Row(1, b"one")]))  # type: ignore[arg-type]
    with pytest.raises(Failure, match="list_iterator, which is no list"):
        answers.sample("row", 7)
