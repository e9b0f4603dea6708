"""How a service is started and ended: settings are read back, a port is taken and given back, and only replies are printed."""

from __future__ import annotations

import http.client
import socket
import sqlite3
import sys
from pathlib import Path
from typing import Any

import pytest
from devices import WAL_NORMAL, Device, Served, is_service, only_a_service
from lab import SUBJECTS, Session

sys.path.insert(0, str(Path(__file__).parent.parent))

from kit import About, Asked, Service, ServiceKit, service  # noqa: E402

SUBJECT = "fastapi-sqlalchemy"
PROFILES = [
    (name, profile["name"], profile.get("settings", {})) for name, row in SUBJECTS.items() for profile in row["profile"]
]


@pytest.fixture()
def session() -> Any:
    started = Session(SUBJECT)
    yield started
    if started.process.poll() is None:
        assert started.end() == (0, b"")


def serve(session: Session, directory: Path, port: int = 0, **settings: Any) -> dict[str, Any]:
    return session.ask("serve", directory=str(directory), port=port, settings=settings)


@pytest.mark.parametrize(("subject", "profile", "settings"), PROFILES, ids=lambda part: part if isinstance(part, str) else "")
def test_every_setting_of_a_profile_takes_effect(subject: str, profile: str, settings: Any, tmp_path: Path) -> None:
    only_a_service(subject)
    with Served(subject, tmp_path, settings) as served:
        assert {name: served.told.get(name) for name in settings} == settings
        if subject == SUBJECT:
            assert (served.told["endpoints"], served.told["download"]) == ("async", "writes")
        served.end()


def test_what_is_not_asked_for_stays_as_the_libraries_have_it(session: Session, tmp_path: Path) -> None:
    told = serve(session, tmp_path)["settings"]
    memory = sqlite3.connect(tmp_path / "another.db")
    (cache,) = memory.execute("pragma cache_size").fetchone()
    assert told == {
        "journal_mode": "delete",
        "synchronous": "full",
        "temp_store": "default",
        "page_size_bytes": 4096,
        "cache_size_bytes": -cache * 1024,
        "mmap_size_bytes": 0,
        "busy_timeout_ms": 5000,
        "foreign_keys": "no",
        "endpoints": "async",
        "download": "writes",
    }


def test_what_was_changed_behind_the_services_back_is_told(session: Session, tmp_path: Path) -> None:
    assert serve(session, tmp_path, journal_mode="delete")["settings"]["journal_mode"] == "delete"
    assert session.ask("close") == {"reply": "close"}
    another = sqlite3.connect(tmp_path / "sync.db")
    another.execute("pragma journal_mode = wal").fetchall()
    another.close()
    assert serve(session, tmp_path)["settings"]["journal_mode"] == "wal"


def test_what_the_engine_takes_another_value_for_is_told_as_that(session: Session, tmp_path: Path) -> None:
    told = serve(session, tmp_path, cache_size_bytes=4096 * 100 + 5, mmap_size_bytes=1 << 40)["settings"]
    assert told["cache_size_bytes"] == 4096 * 100 and 0 <= told["mmap_size_bytes"] < 1 << 40


@pytest.mark.parametrize("download", ["writes", "reads"])
@pytest.mark.parametrize("endpoints", ["async", "threads"])
def test_a_download_stores_where_the_client_stands_or_nothing(endpoints: str, download: str, tmp_path: Path) -> None:
    with Served(SUBJECT, tmp_path, {**WAL_NORMAL, "endpoints": endpoints, "download": download}) as served:
        assert (served.told["endpoints"], served.told["download"]) == (endpoints, download)
        phone = Device(served, "ada", "phone")
        cursor = phone.upload(("a", "1"), ("b", "2"))
        assert phone.follow() == [("a", "1"), ("b", "2")]
        beside = sqlite3.connect(tmp_path / "sync.db")
        ((at, seen),) = beside.execute("select cursor, last_seen from clients").fetchall()
        assert (at, seen is not None) == ((cursor, True) if download == "writes" else (0, False))


def test_foreign_keys_are_there_for_the_pragma_to_decide(tmp_path: Path) -> None:
    with Served(SUBJECT, tmp_path, {**WAL_NORMAL, "foreign_keys": "yes"}) as served:
        Device(served, "ada", "phone").upload(("a", "1"))
        beside = sqlite3.connect(tmp_path / "sync.db")
        assert {row[2] for row in beside.execute("pragma foreign_key_list(changes)")} == {"users"}
        assert {row[2] for row in beside.execute("pragma foreign_key_list(clients)")} == {"users"}


def test_a_download_searches_the_index_and_sorts_nothing(tmp_path: Path) -> None:
    with Served(SUBJECT, tmp_path):
        beside = sqlite3.connect(tmp_path / "sync.db")
        sql = "select * from changes where user_id = 'ada' and revision > 5 order by revision limit 101"
        plan = [row[3] for row in beside.execute(f"explain query plan {sql}")]
        assert plan == ["SEARCH changes USING INDEX changes_by_revision (user_id=? AND revision>?)"]


