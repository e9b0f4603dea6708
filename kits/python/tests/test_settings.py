"""What takes effect is read back from the engine, by the settings' neutral names."""

from __future__ import annotations

import json
from pathlib import Path

from test_conversations import KIT, Session

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
