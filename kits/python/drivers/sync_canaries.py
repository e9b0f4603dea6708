"""Sync services that misbehave on purpose, each in one way, and are right in every other: what a check of services must catch.

    canary-clock-cursor         revisions are the wall clock's milliseconds, as the published service has them
    canary-cached-download      a download that was answered before is answered alike ever after
    canary-early-acknowledge    uploads are acknowledged before they are stored, which only a crash reveals
    canary-busy-acknowledge     the same, but only while several devices ask: whoever asks alone is served rightly
    canary-forgets-early        what was uploaded first is given to nobody any more
    canary-other-data           data are not those that were uploaded
    canary-reuses-revisions     a new process gives revisions a second time, where the last one was killed
    canary-endless-pages        there is always one more page
    canary-unsynced             commits await the disk only while a recorder watches
    canary-busy-at-rest         works for nobody while others are asked
"""

from __future__ import annotations

import json
import queue
import sys
import threading
import time
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Optional, Sequence

from fastapi_sqlalchemy import Batch, Changed, Cursor, Everything, Limit, Page, State, Stored, Sync, User, XClient, about
from kit import Asked, ServiceKit
from sqlalchemy.orm import Session


class ClockCursor(Sync):
    """Changes of one millisecond tie, and a page that ends among them loses the rest. A clock that goes back loses more."""

    def revisions(self, last: int, count: int) -> Sequence[int]:
        return [int(datetime.now(timezone.utc).timestamp() * 1000)] * count


class CachedDownload(Sync):
    """Nobody tells the cache that something was uploaded."""

    def __init__(self, asked: Asked) -> None:
        self.answered: dict[tuple[Optional[str], int, int], Page] = {}
        super().__init__(asked)

    def download(self, cursor: Cursor = 0, limit: Limit = 100, x_client: XClient = None) -> Page:
        asked = (x_client, cursor, limit)
        if asked not in self.answered:
            self.answered[asked] = super().download(cursor, limit, x_client)
        return self.answered[asked]


class EarlyAcknowledge(Sync):
    """A thread stores each upload when the next has come, or when somebody wants to read. So what is read is always right, and
    the newest upload is lost in every crash."""

    def __init__(self, asked: Asked) -> None:
        self.last: dict[str, int] = {}
        self.lock = threading.Lock()
        self.waiting: queue.Queue[Optional[tuple[Batch, Optional[str]]]] = queue.Queue()
        super().__init__(asked)
        threading.Thread(target=self.store, daemon=True).start()

    def store(self) -> None:
        newest = None
        while True:
            arrived = self.waiting.get()
            if newest is not None:
                # Whoever uploaded it has his answer and is gone: there is nobody to tell of a failure.
                with suppress(Exception):
                    super().upload(*newest)
            newest = arrived
            self.waiting.task_done()

    def flush(self) -> None:
        """Stores what was acknowledged: nothing arrives, which takes the place of the newest."""
        self.waiting.put(None)
        self.waiting.join()

    def upload(self, batch: Batch, x_client: XClient = None) -> Stored:
        with self.lock, Session(self.engine) as session:
            user_id = self.known(session, x_client).user_id
            stored = session.get_one(User, user_id).revision
            self.last[user_id] = self.last.get(user_id, stored) + len(batch.changes)
            self.waiting.put((batch, x_client))
            return Stored(cursor=self.last[user_id])

    def full(self, x_client: XClient = None) -> Everything:
        self.flush()
        return super().full(x_client)

    def download(self, cursor: Cursor = 0, limit: Limit = 100, x_client: XClient = None) -> Page:
        self.flush()
        return super().download(cursor, limit, x_client)

    def close(self) -> None:
        self.flush()
        super().close()


class BusyAcknowledge(Sync):
    """While many requests come one after the other, uploads wait in memory and are stored together a little later; downloads are answered
    from both. Requests that come alone are served rightly."""

    #: So many requests without such a pause are many.
    MANY, PAUSE_S = 8, 0.3
    #: How long uploads wait. Nothing waits in the moment right after a storing, and a kill in that moment would find no fault.
    LATER_S = 0.2

    def __init__(self, asked: Asked) -> None:
        self.last: dict[str, int] = {}
        self.waiting: list[tuple[str, list[State], str, int]] = []
        self.lock = threading.RLock()
        self.in_row, self.came = 0, 0.0
        super().__init__(asked)
        threading.Thread(target=self.store, daemon=True).start()

    def is_busy(self) -> bool:
        now = time.monotonic()
        self.in_row = self.in_row + 1 if now - self.came < self.PAUSE_S else 1
        self.came = now
        return self.in_row > self.MANY

    def store(self) -> None:
        while True:
            time.sleep(self.LATER_S)
            self.flush()

    def flush(self) -> None:
        with self.lock:
            for _, states, client, _ in self.waiting:
                super().upload(Batch(changes=states), client)
                # Requests wait meanwhile, which is no pause of theirs.
                self.came = time.monotonic()
            self.waiting.clear()

    def upload(self, batch: Batch, x_client: XClient = None) -> Stored:
        with self.lock, Session(self.engine) as session:
            is_busy, user_id = self.is_busy(), self.known(session, x_client).user_id
            stored = session.get_one(User, user_id).revision
            last = max(self.last.get(user_id, 0), stored) + len(batch.changes)
            self.last[user_id] = last
            self.waiting.append((user_id, batch.changes, str(x_client), last))
        if not is_busy:
            self.flush()
        return Stored(cursor=last)

    def download(self, cursor: Cursor = 0, limit: Limit = 100, x_client: XClient = None) -> Page:
        with self.lock:
            self.is_busy()
            page = super().download(cursor, limit, x_client)
            if page.more:
                return page
            with Session(self.engine) as session:
                user_id = self.known(session, x_client).user_id
            held = [change for change in self.held(user_id) if change.revision > page.cursor]
            room = limit - len(page.changes)
            page.changes += held[:room]
            page.more = len(held) > room
            page.cursor = page.changes[-1].revision if page.changes else cursor
            return page

    def held(self, user_id: str) -> list[Changed]:
        return [
            Changed(id=state.id, revision=revision, data=state.data)
            for user, states, _, last in self.waiting
            if user == user_id
            for revision, state in enumerate(states, last - len(states) + 1)
        ]

    def close(self) -> None:
        self.flush()
        super().close()


