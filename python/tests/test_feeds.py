"""Live queries: what subscribers are told, when, and that nobody waits for those who do not listen."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Callable, Optional

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from touchstone_store import (
    Batch,
    BusyError,
    Changed,
    Column,
    Feed,
    Inserted,
    InvalidError,
    MismatchError,
    RefusedError,
    Removed,
    Results,
    Store,
    StoreError,
    Subscription,
    Transaction,
    Update,
    field,
    key,
    record,
)

#: How long a test waits for what is to come at once.
SOON = 30.0


@record
class Doc:
    id: Column[int] = key()
    priority: Column[int] = field(index=True, default=0)
    title: Column[str] = field(default="")


@record
class Other:
    id: Column[int] = key()


class Failed(Exception):
    pass


def pending(store: Store, feed: Feed) -> list[Batch]:
    """The batches of all that was committed."""
    store.wait_delivered()
    return list(iter(lambda: feed.next(timeout=0), None))


def only(batch: Optional[Batch]) -> Update[Any]:
    assert batch is not None
    (update,) = batch
    return update


def ids(rows: Sequence[Any]) -> list[int]:
    return [row.id for row in rows]


def patched(before: Sequence[Any], update: Update[Any]) -> list[Any]:
    """Does to the rows what the difference says."""
    rows, diff = list(before), update.diff()
    for step in reversed(diff):
        if isinstance(step, Removed):
            del rows[step.at]
        elif isinstance(step, Changed):
            del rows[step.old_at]
    for step in diff:
        if not isinstance(step, Removed):
            rows.insert(step.at, step.row)
    return rows


def test_only_what_is_committed_is_told(store: Store) -> None:
    with store.feed(every=64) as feed:
        all_docs = feed.watch(store.query(Doc))
        with store.transaction() as transaction:
            transaction.insert(Doc(1))
            transaction.insert(Doc(2))
            assert feed.next(timeout=0.05) is None
        with pytest.raises(Failed):
            with store.transaction() as transaction:
                transaction.clear(Doc)
                raise Failed
        with store.transaction() as transaction:
            with pytest.raises(Failed):
                with transaction.savepoint():
                    transaction.insert(Doc(3))
                    raise Failed
            transaction.insert(Doc(4))
        first, second = pending(store, feed)
        assert ids(only(first).rows) == [1, 2]
        assert ids(only(second).rows) == [1, 2, 4]
        assert first.version < second.version and only(first).id == all_docs.id


def test_what_changes_nothing_is_not_told(store: Store) -> None:
    store.insert(Doc(1, 5))
    with store.feed(every=64) as feed:
        feed.watch(store.query(Doc).filter(Doc.priority == 5))
        feed.watch_one(Doc, 2)
        feed.watch_count(store.query(Doc))
        store.put(Doc(1, 5))
        with store.transaction() as transaction:
            transaction.insert(Doc(2, 5))
            transaction.remove(Doc, 2)
        store.execute("update doc set priority = 5")
        store.insert(Other(1))
        assert pending(store, feed) == []


def test_a_transaction_is_one_batch_and_one_update_for_each(store: Store) -> None:
    with store.feed(every=64) as feed:
        low = feed.watch(store.query(Doc).filter(Doc.priority < 5))
        high = feed.watch(store.query(Doc).filter(Doc.priority >= 5))
        count = feed.watch_count(store.query(Doc))
        one = feed.watch_one(Doc, 3)
        others = feed.watch(store.query(Other))
        with store.transaction() as transaction:
            transaction.insert_all(Doc(at, at) for at in range(10))
            transaction.insert(Other(1))
            transaction.execute("update doc set title = 'raw' where id = 3")
            transaction.remove(Doc, 9)
        (batch,) = pending(store, feed)
        assert len(batch) == 5 and not batch.resync
        assert {update.id for update in batch} == {low.id, high.id, count.id, one.id, others.id}
        updates = [batch.of(subscription) for subscription in (low, high, one, others)]
        assert [None if update is None else ids(update.rows) for update in updates] == [
            [0, 1, 2, 3, 4],
            [5, 6, 7, 8],
            [3],
            [1],
        ]
        counted = batch.of(count)
        assert counted is not None and counted.count == 9 and counted.version == batch.version
        with pytest.raises(MismatchError):
            counted.rows
        store.insert(Doc(20, 1))
        (batch,) = pending(store, feed)
        assert batch.of(high) is None and batch.of(one) is None and len(batch) == 2


def test_an_update_says_what_is_other(store: Store) -> None:
    store.insert_all(Doc(at, at * 10, f"doc {at}") for at in range(4))
    with store.feed() as feed:
        feed.watch(store.query(Doc).order_by(Doc.priority))
        with store.transaction() as transaction:
            transaction.put(Doc(0, 25, "moved"))
            transaction.put(Doc(1, 10, "changed"))
            transaction.remove(Doc, 3)
        update = only(feed.next(SOON))
        steps = [Removed(0), Changed(1, 0, Doc(1, 10, "changed")), Inserted(2, Doc(0, 25, "moved")), Removed(3)]
        assert update.diff() == steps
        assert ids(update.before) == [0, 1, 2, 3] and ids(update.rows) == [1, 2, 0]
        assert patched(update.before, update) == list(update.rows)
        delta = update.delta
        assert sorted(ids(delta.removed)) == [0, 1, 3] and sorted(ids(delta.inserted)) == [0, 1]
        assert update.error is None and not update.resync and update.count == 3


def test_rows_are_a_sequence(store: Store) -> None:
    store.insert_all(Doc(at) for at in range(1000))
    with store.feed() as feed:
        rows = feed.watch(store.query(Doc)).rows
        docs = store.all(Doc)
        assert isinstance(rows, Sequence) and len(rows) == 1000 and rows.columns == ["id", "priority", "title"]
        assert rows[0] == docs[0] and rows[-1] == docs[-1] and rows.first() == docs[0]
        assert rows[990:] == docs[990:] and rows[::-3] == docs[::-3] and rows[5:2] == [] and rows[:10**9] == docs
        assert list(rows) == rows.all() == docs and list(reversed(rows)) == docs[::-1]
        assert Doc(7) in rows and Doc(7, 1) not in rows and rows.index(Doc(7)) == 7 and rows.count(Doc(7)) == 1
        for wrong in (1000, -1001):
            with pytest.raises(IndexError):
                rows[wrong]
        with pytest.raises(TypeError):
            rows["one"]  # type: ignore[call-overload]
        with pytest.raises(ValueError, match="no such row"):
            rows.index(Doc(7), 8)
        store.clear(Doc)
        assert len(only(feed.next(SOON)).rows) == 0 and only_first(store, feed) is None
        assert rows.all() == docs, "they stay as they are"


def only_first(store: Store, feed: Feed) -> Any:
    return feed.watch(store.query(Doc)).rows.first()


def test_subscribing_leaves_no_gap(store: Store) -> None:
    """Subscriptions begin while another thread writes: what they begin with and what comes then is everything, once."""
    done = threading.Event()

    def write() -> None:
        for at in range(400):
            store.insert(Doc(at))
        done.set()

    with store.feed(every=100_000, overflow="end") as feed:
        writer = threading.Thread(target=write)
        writer.start()
        held: dict[Any, list[int]] = {}
        subscriptions = []
        while not done.is_set():
            subscription = feed.watch(store.query(Doc).order_by(Doc.id.desc()))
            subscriptions.append(subscription)
            held[subscription.id] = ids(subscription.rows)
        writer.join()
        for batch in pending(store, feed):
            for update in batch:
                delta = update.delta
                if update.resync:
                    # What could not be followed one by one is read anew, and is told to be so.
                    held[update.id] = ids(update.rows)
                    continue
                assert len(delta.inserted) == 1 and not delta.removed
                held[update.id] = [delta.inserted[0].id, *held[update.id]]
                assert held[update.id] == ids(update.rows)
        assert all(rows == list(range(399, -1, -1)) for rows in held.values())


def test_one_record_is_watched_by_its_key(store: Store) -> None:
    with store.feed(every=64) as feed:
        one = feed.watch_one(Doc, 1)
        assert list(one.rows) == [] and one.count == 0 and one.explain().structure == "key"
        store.insert(Doc(1))
        store.put(Doc(1, 7))
        store.put(Doc(2, 7))
        store.remove(Doc, 1)
        assert [update.rows.all() for batch in pending(store, feed) for update in batch] == [[Doc(1)], [Doc(1, 7)], []]


def test_queries_begin_together(store: Store) -> None:
    store.insert_all(Doc(at, at % 3) for at in range(9))
    with store.feed() as feed:
        parts = feed.watch_all(store.query(Doc).filter(Doc.priority == part) for part in range(3))
        assert [ids(part.rows) for part in parts] == [[0, 3, 6], [1, 4, 7], [2, 5, 8]]
        assert len({part.rows.version for part in parts}) == 1
        assert feed.watch_all([]) == []
        assert parts[0].explain().sharing >= 1 and "SET" in str(parts[0].explain())
        with pytest.raises(InvalidError, match="one class"):
            feed.watch_all([store.query(Doc), store.query(Other)])  # type: ignore[arg-type]


def test_counts_are_told(store: Store) -> None:
    store.insert_all(Doc(at, at % 2) for at in range(10))
    with store.feed(every=64) as feed:
        odd = feed.watch_count(store.query(Doc).filter(Doc.priority == 1))
        assert odd.count == 5
        with pytest.raises(InvalidError, match="count"):
            odd.rows
        store.put(Doc(0, 1))
        store.put(Doc(0, 1, "the number is the same"))
        store.remove_where(Doc, Doc.priority == 1)
        assert [only(batch).count for batch in pending(store, feed)] == [6, 0]


def test_sql_is_watched(store: Store) -> None:
    store.insert_all(Doc(at, at % 2) for at in range(4))
    with store.feed(every=64) as feed:
        sums = feed.watch_sql(
            "select priority, count(*), sum(id), null, 0.5, 'a', x'00' from doc where id < ? group by 1", [100]
        )
        assert list(sums.rows) == [(0, 2, 2, None, 0.5, "a", b"\0"), (1, 2, 4, None, 0.5, "a", b"\0")]
        assert sums.rows.columns[0] == "priority" and sums.count == 2 and sums.explain().tables == ["doc"]
        store.put(Doc(7, 1))
        store.put(Doc(200, 1))
        (batch,) = pending(store, feed)
        update = only(batch)
        assert update.rows[1][:3] == (1, 3, 11) and update.before[1][:3] == (1, 2, 4) and update.count == 2
        assert update.diff() == [Removed(1), Inserted(1, update.rows[1])]
        assert update.delta.inserted == [update.rows[1]] and update.delta.removed[0][:3] == (1, 2, 4)
        for wrong, error in (("delete from doc", StoreError), ("select * from nothing", StoreError)):
            with pytest.raises(error):
                feed.watch_sql(wrong)
        with pytest.raises(TypeError, match="by place"):
            feed.watch_sql("select :a", {"a": 1})  # type: ignore[arg-type]


def test_what_cannot_be_watched_is_refused(store: Store, tmp_path: Path) -> None:
    with store.feed() as feed, Store.open(tmp_path / "other.db") as other:
        with pytest.raises(InvalidError, match="another store"):
            feed.watch(other.query(Doc))
        with pytest.raises(InvalidError, match="named collection"):
            feed.watch(store.collection(Doc, "attic").query())
        with store.snapshot() as snapshot, pytest.raises(InvalidError, match="query of the store"):
            feed.watch(snapshot.query(Doc))
        with pytest.raises(TypeError, match="a query is wanted"):
            feed.watch(Doc)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="no record"):
            feed.watch_one(int, 1)
        with pytest.raises(InvalidError, match="int is wanted"):
            feed.watch_one(Doc, "one")
        with pytest.raises(InvalidError, match="timeout"):
            feed.next(-1)
        with pytest.raises(TypeError, match="a function is wanted"):
            feed.listen(5)  # type: ignore[arg-type]
    for options in ({"every": 0}, {"every": 1, "overflow": "explode"}, {"overflow": "end"}):
        with pytest.raises(InvalidError):
            store.feed(**options)


def test_what_cannot_be_read_is_told_and_ends_nothing(store: Store) -> None:
    store.insert(Doc(1))
    with store.feed(every=64) as feed:
        feed.watch(store.query(Doc))
        store.execute("update doc set title = cast(x'ff' as text) where id = 1")
        (batch,) = pending(store, feed)
        update = only(batch)
        assert isinstance(update.error, StoreError)
        for ask in (lambda: update.rows, lambda: update.diff(), lambda: update.delta, lambda: update.count):
            with pytest.raises(type(update.error)):
                ask()
        store.execute("update doc set title = 'well' where id = 1")
        batch = pending(store, feed)[-1]
        assert only(batch).rows.all() == [Doc(1, 0, "well")]


def test_after_a_cancel_nothing_comes(store: Store) -> None:
    with store.feed(every=64) as feed:
        one, two = feed.watch(store.query(Doc)), feed.watch(store.query(Doc))
        store.insert(Doc(1))
        store.wait_delivered()
        one.cancel()
        one.cancel()
        (batch,) = pending(store, feed)
        assert batch.of(one) is None and batch.of(two) is not None
        with pytest.raises(InvalidError, match="was cancelled"):
            one.rows
        rows = two.take_rows()
        assert len(rows) == len(two.rows) == 0
        del one, two, rows, batch
        gc.collect()
        store.insert(Doc(2))
        (batch,) = pending(store, feed)
        assert ids(only(batch).rows) == [1, 2], "it lasts, though the program has forgotten it"
    store.insert(Doc(3))
    assert pending(store, feed) == [] and feed.is_ended


def test_the_latest_results_supersede_older_ones(store: Store) -> None:
    with store.feed() as feed:
        feed.watch(store.query(Doc))
        for at in range(5):
            store.insert(Doc(at))
        (batch,) = pending(store, feed)
        update = only(batch)
        assert ids(update.rows) == [0, 1, 2, 3, 4] and ids(update.before) == []
        assert patched([], update) == update.rows.all()


def test_what_is_too_much_becomes_one_batch(store: Store) -> None:
    with store.feed(every=2) as feed:
        feed.watch(store.query(Doc))
        for at in range(5):
            store.insert(Doc(at))
        (batch,) = pending(store, feed)
        assert batch.resync and ids(only(batch).rows) == [0, 1, 2, 3, 4] and ids(only(batch).before) == []
        store.insert(Doc(9))
        (batch,) = pending(store, feed)
        assert not batch.resync


def test_what_is_too_much_ends_a_feed(store: Store) -> None:
    with store.feed(every=2, overflow="end") as feed, store.feed() as other:
        subscriptions = [feed.watch(store.query(Doc)), other.watch(store.query(Doc))]
        for at in range(5):
            store.insert(Doc(at))
        store.wait_delivered()
        with pytest.raises(BusyError, match="more than it keeps"):
            for _ in feed:
                pass
        assert feed.next() is None and feed.is_ended and list(feed) == []
        assert ids(only(other.next(SOON)).rows) == [0, 1, 2, 3, 4] and len(subscriptions) == 2


def test_what_is_too_much_makes_writers_wait(path: Path) -> None:
    with Store.open(path, busy_timeout=0.2) as store:
        with store.feed(every=1, overflow="block") as feed:
            subscription = feed.watch(store.query(Doc))
            with pytest.raises(BusyError):
                for at in range(5):
                    store.insert(Doc(at))
                    store.wait_delivered()
            taken: list[int] = []

            def take() -> None:
                for batch in feed:
                    taken.append(only(batch).count)

            thread = threading.Thread(target=take)
            thread.start()
            for at in range(100, 150):
                store.put(Doc(at))
            store.wait_delivered()
            feed.close()
            thread.join(SOON)
            assert taken == list(range(1, store.count(Doc) + 1)) and subscription.count == 0


def test_threads_share_the_batches_of_a_feed(store: Store) -> None:
    feed, seen, lock = store.feed(every=10_000, overflow="end"), [], threading.Lock()
    subscription = feed.watch(store.query(Doc))

    def take() -> None:
        for batch in feed:
            with lock:
                seen.append(batch.version)

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for at in range(200):
        store.insert(Doc(at))
    store.wait_delivered()
    feed.close()
    for thread in threads:
        thread.join(SOON)
    assert len(seen) == len(set(seen)) == 200 and subscription.count == 0


def test_an_exception_in_a_loop_hurts_nobody(store: Store) -> None:
    with store.feed(every=64) as feed:
        subscription = feed.watch(store.query(Doc))
        store.insert(Doc(1))
        with pytest.raises(Failed):
            for _ in feed:
                raise Failed
        store.insert(Doc(2))
        assert ids(only(feed.next(SOON)).rows) == [1, 2] and subscription.count == 0
        with pytest.raises(Failed):
            with feed:
                raise Failed
        assert list(feed) == []
        assert store.check(Doc).is_whole


def test_a_wait_has_an_end(store: Store) -> None:
    with store.feed() as feed:
        subscription = feed.watch(store.query(Doc))
        begin = time.monotonic()
        assert feed.next(timeout=0.25) is None and time.monotonic() - begin >= 0.24 and not feed.is_ended
        threading.Timer(0.2, feed.close).start()
        assert feed.next() is None and feed.is_ended and subscription.count == 0
    feed = store.feed()
    threading.Timer(0.2, store.close).start()
    assert list(feed) == []
    with pytest.raises(StoreError):
        feed.watch_sql("select 1")
    with pytest.raises(InvalidError, match="closed"):
        store.feed()


@pytest.fixture
def interruptible() -> Iterator[None]:
    """What a shell starts in the background ignores the signal, and so do the tests there."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(sys.platform == "win32", reason="signals are other there")
