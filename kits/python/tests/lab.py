"""The lab's part: the subjects of `kit.toml`, each built and started by the commands of its row, and the lines said to one."""

from __future__ import annotations

import fcntl
import functools
import json
import os
import subprocess
from pathlib import Path
from typing import IO, Any, Optional

try:
    import tomllib
except ImportError:  # before Python 3.11; pytest brings the package that became the library
    import tomli as tomllib  # type: ignore[no-redef]

KIT = Path(__file__).parent.parent
CONVERSATIONS = KIT.parent.parent / "protocol" / "conversations"
SUBJECTS: dict[str, dict[str, Any]] = {
    subject["name"]: subject for subject in tomllib.loads((KIT / "kit.toml").read_text())["subject"]
}


@functools.lru_cache(maxsize=None)
def build(command: tuple[str, ...]) -> None:
    """Builds what a row asks for, once for all tests of this process. Other processes wait meanwhile, the lab too: it takes this lock."""
    kits = os.open(KIT.parent, os.O_RDONLY)
    try:
        fcntl.flock(kits, fcntl.LOCK_EX)
        subprocess.run(command, cwd=KIT, check=True)
    finally:
        os.close(kits)


@functools.lru_cache(maxsize=None)
def capabilities(subject: str) -> frozenset[str]:
    """What a subject says that it can do."""
    session = Session(subject)
    told = session.ask("hello", protocol=1)
    assert session.end() == (0, b"")
    return frozenset(told["capabilities"])


class Session:
    """A subject that was started, and the lab's part of speaking with it."""

    def __init__(self, subject: str, environment: Optional[dict[str, str]] = None, stderr: Optional[IO[bytes]] = None) -> None:
        row = SUBJECTS[subject]
        build(tuple(row["build"]))
        self.process = subprocess.Popen(
            row["run"], cwd=KIT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, env=environment
        )

    def say(self, text: str) -> bytes:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(text.encode() + b"\n")
        self.process.stdin.flush()
        return self.process.stdout.readline()

    def ask(self, request: str, **fields: Any) -> dict[str, Any]:
        """The reply to a request, whatever it is."""
        reply: dict[str, Any] = json.loads(self.say(json.dumps({"request": request, **fields})))
        return reply

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

    def kill(self) -> None:
        """Ends it without a chance to do anything more."""
        assert self.process.stdin and self.process.stdout
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
