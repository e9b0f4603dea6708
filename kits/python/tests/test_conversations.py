"""Plays the golden conversations against every driver: `protocol/conversations/README.md` says how they are written."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

KIT = Path(__file__).parent.parent
HERE = KIT.parent.parent / "protocol" / "conversations"
DRIVERS = sorted((KIT / "drivers").glob("*.py"))
CONVERSATIONS = sorted(HERE.glob("*.jsonl"))


class Session:
    """A driver that was started, and the lab's part of speaking with it."""

    def __init__(self, driver: Path) -> None:
        self.process = subprocess.Popen([sys.executable, driver], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def say(self, text: str) -> bytes:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(text.encode() + b"\n")
        self.process.stdin.flush()
        return self.process.stdout.readline()

    def hang_up(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()

    def end(self) -> tuple[int, bytes]:
        assert self.process.stdin and self.process.stdout
        if not self.process.stdin.closed:
            self.process.stdin.close()
        rest = self.process.stdout.read()
        self.process.stdout.close()
        return self.process.wait(), rest


def matches(expected: Any, value: Any) -> bool:
    kinds = {"<number>": (int, float), "<text>": str, "<list>": list, "<object>": dict}
    if isinstance(expected, str) and expected in kinds:
        return isinstance(value, kinds[expected]) and not isinstance(value, bool)
    if isinstance(expected, dict) and isinstance(value, dict):
        missing = [name for name in expected if name not in value]
        return (
            all(name in expected and matches(expected[name], told) for name, told in value.items())
            and all(expected[name] == {} for name in missing)
        )
    if isinstance(expected, list) and isinstance(value, list):
        return len(expected) == len(value) and all(map(matches, expected, value))
    return bool(expected == value)


@pytest.mark.parametrize("conversation", CONVERSATIONS, ids=lambda path: path.stem)
@pytest.mark.parametrize("driver", DRIVERS, ids=lambda path: path.stem)
def test_a_driver_speaks_the_golden_conversations(driver: Path, conversation: Path, tmp_path: Path) -> None:
    head, *lines = [json.loads(line) for line in conversation.read_text().splitlines()]
    session = Session(driver)
    told = json.loads(session.say('{"request": "hello", "protocol": 1}'))
    assert session.end() == (0, b"")
    missing = sorted(set(head["needs"]) - set(told["capabilities"]))
    if missing:
        # What a driver cannot do the lab does not ask of it.
        pytest.skip(f"{driver.stem} has no {', '.join(missing)}")
    session, answer = Session(driver), b""
    for number, line in enumerate(lines, 2):
        if "lab" in line and line["lab"] is None:
            session.hang_up()
        elif "lab" in line:
            text = line["lab"] if isinstance(line["lab"], str) else json.dumps(line["lab"])
            answer = session.say(text.replace("<here>", str(HERE)).replace("<directory>", str(tmp_path)))
        elif line["kit"] is None:
            assert session.end() == (0, b""), number
        else:
            assert matches(line["kit"], json.loads(answer)), f"{number}: expected {line['kit']}, not {answer!r}"


def test_there_are_conversations_and_drivers() -> None:
    assert len(CONVERSATIONS) >= 10 and len(DRIVERS) == 2
