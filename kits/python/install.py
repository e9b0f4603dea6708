"""Builds what a driver needs: the store's package, in an environment of its own below `target/`."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).parent.resolve()
PACKAGE = HERE.parent.parent / "python"


def main(what: str) -> int:
    if sys.version_info < (3, 9):
        print("Python 3.9 or later is needed: apt-get install python3", file=sys.stderr)
        return 1
    if what == "check":
        return 0
    environment = HERE / "target" / "venv"
    if not (environment / "bin" / "pip").exists():
        venv.create(environment, with_pip=True)
    # The engine is compiled once, wherever the package was built first.
    target = os.environ.get("CARGO_TARGET_DIR", str(HERE.parent.parent / "target" / "python"))
    pip = [environment / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", "--force-reinstall"]
    done = subprocess.run([*pip, PACKAGE], env={**os.environ, "CARGO_TARGET_DIR": target})
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
