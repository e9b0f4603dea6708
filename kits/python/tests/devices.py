"""A service that was started, and devices that upload to it and download from it. What they are answered is checked to the byte."""

from __future__ import annotations

import http.client
import json
import os
from pathlib import Path
from typing import Any, Optional

import pytest
from lab import SUBJECTS, Session, capabilities

FROZEN = Path(__file__).parent / "frozen"
WAL_NORMAL = {"journal_mode": "wal", "synchronous": "normal"}


class Served:
    """A service on a directory, in a kit of its own."""

    def __init__(self, subject: str, directory: Path, settings: Optional[dict[str, Any]] = None) -> None:
        self.subject, self.directory = subject, directory
        self.settings = WAL_NORMAL if settings is None else settings
        self.start()

    def start(self, clock: Optional[str] = None) -> None:
        """Starts it on what is there; `clock` is where its wall clock stands still."""
        frozen = {"PYTHONPATH": str(FROZEN), "TOUCHSTONE_CLOCK": clock}
        self.session = Session(self.subject, None if clock is None else {**os.environ, **frozen})
        told = self.session.ask("serve", directory=str(self.directory), port=0, settings=self.settings)
        assert told["reply"] == "serve", told
        self.port, self.told = told["port"], told["settings"]

    def kill(self) -> None:
        self.session.kill()

    def end(self) -> None:
        assert self.session.end() == (0, b"")

    def __enter__(self) -> Served:
        return self

    def __exit__(self, *_: Any) -> None:
        if self.session.process.poll() is None:
            self.kill()


class Refused(AssertionError):
    """An answer of another status than 200."""

    def __init__(self, status: int, body: str) -> None:
        super().__init__(f"answered with {status}: {body}")
        self.status = status


class Device:
    """A device of a user, with a connection of its own, that remembers how far it has followed."""

    def __init__(self, served: Served, user: str, name: str) -> None:
        self.name, self.cursor = name, 0
        self.connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=60)
        told = self.ask("POST", "/v1/clients", {"user": user, "device": name})
        assert told == {"id": name}, told

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """What is answered with status 200, or 201 to a registration. Raises Refused for any other."""
        content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        headers = {"content-type": "application/json", "x-client": self.name}
        self.connection.request(method, path, content, headers)
        answer = self.connection.getresponse()
        text = answer.read().decode()
        if answer.status not in ((200, 201) if path == "/v1/clients" else (200,)):
            raise Refused(answer.status, text)
        told = json.loads(text)
        # Python keeps the order of keys, so that this compares it too.
        assert text == json.dumps(told, separators=(",", ":"), ensure_ascii=False), text
        return told

    def upload(self, *changes: tuple[str, str]) -> int:
        """Uploads objects' states, and tells the revision of the last."""
        told = self.ask("POST", "/v1/sync/delta", {"changes": [{"id": one, "data": data} for one, data in changes]})
        assert list(told) == ["cursor"] and type(told["cursor"]) is int, told
        return int(told["cursor"])

    def page(self, cursor: int, limit: int) -> tuple[list[dict[str, Any]], bool]:
        """A page, and whether there are others beyond it."""
        told = self.ask("GET", f"/v1/sync/delta?cursor={cursor}&limit={limit}")
        assert list(told) == ["changes", "cursor", "more"], told
        changes = told["changes"]
        assert all(list(change) == ["id", "revision", "data"] for change in changes), told
        revisions = [cursor, *(change["revision"] for change in changes)]
        assert revisions == sorted(set(revisions)), f"revisions rise, from above what was asked: {revisions}"
        assert told["cursor"] == revisions[-1] and len(changes) <= limit, told
        return changes, told["more"]

    def follow(self, limit: int = 100) -> list[tuple[str, str]]:
        """What came since it followed the last time."""
        found, more = [], True
        while more:
            changes, more = self.page(self.cursor, limit)
            assert changes or not more, "there are others beyond a page that is empty"
            found += [(change["id"], change["data"]) for change in changes]
            self.cursor = changes[-1]["revision"] if changes else self.cursor
        return found

    def full(self) -> dict[str, str]:
        """Every object of the user by its id."""
        told = self.ask("GET", "/v1/sync/full")
        assert list(told) == ["changes", "cursor"], told
        revisions = [change["revision"] for change in told["changes"]]
        assert told["cursor"] == max(revisions, default=0), told
        assert len(set(revisions)) == len(revisions) and all(revision >= 1 for revision in revisions), told
        return {change["id"]: change["data"] for change in told["changes"]}


def subjects(canary: bool) -> list[str]:
    """The names of the kit's subjects that are canaries, or of those that are none."""
    return [name for name, row in SUBJECTS.items() if row.get("canary", False) == canary]


def is_service(subject: str) -> bool:
    """Whether a subject says that it serves, whatever it is built of. Nothing is built for that before a test asks."""
    return "change.serve" in capabilities(subject)


def only_a_service(subject: str) -> None:
    """Leaves a test out for a subject that is no service."""
    if not is_service(subject):
        pytest.skip(f"{subject} is no service")
