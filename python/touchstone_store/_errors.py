"""The exceptions: one class for each kind of error, so that a program acts on the kind."""

from __future__ import annotations

from typing import Optional


class StoreError(Exception):
    """What can go wrong in a store. The message says what failed, on which input, and the remedy."""

    def __init__(self, message: str, sqlite_code: Optional[int] = None) -> None:
        super().__init__(message)
        #: SQLite's extended result code, where the failure was SQLite's.
        self.sqlite_code = sqlite_code


class ConflictError(StoreError):
    """The key, or the value of a unique index, is there already."""


class BusyError(StoreError):
    """Another process writes, and went on writing for as long as was waited."""


class WrongKeyError(StoreError):
    """The key or the cipher is another one than the file's."""


class NotEncryptedError(StoreError):
    """A key was given, and the file is not encrypted."""


class ExistsError(StoreError):
    """There is a file where one would be made."""


class EncryptedError(StoreError):
    """The file is encrypted, as far as can be told, and no key was given: ask for one. It may also be no store at all."""


class ForeignError(StoreError):
    """The file is no store."""


class NewerError(StoreError):
    """The file was made by a newer version."""


class MismatchError(StoreError):
    """The file holds something else than the class says."""


class DamagedError(StoreError):
    """The file is damaged."""


class FullError(StoreError):
    """The disk is full."""


class ReadOnlyError(StoreError):
    """The store, or the file, can only be read."""


class TooBigError(StoreError):
    """A value, a record or a query is too large."""


class InvalidError(StoreError, ValueError):
    """A value, a name or an option cannot be what it is given for."""


class NestedError(StoreError):
    """The thread is in a transaction already, and would wait for itself."""


class ExpiredError(StoreError):
    """The snapshot was held for so long that the log could not grow any longer for it."""


class NotFoundError(StoreError):
    """There is no such file."""


class ReplacedError(StoreError):
    """The file, its log or the log's index was deleted, renamed or replaced since the store was opened."""


class DurabilityError(StoreError):
    """The file is open with a durability beside which this one cannot keep its promise."""


class ForkedError(InvalidError):
    """The store was opened by the process that this one was forked from: open it here, after the fork."""


class IoError(StoreError):
    """The system failed to read or write."""


class UnflushedError(StoreError):
    """A flush failed, in this call or before it: the store commits nothing more until it is opened again."""


class RefusedError(StoreError):
    """SQLite refused, for a reason of its own."""
