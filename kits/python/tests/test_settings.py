"""What takes effect is read back from the engine, by the settings' neutral names, and what a schema asks for is made."""

from __future__ import annotations

import json
from pathlib import Path

from test_conversations import HERE, KIT, Session

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
    session = Session(KIT / "drivers" / "sqlite3_python.py")
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


def test_rows_that_are_got_by_their_key_are_searched_for(tmp_path: Path) -> None:
    for keyed, plan in (
        (False, ["SCAN benchmark"]),
        (True, ["SEARCH benchmark USING INTEGER PRIMARY KEY (rowid=?)"]),
    ):
        session = Session(KIT / "drivers" / "sqlite3_python.py")
        directory = tmp_path / str(keyed)
        directory.mkdir()
        prepare = {"request": "prepare", "record": "row", "dataset": str(HERE / "rows.tsdata"), "operations": None}
        opened = {"request": "open", "directory": str(directory), "record": "row", "settings": {}}
        schema = {"create": True, "tables": 1, "keyed": keyed, "indexes": []}
        fill = {"request": "fill", "from": 0, "count": 8}
        for request in (prepare, {**opened, "schema": schema}, fill):
            assert json.loads(session.say(json.dumps(request)))["reply"] == request["request"]
        explain = {"request": "explain", "lanes": [{"verb": "get", "from": 0, "count": 8}]}
        assert json.loads(session.say(json.dumps(explain)))["plan"] == plan
        assert session.end() == (0, b"")
