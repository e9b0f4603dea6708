"""Whether an answer is whole: an object whose fields are worked out when they are asked for would have them worked out where
nobody times it."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from .driver import Failure

#: What fields may be once the driver has told them: the interpreter's own types, and no classes below them.
_PLAIN = (int, str, bytes, float, type(None))


class Whole:
    """Remembers the classes whose objects were looked at."""

    def __init__(self) -> None:
        self.known: set[type] = set()

    def require(self, one: Any, fields: tuple[Any, ...]) -> tuple[Any, ...]:
        """Gives the fields of the object. Raises Failure where they could have been put off."""
        kind = type(one)
        if kind not in self.known:
            put_off = _computed(kind)
            if put_off is not None:
                message = f"an answer is a {kind.__name__}, whose {put_off} is worked out when it is asked for"
                raise Failure("protocol", message)
            self.known.add(kind)
        if not _is_plain(fields):
            raise Failure("protocol", f"the fields of a {kind.__name__} are no plain numbers, texts and bytes")
        return fields


def _computed(kind: type) -> Any:
    """What of a class is worked out when it is asked for."""
    for base in kind.__mro__[:-1]:
        for name, what in vars(base).items():
            if name in ("__getattr__", "__getattribute__") or isinstance(what, (property, cached_property)):
                return name
    return None


def _is_plain(value: Any) -> bool:
    if type(value) in (tuple, list):
        return all(map(_is_plain, value))
    return type(value) in _PLAIN
