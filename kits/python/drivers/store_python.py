"""touchstone-store for Python, as its users write it: record classes, one store for all threads, a call for each verb."""

from __future__ import annotations

import enum
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any, List, Optional, Union

sys.path.insert(0, str(Path(__file__).parent.parent))

from kit import About, Driver, Failure, Kit, Model, Open  # noqa: E402
from touchstone_store import Column, Durability, Float32, Snapshot, Store, field, key, nested, record  # noqa: E402
from touchstone_store import Cipher, StoreError  # noqa: E402


@record(name="benchmark")
class Row:
    key: Column[int] = key()
    value: Column[bytes] = field()


@record(name="documents")
class Document:
    id: Column[str] = key()
    revision: Column[int] = field()
    hash: Column[bytes] = field()
    data: Column[str] = field()


class Colour(enum.Enum):
    RED = 0
    GREEN = 1
    BLUE = 2


@nested
class Position:
    x: Float32 = field(tag=1)
    y: Float32 = field(tag=2)
    z: Float32 = field(tag=3)


@nested(variant=0)
class Images:
    names: List[str] = field(tag=1)


@nested(variant=1)
class Nothing:
    pass


@nested(variant=2)
class Text:
    text: str = field(tag=1)


@record
class Doc:
    title: Column[str] = key()
    tag: Column[str] = field()
    position: Column[Position] = field()
    colour: Column[Colour] = field()
    content: Column[Union[Images, Nothing, Text]] = field()
    priority: Column[Optional[int]] = field()


def doc_of(fields: tuple[Any, ...]) -> Doc:
    title, tag, position, colour, (kind, has), priority = fields
    content = Images(has) if kind == 0 else Nothing() if kind == 1 else Text(has)
    return Doc(title, tag, Position(*position), Colour(colour), content, priority)


def fields_of(doc: Doc) -> tuple[Any, ...]:
    at, content = doc.position, doc.content
    if isinstance(content, Images):
        told: tuple[int, Any] = (0, tuple(content.names))
    else:
        told = (2, content.text) if isinstance(content, Text) else (1, None)
    return (doc.title, doc.tag, (at.x, at.y, at.z), doc.colour.value, told, doc.priority)


CLASSES: dict[str, Any] = {"row": Row, "document": Document, "doc": Doc}
ALL = ("get", "read-all", "insert-one", "insert-many", "open")
KINDS = {"BusyError": "busy", "FullError": "full", "IoError": "io", "ReadOnlyError": "io", "NotFoundError": "io"}
CORRUPT = ("DamagedError", "ForeignError", "WrongKeyError", "EncryptedError")