def test_a_wait_is_interrupted(store: Store, interruptible: None) -> None:
    with store.feed() as feed:
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            feed.next(SOON)
        subscription = feed.watch(store.query(Doc))
        store.insert(Doc(1))
        assert only(feed.next(SOON)).id == subscription.id


def test_a_listener_is_called_back(store: Store) -> None:
    """The callback writes, subscribes and cancels: nobody waits for anybody."""
    counts: list[int] = []
    arrived = threading.Event()
    with store.feed(every=64) as feed:
        subscription = feed.watch_count(store.query(Doc))

        def called(batch: Batch) -> None:
            update = batch.of(subscription)
            assert update is not None
            counts.append(update.count)
            if update.count < 5:
                store.insert(Doc(update.count))
                more = feed.watch(store.query(Doc))
                assert more.count == update.count + 1
                more.cancel()
            else:
                listener.cancel()
                arrived.set()

        listener = feed.listen(called)
        store.insert(Doc(0))
        assert arrived.wait(SOON)
        listener.cancel()
        store.insert(Doc(99))
        assert counts == [1, 2, 3, 4, 5] and listener.error is None
        assert only(feed.next(SOON)).count == 6, "the feed goes on without it"


def test_a_listener_that_raises_is_called_no_more(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Any] = []
    arrived = threading.Event()

    def hook(what: Any) -> None:
        told.append(what.exc_type)
        arrived.set()

    monkeypatch.setattr(sys, "unraisablehook", hook)

    def called(batch: Batch) -> None:
        raise Failed

    with store.feed(every=64) as feed:
        subscription = feed.watch(store.query(Doc))
        listener = feed.listen(called)
        store.insert(Doc(1))
        assert arrived.wait(SOON)
        listener.cancel()
        store.insert(Doc(2))
        assert ids(only(feed.next(SOON)).rows) == [1, 2] and subscription.count == 0
        assert told == [Failed] and isinstance(listener.error, Failed)


