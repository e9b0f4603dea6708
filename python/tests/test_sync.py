"""Copies in Python, and a service of its own process: two devices that edit offline converge."""

from __future__ import annotations

import os
import queue
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Optional

import pytest

from touchstone_store import InvalidError
from touchstone_store.sync import (
    AwayError,
    Conflict,
    EditError,
    Ended,
    Event,
    Item,
    Keep,
    Merged,
    OtherUserError,
    Overwritten,
    Replica,
    Resolution,
    SettingError,
    Synced,
    UnauthenticatedError,
)

PROJECT = Path(__file__).parent.parent.parent

#: How long a test waits for what has to come: a bound of its failure, and no measure.
COMES_WITHIN = 60


@pytest.fixture(scope="session")
def program() -> Path:
    """The service, built from this clone."""
    if shutil.which("cargo") is None:
        pytest.skip("cargo is missing, which builds the service")
    target = PROJECT / "target"
    # An example has the features that the tests of the workspace have: where these were run, the service is compiled already.
    what = ["--workspace", "--bin", "touchstone-sync", "--example", "todo_list"]
    command = ["cargo", "build", "--quiet", "--locked", *what, "--target-dir", str(target)]
    built = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return target / "debug" / "touchstone-sync"


class Service:
    """A service at work."""

    def __init__(self, program: Path, folder: Path) -> None:
        self.program, self.store = program, folder / "service.db"
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("TOUCHSTONE_SYNC_")}
        command = [str(program), "serve", "--listen", "127.0.0.1:0", "--store", str(self.store)]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=self.environment)
        assert self.process.stderr is not None
        for line in self.process.stderr:
            if found := re.search(r"serving .* on (http://[0-9.:]+)", line):
                self.url = found.group(1)
                break
        else:
            raise AssertionError("it does not say where it listens")
        # Nobody reads on: a pipe that is full would stop the service.
        threading.Thread(target=self.process.stderr.read, daemon=True).start()
        self.token = self.token_of("ada")

    def token_of(self, user: str) -> str:
        return self.run("create", "--user", user)

    def run(self, *words: str) -> str:
        command = [str(self.program), "token", *words, "--store", str(self.store)]
        done = subprocess.run(command, capture_output=True, text=True, env=self.environment)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def service(program: Path, tmp_path: Path) -> Iterator[Service]:
    service = Service(program, tmp_path)
    yield service
    service.end()


@pytest.fixture
def copy(service: Service, tmp_path: Path) -> Iterator[Callable[..., Replica]]:
    """Opens copies, which are closed when the test ends."""
    with ExitStack() as opened:

        def open(device: str, **options: Any) -> Replica:
            path = tmp_path / f"{device}.db"
            replica = Replica.open(path, service.url, service.token, device=device, attempts=1, **options)
            return opened.enter_context(replica)

        yield open


def test_two_devices_share_what_each_of_them_has_made(copy: Callable[..., Replica]) -> None:
    phone, laptop = copy("phone"), copy("laptop")
    phone.put("list/1", "milk")
    laptop.put("list/2", "bread")
    assert (phone.all(), phone.pending()) == ({"list/1": "milk"}, 1)
    assert phone.sync() == Synced(sent=1, fetched=0, conflicts=0, overwritten=0, refused=0)
    laptop.sync()
    phone.sync()
    assert phone.all() == laptop.all() == {"list/1": "milk", "list/2": "bread"}
    phone.delete("list/2")
    assert phone.get("list/2") is None
    phone.sync()
    laptop.sync()
    assert laptop.all() == {"list/1": "milk"}


@pytest.mark.parametrize("seed", range(5))
def test_devices_that_edit_offline_converge(copy: Callable[..., Replica], seed: int) -> None:
    """Each edit adds a word, and conflicts are merged: in the end each word is there."""
    chance = random.Random(seed)
    words: dict[str, set[str]] = {}

    def merged(conflict: Conflict) -> Resolution:
        both = {*(conflict.mine or "").split(), *(conflict.theirs or "").split()}
        return Merged(" ".join(sorted(both)))

    devices = [copy(name, on_conflict=merged) for name in ("phone", "laptop", "tablet")]
    for step in range(60):
        device = chance.choice(devices)
        if chance.random() < 0.3:
            device.sync()
            continue
        object, word = f"o{chance.randrange(3)}", f"w{step}"
        device.put(object, " ".join([*(device.get(object) or "").split(), word]))
        words.setdefault(object, set()).add(word)
    for _ in range(3):
        for device in devices:
            device.sync()
    shown = [{object: set(data.split()) for object, data in device.all().items()} for device in devices]
    assert shown == [words] * 3


