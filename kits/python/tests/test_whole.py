"""An answer that could put off its work is refused."""

from __future__ import annotations

import sys
from dataclasses import astuple, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent))

from kit import Failure, Model  # noqa: E402
from kit.lane import records_of  # noqa: E402


@dataclass
class Row:
    key: int
    value: Any


class Cached(Row):
    @cached_property
    def later(self) -> bytes:
        return b"fetched"


class Computed(Row):
    @property
    def later(self) -> bytes:
        return b"fetched"


class Proxy(Row):
    def __getattr__(self, name: str) -> bytes:
        return b"fetched"


class Late(bytes):
    """Looks like bytes, and need not be any yet."""


MODEL = Model(lambda fields: Row(*fields), astuple, ("get",))


def test_plain_objects_are_taken() -> None:
    assert records_of(MODEL, [Row(1, b"one"), None, Row(2, b"two")]) == [(1, b"one"), (2, b"two")]


@pytest.mark.parametrize("kind", [Cached, Computed, Proxy], ids=lambda kind: kind.__name__)
def test_objects_that_work_out_a_field_when_it_is_asked_for_are_refused(kind: type) -> None:
    with pytest.raises(Failure, match=f"{kind.__name__}, whose"):
        records_of(MODEL, [kind(1, b"one")])


@pytest.mark.parametrize("value", [Late(b"one"), bytearray(b"one"), memoryview(b"one"), True, object()])
def test_fields_of_other_types_than_the_interpreters_own_are_refused(value: Any) -> None:
    with pytest.raises(Failure, match="no plain"):
        records_of(Model(MODEL.make, lambda row: (row.key, row.value), ("get",)), [Row(1, value)])