def test_tasks_wait_for_batches(store: Store) -> None:
    async def main() -> None:
        feed, seen = store.feed(every=1024), []
        subscription = feed.watch(store.query(Doc))

        async def take(name: str) -> None:
            async for batch in feed:
                seen.append((name, only(batch).count))

        tasks = [asyncio.create_task(take(name)) for name in "ab"]
        for at in range(20):
            await asyncio.to_thread(store.insert, Doc(at))
            while len(seen) <= at:
                await asyncio.sleep(0.001)
        feed.close()
        await asyncio.wait_for(asyncio.gather(*tasks), SOON)
        assert [count for _, count in seen] == list(range(1, 21))
        assert await feed.anext() is None and feed.is_ended and subscription.count == 0

    asyncio.run(main())


def test_a_task_that_is_cancelled_takes_no_batch(store: Store) -> None:
    async def main() -> None:
        with store.feed(every=1024) as feed:
            subscription = feed.watch(store.query(Doc))
            waiting = asyncio.create_task(feed.anext())
            await asyncio.sleep(0.05)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            for _ in range(20):
                with pytest.raises(asyncio.TimeoutError):
                    await asyncio.wait_for(feed.anext(), 0.001)
            waiting = asyncio.create_task(feed.anext())
            await asyncio.sleep(0.05)
            # It is woken, and cancelled before it comes to it.
            store.insert(Doc(1))
            store.wait_delivered()
            waiting.cancel()
            try:
                batch = await waiting
            except asyncio.CancelledError:
                batch = await asyncio.wait_for(feed.anext(), SOON)
            assert ids(only(batch).rows) == [1] and subscription.count == 0

    asyncio.run(main())


