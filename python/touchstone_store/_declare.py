"""How dataclasses become records: what their annotations say, told to the native part.

Nothing here runs when records are read or written.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import re
import sys
import typing
from typing import Any, Callable, NamedTuple, Optional

from . import _native

try:
    from types import UnionType as _UnionType
except ImportError:  # before Python 3.10 there is no `int | None`
    _UnionType = None  # type: ignore[assignment, misc]

_MARK = "touchstone_store"
_MISSING = dataclasses.MISSING


class _Told(NamedTuple):
    """One field, as the native part takes it."""

    name: str
    column: str
    spec: Any
    nullable: bool
    key: bool
    index: bool
    unique: bool
    default: Optional[Callable[[], Any]]


class _Mark(NamedTuple):
    """What `key()`, `field()` or `tag()` said."""

    key: bool = False
    index: bool = False
    unique: bool = False
    column: Optional[str] = None
    tag: Optional[int] = None


class _Float32:
    """Marks a nested float that is stored in four bytes, as an `f32` of another language is."""


#: A float that is stored in four bytes where it is nested.
Float32 = typing.Annotated[float, _Float32()]


def _field(mark: _Mark, default: Any, default_factory: Any, more: dict[str, Any]) -> Any:
    if more.get("init") is False and default is not _MISSING:
        # `dataclass` would leave such a value on the class, where the column is.
        default, default_factory = _MISSING, functools.partial(lambda value: value, default)
    given = {"default": default, "default_factory": default_factory}
    given = {name: value for name, value in given.items() if value is not _MISSING}
    return dataclasses.field(metadata={_MARK: mark}, **given, **more)


def key(*, index: bool = False, unique: bool = False, column: Optional[str] = None, **more: Any) -> Any:
    """Says that a field is the key, or one of the fields of the key. Those after the first may have an index."""
    return _field(_Mark(key=True, index=index, unique=unique, column=column), _MISSING, _MISSING, more)


def field(
    *,
    index: bool = False,
    unique: bool = False,
    column: Optional[str] = None,
    tag: Optional[int] = None,
    default: Any = _MISSING,
    default_factory: Any = _MISSING,
    **more: Any,
) -> Any:
    """Says more of a field: an index, its column's name, its default; its tag, in a nested class."""
    mark = _Mark(index=index, unique=unique, column=column, tag=tag)
    return _field(mark, default, default_factory, more)


def _names(depth: int) -> dict[str, Any]:
    """What the place of the class knows by name: annotations may be text."""
    return dict(sys._getframe(depth).f_locals)


def record(
    cls: Optional[type] = None, /, *, name: Optional[str] = None, numbered: bool = False, **options: Any
) -> Any:
    """Makes a class a record: a dataclass whose objects are rows of a table."""
    names = _names(2)

    def declare(cls: type) -> type:
        cls = _dataclass(cls, options)
        declared = _native.RecordType(cls, snake_case(cls.__name__) if name is None else name, numbered, _record_fields(cls, names))
        cls.__touchstone_record__ = declared  # type: ignore[attr-defined]
        if "__slots__" not in cls.__dict__:
            for field in dataclasses.fields(cls):
                setattr(cls, field.name, _native.Column(declared, field.name))
        return cls

    return declare if cls is None else declare(cls)


def nested(cls: Optional[type] = None, /, *, variant: Optional[int] = None, **options: Any) -> Any:
    """Makes a class one whose objects lie within a column. Its fields have tags: `field(tag=1)`."""
    names = _names(2)

    def declare(cls: type) -> type:
        cls = _dataclass(cls, options)
        cls.__touchstone_nested__ = _native.NestedType(cls, variant)  # type: ignore[attr-defined]
        cls.__touchstone_names__ = names  # type: ignore[attr-defined]
        _nested_tags(cls)
        return cls

    return declare if cls is None else declare(cls)


def columns(cls: type) -> Any:
    """The fields of a record class as columns: for classes with slots, and where a name is taken."""
    declared = cls.__dict__.get("__touchstone_record__")
    if declared is None:
        raise TypeError(f"{cls!r} is no record: decorate it with `@record`")
    return _Columns(declared)


