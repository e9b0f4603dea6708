"""A list of tasks in a file, with types that `mypy --strict` checks.

    python examples/tasks.py tasks.db add 1 "write the report" 20
    python examples/tasks.py tasks.db due 30
    python examples/tasks.py tasks.db done 1
"""

from __future__ import annotations

import sys
from typing import Optional

from touchstone_store import Column, ConflictError, Store, field, key, record


@record
class Task:
    id: Column[int] = key()
    title: Column[str] = field()
    due: Column[Optional[int]] = field(index=True, default=None)
    done: Column[bool] = field(default=False)


def add(store: Store, number: int, title: str, due: Optional[int]) -> bool:
    try:
        store.insert(Task(number, title, due))
    except ConflictError:
        return False
    return True


def due_before(store: Store, day: int) -> list[str]:
    query = store.query(Task).filter((Task.due < day) & (Task.done == False))  # noqa: E712
    return [task.title for task in query.order_by(Task.due, Task.id.desc())]


def finish(store: Store, number: int) -> bool:
    def change(task: Task) -> None:
        task.done = True

    return store.update(Task, number, change)


def main(path: str, verb: str, *words: str) -> int:
    with Store.open(path) as store:
        if verb == "add":
            due = int(words[2]) if len(words) > 2 else None
            return 0 if add(store, int(words[0]), words[1], due) else 1
        if verb == "due":
            print("\n".join(due_before(store, int(words[0]))))
            return 0
        return 0 if finish(store, int(words[0])) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
