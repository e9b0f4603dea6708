"""What a store is opened with."""

from __future__ import annotations

import enum


class Durability(enum.Enum):
    """What a commit survives that has returned."""

    #: A loss of power: each commit waits for a flush.
    STRICT = "strict"
    #: A crash of the process; after a loss of power the store is whole, and the newest commits may be gone.
    CONSISTENT = "consistent"
    #: A crash of the process; after a loss of power the file may be damaged.
    PROCESS = "process"


class Cipher(enum.Enum):
    """How pages are encrypted, where a key is given."""

    #: AEGIS-256X2, authenticated.
    AEGIS = "aegis"
    #: What SQLCipher 4 reads and writes.
    SQLCIPHER = "sqlcipher"
