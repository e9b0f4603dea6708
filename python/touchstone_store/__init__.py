"""Typed records on SQLite: dataclasses are rows, queries are Python, and the file is one that every SQLite tool opens.

>>> from touchstone_store import Store, field, key, record
>>> @record
... class Task:
...     id: int = key()
...     title: str = field()
"""

from ._declare import Float32, columns, field, key, nested, record
from ._errors import (
    BusyError,
    ConflictError,
    DamagedError,
    ExistsError,
    ExpiredError,
    ForeignError,
    FullError,
    InvalidError,
    IoError,
    MismatchError,
    NestedError,
    NewerError,
    NotEncryptedError,
    NotFoundError,
    ReadOnlyError,
    RefusedError,
    StoreError,
    TooBigError,
    WrongKeyError,
)
from ._native import (
    CheckReport,
    Collection,
    Column,
    Condition,
    Explanation,
    Order,
    Query,
    SalvagedTable,
    SalvageReport,
    Savepoint,
    Snapshot,
    Store,
    Transaction,
    change_key,
    salvage,
)
from ._options import Cipher, Durability

__all__ = [
    "BusyError",
    "CheckReport",
    "Cipher",
    "Collection",
    "Column",
    "Condition",
    "ConflictError",
    "DamagedError",
    "Durability",
    "ExistsError",
    "ExpiredError",
    "Explanation",
    "Float32",
    "ForeignError",
    "FullError",
    "InvalidError",
    "IoError",
    "MismatchError",
    "NestedError",
    "NewerError",
    "NotEncryptedError",
    "NotFoundError",
    "Order",
    "Query",
    "ReadOnlyError",
    "RefusedError",
    "SalvageReport",
    "SalvagedTable",
    "Savepoint",
    "Snapshot",
    "Store",
    "StoreError",
    "TooBigError",
    "Transaction",
    "WrongKeyError",
    "change_key",
    "columns",
    "field",
    "key",
    "nested",
    "record",
    "salvage",
]
