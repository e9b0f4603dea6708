"""Copies of a user's objects that are edited offline and kept in step with the sync service `touchstone-sync`.

>>> from touchstone_store.sync import Replica
>>> with Replica.open("notes.db", "https://sync.example.org", token) as replica:
...     replica.put("note/1", "milk")
...     replica.sync()
"""

from __future__ import annotations

from typing import Optional

from ._declare import field, key, record
from ._native import Column, Replica, Watching
from ._sync import (
    AnswerError,
    AwayError,
    Conflict,
    Displaced,
    EditError,
    Ended,
    Event,
    Keep,
    Merged,
    OtherUserError,
    Overwritten,
    Refused,
    RefusedError,
    Resolution,
    SettingError,
    Synced,
    SyncError,
    UnauthenticatedError,
)

__all__ = [
    "AnswerError",
    "AwayError",
    "Conflict",
    "Displaced",
    "EditError",
    "Ended",
    "Event",
    "Item",
    "Keep",
    "Merged",
    "OtherUserError",
    "Overwritten",
    "Refused",
    "RefusedError",
    "Replica",
    "Resolution",
    "SettingError",
    "SyncError",
    "Synced",
    "UnauthenticatedError",
    "Watching",
]


@record(name="sync_item")
class Item:
    """An object on this device, as a row of the copy's store: for queries. It is edited by `Replica.put`, `update` and `delete`."""

    id: Column[str] = key()
    #: `None` while a deletion by this device waits to be stored.
    data: Column[Optional[str]] = field()
    #: The revision that the service has given it, 0 while an edit of this device waits.
    revision: Column[int] = field()
