"""Records as the lab's files have them, decoded into plain tuples and encoded back; and their digest.

A `row` is (key, value), a `document` (id, revision, hash, data), a `doc` (title, tag, (x, y, z), colour, content,
priority): the colour a number, the content a pair of its kind and what it has, the priority a number or None.
"""

from __future__ import annotations

import struct
import zlib
from typing import Any, Callable, Iterable

MAGIC = b"TSDATA1\n"
#: A doc's colours, by number.
COLOURS = ("red", "green", "blue")
#: What a doc's content may be, by number: a list of texts, nothing, a text.
CONTENTS = ("images", "nothing", "text")

#: How many fields a record has.
WIDTHS = {"row": 2, "document": 4, "doc": 6}

_U32, _I64, _POSITION = struct.Struct("<I"), struct.Struct("<q"), struct.Struct("<fff")


class Malformed(Exception):
    """The file is none of the lab's."""


class _Reader:
    def __init__(self, data: bytes, at: int) -> None:
        self.data, self.at = data, at

    def unpack(self, shape: struct.Struct) -> tuple[Any, ...]:
        values = shape.unpack_from(self.data, self.at)
        self.at += shape.size
        return values

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def bytes(self) -> bytes:
        (length,) = self.unpack(_U32)
        if self.at + length > len(self.data):
            raise Malformed("a record ends beyond the file")
        self.at += length
        return self.data[self.at - length : self.at]

    def text(self) -> str:
        return self.bytes().decode()


def _read_row(reader: _Reader) -> tuple[Any, ...]:
    return (*reader.unpack(_I64), reader.bytes())


def _read_document(reader: _Reader) -> tuple[Any, ...]:
    return (reader.text(), *reader.unpack(_I64), reader.bytes(), reader.text())


def _read_doc(reader: _Reader) -> tuple[Any, ...]:
    title, tag, position, colour, kind = reader.text(), reader.text(), reader.unpack(_POSITION), reader.byte(), reader.byte()
    content: Any = None
    if CONTENTS[kind] == "images":
        content = [reader.text() for _ in range(reader.unpack(_U32)[0])]
    elif CONTENTS[kind] == "text":
        content = reader.text()
    priority = reader.unpack(_I64)[0] if reader.byte() else None
    return (title, tag, position, colour, (kind, content), priority)


def _sized(data: bytes) -> bytes:
    return _U32.pack(len(data)) + data


def _write_row(record: tuple[Any, ...]) -> bytes:
    key, value = record
    return _I64.pack(key) + _sized(value)


def _write_document(record: tuple[Any, ...]) -> bytes:
    name, revision, hash_, data = record
    return _sized(name.encode()) + _I64.pack(revision) + _sized(hash_) + _sized(data.encode())


def _write_doc(record: tuple[Any, ...]) -> bytes:
    title, tag, position, colour, (kind, content), priority = record
    parts = [_sized(title.encode()), _sized(tag.encode()), _POSITION.pack(*position), bytes([colour, kind])]
    if CONTENTS[kind] == "images":
        parts += [_U32.pack(len(content)), *(_sized(text.encode()) for text in content)]
    elif CONTENTS[kind] == "text":
        parts.append(_sized(content.encode()))
    parts.append(b"\x00" if priority is None else b"\x01" + _I64.pack(priority))
    return b"".join(parts)


_READ: dict[str, Callable[[_Reader], tuple[Any, ...]]] = {
    "row": _read_row,
    "document": _read_document,
    "doc": _read_doc,
}
_WRITE: dict[str, Callable[[tuple[Any, ...]], bytes]] = {
    "row": _write_row,
    "document": _write_document,
    "doc": _write_doc,
}


def read_dataset(record: str, path: str) -> list[tuple[Any, ...]]:
    """The records of a dataset."""
    with open(path, "rb") as file:
        data = file.read()
    if not data.startswith(MAGIC):
        raise Malformed(f"{path} is no dataset: it does not begin as one")
    try:
        reader = _Reader(data, len(MAGIC))
        (count,) = reader.unpack(struct.Struct("<Q"))
        records = [_READ[record](reader) for _ in range(count)]
    except (IndexError, struct.error, UnicodeDecodeError) as error:
        raise Malformed(f"{path} has no {record} where one should be: {error}") from error
    if reader.at != len(data):
        raise Malformed(f"{path} goes on after its last {record}")
    return records


def read_operations(path: str) -> list[int]:
    """The order of operations: numbers of records."""
    with open(path, "rb") as file:
        data = file.read()
    if len(data) % 4:
        raise Malformed(f"{path} holds no whole number of operations")
    return list(struct.unpack(f"<{len(data) // 4}I", data))


def sort_key(record: tuple[Any, ...]) -> Any:
    """What records are sorted by: texts by their bytes."""
    return record[0].encode() if isinstance(record[0], str) else record[0]


def digest(record: str, records: Iterable[tuple[Any, ...]]) -> str:
    """The CRC-32 of the records as a dataset has them."""
    crc = 0
    for one in records:
        crc = zlib.crc32(_WRITE[record](one), crc)
    return f"{crc:08x}"
