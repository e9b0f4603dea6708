"""What copies and their service tell a program: what was done, what is in conflict, what has lost its place, and what went wrong."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Optional, Union


@dataclass(frozen=True)
class Synced:
    """What a sync has done."""

    #: Edits that the service has stored.
    sent: int
    #: Versions that were fetched.
    fetched: int
    #: Conflicts that the program has decided.
    conflicts: int
    #: Versions of other devices that edits of this one have overwritten without knowing of them.
    overwritten: int
    #: Edits that the service has refused.
    refused: int


@dataclass(frozen=True)
class Conflict:
    """Two edits of one object, by this device and by another, that do not know of each other. `None` is no object."""

    id: str
    #: What this device's edit was made on.
    base: Optional[str]
    #: What this device has made of it.
    mine: Optional[str]
    #: What the other device has made of it.
    theirs: Optional[str]


class Keep(enum.Enum):
    """Which of the two edits of a conflict stays."""

    MINE = "mine"
    THEIRS = "theirs"


@dataclass(frozen=True)
class Merged:
    """A state that was made of both edits of a conflict; `None` deletes the object."""

    data: Optional[str]


#: What becomes of a conflict.
Resolution = Union[Keep, Merged]


@dataclass(frozen=True)
class Overwritten:
    """What another device had made, before an edit of this one came after it that did not know of it."""

    id: str
    data: Optional[str]


@dataclass(frozen=True)
class Refused:
    """An edit of this device that the service does not take."""

    id: str
    data: Optional[str]
    #: The service's words.
    why: str


#: A state of an object that has lost its place, and is nowhere else any more.
Displaced = Union[Overwritten, Refused]


class SyncError(Exception):
    """What can go wrong between a copy and its service. What goes wrong in its store is a `StoreError`."""

    def __init__(self, message: str, retry_after: Optional[float] = None) -> None:
        super().__init__(message)
        #: Seconds after which the service wants to be asked again, where it says so.
        self.retry_after = retry_after


class AwayError(SyncError):
    """The service is not reached, its certificate is not trusted, or it has too much to do: later the same call may succeed."""


class UnauthenticatedError(SyncError):
    """The token is unknown, revoked or expired."""


class RefusedError(SyncError):
    """The service refuses, and will refuse again."""


class OtherUserError(SyncError):
    """The copy is of another user than the token. Nothing of it was sent."""


class AnswerError(SyncError):
    """What answers is no sync service, or one of another version."""


class EditError(SyncError, ValueError):
    """An object's name or data is none that a service takes."""


class SettingError(SyncError, ValueError):
    """The address, the token, what is to be trusted or the device's name cannot be."""


@dataclass(frozen=True)
class Ended:
    """A watch has ended, and tells nothing more: the copy is no longer kept in step."""

    #: What has ended it: something that does not pass, or an exception of a function of the program. `stop` and `wait` raise it.
    error: BaseException


#: What a watch tells: that the copy was in step a moment ago, that the service is away and is asked again, or that it has ended.
Event = Union[Synced, AwayError, Ended]
