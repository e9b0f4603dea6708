"""Whether answers were whole when their fields were taken, while the clock ran: nothing of them could come later, and none
stood in for another."""

from __future__ import annotations

from typing import Any

from .driver import Failure

#: What fields may be besides tuples: the interpreter's own types that cannot change, and no classes below them.
_PLAIN = (int, str, bytes, float, type(None))


class Whole:
    """Remembers the record that each object was answered for. The objects must all be kept meanwhile."""

    def __init__(self) -> None:
        self.keys: dict[int, tuple[Any, ...]] = {}

    def require(self, one: Any, fields: tuple[Any, ...]) -> tuple[Any, ...]:
        """Gives the fields of the object. Raises Failure where they could change yet, or the object was another record's."""
        name = type(one).__name__
        if type(fields) is not tuple or not _is_plain(fields):
            raise Failure("protocol", f"the fields of a {name} are no plain numbers, texts and bytes in tuples")
        key = fields[:1]
        if self.keys.setdefault(id(one), key) != key:
            raise Failure("protocol", f"one {name} was answered for two records: each takes an object of its own")
        return fields


def _is_plain(value: Any) -> bool:
    if type(value) is tuple:
        return all(map(_is_plain, value))
    return type(value) in _PLAIN
