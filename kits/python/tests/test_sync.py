"""What a sync service promises, rule by rule: the honest one keeps every rule, and each canary breaks those that it is made for."""

from __future__ import annotations

import http.client
import threading
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any, Callable

import pytest
from devices import WAL_NORMAL, Device, Refused, Served, is_service, only_a_service, subjects
from lab import SUBJECTS

Rule = Callable[[Served], None]
RULES: dict[str, Rule] = {}

NOON, AN_HOUR_EARLIER = "2026-06-05T12:00:00+00:00", "2026-06-05T11:00:00+00:00"


def rule(check: Rule) -> Rule:
    RULES[check.__name__] = check
    return check


def states(first: int, count: int, data: str = "x") -> list[tuple[str, str]]:
    return [(f"object-{number:04}", data) for number in range(first, first + count)]


@rule
def an_uploaded_object_is_downloaded(served: Served) -> None:
    phone, text = Device(served, "ada", "phone"), 'é \u2603 \U0001f680 " \\ \n \x00'
    assert phone.full() == {}
    cursor = phone.upload(("a", text))
    assert cursor >= 1 and phone.full() == {"a": text}
    assert phone.follow() == [("a", text)] and phone.cursor == cursor


@rule
def a_device_that_follows_is_given_every_change_once(served: Served) -> None:
    phone, tablet = Device(served, "ada", "phone"), Device(served, "ada", "tablet")
    assert tablet.follow() == []
    phone.upload(("a", "1"))
    assert tablet.follow() == [("a", "1")]
    assert tablet.follow() == []
    tablet.upload(("b", "2"))
    phone.upload(("c", "3"))
    assert tablet.follow() == [("b", "2"), ("c", "3")]
    assert phone.follow() == [("a", "1"), ("b", "2"), ("c", "3")]


@rule
def a_later_change_takes_the_place_of_an_earlier_one(served: Served) -> None:
    phone, tablet = Device(served, "ada", "phone"), Device(served, "ada", "tablet")
    first = phone.upload(("a", "1"))
    second = phone.upload(("b", "2"))
    third = tablet.upload(("a", "3"))
    assert 1 <= first < second < third
    assert tablet.full() == {"a": "3", "b": "2"}
    # The old revision of `a` is gone, also for who asks from the beginning.
    assert tablet.follow(limit=1) == [("b", "2"), ("a", "3")]


@rule
def of_an_object_that_is_twice_in_a_batch_the_last_state_holds(served: Served) -> None:
    phone, tablet = Device(served, "ada", "phone"), Device(served, "ada", "tablet")
    cursor = phone.upload(("a", "1"), ("b", "2"), ("a", "3"), ("c", "4"), ("c", "5"))
    assert tablet.full() == {"a": "3", "b": "2", "c": "5"}
    assert tablet.follow(limit=1) == [("b", "2"), ("a", "3"), ("c", "5")] and tablet.cursor == cursor


@rule
def a_page_ends_where_its_limit_says(served: Served) -> None:
    phone = Device(served, "ada", "phone")
    phone.upload(*states(0, 60))
    phone.upload(*states(60, 40))
    for limit, expected in ((99, (99, True)), (100, (100, False)), (101, (100, False)), (1000, (100, False))):
        changes, more = phone.page(0, limit)
        assert (len(changes), more) == expected, limit
    for limit in (1, 33, 50, 99, 100, 101):
        phone.cursor = 0
        assert phone.follow(limit) == states(0, 100), limit
    changes, more = phone.page(phone.cursor, 100)
    assert (changes, more) == ([], False)


@rule
def changes_of_one_millisecond_are_all_given(served: Served) -> None:
    served.end()
    served.start(clock=NOON)
    phone, tablet = Device(served, "ada", "phone"), Device(served, "ada", "tablet")
    phone.upload(*states(0, 2))
    assert tablet.follow(limit=1) == states(0, 2)
    phone.upload(*states(2, 1))
    assert tablet.follow(limit=1) == states(2, 1)


@rule
def a_clock_that_goes_back_hides_nothing(served: Served) -> None:
    served.end()
    served.start(clock=NOON)
    phone, tablet = Device(served, "ada", "phone"), Device(served, "ada", "tablet")
    phone.upload(("a", "1"))
    assert tablet.follow() == [("a", "1")]
    followed = tablet.cursor
    served.end()
    served.start(clock=AN_HOUR_EARLIER)
    phone, tablet = Device(served, "ada", "phone"), Device(served, "ada", "tablet")
    phone.upload(("b", "2"))
    tablet.cursor = followed
    assert tablet.follow() == [("b", "2")]


