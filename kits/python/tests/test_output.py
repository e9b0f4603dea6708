"""A driver that prints is spared: standard output is the protocol's, and what a library prints goes to standard error."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from lab import CONVERSATIONS, KIT

PRINTS = f"""
import os, subprocess, sys
sys.path.insert(0, {str(KIT)!r})
from kit import About, Driver, Kit, Model

class Printing(Driver):
    models = {{"row": Model(tuple, tuple, ("get",))}}

    def __init__(self, asked):
        print("printed by Python", flush=True)
        os.write(1, b"printed below Python\\n")
        subprocess.run(["echo", "printed by a child"], check=True)

    def get(self, key):
        print("printed while the clock runs")
        return (key, b"")

Kit(About("printing", "1", "none"), Printing).main()
"""


def test_what_a_driver_prints_is_no_reply(tmp_path: Path) -> None:
    schema = {"create": True, "tables": 1, "indexes": []}
    requests = [
        {"request": "hello", "protocol": 1},
        {"request": "prepare", "record": "row", "dataset": str(CONVERSATIONS / "rows.tsdata"), "operations": None},
        {"request": "open", "directory": str(tmp_path), "record": "row", "schema": schema, "settings": {}},
        {"request": "run", "lanes": [{"verb": "get", "from": 0, "count": 2}]},
        {"request": "quit"},
    ]
    said = "".join(json.dumps(request) + "\n" for request in requests)
    done = subprocess.run([sys.executable, "-c", PRINTS], input=said, capture_output=True, text=True)
    replies = [json.loads(line)["reply"] for line in done.stdout.splitlines()]
    assert (done.returncode, replies) == (0, ["hello", "prepare", "open", "run", "quit"]), done.stdout
    for printed in ("by Python", "below Python", "by a child", "while the clock runs"):
        assert f"printed {printed}" in done.stderr
