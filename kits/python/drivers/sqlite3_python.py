"""sqlite3 of Python's standard library, as its users write it: dataclasses made of rows, a connection for each thread."""

from __future__ import annotations

import json
import sqlite3
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

sys.path.insert(0, str(Path(__file__).parent.parent))

from kit import About, Driver, Failure, Kit, Model, Open  # noqa: E402

JOURNAL_MODES = ("delete", "truncate", "persist", "memory", "off", "wal")
SYNCHRONOUS = ("off", "normal", "full", "extra")
LOCKING_MODES = ("normal", "exclusive")
NO_YES = ("no", "yes")


@dataclass
class Row:
    key: int
    value: bytes


@dataclass
class Document:
    id: str
    revision: int
    hash: bytes
    data: str


@dataclass
class Position:
    x: float
    y: float
    z: float


@dataclass
class Doc:
    title: str
    tag: str
    position: Position
    colour: int
    content: Any
    priority: Optional[int]

    @staticmethod
    def of(row: tuple[Any, ...]) -> Doc:
        title, tag, x, y, z, colour, kind, content, priority = row
        if kind == 0:
            content = json.loads(content)
        return Doc(title, tag, Position(x, y, z), colour, (kind, content), priority)

    def row(self) -> tuple[Any, ...]:
        kind, content = self.content
        if kind == 0:
            content = json.dumps(content)
        at = self.position
        return (self.title, self.tag, at.x, at.y, at.z, self.colour, kind, content, self.priority)

    def fields(self) -> tuple[Any, ...]:
        kind, content = self.content
        at = self.position
        told = (kind, tuple(content) if kind == 0 else content)
        return (self.title, self.tag, (at.x, at.y, at.z), self.colour, told, self.priority)


TABLES = {
    "row": ("benchmark", "key integer, value blob", 2),
    "document": (
        "documents",
        "id text not null, revision integer not null, hash blob not null, data text not null, unique (id, revision, hash)",
        4,
    ),
    "doc": (
        "doc",
        "title text primary key not null, tag text not null, x real not null, y real not null, z real not null, "
        "colour integer not null, content_kind integer not null, content text, priority integer",
        9,
    ),
}
KEYED = "key integer primary key, value blob"
MADE_OF = {"row": lambda row: Row(*row), "document": lambda row: Document(*row), "doc": Doc.of}
ROW_OF = {
    "row": lambda one: (one.key, one.value),
    "document": lambda one: (one.id, one.revision, one.hash, one.data),
    "doc": Doc.row,
}
ALL = ("get", "read-all", "insert-one", "insert-many", "open")