@rule
def another_users_changes_are_never_seen(served: Served) -> None:
    ada, bob = Device(served, "ada", "ada-phone"), Device(served, "bob", "bob-phone")
    ada.upload(("a", "Ada's"))
    assert bob.full() == {}
    bob.upload(("a", "Bob's"))
    assert (bob.full(), bob.follow()) == ({"a": "Bob's"}, [("a", "Bob's")])
    assert (ada.full(), ada.follow()) == ({"a": "Ada's"}, [("a", "Ada's")])


@rule
def a_device_that_is_known_stays_as_it_is(served: Served) -> None:
    Device(served, "ada", "phone").upload(("a", "1"))
    again = Device(served, "ada", "phone")
    assert again.follow() == [("a", "1")]
    claimed = Device(served, "bob", "phone")
    assert claimed.full() == {"a": "1"}


@rule
def who_is_unknown_or_makes_no_sense_is_refused_and_stores_nothing(served: Served) -> None:
    phone = Device(served, "ada", "phone")
    phone.upload(("a", "1"))

    def status(name: str, method: str, path: str, body: Any = None) -> int:
        stranger = Device(served, "ada", "phone")
        stranger.name = name
        with pytest.raises(Refused) as refused:
            stranger.ask(method, path, body)
        return refused.value.status

    for method, path, body in (
        ("GET", "/v1/sync/full", None),
        ("GET", "/v1/sync/delta?cursor=0&limit=100", None),
        ("POST", "/v1/sync/delta", {"changes": [{"id": "b", "data": "2"}]}),
    ):
        for name in ("nobody", "", "Phone"):
            assert status(name, method, path, body) == 401, (name, method, path)
    b = {"id": "b", "data": "2"}
    for body in (b"", b"nothing", b'{"changes":[', [], {}, {"changes": None}, {"changes": b}, {"changes": ["b"]},
                 {"changes": [b, {"id": "c"}]}, {"changes": [b, {"data": "3"}]}, {"changes": [b, {"id": 3, "data": "3"}]},
                 {"changes": [b, {"id": "c", "data": None}]}, {"changes": [b, {"id": "c", "data": {}}]}):  # fmt: skip
        assert status("phone", "POST", "/v1/sync/delta", body) in (400, 422), body
    for body in (b"", {}, {"user": "ada"}, {"device": "tablet"}, {"user": 1, "device": "tablet"}):
        assert status("phone", "POST", "/v1/clients", body) in (400, 422), body
    for asked in ("cursor=0&limit=0", "cursor=0&limit=1001", "cursor=-1&limit=1", "cursor=a&limit=1", f"cursor={2**64}&limit=1"):
        assert status("phone", "GET", f"/v1/sync/delta?{asked}") in (400, 422), asked
    assert (phone.full(), phone.follow()) == ({"a": "1"}, [("a", "1")])


@rule
def uploads_side_by_side_lose_nothing_and_no_revision_is_twice(served: Served) -> None:
    rounds = 25

    def upload(number: int) -> list[int]:
        device = Device(served, f"user-{number % 2}", f"device-{number}")
        return [device.upload((f"{number}-{each}", "x"), (f"{number}-{each}-b", "x")) for each in range(rounds)]

    def follow(user: int) -> list[str]:
        device, found = Device(served, f"user-{user}", f"follower-{user}"), []
        while not uploaded.is_set():
            found += device.follow(limit=7)
        found += device.follow(limit=7)
        return [name for name, _ in found]

    uploaded = threading.Event()
    with ThreadPoolExecutor(10) as pool:
        followers = [pool.submit(follow, user) for user in range(2)]
        uploads = [pool.submit(upload, number) for number in range(8)]
        wait(uploads)
        uploaded.set()
    cursors = [each.result() for each in uploads]
    assert all(of_one == sorted(of_one) for of_one in cursors)
    for user, follower in enumerate(followers):
        names = {f"{number}-{each}{end}" for number in range(user, 8, 2) for each in range(rounds) for end in ("", "-b")}
        assert sorted(follower.result()) == sorted(names)
        acknowledged = [cursor for number in range(user, 8, 2) for cursor in cursors[number]]
        assert len(set(acknowledged)) == len(acknowledged)


@rule
def what_was_acknowledged_outlives_a_kill(served: Served) -> None:
    phone = Device(served, "ada", "phone")
    for number in range(10):
        phone.upload((f"object-{number}", "x"))
    served.kill()
    served.start()
    assert Device(served, "ada", "phone").full() == {f"object-{number}": "x" for number in range(10)}


