"""What a driver implements: a class below `Driver`, with a method for each verb that its subject can do."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, NamedTuple, Optional

#: The verbs of the protocol; a driver's method has the name with `_` for `-`.
VERBS = (
    "get",
    "read-all",
    "insert-one",
    "insert-many",
    "open",
    "find",
    "update-one",
    "update-many",
    "delete-many",
)


class Failure(Exception):
    """What is answered in place of a reply."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class About(NamedTuple):
    """Who the driver is."""

    subject: str
    version: str
    engine: str
    engine_source: str = ""
    compile_options: tuple[str, ...] = ()


@dataclass(frozen=True)
class Asked:
    """Where a database lies, and what is asked of it by neutral names."""

    directory: Path
    settings: dict[str, Any]

    def number(self, name: str) -> Optional[int]:
        """The number that a setting asks for."""
        value = self.settings.get(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
            raise Failure("unsupported", f"setting {name}: `{value}` is not a number")
        return value

    def word(self, name: str, words: tuple[str, ...]) -> Optional[str]:
        """The word that a setting asks for, one of these."""
        value = self.settings.get(name)
        if value is not None and value not in words:
            raise Failure("unsupported", f"setting {name}: `{value}` is not one of {', '.join(words)}")
        return value


@dataclass(frozen=True)
class Open(Asked):
    """What `open` asks for."""

    record: str
    create: bool
    tables: int
    indexes: list[str]
    table: int = 1
    # Rows are got by their key, so that a table that would else have none makes it its key.
    keyed: bool = False


class Model(NamedTuple):
    """How the driver has a record: what makes its object of the kit's tuple, off the clock, and the tuple of an object that
    was answered. That one is taken while the clock runs; it holds plain numbers, texts and bytes, and lists as tuples."""

    make: Callable[[tuple[Any, ...]], Any]
    fields: Callable[[Any], tuple[Any, ...]]
    verbs: tuple[str, ...]
    #: Whether lanes may have other tables than the first.
    tables: bool = True


class Driver:
    """A handle on a database, as a user of the library would have one in each thread."""

    #: By record: how it is kept, and what can be done with it.
    models: dict[str, Model] = {}
    #: Whether a read transaction can be held open.
    holds = False

    def __init__(self, asked: Open) -> None:
        """Opens the database, and makes its tables where that is asked for."""
        raise NotImplementedError

    def another(self, asked: Open) -> Driver:
        """A further handle, for another thread or table."""
        return type(self)(asked)

    def settings(self) -> dict[str, Any]:
        """What took effect, read back from the engine."""
        return {}

    def begin_read(self) -> None:
        """Opens a read transaction, to be held."""
        raise Failure("unsupported", "the driver holds no read transactions")

    def end_read(self) -> None:
        """Ends it."""
        raise Failure("unsupported", "the driver holds no read transactions")

    def explain(self, verb: str, above: int) -> list[str]:
        """The plan of what a lane does."""
        return []

    def close(self) -> None:
        """Closes the handle."""

    @staticmethod
    def kind_of(error: Exception) -> str:
        """The protocol's kind of an exception of the subject's."""
        return "other"

    def get(self, key: Any) -> Any:
        """One object by its key, or None."""
        raise NotImplementedError

    def read_all(self) -> list[Any]:
        """Every object."""
        raise NotImplementedError

    def insert_one(self, one: Any) -> None:
        """Inserts an object, in a commit of its own."""
        raise NotImplementedError

    def insert_many(self, many: list[Any]) -> None:
        """Inserts the objects in one commit."""
        raise NotImplementedError

    def find(self, above: int) -> list[Any]:
        """Every object whose priority is greater."""
        raise NotImplementedError

    def update_one(self, state: Any) -> bool:
        """Writes a state over the object with its key, in a commit of its own; whether there was one."""
        raise NotImplementedError

    def update_many(self, states: list[Any]) -> list[Any]:
        """In one transaction: fetches every object, then writes each state over the object with its key."""
        raise NotImplementedError

    def delete_many(self) -> list[Any]:
        """In one transaction: fetches every object, then deletes each by its key."""
        raise NotImplementedError

    def first(self) -> Any:
        """The answer to a first query: any one object of the first table, each time the same, or None of an empty one."""
        raise NotImplementedError