def test_the_last_writer_wins_and_is_told_of_what_it_has_overwritten(copy: Callable[..., Replica]) -> None:
    told: list[object] = []
    phone, laptop = copy("phone", on_displaced=told.append), copy("laptop")
    phone.sync()
    laptop.put("a", "the laptop's")
    laptop.sync()
    phone.put("a", "the phone's")
    assert phone.sync().overwritten == 1
    assert told == [Overwritten("a", "the laptop's")]


def in_conflict(copy: Callable[..., Replica], decide: Callable[[Conflict], object]) -> Replica:
    phone, laptop = copy("phone", on_conflict=decide), copy("laptop")
    laptop.put("a", "theirs")
    laptop.sync()
    phone.put("a", "mine")
    return phone


@pytest.mark.parametrize(
    ("answer", "becomes"), [(Keep.MINE, "mine"), (Keep.THEIRS, "theirs"), (Merged("both"), "both"), (Merged(None), None)]
)
def test_the_program_decides(copy: Callable[..., Replica], answer: Resolution, becomes: Optional[str]) -> None:
    asked: list[Conflict] = []

    def decide(conflict: Conflict) -> Resolution:
        asked.append(conflict)
        return answer

    phone = in_conflict(copy, decide)
    assert phone.sync().conflicts == 1
    assert asked == [Conflict("a", None, "mine", "theirs")]
    assert (phone.get("a"), phone.pending()) == (becomes, 0)


def test_an_exception_of_the_program_is_raised_by_sync_and_nothing_is_lost(copy: Callable[..., Replica]) -> None:
    def decide(conflict: Conflict) -> Resolution:
        raise LookupError(conflict.id)

    phone = in_conflict(copy, decide)
    with pytest.raises(LookupError, match="a"):
        phone.sync()
    assert (phone.get("a"), phone.pending()) == ("mine", 1)
    phone.close()
    phone = copy("phone", on_conflict=lambda conflict: None)
    with pytest.raises(TypeError, match="Keep.MINE"):
        phone.sync()


def test_an_update_makes_changes_deletes_or_raises(copy: Callable[..., Replica]) -> None:
    phone = copy("phone")

    def add(data: Optional[str]) -> str:
        return str(int(data or 0) + 2)

    assert (phone.update("milk", add), phone.update("milk", add)) == ("2", "4")
    phone.sync()
    assert phone.update("milk", lambda data: data) == "4"

    def refuse(data: Optional[str]) -> str:
        raise LookupError(f"{data} are too few")

    with pytest.raises(LookupError, match="4 are too few"):
        phone.update("milk", refuse)
    wrong: Any = 5
    with pytest.raises(TypeError, match="makes a text.*int"):
        phone.update("milk", lambda data: wrong)
    with pytest.raises(TypeError, match="a function is wanted"):
        phone.update("milk", wrong)
    assert (phone.all(), phone.pending()) == ({"milk": "4"}, 0)
    assert phone.update("milk", lambda data: None) is None
    assert (phone.all(), phone.pending()) == ({}, 1)


def test_updates_of_several_threads_lose_nothing(copy: Callable[..., Replica]) -> None:
    phone = copy("phone")

    def count() -> None:
        for _ in range(50):
            phone.update("milk", lambda data: str(int(data or 0) + 1))

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(5):
        phone.sync()
    for thread in threads:
        thread.join()
    assert phone.get("milk") == "200"


def until(events: queue.Queue[Event], is_it: Callable[[Event], bool]) -> None:
    while not is_it(events.get(timeout=COMES_WITHIN)):
        pass


