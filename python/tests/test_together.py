"""Two languages, one file, and both are told: the example `together` in Rust and the one in Python talk through a store."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PYTHON = [sys.executable, str(ROOT / "examples" / "together.py")]


def rust() -> list[str]:
    if shutil.which("cargo") is None:
        pytest.skip("cargo is missing, which builds the other side")
    target = os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target"))
    command = ["cargo", "run", "--quiet", "--release", "--locked", "--target-dir", target, "--example", "together"]
    # It is built now, so that the conversation does not wait for that.
    built = subprocess.run([*command, "--"], cwd=ROOT, capture_output=True, text=True)
    assert built.returncode == 64, built.stderr
    return [*command, "--"]


class Talk:
    """A process that keeps the to-do list."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def say(self, line: str) -> float:
        """When it was said."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        return time.perf_counter()

    def hear(self, *tasks: str) -> float:
        """Reads until the list is that; when it was."""
        assert self.process.stdout is not None
        expected = [f"to do: {len(tasks)}", *(f"  {task}" for task in tasks)]
        heard: list[str] = []
        while heard[-len(expected) :] != expected:
            line = self.process.stdout.readline()
            assert line, f"it ended, and said {heard}"
            heard.append(line.rstrip())
        return time.perf_counter()


@contextmanager
def talk(command: list[str], path: Path) -> Iterator[Talk]:
    process = subprocess.Popen([*command, str(path)], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    # A process that hangs ends the test all the same.
    limit = threading.Timer(60, process.kill)
    limit.start()
    with process:
        try:
            yield Talk(process)
        finally:
            limit.cancel()
            process.kill()


@pytest.mark.parametrize("other", ["python", "rust"])
def test_two_processes_change_and_watch_one_list(other: str, tmp_path: Path) -> None:
    path = tmp_path / "tasks.db"
    with talk(PYTHON, path) as here, talk(PYTHON if other == "python" else rust(), path) as there:
        for process in (here, there):
            process.hear()
        here.say("add write the guide")
        there.hear("1 write the guide")
        there.say("add read it")
        for process in (here, there):
            process.hear("1 write the guide", "2 read it")
        there.say("done 1")
        here.hear("2 read it")
        here.say("drop 2")
        there.hear()
        here.hear()
        here.say("drop 1")

        for says, hears, way in ((here, there, f"from python to {other}"), (there, here, f"from {other} to python")):
            times = []
            for _ in range(30):
                begin = says.say("add a task")
                times.append(hears.hear("1 a task") - begin)
                says.hear("1 a task")
                says.say("drop 1")
                for process in (here, there):
                    process.hear()
            print(f"{way}: {statistics.median(times) * 1e3:.2f} ms in the median, {max(times) * 1e3:.2f} ms at most")
        for process in (here, there):
            process.say("quit")
            assert process.process.wait(30) == 0
