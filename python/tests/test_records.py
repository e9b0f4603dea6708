"""Records: what is declared, what is stored, what is refused."""

from __future__ import annotations

import enum
import math
import subprocess
import sys
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from pathlib import Path
from typing import Annotated, Any, Dict, List, Optional, Tuple, Union

import pytest

import touchstone_store
from touchstone_store import Column, Float32, InvalidError, MismatchError, Store, columns, field, key, nested, record


class Colour(enum.Enum):
    RED = 0
    GREEN = 1


@nested
class Place:
    name: str = field(tag=1)
    floor: Optional[int] = field(tag=2, default=None)
    doors: List[Door] = field(tag=3, default_factory=list)


@nested(variant=0)
class Open:
    pass


@nested(variant=1)
class Locked:
    with_key: str = field(tag=1)


Door = Union[Open, Locked]


@record
class Note:
    id: Column[int] = key()
    title: Column[str] = field(index=True)
    slug: Column[Optional[str]] = field(unique=True, default=None)
    weight: Column[float] = field(default=0.0)
    done: Column[bool] = field(default=False)
    body: Column[bytes] = field(default=b"")
    place: Column[Place] = field(default_factory=lambda: Place("nowhere"))
    colour: Column[Colour] = field(default=Colour.RED)
    tags: Column[List[str]] = field(default_factory=list)
    counts: Column[Dict[str, int]] = field(default_factory=dict)
    pair: Column[Tuple[int, float]] = field(default=(0, 0.0))


@record(name="pages")
@dataclass(frozen=True)
class Page:
    """A plain dataclass, with what is said of its fields in the annotations."""

    text: str
    book: Annotated[str, key()]
    number: Annotated[int, key(column="page")]
    stars: int = 3


@record(**({"slots": True} if sys.version_info >= (3, 10) else {}))
class Slotted:
    id: int = key()
    text: str = field()


def note(at: int) -> Note:
    return Note(
        at,
        f"note {at}",
        slug=f"slug-{at}" if at % 3 else None,
        weight=at / 4,
        done=at % 2 == 0,
        body=bytes([at % 256]) * at,
        place=Place(f"room {at}", at or None, [Open(), Locked("key")][: at % 3]),
        colour=Colour(at % 2),
        tags=["a", "ü", "日"][: at % 4],
        counts={"one": at},
        pair=(at, -at / 2),
    )


def test_what_is_stored_comes_back(store: Store) -> None:
    notes = [note(at) for at in range(50)]
    store.insert(notes[0])
    assert store.insert_all(notes[1:]) == 49
    assert store.all(Note) == notes
    assert [store.get(Note, at) for at in range(50)] == notes
    assert store.get(Note, 50) is None
    assert store.count(Note) == 50


def test_a_class_of_any_shape_is_a_record(store: Store) -> None:
    page = Page("Emma Woodhouse, handsome", "Emma", 1)
    store.insert(page)
    assert store.get(Page, ("Emma", 1)) == page
    assert store.sql("select book, page, text, stars from pages") == [("Emma", 1, page.text, 3)]
    store.insert(Slotted(1, "slots"))
    assert store.query(Slotted).filter(columns(Slotted).text == "slots").all() == [Slotted(1, "slots")]


def test_objects_are_made_without_calling_init(store: Store) -> None:
    @record
    class Word:
        text: str = key()
        length: int = 0

        def __post_init__(self) -> None:
            self.length = len(self.text)

    store.insert(Word("emma"))
    store.execute("update word set length = 7")
    word = store.get(Word, "emma")
    assert word is not None and word.length == 4, "what follows `__init__` in a dataclass is called"


