"""The protocol's lines: one request, one reply, until standard input ends or the lab says `quit`. What a request does is its
kit's; which fields it may have, and who answers `hello`, is said here for every kit."""

from __future__ import annotations

import json
import os
import sys
from typing import Any, BinaryIO

from .clock import measure
from .driver import About, Failure

PROTOCOL = 1
LINE_BYTES_MAX = 1 << 20

REQUIRED: Any = object()
_TABLE = {"table": (int, 1)}
#: What each request may have: its type, and what it is when it is left out.
_FIELDS: dict[str, dict[str, tuple[Any, Any]]] = {
    "hello": {"protocol": (int, REQUIRED)},
    "prepare": {
        "record": (str, REQUIRED),
        "dataset": (str, REQUIRED),
        "operations": ((str, type(None)), None),
        "states": ((str, type(None)), None),
        "subscriptions": ((str, type(None)), None),
    },
    "open": {
        "directory": (str, REQUIRED),
        "record": (str, REQUIRED),
        "schema": (dict, REQUIRED),
        "settings": (dict, REQUIRED),
    },
    "fill": {"from": (int, REQUIRED), "count": (int, REQUIRED), **_TABLE},
    "churn": {"from": (int, REQUIRED), "count": (int, REQUIRED), "times": (int, REQUIRED), **_TABLE},
    "watch": {"count": (int, REQUIRED)},
    "run": {"lanes": (list, REQUIRED), "latency": ((str, type(None)), None)},
    "explain": {"lanes": (list, REQUIRED)},
    "check": _TABLE,
    "serve": {"directory": (str, REQUIRED), "port": (int, REQUIRED), "settings": (dict, REQUIRED)},
    "close": {},
    "quit": {},
}


def checked(given: Any, fields: dict[str, tuple[Any, Any]], what: str) -> dict[str, Any]:
    """The values of these fields, all of them. Raises Failure where one is missing, of another type, or one too many."""
    if not isinstance(given, dict):
        raise Failure("protocol", f"{what} is no object")
    unknown = set(given) - set(fields)
    if unknown:
        raise Failure("protocol", f"{what} has no field `{sorted(unknown)[0]}`")
    values = {}
    for name, (kind, default) in fields.items():
        value = given.get(name, default)
        if value is REQUIRED:
            raise Failure("protocol", f"{what} lacks its field `{name}`")
        is_wrong = not isinstance(value, kind) or (kind is int and (isinstance(value, bool) or value < 0))
        if name in given and is_wrong:
            raise Failure("protocol", f"{what} has `{value}` for `{name}`")
        values[name] = value
    return values


class Conversation:
    """Answers the lab. A kit is a class below it, with a method for each request that it knows: `_fill` answers `fill`, and
    takes its fields as `from_` and `count_`."""

    def __init__(self, about: About) -> None:
        self.about = about

    def capabilities(self) -> list[str]:
        """What can be asked of the driver."""
        raise NotImplementedError

    def kind_of(self, error: Exception) -> str:
        """The protocol's kind of an exception that a request ended with."""
        raise NotImplementedError

    def close(self) -> None:
        """Ends what is open."""
        raise NotImplementedError

    def main(self) -> None:
        """Answers until the lab is gone."""
        with _replies() as answered:
            self.listen(sys.stdin.buffer, answered)

    def listen(self, said: BinaryIO, answered: BinaryIO) -> None:
        """Answers each line."""
        while True:
            line = said.readline(LINE_BYTES_MAX)
            if not line.endswith(b"\n"):
                if len(line) < LINE_BYTES_MAX:
                    return self.close()
                while line and not line.endswith(b"\n"):
                    line = said.readline(LINE_BYTES_MAX)
                reply = {"reply": "error", "kind": "protocol", "message": "the line is longer than 1 MiB"}
            else:
                reply = self.reply(line)
            answered.write(json.dumps(reply).encode() + b"\n")
            answered.flush()
            if reply["reply"] == "quit":
                return None

    def reply(self, line: bytes) -> dict[str, Any]:
        """The reply to a line: what was asked for, or an error."""
        try:
            try:
                request = json.loads(line)
                name = request.pop("request")
                fields = checked(request, _FIELDS[name], f"`{name}`")
            except (ValueError, KeyError, AttributeError, TypeError) as error:
                raise Failure("protocol", f"not a request: {error!r}") from error
            answer = getattr(self, f"_{name}", None)
            if answer is None:
                raise Failure("unsupported", f"{self.about.subject} knows no `{name}`: it has {', '.join(self.capabilities())}")
            return {"reply": name, **answer(**{f"{key}_": value for key, value in fields.items()})}
        except Failure as failure:
            return {"reply": "error", "kind": failure.kind, "message": str(failure)}
        except Exception as error:  # whatever a subject raises is a result
            return {"reply": "error", "kind": self.kind_of(error), "message": f"{error!r}"}

    def _hello(self, protocol_: int) -> dict[str, Any]:
        if protocol_ != PROTOCOL:
            raise Failure("protocol", f"the lab speaks protocol {protocol_}, this kit speaks {PROTOCOL}")
        version = ".".join(str(part) for part in sys.version_info[:3])
        return {
            "protocol": PROTOCOL,
            "kit": f"python {version}",
            **self.about._asdict(),
            "compile_options": list(self.about.compile_options),
            "capabilities": self.capabilities(),
            "clock": measure(),
        }

    def _quit(self) -> dict[str, Any]:
        self.close()
        return {}


def _replies() -> BinaryIO:
    """Where replies go: what was standard output. A library that prints, in Python or below it, prints to standard error."""
    answered = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return answered
