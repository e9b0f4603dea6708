"""Forks: a child does not touch what its parent opened, and opens its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

#: The child did not come back from a subscription, and was shown a panic when it let go of the store.
PROGRAM = """
import gc, os, sys
from touchstone_store import Column, InvalidError, Store, key, record

@record
class Doc:
    id: Column[int] = key()

path = sys.argv[1]
store = Store.open(path)
store.insert(Doc(1))
feed = store.feed(every=9)
watched = feed.watch(store.query(Doc))
listener = store.feed().listen(print)
snapshot = store.snapshot()
begun = store.transaction().__enter__()
begun.insert(Doc(2))

child = os.fork()
if child == 0:
    uses = [
        lambda: store.get(Doc, 1),
        lambda: store.insert(Doc(3)),
        lambda: store.sql("select 1"),
        lambda: store.transaction().__enter__(),
        lambda: store.feed(),
        lambda: feed.watch(store.query(Doc)),
        lambda: feed.next(),
        lambda: feed.listen(print),
        lambda: watched.rows,
        lambda: snapshot.count(Doc),
        lambda: begun.insert(Doc(4)),
        lambda: begun.__exit__(None, None, None),
    ]
    for use in uses:
        try:
            use()
        except InvalidError as error:
            assert "after the fork" in str(error)
        else:
            raise AssertionError("it was used")
    begun.__exit__(ValueError, ValueError(), None)
    for end in (watched.cancel, listener.cancel, feed.close, snapshot.close, store.close):
        end()
    del uses, use, end, begun, snapshot, listener, watched, feed, store
    gc.collect()
    with Store.open(path) as own, own.feed() as feed:
        assert own.all(Doc) == [Doc(1)]
        assert feed.watch_count(own.query(Doc)).count == 1
    print("the child is done", flush=True)
    sys.exit(3)

_, status = os.waitpid(child, 0)
assert os.WEXITSTATUS(status) == 3, status
begun.__exit__(None, None, None)
assert feed.next(30).of(watched).count == 2
assert snapshot.count(Doc) == 1 and store.check(Doc).is_whole
store.close()
print("the parent is done")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_child_leaves_its_parents_store_alone(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    command = [sys.executable, str(program), str(tmp_path / "docs.db")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.stdout == "the child is done\nthe parent is done\n", done.stderr
    assert "panic" not in done.stderr
