"""What the pages show is run, and what the examples show is run and type-checked."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
import types
import typing
from pathlib import Path

import pytest

import touchstone_store
from touchstone_store import Collection, Column, Query, Results, Store, Subscription, Update

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT.parent / "docs" / "guide-python.md"]


def snippets() -> list[tuple[str, str]]:
    found = []
    for page in PAGES:
        blocks = re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE)
        found += [(f"{page.name}-{at}", block) for at, block in enumerate(blocks, 1)]
    return found


@pytest.mark.parametrize(("name", "snippet"), snippets(), ids=[name for name, _ in snippets()])
def test_a_snippet_runs(name: str, snippet: str, tmp_path: Path) -> None:
    module = types.ModuleType("snippet")
    vars(module).update(path=tmp_path / "page.db", directory=tmp_path)
    sys.modules["snippet"] = module
    exec(compile(snippet, name, "exec", dont_inherit=True), vars(module))


def run(*arguments: str | Path) -> str:
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_examples_run(tmp_path: Path) -> None:
    tasks, file = ROOT / "examples" / "tasks.py", tmp_path / "tasks.db"
    run(tasks, file, "add", "1", "write", "20")
    run(tasks, file, "add", "2", "read", "10")
    assert run(tasks, file, "due", "30") == "read\nwrite\n"
    run(tasks, file, "done", "2")
    assert run(tasks, file, "due", "30") == "write\n"
    assert run(ROOT / "examples" / "bank.py", tmp_path / "bank.db").startswith("1000 in ")


def test_the_examples_and_the_package_have_types() -> None:
    pytest.importorskip("mypy")
    run("-m", "mypy", "--strict", f"--cache-dir={os.devnull}", "examples", "touchstone_store")


def test_a_method_says_what_it_takes() -> None:
    for name, kind in vars(touchstone_store).items():
        if isinstance(kind, type) and kind.__module__.startswith("touchstone_store"):
            for method in vars(kind):
                if callable(getattr(kind, method)) and not method.startswith("__"):
                    assert inspect.signature(getattr(kind, method)), f"{name}.{method}"
    assert list(inspect.signature(Store.get).parameters) == ["self", "type", "key"]
    assert "busy_timeout" in inspect.signature(Store.open).parameters


def test_an_annotation_says_of_what() -> None:
    """Where annotations are looked at when the program runs."""
    for kind in (Collection, Column, Query, Results, Subscription, Update):
        assert typing.get_args(kind[int]) == (int,)  # type: ignore[index]


def test_a_wrong_program_is_found_by_its_types(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        "from touchstone_store import Column, Store, field, key, record\n"
        "@record\n"
        "class Task:\n"
        "    id: Column[int] = key()\n"
        "    title: Column[str] = field()\n"
        "def ask(store: Store) -> None:\n"
        "    store.query(Task).filter(Task.title < 3)\n"
        "    Task('one', 'write')\n"
        "    Task(1, 'write').title + 1\n"
        "    Task.titel\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", f"--cache-dir={os.devnull}", str(wrong)], capture_output=True, text=True, cwd=ROOT
    )
    lines = {int(line) for line in re.findall(r"wrong\.py:(\d+): error", done.stdout)}
    assert lines == {7, 8, 9, 10}, done.stdout
