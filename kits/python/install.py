"""Builds what a driver needs, each in an environment of its own below `target/`: the store's package, or packages to the version.

    python3 install.py check       that Python is new enough, and nothing more
    python3 install.py store       the store's package, which is compiled, in `target/venv`
    python3 install.py services    the packages of `requirements/services.txt`, in `target/services`
    python3 install.py snippets    those of `requirements/snippets.txt`, which only tests need
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).parent.resolve()
PACKAGE = HERE.parent.parent / "python"
#: The oldest Python that each can be built with.
OLDEST = {"check": (3, 9), "store": (3, 9), "services": (3, 11), "snippets": (3, 11)}


def main(what: str) -> int:
    if sys.version_info < OLDEST[what]:
        oldest, this = ".".join(map(str, OLDEST[what])), sys.version.split()[0]
        print(f"Python {oldest} or later is needed, and this one is {this}: install it as python3", file=sys.stderr)
        return 1
    if what == "check":
        return 0
    return store() if what == "store" else packages(what)


def store() -> int:
    environment = HERE / "target" / "venv"
    if not (environment / "bin" / "pip").exists():
        venv.create(environment, with_pip=True)
    # The engine is compiled once, wherever the package was built first.
    target = os.environ.get("CARGO_TARGET_DIR", str(HERE.parent.parent / "target" / "python"))
    command = install(environment, "--force-reinstall", str(PACKAGE))
    return subprocess.run(command, env={**os.environ, "CARGO_TARGET_DIR": target}).returncode


def packages(name: str) -> int:
    """Installs the packages that a file lists, unless that was done before."""
    listed, environment = HERE / "requirements" / f"{name}.txt", HERE / "target" / name
    # Written last, so that an environment is either whole or made again.
    installed = environment / "installed.txt"
    wanted = f"# Python {sys.version}\n{listed.read_text()}"
    if installed.exists() and installed.read_text() == wanted:
        return 0
    try:
        venv.create(environment, clear=True, with_pip=True)
        # The file lists what its packages need too, so pip has nothing to look for on its own.
        subprocess.run(install(environment, "--no-deps", "--requirement", str(listed)), check=True)
    except subprocess.CalledProcessError as error:
        print(
            f"the packages of {listed.relative_to(HERE)} could not be installed (`{error.cmd[0]}` tells why): see that python3-venv"
            " is installed and that pip reaches its package index, then build again",
            file=sys.stderr,
        )
        return 1
    installed.write_text(wanted)
    return 0


def install(environment: Path, *what: str) -> list[str]:
    """The command that installs this with an environment's own pip."""
    return [str(environment / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check", *what]


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in OLDEST:
        sys.exit(f"usage: python3 install.py {'|'.join(OLDEST)}")
    sys.exit(main(sys.argv[1]))
