"""What takes effect is read back from the engine, by the settings' neutral names, and what a schema asks for is made."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

from lab import CONVERSATIONS, Session

ASKED = {
    "journal_mode": "wal",
    "locking_mode": "exclusive",
    "synchronous": "extra",
    "fullfsync": "yes",
    "checkpoint_fullfsync": "yes",
    "page_size_bytes": 16384,
    "cache_size_bytes": 8 << 20,
    "wal_autocheckpoint_pages": 77,
    "busy_timeout_ms": 1234,
}


def test_everything_that_sqlite_can_be_asked_for_takes_effect(tmp_path: Path) -> None:
    session = Session("sqlite3-python")
    request = {
        "request": "open",
        "directory": str(tmp_path),
        "record": "row",
        "schema": {"create": True, "tables": 1, "indexes": []},
        "settings": ASKED,
    }
    told = json.loads(session.say(json.dumps(request)))["settings"]
    assert {name: told[name] for name in ASKED} == ASKED
    assert session.end() == (0, b"")


def opened(directory: Path, create: bool, settings: dict[str, Any]) -> dict[str, Any]:
    session = Session("sqlite3-python")
    schema = {"create": create, "tables": 1, "indexes": []}
    request = {"request": "open", "directory": str(directory), "record": "row", "schema": schema, "settings": settings}
    told = json.loads(session.say(json.dumps(request)))["settings"]
    assert session.end() == (0, b"")
    return dict(told)


def test_what_was_changed_behind_the_drivers_back_is_told(tmp_path: Path) -> None:
    assert opened(tmp_path, True, {"journal_mode": "wal"})["page_size_bytes"] == 4096
    another = sqlite3.connect(tmp_path / "benchmark.sqlite", isolation_level=None)
    for statement in ("pragma journal_mode = delete", "pragma page_size = 16384", "vacuum"):
        another.execute(statement).fetchall()
    another.close()
    # An old wish for a page size comes too late, and of the journal nothing is asked.
    told = opened(tmp_path, False, {"page_size_bytes": 4096})
    assert (told["page_size_bytes"], told["journal_mode"]) == (16384, "delete")


def test_what_the_engine_takes_another_value_for_is_told_as_that(tmp_path: Path) -> None:
    told = opened(tmp_path, True, {"page_size_bytes": 5000, "cache_size_bytes": (1 << 20) + 1000})
    assert (told["page_size_bytes"], told["cache_size_bytes"]) == (4096, 1 << 20)


def test_rows_that_are_got_by_their_key_are_searched_for(tmp_path: Path) -> None:
    for keyed, plan in (
        (False, ["SCAN benchmark"]),
        (True, ["SEARCH benchmark USING INTEGER PRIMARY KEY (rowid=?)"]),
    ):
        session = Session("sqlite3-python")
        directory = tmp_path / str(keyed)
        directory.mkdir()
        prepare = {"request": "prepare", "record": "row", "dataset": str(CONVERSATIONS / "rows.tsdata"), "operations": None}
        opened = {"request": "open", "directory": str(directory), "record": "row", "settings": {}}
        schema = {"create": True, "tables": 1, "keyed": keyed, "indexes": []}
        fill = {"request": "fill", "from": 0, "count": 8}
        for request in (prepare, {**opened, "schema": schema}, fill):
            assert json.loads(session.say(json.dumps(request)))["reply"] == request["request"]
        explain = {"request": "explain", "lanes": [{"verb": "get", "from": 0, "count": 8}]}
        assert json.loads(session.say(json.dumps(explain)))["plan"] == plan
        assert session.end() == (0, b"")
