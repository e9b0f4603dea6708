"""How classes are declared, with types: `Column[int]` is an `int` of an object, and a column of its class."""

from collections.abc import Callable
from typing import Any, Annotated, Optional, TypeVar, overload

from typing_extensions import dataclass_transform

from ._native import Transaction

T = TypeVar("T")
R = TypeVar("R")

class _Float32: ...

Float32 = Annotated[float, _Float32()]

def key(
    *,
    index: bool = False,
    unique: bool = False,
    column: Optional[str] = None,
    kw_only: bool = ...,
    init: bool = True,
) -> Any: ...
@overload
def field(
    *,
    index: bool = False,
    unique: bool = False,
    column: Optional[str] = None,
    tag: Optional[int] = None,
    kw_only: bool = ...,
    init: bool = True,
    repr: bool = True,
    compare: bool = True,
) -> Any: ...
@overload
def field(
    *,
    default: Any,
    index: bool = False,
    unique: bool = False,
    column: Optional[str] = None,
    tag: Optional[int] = None,
    kw_only: bool = ...,
    init: bool = True,
    repr: bool = True,
    compare: bool = True,
) -> Any: ...
@overload
def field(
    *,
    default_factory: Callable[[], Any],
    index: bool = False,
    unique: bool = False,
    column: Optional[str] = None,
    tag: Optional[int] = None,
    kw_only: bool = ...,
    init: bool = True,
    repr: bool = True,
    compare: bool = True,
) -> Any: ...
@overload
@dataclass_transform(field_specifiers=(key, field))
def record(cls: type[T], /) -> type[T]: ...
@overload
@dataclass_transform(field_specifiers=(key, field))
def record(
    *,
    name: Optional[str] = None,
    numbered: bool = False,
    frozen: bool = False,
    order: bool = False,
    eq: bool = True,
    kw_only: bool = False,
    slots: bool = False,
) -> Callable[[type[T]], type[T]]: ...
@overload
@dataclass_transform(field_specifiers=(key, field))
def nested(cls: type[T], /) -> type[T]: ...
@overload
@dataclass_transform(field_specifiers=(key, field))
def nested(
    *,
    variant: Optional[int] = None,
    frozen: bool = False,
    order: bool = False,
    eq: bool = True,
    kw_only: bool = False,
    slots: bool = False,
) -> Callable[[type[T]], type[T]]: ...
def columns(cls: type[Any]) -> Any: ...
def transactional(store: Any, function: Callable[..., R]) -> Callable[..., R]: ...
def complete(cls: type[Any]) -> None: ...
def snake_case(name: str) -> str: ...