def test_a_port_in_use_is_named_and_the_kit_can_be_asked_again(session: Session, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        told = serve(session, tmp_path, port)
        assert (told["reply"], told["kind"]) == ("error", "busy") and str(port) in told["message"]
        assert session.ask("close")["kind"] == "protocol"
        assert list(tmp_path.iterdir()) == []
    assert serve(session, tmp_path, port)["port"] == port


def test_a_port_is_free_once_the_service_is_closed_also_with_a_connection_kept_open(session: Session, tmp_path: Path) -> None:
    port = serve(session, tmp_path)["port"]
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", "/v1/sync/full")
    assert connection.getresponse().read() and connection.sock is not None
    assert session.ask("close") == {"reply": "close"}
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port)).close()
    assert connection.sock.recv(1) == b""
    assert serve(session, tmp_path, port)["port"] == port


def test_a_kit_leaves_when_the_lab_hangs_up_also_with_half_a_request_sent(session: Session, tmp_path: Path) -> None:
    port = serve(session, tmp_path)["port"]
    with socket.create_connection(("127.0.0.1", port)) as half:
        half.sendall(b"POST /v1/clients HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n\r\n{")
        assert session.end() == (0, b"")


def test_requests_are_logged_nowhere(tmp_path: Path) -> None:
    with open(tmp_path / "stderr", "w+b") as stderr:
        session = Session(SUBJECT, stderr=stderr)
        directory = tmp_path / "database"
        directory.mkdir()
        connection = http.client.HTTPConnection("127.0.0.1", serve(session, directory)["port"], timeout=60)
        for path in ("/v1/sync/full", "/nowhere"):
            connection.request("GET", path)
            connection.getresponse().read()
        assert session.end() == (0, b"")
        stderr.seek(0)
        assert stderr.read() == b""


def test_what_is_asked_of_drivers_of_records_is_unsupported(session: Session, tmp_path: Path) -> None:
    told = session.ask("fill", **{"from": 0, "count": 1})
    assert (told["reply"], told["kind"]) == ("error", "unsupported")
    told = session.ask("fetch")
    assert (told["reply"], told["kind"]) == ("error", "protocol")
    assert serve(session, tmp_path)["reply"] == "serve"
    assert session.ask("quit") == {"reply": "quit"}


@pytest.mark.parametrize(
    ("settings", "kind"),
    [
        ({"journal_mode": "log"}, "unsupported"),
        ({"endpoints": "processes"}, "unsupported"),
        ({"download": "yes"}, "unsupported"),
        ({"cache_size_bytes": "2000"}, "unsupported"),
        ({"foreign_keys": True}, "unsupported"),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused(session: Session, settings: Any, kind: str, tmp_path: Path) -> None:
    told = serve(session, tmp_path, **settings)
    assert (told["reply"], told["kind"]) == ("error", kind) and next(iter(settings)) in told["message"]
    assert serve(session, tmp_path)["reply"] == "serve"


def test_a_database_that_cannot_be_opened_is_told_by_its_kind(session: Session, tmp_path: Path) -> None:
    told = serve(session, tmp_path / "nowhere")
    assert (told["reply"], told["kind"]) == ("error", "io")
    (tmp_path / "sync.db").write_bytes(b"no database at all" * 1000)
    told = serve(session, tmp_path)
    assert (told["reply"], told["kind"]) == ("error", "corrupt")
    (tmp_path / "sync.db").unlink()
    assert serve(session, tmp_path)["reply"] == "serve"


class Voiceless(Service):
    """It fails as soon as it should answer, and has nothing by which it could leave."""

    def __init__(self, asked: Asked) -> None:
        self.directory = asked.directory

    def answer(self, listening: socket.socket) -> None:
        raise OSError(f"no room in {self.directory}")

    def leave(self) -> None:
        self.server.should_exit = True  # type: ignore[attr-defined]


def test_why_a_service_does_not_answer_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "WAIT_SECONDS_MAX", 0.1)
    kit = ServiceKit(About("voiceless", "1", "none", "", ()), Voiceless)
    with pytest.raises(OSError, match=f"no room in {tmp_path}"):
        kit._serve(str(tmp_path), 0, {})


#: A service that needs nothing besides Python.
PLAIN = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent.parent)!r})
from kit import About, Service, ServiceKit
ServiceKit(About("plain", "1", "none"), Service).main()
"""


def test_a_service_is_known_by_what_it_says_and_not_by_what_it_is_built_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of the standard library alone was a service to the lab, and to no test of the kit."""
    (tmp_path / "plain.py").write_text(PLAIN)
    row = {"name": "plain", "build": ["true"], "run": [sys.executable, str(tmp_path / "plain.py")], "profile": []}
    monkeypatch.setitem(SUBJECTS, "plain", row)
    assert is_service("plain") and not is_service("sqlite3-python")
