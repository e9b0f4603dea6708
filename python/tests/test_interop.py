"""One file, two languages: what Rust wrote is read here, and what is written here is read by Rust."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, List, Optional, Union

import pytest

from touchstone_store import Cipher, Column, Store, field, key, nested, record

ROOT = Path(__file__).parent.parent
FIXTURES = ROOT.parent / "crates" / "touchstone-store" / "tests" / "fixtures" / "v1"


@nested
class Place:
    name: str = field(tag=0)
    floor: Optional[int] = field(tag=1)


@record(name="note")
class Note:
    id: Column[int] = key()
    title: Column[str] = field(index=True)
    weight: Column[float] = field()
    done: Column[bool] = field()
    due: Column[Optional[int]] = field()
    body: Column[bytes] = field()
    place: Column[Place] = field()


@record(name="reading")
class Reading:
    sensor: Column[str] = key()
    at: Column[int] = key()
    value: Column[Optional[float]] = field()


def note(at: int) -> Note:
    return Note(
        at,
        f"note {at}",
        at / 4,
        at % 2 == 0,
        at * 1_000_000_007 if at % 3 == 0 else None,
        bytes([at]) * (5000 if at == 20 else 30),
        Place(f"place {at}", -1 if at % 5 == 0 else None),
    )


RAW: dict[str, Any] = {"key": bytes([7]) * 32}
WORDS: dict[str, Any] = {"key": "correct horse battery staple"}


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("plain", {}),
        ("aegis_raw", RAW),
        ("aegis_passphrase", WORDS),
        ("sqlcipher_raw", {**RAW, "cipher": Cipher.SQLCIPHER}),
        ("sqlcipher_passphrase", {**WORDS, "cipher": Cipher.SQLCIPHER}),
    ],
)
def test_what_rust_wrote_is_read(name: str, options: dict[str, Any], path: Path) -> None:
    shutil.copy(FIXTURES / f"{name}.db", path)
    with Store.open(path, **options) as store:
        assert store.all(Note) == [note(at) for at in range(1, 21)]
        assert store.query(Note).filter(Note.title == "note 7").all() == [note(7)]
        assert store.collection(Note, "inbox").all() == [note(1), note(2)]
        readings = [Reading("odd" if at % 2 else "even", at, at * 0.5 if at % 7 else None) for at in range(40)]
        assert store.all(Reading) == sorted(readings, key=lambda reading: (reading.sensor, reading.at))


@nested(variant=0)
class Open:
    pass


@nested(variant=1)
class Locked:
    keys: List[str] = field(tag=1)


@nested
class Room:
    name: str = field(tag=1)
    doors: List[Union[Open, Locked]] = field(tag=2)


@record
class House:
    street: Column[str] = key()
    number: Column[int] = key()
    rooms: Column[List[Room]] = field()
    colour: Column[Optional[str]] = field(index=True, default=None)
    storeys: Column[int] = field(default=2)
    pairs: Column[dict[str, int]] = field(default_factory=dict)


def test_what_is_written_here_is_read_by_rust(path: Path) -> None:
    """The program is `interop.rs`: it reads, compares, and writes one of its own."""
    if shutil.which("cargo") is None:
        pytest.skip("cargo is missing, which builds the other side")
    houses = [
        House("Elm", 1, [Room("hall", [Open(), Locked(["front", "back"])])], "red", 3, {"trees": 2, "cats": -1}),
        House("Elm", 2, []),
    ]
    with Store.open(path) as store:
        store.insert_all(houses)
    target = os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target"))
    command = ["cargo", "run", "--quiet", "--release", "--locked", "--target-dir", target, "--example", "interop"]
    done = subprocess.run([*command, "--", str(path)], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with Store.open(path) as store:
        written = House("Oak", 3, [Room("attic", [Locked([])])], None, 1, {"mice": 7})
        assert store.get(House, ("Oak", 3)) == written
        assert store.check(House).is_whole