def test_the_file_is_what_its_page_says(store: Store, path: Path) -> None:
    store.insert(note(7))
    # Another SQLite in this process would take the store's locks with it when it closes the file, and remove the log.
    look = "import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute(sys.argv[2]).fetchone()[0])"
    asked = "select sql from sqlite_schema where name = 'note'"
    made = subprocess.run([sys.executable, "-c", look, path, asked], check=True, capture_output=True, text=True).stdout
    assert made.startswith('CREATE TABLE "note" ("id" INTEGER PRIMARY KEY, "title" TEXT, "slug" TEXT, "weight" REAL')
    ((place, colour),) = store.sql("select hex(place), colour from note")
    # {1: "room 7", 2: 7, 3: [0]}
    assert (place, colour) == ("A30166726F6F6D20370207038100", 1)


def test_a_class_may_change(store: Store) -> None:
    def before() -> Any:
        @record(name="thing")
        class Thing:
            id: int = key()
            place: Place = field()

        return Thing

    def after() -> Any:
        @nested
        class Spot:
            title: str = field(tag=1)
            level: int = field(tag=2, default=-1)
            lit: bool = field(tag=9, default=True)

        @record(name="thing")
        class Thing:
            id: int = key()
            place: Spot = field()
            stars: int = 3
            words: Optional[str] = None

        return Thing, Spot

    old = before()
    store.insert_all([old(1, Place("attic", None, [Open()])), old(2, Place("cellar", 2))])
    new, spot = after()
    assert store.all(new) == [new(1, spot("attic", -1), 3), new(2, spot("cellar", 2), 3)]
    assert store.query(new).filter(new.stars == 3).count() == 2
    store.put(new(2, spot("cellar", 2), 5, "dark"))
    assert store.get(old, 2) == old(2, Place("cellar", 2))


def test_a_value_of_another_kind_is_refused(store: Store) -> None:
    wrong: list[Any] = [
        Note("1", "a"),  # type: ignore[arg-type]
        Note(1, None),  # type: ignore[arg-type]
        Note(2**63, "a"),
        Note(1, "a", weight=math.nan),
        Note(1, "a", done=1),  # type: ignore[arg-type]
        Note(1, "a", colour=1),  # type: ignore[arg-type]
        Note(1, "a", tags="abc"),  # type: ignore[arg-type]
        Note(1, "a", tags=[1]),  # type: ignore[list-item]
        Note(1, "a", place=Place("a", doors=["open"])),  # type: ignore[list-item]
        Note(1, "a", body="text"),  # type: ignore[arg-type]
    ]
    for at, given in enumerate(wrong):
        with pytest.raises(InvalidError):
            store.insert(given)
        with pytest.raises(InvalidError):
            store.insert_all([note(100 + at), given])
    assert store.count(Note) == 0
    with pytest.raises(InvalidError, match="field `title`: str is wanted, and NoneType was given"):
        store.insert(wrong[1])
    deep: list[Any] = []
    for _ in range(200):
        deep = [deep]
    with pytest.raises(InvalidError):
        store.get(Note, "1")
    with pytest.raises(TypeError, match="is no record"):
        store.insert(object())
    with pytest.raises(TypeError):
        store.insert_all([note(1), Slotted(1, "a")])


def test_an_int_is_a_float_too(store: Store) -> None:
    store.insert(Note(1, "a", weight=2))
    found = store.get(Note, 1)
    assert found is not None and isinstance(found.weight, float)


def test_a_subclass_that_is_no_record_is_refused(store: Store) -> None:
    class Special(Note):
        pass

    with pytest.raises(TypeError, match="decorate it"):
        store.insert(Special(1, "a"))


def test_what_cannot_be_a_record_is_said_when_it_is_declared() -> None:
    def declare(annotation: Any, default: Any = None) -> None:
        body = {"__annotations__": {"id": int, "more": annotation}, "id": key()}
        record(type("Wrong", (), body if default is None else {**body, "more": default}))

    for annotation in (object, set, list, Dict[str, object], Union[int, str], Tuple[int, int, int], Colour.RED):
        with pytest.raises(TypeError):
            declare(annotation)
    with pytest.raises(InvalidError):
        declare(int, field(column="rowid"))
    with pytest.raises(InvalidError):
        record(type("Keyless", (), {"__annotations__": {"id": int}}))
    with pytest.raises(InvalidError):
        record(type("Real", (), {"__annotations__": {"id": float}, "id": key()}))
    with pytest.raises(TypeError, match="no tag"):
        nested(type("Tagless", (), {"__annotations__": {"x": int}}))


