"""A to-do list that several processes change and watch at the same time, each of them in its own language: start it twice
with the same file, or once beside the example `together` of the store in Rust.

    python examples/together.py tasks.db

It reads commands, a line each: `add TITLE`, `done NUMBER`, `drop NUMBER`, `quit`. Whenever the open tasks are other than
before, whoever changed them, they are printed.
"""

from __future__ import annotations

import sys

from touchstone_store import Batch, Column, Results, Store, StoreError, Transaction, field, key, record


@record
class Task:
    id: Column[int] = key()
    title: Column[str] = field()
    done: Column[bool] = field()


def show(tasks: Results[Task]) -> None:
    """Prints the tasks at once: whoever reads along may be a program."""
    lines = [f"to do: {len(tasks)}", *(f"  {task.id} {task.title}" for task in tasks)]
    print("\n".join(lines), flush=True)


def add(transaction: Transaction, title: str) -> None:
    last = transaction.query(Task).order_by(Task.id.desc()).first()
    transaction.insert(Task(last.id + 1 if last else 1, title, False))


def finish(task: Task) -> None:
    task.done = True


def obey(store: Store, command: str, rest: str) -> None:
    if command == "add" and rest:
        store.write(add, rest)
    elif command in ("done", "drop"):
        number = int(rest)
        there = store.update(Task, number, finish) if command == "done" else store.remove(Task, number)
        if not there:
            raise ValueError(f"there is no task {number}")
    else:
        raise ValueError("say `add TITLE`, `done NUMBER`, `drop NUMBER` or `quit`")


def main(path: str) -> None:
    with Store.open(path) as store, store.feed() as feed:
        todo = feed.watch(store.query(Task).filter(Task.done == False).order_by(Task.id))  # noqa: E712
        show(todo.take_rows())

        def changed(batch: Batch) -> None:
            update = batch.of(todo)
            if update is None:
                return
            if update.error is not None:
                print(f"what was printed may be old: {update.error}", file=sys.stderr)
            else:
                show(update.rows)

        # Its thread prints while this one waits for what is typed.
        feed.listen(changed)
        for line in sys.stdin:
            command, _, rest = line.strip().partition(" ")
            if command == "quit":
                break
            try:
                if command:
                    obey(store, command, rest)
            except (StoreError, ValueError) as error:
                print(error, file=sys.stderr)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("which file? Say: together.py tasks.db")
    main(sys.argv[1])