class _Columns:
    def __init__(self, declared: Any) -> None:
        self._declared = declared

    def __getattr__(self, name: str) -> Any:
        return _native.Column(self._declared, name)


def _dataclass(cls: type, options: dict[str, Any]) -> type:
    is_one = "__dataclass_fields__" in cls.__dict__
    if is_one and options:
        raise TypeError(f"{cls.__name__} is a dataclass already: give {', '.join(options)} to `@dataclass`")
    made: type = cls if is_one else dataclasses.dataclass(**options)(cls)
    for field in made.__dataclass_fields__.values():  # type: ignore[attr-defined]
        if field._field_type is dataclasses._FIELD_INITVAR:  # type: ignore[attr-defined]
            raise TypeError(f"{made.__name__}.{field.name}: an InitVar is not stored, and cannot be given back")
    return made


def _hints(cls: type, names: dict[str, Any]) -> dict[str, Any]:
    return typing.get_type_hints(cls, localns={**names, cls.__name__: cls}, include_extras=True)


def _record_fields(cls: type, names: dict[str, Any]) -> list[_Told]:
    hints = _hints(cls, names)
    told = []
    for field in dataclasses.fields(cls):
        place = f"{cls.__name__}.{field.name}"
        kind, mark, default = _read(hints[field.name], field)
        kind, nullable = _without_none(kind)
        spec_of = spec(kind, place)
        if not field.init and field.default is not _MISSING:
            raise TypeError(f"{place}: a default of what `__init__` does not take is given with `default_factory`")
        if mark.tag is not None:
            raise TypeError(f"{place}: a field of a record has a column, and no tag")
        told.append(
            _Told(
                name=field.name,
                column=mark.column or field.name,
                spec=spec_of,
                nullable=nullable,
                key=mark.key,
                index=mark.index and not mark.unique,
                unique=mark.unique,
                # `None` is what a nullable column has anyway.
                default=None if nullable or mark.key else default,
            )
        )
    return told


def _nested_tags(cls: type) -> list[tuple[dataclasses.Field[Any], int]]:
    tagged = []
    for field in dataclasses.fields(cls):
        annotation = cls.__annotations__.get(field.name)
        mark = _mark_of(field, annotation if not isinstance(annotation, str) else None)
        tagged.append((field, mark))
    missing = [field.name for field, mark in tagged if mark.tag is None and not isinstance(field.type, str)]
    if missing:
        raise TypeError(
            f"{cls.__name__}.{missing[0]} has no tag: `field(tag=1)` names it in the file, whatever it is called"
        )
    tags = [mark.tag for _, mark in tagged if mark.tag is not None]
    if len(set(tags)) != len(tags):
        raise TypeError(f"two fields of {cls.__name__} have one tag")
    return [(field, mark.tag) for field, mark in tagged if mark.tag is not None]


def complete(cls: type) -> None:
    """Tells the native part the fields of a nested class; called when they are first needed."""
    hints = _hints(cls, cls.__touchstone_names__)  # type: ignore[attr-defined]
    told, seen = [], set()
    for field in dataclasses.fields(cls):
        place = f"{cls.__name__}.{field.name}"
        kind, mark, default = _read(hints[field.name], field)
        if mark.tag is None:
            raise TypeError(f"{place} has no tag: `field(tag=1)` names it in the file, whatever it is called")
        if mark.tag in seen:
            raise TypeError(f"two fields of {cls.__name__} have the tag {mark.tag}")
        seen.add(mark.tag)
        told.append((field.name, mark.tag, spec(kind, place), default))
    cls.__touchstone_nested__.tell(told)  # type: ignore[attr-defined]


def _mark_of(field: dataclasses.Field[Any], annotation: Any) -> _Mark:
    given = [field.metadata[_MARK]] if _MARK in field.metadata else []
    for extra in getattr(annotation, "__metadata__", ()):
        if isinstance(extra, dataclasses.Field) and _MARK in extra.metadata:
            given.append(extra.metadata[_MARK])
    return given[-1] if given else _Mark()