def test_a_feed_is_closed_while_tasks_wait(store: Store) -> None:
    async def main() -> None:
        feed, other = store.feed(), store.feed(every=1, overflow="end")
        waiting = [asyncio.create_task(feed.anext()) for _ in range(3)]
        await asyncio.sleep(0.05)
        feed.close()
        assert await asyncio.wait_for(asyncio.gather(*waiting), SOON) == [None, None, None]
        subscription = other.watch(store.query(Doc))
        for at in range(3):
            store.insert(Doc(at))
        store.wait_delivered()
        with pytest.raises(BusyError):
            async for _ in other:
                pass
        assert await other.anext() is None and subscription.count == 0
        third = store.feed()
        task = asyncio.create_task(third.anext())
        await asyncio.sleep(0.05)
        await asyncio.to_thread(store.close)
        assert await asyncio.wait_for(task, SOON) is None

    asyncio.run(main())


def test_a_loop_that_is_gone_is_not_woken(store: Store) -> None:
    with store.feed() as feed:
        subscription = feed.watch(store.query(Doc))

        async def give_up() -> None:
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(feed.anext(), 0.01)

        asyncio.run(give_up())
        store.insert(Doc(1))
        assert ids(only(feed.next(SOON)).rows) == [1] and subscription.count == 0

        async def take() -> Optional[Batch]:
            threading.Timer(0.05, store.insert, (Doc(2),)).start()
            return await asyncio.wait_for(feed.anext(), SOON)

        assert ids(only(asyncio.run(take())).rows) == [1, 2]


