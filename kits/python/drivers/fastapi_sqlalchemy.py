"""PlanTodo's sync service, rebuilt plainly from what its page says: FastAPI, one Uvicorn, SQLAlchemy's ORM and Python's sqlite3.

What the page leaves open is a setting: whether its endpoints are `async def`, which hold up the event loop while the database
works, and whether a download stores where the client stands. Nothing is tuned beyond what the page tells its readers to do.
"""

from __future__ import annotations

import functools
import socket
import sqlite3
import sys
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Callable, Optional, Sequence

import uvicorn
from fastapi import FastAPI, Header, HTTPException, Query
from pydantic import BaseModel
from sqlalchemy import Engine, ForeignKey, Index, create_engine, event, select, update
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

sys.path.insert(0, str(Path(__file__).parent.parent))

from kit import About, Asked, Service, ServiceKit  # noqa: E402

JOURNAL_MODES = ("delete", "truncate", "persist", "memory", "off", "wal")
SYNCHRONOUS = ("off", "normal", "full", "extra")
TEMP_STORE = ("default", "file", "memory")
NO_YES = ("no", "yes")
PAGE_SIZE_BYTES = 4096
LIMIT_MAX = 1000
CURSOR_MAX = 2**53 - 1


class Base(DeclarativeBase):
    pass


class User(Base):
    __tablename__ = "users"

    id: Mapped[str] = mapped_column(primary_key=True)
    revision: Mapped[int] = mapped_column(default=0)


class Client(Base):
    __tablename__ = "clients"

    id: Mapped[str] = mapped_column(primary_key=True)
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id"))
    cursor: Mapped[int] = mapped_column(default=0)
    last_seen: Mapped[Optional[datetime]]


class Change(Base):
    __tablename__ = "changes"
    __table_args__ = (Index("changes_by_revision", "user_id", "revision"),)

    user_id: Mapped[str] = mapped_column(ForeignKey("users.id"), primary_key=True)
    id: Mapped[str] = mapped_column(primary_key=True)
    revision: Mapped[int]
    data: Mapped[str]


class Device(BaseModel):
    user: str
    device: str


class Registered(BaseModel):
    id: str


class State(BaseModel):
    id: str
    data: str


class Batch(BaseModel):
    changes: list[State]


class Stored(BaseModel):
    cursor: int


class Changed(BaseModel):
    id: str
    revision: int
    data: str


class Everything(BaseModel):
    changes: list[Changed]
    cursor: int


class Page(BaseModel):
    changes: list[Changed]
    cursor: int
    more: bool


XClient = Annotated[Optional[str], Header()]
Cursor = Annotated[int, Query(ge=0, le=CURSOR_MAX)]
Limit = Annotated[int, Query(ge=1, le=LIMIT_MAX)]


def connected(asked: Asked) -> Engine:
    """An engine whose connections are each set up as the page does it: in the `connect` event, a pragma after the other."""
    cache, timeout = asked.number("cache_size_bytes"), asked.number("busy_timeout_ms")
    foreign_keys = asked.word("foreign_keys", NO_YES)
    wanted = {
        "foreign_keys": None if foreign_keys is None else NO_YES.index(foreign_keys),
        "journal_mode": asked.word("journal_mode", JOURNAL_MODES),
        "synchronous": asked.word("synchronous", SYNCHRONOUS),
        "temp_store": asked.word("temp_store", TEMP_STORE),
        # A number above zero is one of pages, as the page has it.
        "cache_size": None if cache is None else cache // PAGE_SIZE_BYTES,
        "mmap_size": asked.number("mmap_size_bytes"),
    }
    pragmas = [f"PRAGMA {name}={value}" for name, value in wanted.items() if value is not None]
    connect_args = {} if timeout is None else {"timeout": timeout / 1000}
    engine = create_engine(f"sqlite:///{asked.directory / 'sync.db'}", echo=False, connect_args=connect_args)

    @event.listens_for(engine, "connect")
    def set_pragmas(connection: sqlite3.Connection, _: Any) -> None:
        cursor = connection.cursor()
        for pragma in pragmas:
            cursor.execute(pragma)
        cursor.close()

    return engine


def on_the_loop(endpoint: Callable[..., Any]) -> Callable[..., Any]:
    """The same endpoint as `async def`: the event loop's own thread waits for the database."""

    @functools.wraps(endpoint)
    async def awaited(*arguments: Any, **named: Any) -> Any:
        return endpoint(*arguments, **named)

    return awaited


def in_a_thread(endpoint: Callable[..., Any]) -> Callable[..., Any]:
    """The endpoint as it is, `def`: FastAPI calls it in a pool of threads."""
    return endpoint


ENDPOINTS = {"async": on_the_loop, "threads": in_a_thread}