class Connection(Driver):
    models = {
        "row": Model(lambda fields: Row(*fields), ROW_OF["row"], ALL),
        "document": Model(lambda fields: Document(*fields), ROW_OF["document"], ALL),
        "doc": Model(
            lambda fields: Doc(fields[0], fields[1], Position(*fields[2]), *fields[3:]),
            Doc.fields,
            (*ALL, "find", "update-one", "update-many", "delete-many"),
        ),
    }
    holds = True

    def __init__(self, asked: Open) -> None:
        name, columns, width = TABLES[asked.record]
        self.table = name if asked.table == 1 else f"{name}_{asked.table}"
        self.made_of, self.row_of = MADE_OF[asked.record], ROW_OF[asked.record]
        self.places = ", ".join("?" * width)
        self.key = columns.split()[0]
        asked.word("checkpoint", ("commit",))
        asked.word("cipher", ("none",))
        # Transactions are begun and ended in words; each lane's thread has a connection of its own.
        self.sql = sqlite3.connect(asked.directory / "benchmark.sqlite", isolation_level=None, check_same_thread=False)
        for pragma, value in (
            ("busy_timeout", asked.number("busy_timeout_ms")),
            ("page_size", asked.number("page_size_bytes")),
            ("locking_mode", asked.word("locking_mode", LOCKING_MODES)),
            ("journal_mode", asked.word("journal_mode", JOURNAL_MODES)),
            ("synchronous", asked.word("synchronous", SYNCHRONOUS)),
            ("fullfsync", asked.word("fullfsync", NO_YES)),
            ("checkpoint_fullfsync", asked.word("checkpoint_fullfsync", NO_YES)),
            ("mmap_size", asked.number("mmap_size_bytes")),
            ("wal_autocheckpoint", asked.number("wal_autocheckpoint_pages")),
        ):
            if value is not None:
                self.sql.execute(f"pragma {pragma} = {value}")
        cache = asked.number("cache_size_bytes")
        if cache is not None:
            self.sql.execute(f"pragma cache_size = -{cache // 1024}")
        if asked.create:
            self._create(asked, name, KEYED if asked.record == "row" and asked.keyed else columns)

    def _create(self, asked: Open, name: str, columns: str) -> None:
        with_sql = ["begin immediate"]
        for number in range(1, asked.tables + 1):
            table = name if number == 1 else f"{name}_{number}"
            with_sql.append(f"create table {table} ({columns})")
            for field in asked.indexes:
                if f"{field} " not in columns:
                    raise Failure("unsupported", f"index on `{field}`: a {asked.record} has no such field")
                with_sql.append(f"create index {table}_by_{field} on {table} ({field})")
        for statement in [*with_sql, "commit"]:
            self.sql.execute(statement)

    def settings(self) -> dict[str, Any]:
        def pragma(name: str) -> Any:
            return self.sql.execute(f"pragma {name}").fetchone()[0]

        cache, page_size = pragma("cache_size"), pragma("page_size")
        return {
            "journal_mode": pragma("journal_mode"),
            "locking_mode": pragma("locking_mode"),
            "synchronous": SYNCHRONOUS[pragma("synchronous")],
            "fullfsync": NO_YES[pragma("fullfsync")],
            "checkpoint_fullfsync": NO_YES[pragma("checkpoint_fullfsync")],
            "page_size_bytes": page_size,
            "cache_size_bytes": -cache * 1024 if cache < 0 else cache * page_size,
            "mmap_size_bytes": (self.sql.execute("pragma mmap_size").fetchone() or (0,))[0],
            "wal_autocheckpoint_pages": pragma("wal_autocheckpoint"),
            "busy_timeout_ms": pragma("busy_timeout"),
            "cipher": "none",
            "checkpoint": "commit",
        }

    def begin_read(self) -> None:
        self.sql.execute("begin")

    def end_read(self) -> None:
        self.sql.execute("commit")

    def explain(self, verb: str, above: int) -> list[str]:
        sql = f"select * from {self.table}"
        if verb in ("get", "update-one"):
            sql += f" where {self.key} = ''"
        elif verb == "find":
            sql += f" where priority > {above}"
        elif verb.startswith("insert"):
            return []
        return [row[3] for row in self.sql.execute(f"explain query plan {sql}")]

    def close(self) -> None:
        self.sql.close()

    @staticmethod
    def kind_of(error: Exception) -> str:
        if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
            return "busy"
        if isinstance(error, sqlite3.OperationalError) and "full" in str(error):
            return "full"
        if isinstance(error, sqlite3.DatabaseError) and "malformed" in str(error):
            return "corrupt"
        return "io" if isinstance(error, OSError) else "other"

    def get(self, key: Any) -> Any:
        row = self.sql.execute(f"select * from {self.table} where {self.key} = ?", (key,)).fetchone()
        return None if row is None else self.made_of(row)

    def read_all(self) -> list[Any]:
        made_of = self.made_of
        return [made_of(row) for row in self.sql.execute(f"select * from {self.table}")]

    def first(self) -> Any:
        row = self.sql.execute(f"select * from {self.table} limit 1").fetchone()
        return None if row is None else self.made_of(row)

    def insert_one(self, one: Any) -> None:
        self.sql.execute(f"insert into {self.table} values ({self.places})", self.row_of(one))

    def insert_many(self, many: list[Any]) -> None:
        row_of = self.row_of
        with self.sql:
            self.sql.execute("begin immediate")
            self.sql.executemany(f"insert into {self.table} values ({self.places})", (row_of(one) for one in many))

    def find(self, above: int) -> list[Any]:
        made_of = self.made_of
        return [made_of(row) for row in self.sql.execute(f"select * from {self.table} where priority > ?", (above,))]

    _UPDATE = (
        "set tag = ?2, x = ?3, y = ?4, z = ?5, colour = ?6, content_kind = ?7, content = ?8, priority = ?9 "
        "where title = ?1"
    )

    def update_one(self, state: Any) -> bool:
        return self.sql.execute(f"update {self.table} {self._UPDATE}", state.row()).rowcount > 0

    def update_many(self, states: list[Any]) -> list[Any]:
        with self.sql:
            self.sql.execute("begin immediate")
            fetched = self.read_all()
            self.sql.executemany(f"update {self.table} {self._UPDATE}", (state.row() for state in states))
        return fetched

    def delete_many(self) -> list[Any]:
        with self.sql:
            self.sql.execute("begin immediate")
            fetched = self.read_all()
            self.sql.executemany(f"delete from {self.table} where title = ?", ((doc.title,) for doc in fetched))
        return fetched


def about() -> About:
    memory = sqlite3.connect(":memory:")
    (source,) = memory.execute("select sqlite_source_id()").fetchone()
    options = tuple(option for (option,) in memory.execute("pragma compile_options"))
    version = ".".join(str(part) for part in sys.version_info[:3])
    return About("sqlite3-python", version, f"SQLite {sqlite3.sqlite_version}", source, options)


if __name__ == "__main__":
    Kit(about(), Connection).main()