CHILD = """
import sys
from touchstone_store import Column, Store, field, key, record

@record
class Doc:
    id: Column[int] = key()
    priority: Column[int] = field(index=True, default=0)
    title: Column[str] = field(default="")

with Store.open(sys.argv[1]) as store:
    for line in sys.stdin:
        store.put(Doc(int(line), 1, "child"))
"""


def test_another_process_is_followed(store: Store, path: Path) -> None:
    program = path.with_name("child.py")
    program.write_text(CHILD)
    store.insert(Doc(1))
    with store.feed() as feed:
        subscription = feed.watch(store.query(Doc).filter(Doc.priority == 1))
        with subprocess.Popen([sys.executable, str(program), str(path)], stdin=subprocess.PIPE, text=True) as child:
            assert child.stdin is not None
            for at in (7, 8, 9):
                child.stdin.write(f"{at}\n")
                child.stdin.flush()
                update = only(feed.next(SOON))
                assert update.rows[-1] == Doc(at, 1, "child") and update.id == subscription.id
            store.put(Doc(7, 2))
            assert ids(only(feed.next(SOON)).rows) == [8, 9]
            child.stdin.close()
            assert child.wait(SOON) == 0


BEGIN = """
import asyncio, sys, threading, time
from touchstone_store import Column, Store, key, record

@record
class Doc:
    id: Column[int] = key()

store = Store.open(sys.argv[1])
feed = store.feed(every=64)
subscription = feed.watch(store.query(Doc))
"""
ENDS = {
    "nobody waits": "",
    "a thread waits": "threading.Thread(target=feed.next, daemon=True).start(); time.sleep(0.2)",
    "a thread takes all the time": """
def take():
    for batch in feed:
        [update.rows.all() for update in batch]
def write():
    for at in range(10**9):
        store.put(Doc(at % 10))
        store.remove(Doc, at % 10)
threading.Thread(target=take, daemon=True).start()
threading.Thread(target=feed.next, daemon=True).start()
""",
    "a listener waits": "feed.listen(print); store.insert(Doc(1)); store.wait_delivered()",
    "a listener is called": """
called = threading.Event()
def slow(batch):
    called.set()
    while time.time() < begin + 0.5:
        pass
begin = time.time()
feed.listen(slow)
store.insert(Doc(1))
called.wait()
""",
    "a task waits": """
async def main():
    asyncio.create_task(feed.anext())
    await asyncio.sleep(0.1)
asyncio.run(main())
store.insert(Doc(1))
""",
    "a loop of another thread waits": """
threading.Thread(target=lambda: asyncio.run(feed.anext()), daemon=True).start()
time.sleep(0.2)
""",
    "a cycle holds it": "feed_of = [feed]; feed_of.append(feed_of); holder = feed.listen(lambda batch: feed_of)",
    "an exception ends the program": "sys.exit(3)",
}


