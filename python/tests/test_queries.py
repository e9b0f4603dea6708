"""Queries: what is found is what Python finds in a list."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from touchstone_store import InvalidError, Store, TooBigError, field, key, record


@record
@dataclass(order=True)
class Doc:
    id: int = key()
    priority: int = field(index=True)
    due: Optional[int] = None
    title: str = field(default="")
    weight: float = 0.0


@record
class Other:
    id: int = key()


# A condition, and what it is for one record: true, false, or `None` for unknown.
Asked = tuple[Any, Callable[[Doc], Optional[bool]]]
small = st.integers(-3, 3)
texts = st.text(alphabet="abß日", max_size=3)


def compared(name: str, value: Any, how: str) -> Asked:
    import operator

    condition = getattr(operator, how)(getattr(Doc, name), value)

    def holds(doc: Doc) -> Optional[bool]:
        found = getattr(doc, name)
        return None if found is None else bool(getattr(operator, how)(found, value))

    return condition, holds


def members(name: str, values: list[Any]) -> Asked:
    def holds(doc: Doc) -> Optional[bool]:
        found = getattr(doc, name)
        return False if not values else None if found is None else found in values

    return getattr(Doc, name).is_in(values), holds


leaves: st.SearchStrategy[Asked] = st.one_of(
    st.builds(
        compared,
        st.sampled_from(["id", "priority", "due", "weight"]),
        st.one_of(small, st.floats(-3, 3), st.just(2**70), st.just(-(2**70))),
        st.sampled_from(["eq", "ne", "lt", "le", "gt", "ge"]),
    ),
    st.builds(compared, st.just("title"), texts, st.sampled_from(["eq", "ne", "lt", "le", "gt", "ge"])),
    st.builds(members, st.sampled_from(["id", "priority", "due"]), st.lists(small, max_size=3)),
    st.just((Doc.due.is_null(), lambda doc: doc.due is None)),  # type: ignore[union-attr]
    st.just((Doc.due == None, lambda doc: doc.due is None)),  # noqa: E711
    texts.map(lambda text: (Doc.title.starts_with(text), lambda doc: doc.title.startswith(text))),  # type: ignore[attr-defined]
    texts.map(lambda text: (Doc.title.contains(text), lambda doc: text in doc.title)),  # type: ignore[attr-defined]
)


def both(left: Asked, right: Asked) -> Asked:
    def holds(doc: Doc) -> Optional[bool]:
        parts = (left[1](doc), right[1](doc))
        return False if False in parts else None if None in parts else True

    return left[0] & right[0], holds


def either(left: Asked, right: Asked) -> Asked:
    def holds(doc: Doc) -> Optional[bool]:
        parts = (left[1](doc), right[1](doc))
        return True if True in parts else None if None in parts else False

    return left[0] | right[0], holds


def negated(asked: Asked) -> Asked:
    def holds(doc: Doc) -> Optional[bool]:
        known = asked[1](doc)
        return None if known is None else not known

    return ~asked[0], holds


conditions = st.recursive(
    leaves,
    lambda inner: st.one_of(st.builds(both, inner, inner), st.builds(either, inner, inner), inner.map(negated)),
    max_leaves=6,
)
docs = st.lists(
    st.builds(Doc, small, small, st.none() | small, texts, st.floats(-3, 3)), max_size=8, unique_by=lambda doc: doc.id
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(docs, conditions, st.none() | st.integers(0, 4), st.integers(0, 3), st.booleans())
def test_queries_find_what_a_list_would(
    tmp_path: Path, kept: list[Doc], asked: Asked, limit: Optional[int], offset: int, descending: bool
) -> None:
    with Store.open(tmp_path / "docs.db") as store:
        store.clear(Doc)
        store.insert_all(kept)
        expected = sorted(kept, key=lambda doc: doc.id)
        expected.sort(key=lambda doc: doc.priority, reverse=descending)
        expected = [doc for doc in expected if asked[1](doc) is True]
        expected = expected[offset:] if limit is None else expected[offset : offset + limit]
        order: Any = Doc.priority.desc() if descending else Doc.priority  # type: ignore[attr-defined]
        query = store.query(Doc).filter(asked[0]).order_by(order).offset(offset)
        query = query if limit is None else query.limit(limit)
        assert query.all() == list(query) == expected
        assert query.count() == len(expected)
        assert query.first() == (expected[0] if expected else None)
        assert sorted(store.query(Doc).filter(asked[0])) == sorted(doc for doc in kept if asked[1](doc) is True)
        with store.transaction() as transaction:
            removed = transaction.remove_where(Doc, asked[0])
            assert removed == sum(asked[1](doc) is True for doc in kept)


def test_a_query_explains_itself(store: Store) -> None:
    store.insert(Doc(1, 1))
    assert store.query(Doc).filter(Doc.priority == 1).explain().plan == [
        "SEARCH doc USING INDEX doc.priority (priority=?)"
    ]
    told = store.query(Doc).explain()
    assert told.by_pages and told.sql is None


def test_what_is_no_condition_is_refused(store: Store) -> None:
    query = store.query(Doc)
    with pytest.raises(TypeError, match="neither true nor false"):
        query.filter(Doc.id == 1 and Doc.id == 2)
    with pytest.raises(TypeError, match="a condition is wanted"):
        query.filter(True)
    with pytest.raises(InvalidError, match="a condition on other is none on doc"):
        query.filter(Other.id == 1)
    with pytest.raises(InvalidError):
        query.order_by(Other.id)
    with pytest.raises(InvalidError):
        (Other.id == 1) & (Doc.id == 1)
    with pytest.raises(InvalidError):
        query.filter(Doc.title == 1)  # type: ignore[comparison-overlap]
    with pytest.raises(InvalidError):
        query.filter(Doc.priority == "1")  # type: ignore[comparison-overlap]
    with pytest.raises(TypeError):
        query.filter(Doc.due < None)  # type: ignore[operator]
    with pytest.raises(OverflowError):
        query.limit(-1)


def test_conditions_lie_only_so_deep_within_each_other(store: Store) -> None:
    """The stack of a thread of the store was not so deep, and the program ended there."""
    store.insert(Doc(1, 2))
    many = Doc.id == 0
    for at in range(1, 2000):
        many = many | (Doc.id == at)
    assert store.query(Doc).filter(many).count() == 1, "what one word joins lies side by side"
    deep = Doc.id == 1
    for _ in range(250):
        deep = ~(deep | (Doc.id == 2))
    query = store.query(Doc).filter(deep)
    deeper = store.query(Doc).filter(~deep)
    with store.feed() as feed:
        assert feed.watch_count(query).count == query.count()
        with pytest.raises(TooBigError, match="500 deep"):
            feed.watch(deeper)
    with pytest.raises(TooBigError, match="500 deep"):
        deeper.all()


def test_a_walk_sees_one_moment(store: Store) -> None:
    store.insert_all([Doc(at, at) for at in range(10)])
    walk = iter(store.query(Doc))
    first = next(walk)
    store.clear(Doc)
    assert [first, *walk] == [Doc(at, at) for at in range(10)]


def test_columns_are_hashed_and_shown() -> None:
    assert len({Doc.id, Doc.due}) == 2
    assert repr(Doc.due) == "<Column due of doc>"
