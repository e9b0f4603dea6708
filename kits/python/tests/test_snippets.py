"""The three snippets that the published page gives its readers, executed as they are printed, and what took effect read back.

So it is a test, and no reading of manuals, which says that `cache_size=2000` is 8 MB and `cache_size=-2000` is 2 MB.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import pytest
from lab import KIT, build

NAMES = (
    "foreign_keys",
    "journal_mode",
    "synchronous",
    "busy_timeout",
    "temp_store",
    "cache_size",
    "page_size",
    "mmap_size",
)

SQLALCHEMY = """
engine = create_engine(URL, echo=False, connect_args={"timeout": 5})

@event.listens_for(engine, "connect")
def set_sqlite_pragma(dbapi_connection, connection_record):
    cursor = dbapi_connection.cursor()
    # cursor.execute("PRAGMA foreign_keys=ON")
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=NORMAL")
    cursor.execute("PRAGMA temp_store=MEMORY")
    cursor.execute("PRAGMA cache_size=2000")
    cursor.execute("PRAGMA mmap_size=134217728")
    cursor.close()
"""

ASKED_BY_SQLALCHEMY = """
import json, sys
from sqlalchemy import create_engine, event
URL = "sqlite:///" + sys.argv[1]
{snippet}
with engine.connect() as connection:
    print(json.dumps({{name: connection.exec_driver_sql(f"PRAGMA {{name}}").scalar() for name in sys.argv[2:]}}))
"""

DJANGO = """
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": NAME,
        "OPTIONS": {
            "init_command": (
                "PRAGMA foreign_keys=ON;"
                "PRAGMA journal_mode=WAL;"
                "PRAGMA synchronous=NORMAL;"
                "PRAGMA busy_timeout=5000;"
                "PRAGMA temp_store=MEMORY;"
                "PRAGMA cache_size=2000;"
                "PRAGMA mmap_size=134217728;"
            ),
        },
    }
}
"""

ASKED_BY_DJANGO = """
import json, sys
from django.conf import settings
from django.db import connection
NAME = sys.argv[1]
{snippet}
settings.configure(DATABASES=DATABASES)
told = {{}}
with connection.cursor() as cursor:
    for name in sys.argv[2:]:
        told[name] = cursor.execute(f"PRAGMA {{name}}").fetchone()[0]
print(json.dumps(told))
"""

DRIFT = (
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=NORMAL",
    "PRAGMA busy_timeout=5000",
    "PRAGMA temp_store=MEMORY",
    "PRAGMA cache_size=-2000",
)

ASKED_BY_DRIFT = """
import 'dart:convert';
import 'dart:io';
import 'package:drift/drift.dart';
import 'package:drift/native.dart';

class Notes extends GeneratedDatabase {
  Notes(super.executor);

  @override
  Iterable<TableInfo<Table, dynamic>> get allTables => const [];

  @override
  int get schemaVersion => 1;

  @override
  MigrationStrategy get migration => MigrationStrategy(beforeOpen: (details) async {
STATEMENTS
  });
}

void main(List<String> arguments) async {
  final notes = Notes(NativeDatabase(File(arguments.first)));
  final told = <String, Object?>{};
  for (final name in arguments.skip(1)) {
    told[name] = (await notes.customSelect('PRAGMA $name').getSingle()).data.values.first;
  }
  print(jsonEncode(told));
  await notes.close();
}
"""


def told_by(script: str, database: Path) -> dict[str, Any]:
    """What the pragmas are on a connection that was made by a script, as Python's own SQLite tells the script."""
    build(("python3", "install.py", "snippets"))
    python = KIT / "target" / "snippets" / "bin" / "python"
    done = subprocess.run([python, "-c", script, database, *NAMES], check=True, capture_output=True, text=True)
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def cache_size_bytes(told: dict[str, Any]) -> int:
    """SQLite's own rule: a number above zero is one of pages, one below zero is one of KiB."""
    cache = told["cache_size"]
    return int(-cache * 1024 if cache < 0 else cache * told["page_size"])


def test_the_snippet_for_sqlalchemy_has_a_cache_of_8_mb_and_no_foreign_keys(tmp_path: Path) -> None:
    told = told_by(ASKED_BY_SQLALCHEMY.format(snippet=SQLALCHEMY), tmp_path / "plantodo.db")
    assert told == {
        "foreign_keys": 0,
        "journal_mode": "wal",
        "synchronous": 1,
        "busy_timeout": 5000,
        "temp_store": 2,
        "cache_size": 2000,
        "page_size": 4096,
        "mmap_size": 134217728,
    }
    assert cache_size_bytes(told) == 8_192_000


def test_the_snippet_for_django_is_the_same_with_foreign_keys(tmp_path: Path) -> None:
    told = told_by(ASKED_BY_DJANGO.format(snippet=DJANGO), tmp_path / "plantodo.db")
    assert told == {
        "foreign_keys": 1,
        "journal_mode": "wal",
        "synchronous": 1,
        "busy_timeout": 5000,
        "temp_store": 2,
        "cache_size": 2000,
        "page_size": 4096,
        "mmap_size": 134217728,
    }
    assert cache_size_bytes(told) == 8_192_000


OF_DRIFT = {
    "foreign_keys": 0,
    "journal_mode": "wal",
    "synchronous": 1,
    "busy_timeout": 5000,
    "temp_store": 2,
    "cache_size": -2000,
    "page_size": 4096,
    "mmap_size": 0,
}


def test_the_statements_for_drift_have_a_cache_of_2_mb_which_is_what_sqlite_has_anyway(tmp_path: Path) -> None:
    """Python's sqlite3 executes them here, in the order of the page. Dart itself runs in the next test."""
    sql = sqlite3.connect(tmp_path / "plantodo.db", timeout=0)
    ((as_it_was,),) = sql.execute("PRAGMA cache_size").fetchall()
    for statement in DRIFT:
        sql.execute(statement)
    told = {name: sql.execute(f"PRAGMA {name}").fetchone()[0] for name in NAMES}
    assert told == OF_DRIFT and cache_size_bytes(told) == 2_048_000
    assert as_it_was == -2000


def test_the_snippet_for_drift_in_dart_itself(tmp_path: Path) -> None:
    dart = shutil.which("dart")
    if dart is None:
        pytest.skip("Dart is not installed, so drift itself was not run: Python's sqlite3 executed the same statements")
    packages = "name: snippet\nenvironment:\n  sdk: ^3.4.0\ndependencies:\n  drift: ^2.20.0\n"
    (tmp_path / "pubspec.yaml").write_text(packages)
    statements = "\n".join(f"    await customStatement('{statement}');" for statement in DRIFT)
    (tmp_path / "snippet.dart").write_text(ASKED_BY_DRIFT.replace("STATEMENTS", statements))
    subprocess.run([dart, "pub", "get"], cwd=tmp_path, check=True, capture_output=True)
    command = [dart, "run", "snippet.dart", "plantodo.db", *NAMES]
    done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert json.loads(done.stdout.splitlines()[-1]) == OF_DRIFT