class Sync(Service):
    """The service: its engine, its four endpoints, and the Uvicorn that asks them."""

    def __init__(self, asked: Asked) -> None:
        self.endpoints = asked.word("endpoints", tuple(ENDPOINTS)) or "async"
        self.stores_downloads = (asked.word("download", ("writes", "reads")) or "writes") == "writes"
        self.engine = connected(asked)
        Base.metadata.create_all(self.engine)
        app, form = FastAPI(), ENDPOINTS[self.endpoints]
        app.post("/v1/clients")(form(self.register))
        app.get("/v1/sync/full")(form(self.full))
        app.post("/v1/sync/delta")(form(self.upload))
        app.get("/v1/sync/delta")(form(self.download))
        # A request that is half sent when the service leaves is waited for no longer than this.
        self.server = uvicorn.Server(
            uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=1)
        )

    def register(self, device: Device) -> Registered:
        with Session(self.engine) as session:
            session.execute(insert(User).values(id=device.user).on_conflict_do_nothing())
            session.execute(insert(Client).values(id=device.device, user_id=device.user).on_conflict_do_nothing())
            session.commit()
        return Registered(id=device.device)

    def full(self, x_client: XClient = None) -> Everything:
        with Session(self.engine) as session:
            client = self.known(session, x_client)
            changes = session.scalars(
                select(Change).where(Change.user_id == client.user_id).order_by(Change.revision)
            ).all()
            return Everything(changes=told(changes), cursor=changes[-1].revision if changes else 0)

    def upload(self, batch: Batch, x_client: XClient = None) -> Stored:
        with Session(self.engine) as session:
            # The first statement takes the lock, so that no two uploads are given the same revisions.
            user = session.execute(
                update(User)
                .where(User.id == select(Client.user_id).where(Client.id == x_client).scalar_subquery())
                .values(revision=User.revision + len(batch.changes))
                .returning(User.id, User.revision)
            ).one_or_none()
            if user is None:
                raise HTTPException(401, "unknown client")
            revisions = self.revisions(user.revision, len(batch.changes))
            if revisions:
                upsert = insert(Change)
                session.execute(
                    upsert.on_conflict_do_update(
                        index_elements=[Change.user_id, Change.id],
                        set_={"revision": upsert.excluded.revision, "data": upsert.excluded.data},
                    ),
                    [
                        {"user_id": user.id, "id": state.id, "revision": revision, "data": state.data}
                        for state, revision in zip(batch.changes, revisions)
                    ],
                )
            session.commit()
        return Stored(cursor=revisions[-1] if revisions else user.revision)

    def revisions(self, last: int, count: int) -> Sequence[int]:
        """The revisions of a batch of so many changes, of which the user's last is this."""
        return range(last - count + 1, last + 1)

    def download(self, cursor: Cursor = 0, limit: Limit = 100, x_client: XClient = None) -> Page:
        with Session(self.engine) as session:
            client = self.known(session, x_client)
            changes = session.scalars(
                select(Change)
                .where(Change.user_id == client.user_id, Change.revision > cursor)
                .order_by(Change.revision)
                .limit(limit + 1)
            ).all()
            here = changes[:limit]
            page = Page(
                changes=told(here), cursor=here[-1].revision if here else cursor, more=len(changes) > limit
            )
            if self.stores_downloads:
                client.cursor, client.last_seen = page.cursor, datetime.now(timezone.utc)
                session.commit()
            return page

    def known(self, session: Session, x_client: Optional[str]) -> Client:
        """The client of a request."""
        client = session.get(Client, x_client) if x_client is not None else None
        if client is None:
            raise HTTPException(401, "unknown client")
        return client

    def settings(self) -> dict[str, Any]:
        with self.engine.connect() as connection:

            def pragma(name: str) -> Any:
                return connection.exec_driver_sql(f"PRAGMA {name}").scalar()

            cache, page_size = pragma("cache_size"), pragma("page_size")
            return {
                "journal_mode": pragma("journal_mode"),
                "synchronous": SYNCHRONOUS[pragma("synchronous")],
                "temp_store": TEMP_STORE[pragma("temp_store")],
                "page_size_bytes": page_size,
                "cache_size_bytes": -cache * 1024 if cache < 0 else cache * page_size,
                "mmap_size_bytes": pragma("mmap_size") or 0,
                "busy_timeout_ms": pragma("busy_timeout"),
                "foreign_keys": NO_YES[pragma("foreign_keys")],
                "endpoints": self.endpoints,
                "download": "writes" if self.stores_downloads else "reads",
            }

    def answer(self, listening: socket.socket) -> None:
        self.server.run(sockets=[listening])

    def leave(self) -> None:
        self.server.should_exit = True

    def close(self) -> None:
        self.engine.dispose()

    @staticmethod
    def kind_of(error: Exception) -> str:
        text = str(error.orig) if isinstance(error, DBAPIError) else ""
        kinds = {"locked": "busy", "full": "full", "malformed": "corrupt", "not a database": "corrupt"}
        named = [kind for words, kind in kinds.items() if words in text]
        is_io = isinstance(error, OSError) or "unable to open" in text or "I/O" in text
        return named[0] if named else "io" if is_io else "other"


def told(changes: Sequence[Change]) -> list[Changed]:
    return [Changed(id=change.id, revision=change.revision, data=change.data) for change in changes]


def about(subject: str) -> About:
    memory = sqlite3.connect(":memory:")
    (source,) = memory.execute("select sqlite_source_id()").fetchone()
    options = tuple(option for (option,) in memory.execute("pragma compile_options"))
    numbers = f"FastAPI {version('fastapi')}, SQLAlchemy {version('sqlalchemy')}, Uvicorn {version('uvicorn')}"
    return About(subject, numbers, f"SQLite {sqlite3.sqlite_version}", source, options)


if __name__ == "__main__":
    ServiceKit(about("fastapi-sqlalchemy"), Sync).main()
