"""Whether answers were whole when their fields were taken, while the clock ran: nothing of them could come later, and none
stood in for another."""

from __future__ import annotations

from typing import Any

from .driver import Failure
from .records import WIDTHS

#: What fields may be besides tuples: the interpreter's own types that cannot change, and no classes below them.
_PLAIN = (int, str, bytes, float, type(None))


class Whole:
    """Remembers the record that each object was answered for. The objects must all be kept meanwhile."""

    def __init__(self) -> None:
        self.keys: dict[int, Any] = {}

    def records(self, record: str, objects: list[Any], fields: list[Any]) -> list[tuple[Any, ...]]:
        """The records that the objects stood for, of their fields one after the other. Raises Failure where something of
        them could have been put off."""
        if type(objects) is not list:
            raise Failure("protocol", f"many objects were answered as a {type(objects).__name__}, which is no list")
        width = WIDTHS[record]
        if len(fields) != width * len(objects):
            raise Failure("protocol", f"{len(objects)} objects told {len(fields)} fields; a {record} has {width}")
        records = list(zip(*[iter(fields)] * width))
        for one, told in zip(objects, records):
            self._require(one, told)
        return records

    def _require(self, one: Any, fields: tuple[Any, ...]) -> None:
        name = type(one).__name__
        if not _is_plain(fields):
            raise Failure("protocol", f"the fields of a {name} are no plain numbers, texts, bytes and tuples of them")
        if self.keys.setdefault(id(one), fields[0]) != fields[0]:
            raise Failure("protocol", f"one {name} was answered for two records: each takes an object of its own")


def _is_plain(value: Any) -> bool:
    if type(value) is tuple:
        return all(map(_is_plain, value))
    return type(value) in _PLAIN