@rule
def what_was_acknowledged_outlives_a_kill_amid_uploads(served: Served) -> None:
    enough = threading.Semaphore(0)

    def upload(number: int) -> set[str]:
        device, acknowledged = Device(served, "ada", f"device-{number}"), set()
        registered.wait()
        while True:
            name = f"{number}-{len(acknowledged)}"
            try:
                device.upload((name, "x"))
            except (OSError, http.client.HTTPException):
                return acknowledged
            acknowledged.add(name)
            enough.release()

    registered = threading.Barrier(4)
    with ThreadPoolExecutor(4) as pool:
        uploads = [pool.submit(upload, number) for number in range(4)]
        for _ in range(60):
            assert enough.acquire(timeout=60)
        served.kill()
        acknowledged = set.union(*(each.result() for each in uploads))
    served.start()
    phone = Device(served, "ada", "phone")
    assert acknowledged <= set(phone.full())
    assert {name for name, _ in phone.follow(limit=9)} == set(phone.full())
    # And revisions go on from there.
    assert phone.upload(("later", "x")) > phone.cursor


FORMS = {
    "async": {**WAL_NORMAL, "endpoints": "async"},
    "threads": {**WAL_NORMAL, "endpoints": "threads", "download": "reads"},
    "threads-delete": {"journal_mode": "delete", "synchronous": "normal", "endpoints": "threads", "foreign_keys": "yes"},
}


def forms(subject: str) -> dict[str, dict[str, Any]]:
    """In what forms a subject is asked: those that settings of its own give the one which was rebuilt, and each profile of any other."""
    profiles = {profile["name"]: profile.get("settings", {}) for profile in SUBJECTS[subject]["profile"]}
    return FORMS if subject == "fastapi-sqlalchemy" else profiles


@pytest.mark.parametrize("check", RULES)
@pytest.mark.parametrize(("subject", "form"), [(name, form) for name in subjects(canary=False) for form in forms(name)])
def test_an_honest_service_keeps_every_rule(subject: str, form: str, check: str, tmp_path: Path) -> None:
    only_a_service(subject)
    with Served(subject, tmp_path, forms(subject)[form]) as served:
        RULES[check](served)


#: The rules that each canary breaks, whenever it is asked.
BROKEN = {
    "canary-clock-cursor": {
        "of_an_object_that_is_twice_in_a_batch_the_last_state_holds",
        "a_page_ends_where_its_limit_says",
        "changes_of_one_millisecond_are_all_given",
        "a_clock_that_goes_back_hides_nothing",
        "uploads_side_by_side_lose_nothing_and_no_revision_is_twice",
    },
    "canary-cached-download": {
        "a_device_that_follows_is_given_every_change_once",
        "uploads_side_by_side_lose_nothing_and_no_revision_is_twice",
    },
    "canary-early-acknowledge": {"what_was_acknowledged_outlives_a_kill"},
}
#: Those that it breaks or keeps as the moment has it, so that a test of them would say nothing. All others it keeps.
BY_CHANCE = {
    "canary-clock-cursor": {
        "a_device_that_follows_is_given_every_change_once",
        "a_later_change_takes_the_place_of_an_earlier_one",
        "what_was_acknowledged_outlives_a_kill",
        "what_was_acknowledged_outlives_a_kill_amid_uploads",
    },
    "canary-early-acknowledge": {"what_was_acknowledged_outlives_a_kill_amid_uploads"},
}
#: Those that the lab's own tests must catch: a rule that they break would say no more, and some break one in the lab alone.
BEFORE_THE_LAB = {
    "canary-busy-acknowledge",
    "canary-busy-at-rest",
    "canary-endless-pages",
    "canary-forgets-early",
    "canary-other-data",
    "canary-reuses-revisions",
    "canary-unsynced",
}


def test_every_canary_is_made_to_break_a_rule() -> None:
    assert {name for name in subjects(canary=True) if is_service(name)} == set(BROKEN) | BEFORE_THE_LAB
    named = set.union(*BROKEN.values(), *BY_CHANCE.values())
    assert all(BROKEN.values()) and named <= set(RULES)


@pytest.mark.parametrize(
    ("canary", "check"),
    [(canary, check) for canary in BROKEN for check in RULES if check not in BY_CHANCE.get(canary, set())],
)
def test_a_canary_breaks_what_it_is_made_to_break_and_nothing_else(canary: str, check: str, tmp_path: Path) -> None:
    with Served(canary, tmp_path) as served:
        if check in BROKEN[canary]:
            with pytest.raises(AssertionError):
                RULES[check](served)
        else:
            RULES[check](served)