@pytest.mark.parametrize("end", ENDS)
def test_a_program_ends_with_an_open_feed(end: str, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(BEGIN + ENDS[end])
    command = [sys.executable, "-X", "faulthandler", str(program), str(tmp_path / "end.db")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=4 * SOON)
    assert done.returncode == (3 if "exit" in ENDS[end] else 0), done.stderr
    assert done.stderr == ""


def test_what_is_let_go_of_waits_for_nobody(tmp_path: Path) -> None:
    """A store, its feed and a subscription go in any order while the store's threads are busy."""
    for at in range(20):
        store = Store.open(tmp_path / f"{at}.db")
        feed = store.feed()
        subscription = feed.watch(store.query(Doc))
        listener = feed.listen(lambda batch: [update.rows.all() for update in batch])
        store.insert_all(Doc(row) for row in range(100))
        parts: list[Any] = [store, feed, subscription, listener]
        del store, feed, subscription, listener
        for _ in range(4):
            parts.pop(at % len(parts))


# Random transactions: what a subscriber has is always what a query finds.

Step = Callable[[Transaction], object]
small = st.integers(0, 12)
titles = st.sampled_from(["", "a", "b", "ab"])
docs: st.SearchStrategy[Doc] = st.builds(Doc, small, st.integers(0, 4), titles)
steps: st.SearchStrategy[Step] = st.one_of(
    docs.map(lambda doc: lambda transaction: transaction.put(doc)),
    docs.map(lambda doc: lambda transaction: transaction.replace(doc)),
    small.map(lambda at: lambda transaction: transaction.remove(Doc, at)),
    small.map(lambda at: lambda transaction: transaction.remove_where(Doc, Doc.priority == at % 5)),
    st.tuples(small, titles).map(
        lambda given: lambda transaction: transaction.execute(
            "update doc set priority = (priority + 1) % 5, title = ? where id >= ?", [given[1], given[0]]
        )
    ),
    small.map(lambda at: lambda transaction: transaction.execute("delete from doc where id = ?", [at])),
    st.just(lambda transaction: transaction.clear(Doc)),
)
transactions = st.lists(st.tuples(st.lists(steps, max_size=4), st.booleans()), max_size=12)


def queries(store: Store) -> list[Any]:
    query = store.query(Doc)
    return [
        query,
        query.order_by(Doc.priority.desc(), Doc.title),
        query.filter(Doc.priority.between(1, 3)).order_by(Doc.priority).offset(1).limit(3),
        query.filter((Doc.title == "a") | (Doc.id < 4)).order_by(Doc.title.desc(), Doc.id.desc()).limit(2),
        query.filter(Doc.title.starts_with("a"), Doc.priority != 2).order_by(Doc.title).offset(2),
        query.filter(Doc.priority > 1).order_by(Doc.id.desc()).offset(1),
        query.filter(Doc.id == 3),
        query.limit(0),
    ]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(first=st.lists(docs, max_size=8), changes=transactions, lazy=st.lists(st.booleans(), min_size=12, max_size=12))
def test_windows_are_what_a_query_finds(
    tmp_path_factory: pytest.TempPathFactory, first: list[Doc], changes: Any, lazy: list[bool]
) -> None:
    with Store.open(tmp_path_factory.mktemp("feed") / "feed.db") as store:
        store.put_all(first)
        store.put(Doc(1))
        with store.feed(every=1024, overflow="end") as feed, store.feed() as latest:
            asked = queries(store)
            held: list[tuple[Any, Subscription[Doc], list[Doc]]] = []
            for query, subscription in zip(asked, feed.watch_all(asked)):
                held.append((query, subscription, list(subscription.rows)))
            counts = [(query, feed.watch_count(query)) for query in asked]
            counted = [subscription.count for _, subscription in counts]
            late = [(query, latest.watch(query)) for query in asked]
            shown = [list(subscription.rows) for _, subscription in late]
            for (work, commits), skips in zip(changes, lazy):
                run(store, work, commits)
                batches = pending(store, feed)
                assert len(batches) <= 1
                found = [query.all() for query in asked]
                for at, (query, subscription, before) in enumerate(held):
                    update = batches[0].of(subscription) if batches else None
                    assert (update is None) == (found[at] == before)
                    if update is not None:
                        assert update.before.all() == before and update.rows.all() == found[at]
                        assert patched(before, update) == found[at] and update.count == len(found[at])
                        check_delta(before, found[at], update)
                        held[at] = (query, subscription, found[at])
                for at, (_, number) in enumerate(counts):
                    update = batches[0].of(number) if batches else None
                    assert (update is None) == (counted[at] == len(found[at]))
                    counted[at] = update.count if update is not None else counted[at]
                assert counted == [len(rows) for rows in found]
                if skips:
                    continue
                for batch in pending(store, latest):
                    for at, (_, subscription) in enumerate(late):
                        update = batch.of(subscription)
                        if update is not None:
                            assert update.before.all() == shown[at]
                            shown[at] = patched(shown[at], update)
                            assert shown[at] == update.rows.all()
                assert shown == found


def run(store: Store, work: list[Step], commits: bool) -> None:
    try:
        with store.transaction() as transaction:
            for step in work:
                step(transaction)
            if not commits:
                raise Failed
    except Failed:
        pass


def check_delta(before: list[Doc], after: list[Doc], update: Update[Doc]) -> None:
    rows = Counter(map(repr, before))
    delta = update.delta
    rows.subtract(map(repr, delta.removed))
    rows.update(map(repr, delta.inserted))
    assert +rows == Counter(map(repr, after))
