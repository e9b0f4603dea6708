"""Sync services that misbehave on purpose, each in one way, and are right in every other: what a check of services must catch.

    canary-clock-cursor         revisions are the wall clock's milliseconds, as the published service has them
    canary-cached-download      a download that was answered before is answered alike ever after
    canary-early-acknowledge    uploads are acknowledged before they are stored, which only a crash reveals
"""

from __future__ import annotations

import queue
import sys
import threading
from contextlib import suppress
from datetime import datetime, timezone
from typing import Optional, Sequence

from fastapi_sqlalchemy import Batch, Cursor, Everything, Limit, Page, Stored, Sync, User, XClient, about
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


CANARIES: dict[str, type[Sync]] = {
    "canary-clock-cursor": ClockCursor,
    "canary-cached-download": CachedDownload,
    "canary-early-acknowledge": EarlyAcknowledge,
}

if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in CANARIES:
        sys.exit(f"usage: python sync_canaries.py {'|'.join(CANARIES)}")
    ServiceKit(about(sys.argv[1]), CANARIES[sys.argv[1]]).main()
