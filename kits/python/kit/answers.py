"""What a lane answered: kept as it comes while the clock runs, counted and digested after."""

from __future__ import annotations

import sys
from typing import Any, Callable

from .driver import Failure, Model
from .records import digest, sort_key
from .whole import Whole


class Answers:
    """The answers of one lane. Nothing here is worked out while the clock runs, but the fields of every object are taken:
    what an object would fetch later is fetched in time, and before the next operation begins."""

    def __init__(self, model: Model, kind_of: Callable[[Exception], str]) -> None:
        self.fields_of, self.kind_of = model.fields, kind_of
        # Fields stand one after the other, of all objects: a tuple kept of each would be one more for Python's collector.
        #: Objects that were found one by one, and their fields.
        self.objects: list[Any] = []
        self.fields: list[Any] = []
        #: Objects that were read together, and their fields.
        self.reads: list[tuple[list[Any], list[Any]]] = []
        self.acknowledged = 0
        self.failures: dict[str, tuple[int, str]] = {}

    def found(self, one: Any) -> None:
        """Keeps the answer of a get; what was not found is None."""
        if one is not None:
            self.fields.extend(self.fields_of(one))
            self.objects.append(one)

    def read(self, objects: list[Any]) -> None:
        """Keeps the answer of a verb that answers many objects in an order of its own."""
        fields_of, fields = self.fields_of, []
        take = fields.extend
        for one in objects:
            take(fields_of(one))
        self.reads.append((objects, fields))

    def failed(self, error: Exception) -> None:
        """Counts an operation that failed: it is a result, and the lane goes on."""
        kind = error.kind if isinstance(error, Failure) else self.kind_of(error)
        count, message = self.failures.get(kind, (0, str(error)))
        self.failures[kind] = (count + 1, message)

    def sample(self, record: str, wall_ns: int) -> dict[str, Any]:
        """Counts and digests, off the clock. No two engines owe each other an order, so reads are put in key order."""
        whole = Whole()
        records = whole.records(record, self.objects, self.fields)
        for objects, fields in self.reads:
            records += sorted(whole.records(record, objects, fields), key=sort_key)
        for kind, (count, message) in self.failures.items():
            print(f"{count} operations failed ({kind}), the first with: {message}", file=sys.stderr)
        return {
            "wall_ns": wall_ns,
            "answers": len(records) + self.acknowledged,
            "digest": digest(record, records),
            "errors": {kind: count for kind, (count, _) in self.failures.items()},
        }