def test_what_is_none_of_the_class_is_a_mismatch(store: Store) -> None:
    store.insert(note(1))
    store.execute("update note set done = 7")
    with pytest.raises(MismatchError, match="done"):
        store.get(Note, 1)
    with pytest.raises(MismatchError):
        store.all(Note)
    store.execute("update note set done = 0, place = x'ff'")
    with pytest.raises(MismatchError, match="place"):
        store.get(Note, 1)
    store.execute("update note set place = null")
    found = store.get(Note, 1)
    assert found is not None and found.place == Place("nowhere"), "NULL is the default"


def test_several_flags_are_stored_together(store: Store) -> None:
    """They were written, and could not be read any more: nothing of the table could."""

    class May(enum.IntFlag):
        READ = 1
        WRITE = 2

    @nested
    class Door:
        may: May = field(tag=1)

    @record
    class Guest:
        id: int = key()
        may: May = May.READ
        doors: List[Door] = field(default_factory=list)

    both = Guest(1, May.READ | May.WRITE, [Door(May(0)), Door(May.READ | May.WRITE)])
    store.insert_all([both, Guest(2, May(0))])
    assert store.all(Guest) == [both, Guest(2, May(0))]
    assert store.query(Guest).filter(columns(Guest).may == May.READ | May.WRITE).all() == [both]
    store.insert(note(1))
    store.execute("update note set colour = 9")
    with pytest.raises(MismatchError, match="the file has 9"):
        store.get(Note, 1)


def test_what_init_does_not_take_has_its_default(store: Store) -> None:
    """An object had the column of its class in its stead."""

    @record
    class Visit:
        id: Column[int] = key()
        times: Column[int] = field(init=False, default=1)

    visit = Visit(1)
    assert visit.times == 1
    store.insert(visit)
    assert store.query(Visit).filter(Visit.times == 1).all() == [visit]

    class Other:
        id: int = key()
        times: int = dataclass_field(init=False, default=1)

    with pytest.raises(TypeError, match="Other.times: .*default_factory"):
        record(Other)


def test_a_message_names_the_field(store: Store) -> None:
    with pytest.raises(InvalidError, match="field `title`: the text is no Unicode: .*surrogates"):
        store.insert(Note(1, "\ud800"))
    with pytest.raises(InvalidError, match="field `weight`: the number is beyond a float"):
        store.insert(Note(1, "heavy", weight=10**400))
    with pytest.raises(InvalidError, match="field `id`: int is wanted, and str was given"):
        store.get(Note, "one")
    with pytest.raises(InvalidError, match="field `title`: str is wanted, and int was given"):
        columns(Note).title == 3
    with pytest.raises(InvalidError, match="table name"):
        record(name="")(type("Nameless", (), {"__annotations__": {"id": int}, "id": key()}))


def test_half_the_width_is_stored_in_four_bytes(store: Store) -> None:
    @nested
    class Spot:
        x: Float32 = field(tag=1)

    @record
    class Dot:
        id: int = key()
        spot: Spot = field()

    store.insert(Dot(1, Spot(0.5)))
    assert store.sql("select hex(spot) from dot") == [("A101FA3F000000",)]
    assert store.get(Dot, 1) == Dot(1, Spot(0.5))


def test_names_become_tables_as_in_other_languages() -> None:
    names = ["Task", "TaskList", "HTTPServer", "Point2D", "V2", "Already_Snake"]
    tables = ["task", "task_list", "http_server", "point2_d", "v2", "already_snake"]
    from touchstone_store._declare import snake_case

    assert [snake_case(name) for name in names] == tables


def test_everything_is_exported() -> None:
    for name in touchstone_store.__all__:
        assert hasattr(touchstone_store, name), name