def test_a_watch_shows_at_once_what_another_device_edits(copy: Callable[..., Replica]) -> None:
    phone, laptop = copy("phone"), copy("laptop")
    events: queue.Queue[Event] = queue.Queue()
    with phone.watch(), laptop.watch(events.put):
        for place in range(5):
            phone.put("a", str(place))
            until(events, lambda _: laptop.get("a") == str(place))


def test_a_watch_ends_with_what_does_not_pass(copy: Callable[..., Replica], service: Service) -> None:
    phone = copy("phone")
    events: queue.Queue[Event] = queue.Queue()
    watching = phone.watch(events.put)
    until(events, lambda event: isinstance(event, Synced))
    service.run("revoke", token_name(service))
    phone.put("a", "1")
    with pytest.raises(UnauthenticatedError):
        watching.wait()


def test_the_last_that_a_watch_tells_is_what_has_ended_it(copy: Callable[..., Replica], service: Service) -> None:
    phone = copy("phone")
    events: queue.Queue[Event] = queue.Queue()
    watching = phone.watch(events.put)
    until(events, lambda event: isinstance(event, Synced))
    service.run("revoke", token_name(service))
    phone.put("a", "1")
    until(events, lambda event: isinstance(event, Ended) and isinstance(event.error, UnauthenticatedError))
    with pytest.raises(UnauthenticatedError):
        watching.stop()
    assert events.empty()


def test_a_watch_tells_of_an_exception_of_another_function_that_has_ended_it(copy: Callable[..., Replica]) -> None:
    def decide(conflict: Conflict) -> Resolution:
        raise LookupError("the program's mistake")

    events: queue.Queue[Event] = queue.Queue()
    watching = in_conflict(copy, decide).watch(events.put)
    until(events, lambda event: isinstance(event, Ended) and isinstance(event.error, LookupError))
    with pytest.raises(LookupError, match="mistake"):
        watching.stop()


def test_what_ends_a_watch_without_a_function_is_reported(
    copy: Callable[..., Replica], service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported: queue.Queue[object] = queue.Queue()
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: reported.put(unraisable.exc_type))
    phone = copy("phone")
    phone.sync()
    watching = phone.watch()
    service.run("revoke", token_name(service))
    phone.put("a", "1")
    assert reported.get(timeout=COMES_WITHIN) is UnauthenticatedError
    with pytest.raises(UnauthenticatedError):
        watching.stop()


def test_a_watch_ends_with_an_exception_of_the_program(copy: Callable[..., Replica]) -> None:
    def told(event: Event) -> None:
        raise LookupError("the program's mistake")

    watching = copy("phone").watch(told)
    with pytest.raises(LookupError, match="mistake"):
        watching.wait()


def test_a_watch_is_stopped_by_its_own_function(copy: Callable[..., Replica]) -> None:
    given, stopped = threading.Event(), threading.Event()

    def told(event: Event) -> None:
        given.wait(COMES_WITHIN)
        watching.stop()
        stopped.set()

    watching = copy("phone").watch(told)
    given.set()
    assert stopped.wait(COMES_WITHIN)
    watching.wait()


def test_everybody_who_waits_is_told_what_has_ended_a_watch(copy: Callable[..., Replica]) -> None:
    """Also where another thread stops it at the same time."""
    release = threading.Event()

    def told(event: Event) -> None:
        release.wait(COMES_WITHIN)
        raise LookupError("the program's mistake")

    watching = copy("phone").watch(told)
    ended: queue.Queue[object] = queue.Queue()

    def note(call: Callable[[], None]) -> None:
        try:
            ended.put(call())
        except LookupError as error:
            ended.put(error)

    threads = [threading.Thread(target=note, args=(call,)) for call in (watching.stop, watching.wait)]
    for thread in threads:
        thread.start()
    release.set()
    assert [type(ended.get(timeout=COMES_WITHIN)) for _ in threads] == [LookupError] * 2
    for thread in threads:
        thread.join()


