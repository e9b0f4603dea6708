"""What of live queries is Python: the steps of a difference, and how a task of `asyncio` waits for a batch."""

from __future__ import annotations

import asyncio
import atexit
import functools
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Optional, TypeVar, Union

from . import _native

T = TypeVar("T")


@dataclass(frozen=True)
class Removed:
    """The row that was there is not any more, or not there."""

    #: Its place among the older rows.
    at: int


@dataclass(frozen=True)
class Inserted(Generic[T]):
    """This row came, or came here."""

    #: Its place among the newer rows.
    at: int
    row: T


@dataclass(frozen=True)
class Changed(Generic[T]):
    """The row stayed where it is in the order, with other values."""

    #: Its place among the older rows.
    old_at: int
    #: Its place among the newer rows.
    at: int
    #: The row as it is now.
    row: T


#: One step from older rows to newer ones. Removals name places among the older ones, everything else among the newer.
Difference = Union[Removed, Inserted[T], Changed[T]]


@dataclass(frozen=True)
class Delta(Generic[T]):
    """What came and what went, without places. A row that changed is among both."""

    #: The rows that left their places, as they were: gone, moved or changed.
    removed: list[T]
    #: The rows that came to theirs, as they are: new, moved or changed.
    inserted: list[T]


Sequence.register(_native.Results)
atexit.register(_native.end)
if hasattr(os, "register_at_fork"):  # there is none where there is no fork
    os.register_at_fork(after_in_child=_native.forked)


async def anext(feed: _native.Feed) -> Optional[_native.Batch]:
    """Waits for the next batch; `None` when the feed has ended. A task that is cancelled takes none."""
    loop = asyncio.get_running_loop()
    while True:
        woken: asyncio.Future[None] = loop.create_future()
        batch = feed._poll(functools.partial(_wake, loop, woken))
        if batch is not False:
            return batch
        await woken


async def step(feed: _native.Feed) -> _native.Batch:
    """As `anext`, for `async for`."""
    batch = await anext(feed)
    if batch is None:
        raise StopAsyncIteration
    return batch


def _wake(loop: asyncio.AbstractEventLoop, woken: asyncio.Future[None]) -> None:
    """Called on another thread."""
    if not loop.is_closed():
        try:
            loop.call_soon_threadsafe(_set, woken)
        except RuntimeError:  # it was closed just now
            pass


def _set(woken: asyncio.Future[None]) -> None:
    if not woken.done():
        woken.set_result(None)