def _read(annotation: Any, field: dataclasses.Field[Any]) -> tuple[Any, _Mark, Optional[Callable[[], Any]]]:
    """The kind of a field without what is said of it, what is said, and what makes its default."""
    mark, default = _mark_of(field, annotation), _default(field)
    for extra in getattr(annotation, "__metadata__", ()):
        if isinstance(extra, dataclasses.Field) and _MARK in extra.metadata:
            default = default or _default(extra)
    if typing.get_origin(annotation) is typing.Annotated and not _is_float32(annotation):
        annotation = annotation.__origin__
    if typing.get_origin(annotation) is _native.Column:
        (annotation,) = typing.get_args(annotation)
    return annotation, mark, default


def _is_float32(annotation: Any) -> bool:
    return any(isinstance(extra, _Float32) for extra in getattr(annotation, "__metadata__", ()))


def _default(field: dataclasses.Field[Any]) -> Optional[Callable[[], Any]]:
    if field.default_factory is not _MISSING:
        return field.default_factory
    if field.default is _MISSING or isinstance(field.default, _native.Column):
        return None
    return functools.partial(lambda value: value, field.default)


def _union(kind: Any) -> Optional[tuple[Any, ...]]:
    origin = typing.get_origin(kind)
    if origin is typing.Union or (_UnionType is not None and origin is _UnionType):
        return typing.get_args(kind)
    return None


def _without_none(kind: Any) -> tuple[Any, bool]:
    parts = _union(kind)
    if parts is None or type(None) not in parts:
        return kind, False
    rest = tuple(part for part in parts if part is not type(None))
    return (rest[0] if len(rest) == 1 else typing.Union[rest]), True


_PLAIN = {int: "int", bool: "bool", float: "float", str: "str", bytes: "bytes"}


def spec(kind: Any, place: str) -> Any:
    """What a kind is to the native part: the name of a plain one, or a tuple that begins with a name."""
    if _is_float32(kind):
        return "float32"
    if typing.get_origin(kind) is typing.Annotated:
        kind = kind.__origin__
    kind, optional = _without_none(kind)
    if optional:
        return ("optional", spec(kind, place))
    if isinstance(kind, type) and kind in _PLAIN:
        return _PLAIN[kind]
    parts = _union(kind)
    if parts is not None:
        return ("union", [_variant(part, place) for part in parts])
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is list and len(arguments) == 1:
        return ("list", spec(arguments[0], place))
    if origin is dict and len(arguments) == 2:
        return ("dict", spec(arguments[0], place), spec(arguments[1], place))
    if origin is tuple and len(arguments) == 2 and Ellipsis not in arguments:
        return ("pair", spec(arguments[0], place), spec(arguments[1], place))
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        if all(type(member.value) is int for member in kind):
            return ("enum", kind)
        raise TypeError(f"{place}: the members of {kind.__name__} are not all integers, which is what is stored")
    if isinstance(kind, type) and "__touchstone_nested__" in kind.__dict__:
        return ("struct", kind) if kind.__touchstone_nested__.variant is None else ("union", [kind])
    raise TypeError(
        f"{place}: {kind!r} cannot be stored: int, float, str, bytes, bool, an Enum of integers, a `@nested` class, "
        "list[…], dict[…, …], tuple[…, …], and Optional of these can"
    )


def _variant(kind: Any, place: str) -> type:
    if isinstance(kind, type) and "__touchstone_nested__" in kind.__dict__:
        if kind.__touchstone_nested__.variant is not None:
            return kind
    raise TypeError(f"{place}: {kind!r} in a union is no `@nested(variant=…)` class")


def snake_case(name: str) -> str:
    """A class's name as a table's: as the store names those of other languages."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return spaced.lower()


def transactional(store: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with a transaction of the store before its own arguments."""

    @functools.wraps(function)
    def run(*arguments: Any, **named: Any) -> Any:
        return store.write(lambda transaction: function(transaction, *arguments, **named))

    return run