def test_an_exception_of_a_watchs_function_is_reported_where_nobody_waits(
    copy: Callable[..., Replica], monkeypatch: pytest.MonkeyPatch
) -> None:
    reported: queue.Queue[object] = queue.Queue()
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: reported.put(unraisable.exc_type))

    def told(event: Event) -> None:
        raise LookupError("the program's mistake")

    watching = copy("phone").watch(told)
    assert reported.get(timeout=COMES_WITHIN) is LookupError
    with pytest.raises(LookupError, match="mistake"):
        watching.stop()


@pytest.mark.skipif(sys.platform == "win32", reason="a process is not sent Ctrl-C alone there")
def test_a_sync_is_interrupted(tmp_path: Path) -> None:
    """What listens never answers, and the client would wait for a minute."""
    # A shell lets what it starts in the background ignore Ctrl-C, and Python then leaves it so.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with Replica.open(tmp_path / "phone.db", url, "tsync_1", attempts=1) as phone:

            def interrupt() -> None:
                asked, _ = silent.accept()
                signal.raise_signal(signal.SIGINT)
                release.wait(COMES_WITHIN)
                asked.close()

            release = threading.Event()
            interrupting = threading.Thread(target=interrupt)
            interrupting.start()
            with pytest.raises(KeyboardInterrupt):
                phone.sync()
            release.set()
            interrupting.join()


def token_name(service: Service) -> str:
    found = re.search(r"\b[0-9a-f]{12}\b", service.run("list"))
    assert found is not None
    return found.group()


def test_a_service_that_is_away_is_told_and_edits_wait(copy: Callable[..., Replica], service: Service) -> None:
    phone = copy("phone")
    phone.sync()
    service.end()
    phone.put("a", "1")
    with pytest.raises(AwayError):
        phone.sync()
    assert (phone.get("a"), phone.pending()) == ("1", 1)


def test_a_copy_is_of_one_user(copy: Callable[..., Replica], service: Service, tmp_path: Path) -> None:
    phone = copy("phone")
    phone.sync()
    phone.put("a", "Ada's")
    phone.close()
    with Replica.open(tmp_path / "phone.db", service.url, service.token_of("eve"), attempts=1) as phone:
        with pytest.raises(OtherUserError, match="with a token of `ada`"):
            phone.sync()
        assert (phone.all(), phone.pending()) == ({"a": "Ada's"}, 1)
    assert copy("phone").sync().sent == 1


def test_items_are_rows_of_the_copys_store(copy: Callable[..., Replica]) -> None:
    phone = copy("phone")
    with phone.store.feed() as feed:
        notes = feed.watch(phone.store.query(Item).filter(Item.id.starts_with("note/"), Item.data.is_not_null()))
        phone.put("note/1", "milk")
        batch = feed.next(COMES_WITHIN)
        assert batch is not None
        update = batch.of(notes)
        assert update is not None
        assert [item.data for item in update.rows] == ["milk"]


def test_the_guides_snippets_run(service: Service, tmp_path: Path) -> None:
    guide = (PROJECT / "docs" / "guide-sync-client.md").read_text()
    snippets = re.findall(r"^```python\n(.*?)^```$", guide, re.DOTALL | re.MULTILINE)
    assert snippets
    for snippet in snippets:
        given = {"path": tmp_path / "guide.db", "url": service.url, "token": service.token}
        exec(compile(snippet, "guide-sync-client.md", "exec", dont_inherit=True), given)


def test_what_cannot_be_is_told(copy: Callable[..., Replica], tmp_path: Path) -> None:
    phone = copy("phone")
    with pytest.raises(EditError, match="0 bytes"):
        phone.put("", "1")
    with pytest.raises(SettingError, match="give one such as"):
        Replica.open(tmp_path / "never.db", "sync.example.org", "tsync_1")
    with pytest.raises(SettingError, match="no certificate"):
        Replica.open(tmp_path / "never.db", "https://sync.example.org", "tsync_1", trusting=b"")
    with pytest.raises(TypeError, match="a function is wanted"):
        Replica.open(tmp_path / "never.db", "https://sync.example.org", "tsync_1", on_conflict=1)  # type: ignore[arg-type]
    phone.close()
    with pytest.raises(InvalidError, match="closed"):
        phone.put("a", "1")