class Driven(Driver):
    models = {
        "row": Model(lambda fields: Row(*fields), lambda row: (row.key, row.value), ALL),
        "document": Model(
            lambda fields: Document(*fields), lambda one: (one.id, one.revision, one.hash, one.data), ALL
        ),
        "doc": Model(doc_of, fields_of, (*ALL, "find", "update-one", "update-many", "delete-many")),
    }
    holds = True

    def __init__(self, asked: Open, store: Optional[Store] = None) -> None:
        self.type = CLASSES[asked.record]
        first = "key" if asked.record == "row" else "id" if asked.record == "document" else "title"
        for name in asked.indexes:
            if name != first:
                raise Failure("unsupported", f"index on `{name}`: its `{first}` has one, and no other is made when asked")
        self.owns = store is None
        self.store = store or self._open(asked)
        self.name = None if asked.table == 1 else f"collection {asked.table}"
        self.held: Optional[Snapshot] = None
        if asked.create:
            with self.store.transaction() as transaction:
                for table in range(1, asked.tables + 1):
                    # The first write makes what is there to be written to.
                    where = self._in(transaction, None if table == 1 else f"collection {table}")
                    where.put(_empty(asked.record))
                    where.clear()

    @staticmethod
    def _open(asked: Open) -> Store:
        key, cipher = None, None
        word = asked.word("cipher", ("none", "aegis", "sqlcipher-4"))
        if word in ("aegis", "sqlcipher-4"):
            key, cipher = bytes([7]) * 32, Cipher.AEGIS if word == "aegis" else Cipher.SQLCIPHER
        durability = asked.word("durability", ("strict", "consistent", "process")) or "consistent"
        return Store.open(
            asked.directory / "benchmark.sqlite",
            create=asked.create,
            durability=Durability(durability),
            exclusive=asked.word("exclusive", ("no", "yes")) == "yes",
            page_size=asked.number("page_size_bytes"),
            cache_bytes=asked.number("cache_size_bytes"),
            key=key,
            cipher=cipher,
        )

    def another(self, asked: Open) -> Driven:
        return Driven(asked, self.store)

    def _in(self, place: Any, name: Optional[str]) -> Any:
        return _Own(place, self.type) if name is None else place.collection(self.type, name)

    def _here(self, place: Any = None) -> Any:
        return self._in(place or self.held or self.store, self.name)

    def settings(self) -> dict[str, Any]:
        with self.store.snapshot() as snapshot:

            def one(sql: str) -> Any:
                return snapshot.sql(sql)[0][0]

            page_size, cache = one("pragma page_size"), one("pragma cache_size")
            is_plain = one("select substr(data, 21, 1) = x'00' from sqlite_dbpage where pgno = 1")
            cipher = "none" if is_plain else "sqlcipher-4" if one("pragma cipher") == "sqlcipher" else "aegis"
            journal = one("pragma journal_mode")
        return {
            "durability": self.store.durability.value,
            "exclusive": "yes" if self.store.is_exclusive else "no",
            # Commits never copy the log: the store has a thread for it.
            "checkpoint": "background",
            "journal_mode": journal,
            "page_size_bytes": page_size,
            "cache_size_bytes": -cache * 1024 if cache < 0 else cache * page_size,
            "cipher": cipher,
        }

    def begin_read(self) -> None:
        self.held = self.store.snapshot()

    def end_read(self) -> None:
        if self.held is not None:
            self.held.close()
        self.held = None

    def explain(self, verb: str, above: int) -> list[str]:
        query = self._here().query()
        if verb in ("get", "update-one"):
            column = {"row": Row.key == 0, "document": Document.id == "", "doc": Doc.title == ""}
            name = next(name for name, known in CLASSES.items() if known is self.type)
            query = query.filter(column[name])
        elif verb == "find":
            query = query.filter(Doc.priority > above)
        elif verb.startswith("insert"):
            return []
        return query.explain().plan

    def close(self) -> None:
        if self.owns:
            self.store.close()

    @staticmethod
    def kind_of(error: Exception) -> str:
        name = type(error).__name__
        if not isinstance(error, StoreError):
            return "other"
        return "corrupt" if name in CORRUPT else KINDS.get(name, "other")

    def get(self, key: Any) -> Any:
        if self.name is None:
            return (self.held or self.store).get(self.type, key)
        return self._here().get(key)

    def read_all(self) -> list[Any]:
        return self._here().all()

    def first(self) -> Any:
        return self._here().query().first()

    def insert_one(self, one: Any) -> None:
        self._here().insert(one)

    def insert_many(self, many: list[Any]) -> None:
        self._here().insert_all(many)

    def find(self, above: int) -> list[Any]:
        return self._here().query().filter(Doc.priority > above).all()

    def update_one(self, state: Any) -> bool:
        return self._here().replace(state)

    def update_many(self, states: list[Any]) -> list[Any]:
        with self.store.transaction() as transaction:
            docs = self._here(transaction)
            fetched = docs.all()
            docs.put_all(states)
        return fetched

    def delete_many(self) -> list[Any]:
        with self.store.transaction() as transaction:
            docs = self._here(transaction)
            fetched = docs.all()
            for doc in fetched:
                docs.remove(doc.title)
        return fetched


class _Own:
    """A class's own records, spoken to as those of a collection are."""

    def __init__(self, place: Any, kind: type) -> None:
        self.place, self.kind = place, kind
        self.insert, self.insert_all = getattr(place, "insert", None), getattr(place, "insert_all", None)
        self.put, self.put_all = getattr(place, "put", None), getattr(place, "put_all", None)
        self.replace, self.replace_all = getattr(place, "replace", None), getattr(place, "replace_all", None)

    def all(self) -> list[Any]:
        return self.place.all(self.kind)

    def query(self) -> Any:
        return self.place.query(self.kind)

    def remove(self, key: Any) -> bool:
        return self.place.remove(self.kind, key)

    def clear(self) -> int:
        return self.place.clear(self.kind)


def _empty(name: str) -> Any:
    if name == "row":
        return Row(0, b"")
    if name == "document":
        return Document("", 0, b"", "")
    return doc_of(("", "", (0.0, 0.0, 0.0), 0, (1, None), None))


def about() -> About:
    name, numbers = "store-python", version("touchstone-store")
    with tempfile.TemporaryDirectory() as directory:
        with Store.open(Path(directory) / "about.db") as store:
            ((engine, source),) = store.sql("select sqlite_version(), sqlite_source_id()")
            options = tuple(option for (option,) in store.sql("pragma compile_options"))
    return About(name, numbers, f"SQLite {engine}", source, options)


if __name__ == "__main__":
    Kit(about(), Driven).main()
