"""Plays the golden conversations against every driver: `protocol/conversations/README.md` says how they are written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from lab import CONVERSATIONS as HERE
from lab import SUBJECTS, Session, capabilities

CONVERSATIONS = sorted(HERE.glob("*.jsonl"))


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
@pytest.mark.parametrize("subject", SUBJECTS)
def test_a_driver_speaks_the_golden_conversations(subject: str, conversation: Path, tmp_path: Path) -> None:
    head, *lines = [json.loads(line) for line in conversation.read_text().splitlines()]
    missing = sorted(set(head["needs"]) - capabilities(subject))
    if missing:
        # What a driver cannot do the lab does not ask of it.
        pytest.skip(f"{subject} has no {', '.join(missing)}")
    session, answer = Session(subject), b""
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
    services = [name for name in SUBJECTS if "change.serve" in capabilities(name)]
    assert len(CONVERSATIONS) >= 10 and len(SUBJECTS) == 13 and len(services) == 11