class ForgetsEarly(Sync):
    """Nobody asks for the first changes of a user, once there are others."""

    def download(self, cursor: Cursor = 0, limit: Limit = 100, x_client: XClient = None) -> Page:
        return super().download(max(cursor, 3), limit, x_client)


class OtherData(Sync):
    """As much data as was uploaded, with the same beginning."""

    def upload(self, batch: Batch, x_client: XClient = None) -> Stored:
        for state in batch.changes:
            state.data = state.data[:-1] + "?"
        return super().upload(batch, x_client)


class ReusesRevisions(Sync):
    """The last revision of a user is written down when the process ends, and is an old one when it is killed."""

    def __init__(self, asked: Asked) -> None:
        self.kept = asked.directory / "revisions.json"
        self.last: dict[str, int] = json.loads(self.kept.read_text()) if self.kept.exists() else {}
        super().__init__(asked)

    def upload(self, batch: Batch, x_client: XClient = None) -> Stored:
        with Session(self.engine) as session:
            self.uploads_for = self.known(session, x_client).user_id
        return super().upload(batch, x_client)

    def revisions(self, last: int, count: int) -> Sequence[int]:
        self.last[self.uploads_for] = self.last.get(self.uploads_for, 0) + count
        return super().revisions(self.last[self.uploads_for], count)

    def close(self) -> None:
        self.kept.write_text(json.dumps(self.last))
        super().close()


class EndlessPages(Sync):
    """Behind the last change comes another of no one."""

    def download(self, cursor: Cursor = 0, limit: Limit = 100, x_client: XClient = None) -> Page:
        page = super().download(cursor, limit, x_client)
        if not page.changes:
            strange = Changed(id=f"none-{cursor}", revision=cursor + 1, data="")
            return Page(changes=[strange], cursor=strange.revision, more=True)
        page.more = True
        return page


class Unsynced(Sync):
    """SQLite is asked for no flush, and says that it makes them."""

    def __init__(self, asked: Asked) -> None:
        self.said = asked.settings.get("synchronous", "full")
        super().__init__(Asked(asked.directory, {**asked.settings, "synchronous": self.said if is_traced() else "off"}))

    def settings(self) -> dict[str, Any]:
        return {**super().settings(), "synchronous": self.said}


class BusyAtRest(Sync):
    """As soon as nothing was asked for a moment, it works for nobody: another service has less of the processors then."""

    MOMENT_S = 0.05

    def __init__(self, asked: Asked) -> None:
        self.came = time.monotonic()
        super().__init__(asked)
        threading.Thread(target=self.work, daemon=True).start()

    def work(self) -> None:
        while True:
            if time.monotonic() - self.came < self.MOMENT_S:
                time.sleep(self.MOMENT_S)
            else:
                sum(range(1000))

    def upload(self, batch: Batch, x_client: XClient = None) -> Stored:
        self.came = time.monotonic()
        return super().upload(batch, x_client)

    def download(self, cursor: Cursor = 0, limit: Limit = 100, x_client: XClient = None) -> Page:
        self.came = time.monotonic()
        return super().download(cursor, limit, x_client)


def is_traced() -> bool:
    status = Path("/proc/self/status").read_text()
    return any(line.startswith("TracerPid:") and line.split()[1] != "0" for line in status.splitlines())


CANARIES: dict[str, type[Sync]] = {
    "canary-clock-cursor": ClockCursor,
    "canary-cached-download": CachedDownload,
    "canary-early-acknowledge": EarlyAcknowledge,
    "canary-busy-acknowledge": BusyAcknowledge,
    "canary-forgets-early": ForgetsEarly,
    "canary-other-data": OtherData,
    "canary-reuses-revisions": ReusesRevisions,
    "canary-endless-pages": EndlessPages,
    "canary-unsynced": Unsynced,
    "canary-busy-at-rest": BusyAtRest,
}

if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in CANARIES:
        sys.exit(f"usage: python sync_canaries.py {'|'.join(CANARIES)}")
    ServiceKit(about(sys.argv[1]), CANARIES[sys.argv[1]]).main()
