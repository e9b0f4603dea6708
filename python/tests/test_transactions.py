"""Transactions, snapshots, threads: what is committed, what is undone, who waits for whom."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Optional

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from touchstone_store import (
    Cipher,
    ConflictError,
    Durability,
    EncryptedError,
    ExistsError,
    ForeignError,
    InvalidError,
    NestedError,
    NotFoundError,
    ReadOnlyError,
    RefusedError,
    Store,
    StoreError,
    Transaction,
    WrongKeyError,
    change_key,
    field,
    key,
    record,
    salvage,
)


@record
class Account:
    id: int = key()
    balance: int = 0
    owner: Optional[str] = field(unique=True, default=None)


class Failed(Exception):
    pass


def test_a_block_is_committed_or_undone(store: Store) -> None:
    with store.transaction() as transaction:
        transaction.insert(Account(1, 10))
        assert store.count(Account) == 0, "nobody else sees it yet"
        assert transaction.get(Account, 1) == Account(1, 10)
    assert store.get(Account, 1) == Account(1, 10)
    with pytest.raises(Failed):
        with store.transaction() as transaction:
            transaction.insert(Account(2))
            raise Failed
    assert store.all(Account) == [Account(1, 10)]
    with pytest.raises(InvalidError, match="has ended"):
        transaction.insert(Account(3))


def test_a_savepoint_is_undone_alone(store: Store) -> None:
    with store.transaction() as transaction:
        transaction.insert(Account(1))
        with pytest.raises(Failed):
            with transaction.savepoint():
                transaction.insert(Account(2))
                with transaction.savepoint():
                    transaction.insert(Account(3))
                raise Failed
        with transaction.savepoint():
            transaction.insert(Account(4))
    assert [account.id for account in store.all(Account)] == [1, 4]


def test_a_function_is_a_transaction(store: Store) -> None:
    store.insert_all([Account(1, 10), Account(2)])

    def move(transaction: Transaction, source: int, target: int, amount: int) -> int:
        def take(account: Account) -> None:
            account.balance -= amount

        def give(account: Account) -> Account:
            return Account(account.id, account.balance + amount)

        assert transaction.update(Account, source, take)
        assert transaction.update(Account, target, give)
        left = transaction.get(Account, source)
        assert left is not None
        if left.balance < 0:
            raise Failed
        return left.balance

    assert store.write(move, 1, target=2, amount=4) == 6
    with pytest.raises(Failed):
        store.transactional(move)(1, 2, 7)
    assert store.transactional(move)(1, 2, 6) == 0
    assert [account.balance for account in store.all(Account)] == [0, 10]


def test_update_keeps_the_key(store: Store) -> None:
    store.insert(Account(1, 10))
    assert not store.update(Account, 2, lambda account: None)
    with pytest.raises(InvalidError, match="the key of a record"):
        store.update(Account, 1, lambda account: Account(7))
    with pytest.raises(Failed):
        store.update(Account, 1, _fail)
    assert store.all(Account) == [Account(1, 10)]
    store.insert(Account(2))
    assert store.count(Account) == 2, "the turn was given back"


def _fail(account: Account) -> None:
    raise Failed


def test_one_call_is_one_transaction(store: Store) -> None:
    store.put(Account(1, 1))
    store.put(Account(1, 2))
    assert store.replace(Account(1, 3)) and not store.replace(Account(2))
    assert store.put_all([Account(1, 4), Account(2)]) == 2
    assert store.replace_all([Account(2, 9), Account(3)]) == 1
    assert store.remove(Account, 1) and not store.remove(Account, 1)
    assert store.all(Account) == [Account(2, 9)]
    assert store.clear(Account) == 1
    assert store.insert_all([]) == 0
    with pytest.raises(ConflictError) as raised:
        store.insert_all([Account(1, owner="a"), Account(2, owner="a")])
    assert raised.value.sqlite_code == 2067
    assert store.count(Account) == 0


def test_collections_are_apart(store: Store) -> None:
    with store.transaction() as transaction:
        attic = transaction.collection(Account, "attic")
        attic.insert_all([Account(1), Account(2)])
        transaction.collection(Account, "cellar").put(Account(1, 5))
    assert store.count(Account) == 0
    cellar = store.collection(Account, "cellar")
    assert cellar.all() == [Account(1, 5)]
    assert cellar.update(1, lambda account: Account(1, 6))
    with store.snapshot() as snapshot:
        assert snapshot.collection(Account, "cellar").get(1) == Account(1, 6)
        assert snapshot.collection(Account, "attic").query().filter(Account.id > 1).count() == 1
        assert snapshot.collection(Account, "nobody").count() == 0
        with pytest.raises(ReadOnlyError):
            snapshot.collection(Account, "attic").clear()


def test_a_snapshot_sees_one_moment(store: Store) -> None:
    store.insert(Account(1))
    with store.snapshot() as before, store.snapshot() as same:
        assert before.version == same.version
        store.insert(Account(2))
        assert before.all(Account) == [Account(1)]
        assert before.sql("select count(*) from account") == [(1,)]
        with store.snapshot() as after:
            assert after.count(Account) == 2 and after.version != before.version
        with pytest.raises(ReadOnlyError):
            before.sql("delete from account")
    with pytest.raises(InvalidError, match="the snapshot has ended"):
        before.count(Account)


def test_raw_sql_takes_parameters(store: Store) -> None:
    store.insert_all([Account(1, 5), Account(2, 7)])
    assert store.sql("select id, balance from account where balance > ?", [5]) == [(2, 7)]
    values = (None, 1, 2.5, "ü", b"\x00", True)
    (row,) = store.sql("select ?, ?, ?, ?, ?, ?", values)
    assert row == (None, 1, 2.5, "ü", b"\x00", 1)
    assert store.execute("update account set balance = :more + balance", {"more": 1}) == 2
    with store.transaction() as transaction:
        transaction.execute("delete from account where id = 1")
    assert store.all(Account) == [Account(2, 8)]
    for wrong in ("select", "select * from nowhere"):
        with pytest.raises(RefusedError):
            store.sql(wrong)
    with pytest.raises(RefusedError):
        store.sql("select ?", [])
    assert store.sql("select :a, @b, $c, :a", {"a": 1, "b": bytearray(b"b"), "c": 3}) == [(1, b"b", 3, 1)]
    for wrong, parameters, why in [
        ("select :a, :b", {"a": 1}, "`b` is not given"),
        ("select :a", {"a": 1, "b": 2}, "no parameter `b`"),
        ("select ?", {"a": 1}, "by place"),
        (" -- nothing", {}, "no statement"),
    ]:
        with pytest.raises(RefusedError, match=why):
            store.sql(wrong, parameters)
    with pytest.raises(InvalidError, match="64-bit"):
        store.sql("select ?", [2**63])
    with pytest.raises(InvalidError, match="NUL"):
        store.sql("select 1\0, 2")
    with pytest.raises(RefusedError, match="gives rows: `sql`"):
        store.execute("delete from account returning id")
    with store.transaction() as transaction:
        assert transaction.sql("delete from account returning id") == [(2,)]
    assert store.count(Account) == 0
    with pytest.raises(TypeError):
        store.sql("select ?", [object()])  # type: ignore[list-item]


def test_a_thread_in_a_transaction_does_not_wait_for_itself(store: Store) -> None:
    with store.transaction() as transaction:
        with pytest.raises(NestedError):
            store.insert(Account(1))
        with pytest.raises(NestedError):
            with store.transaction():
                pass
        with pytest.raises(InvalidError, match="begun already"):
            transaction.__enter__()
        transaction.insert(Account(2))
    assert store.count(Account) == 1


def test_threads_wait_in_their_order_and_do_not_block_python(store: Store) -> None:
    store.insert(Account(1))
    begun, other_waits = threading.Event(), threading.Event()

    def second() -> None:
        begun.wait()
        other_waits.set()
        with store.transaction() as transaction:
            transaction.update(Account, 1, lambda account: Account(1, account.balance + 1))

    def add(_: int) -> None:
        def change(account: Account) -> None:
            # Python of another thread runs in between, whoever has the turn.
            sum(range(100))
            account.balance += 1

        store.update(Account, 1, change)

    with ThreadPoolExecutor(8) as pool:
        waiting = pool.submit(second)
        with store.transaction() as transaction:
            begun.set()
            # While this thread has the turn and runs Python, the other one waits for the turn without the lock.
            other_waits.wait()
            for _ in range(1000):
                transaction.get(Account, 1)
            transaction.put(Account(1, 100))
        waiting.result()
        list(pool.map(add, range(200)))
    assert store.get(Account, 1) == Account(1, 301)


def test_a_transaction_that_is_dropped_is_undone(store: Store) -> None:
    def forget() -> None:
        transaction = store.transaction().__enter__()
        transaction.insert(Account(1))

    forget()
    store.insert(Account(2))
    assert store.all(Account) == [Account(2)]


def test_a_generator_holds_a_transaction_on_another_thread(store: Store) -> None:
    transaction = store.transaction()
    worker = threading.Thread(target=transaction.__enter__)
    worker.start()
    worker.join()
    transaction.insert(Account(1))
    transaction.__exit__(None, None, None)
    assert store.count(Account) == 1


def test_durability_is_told(path: Path) -> None:
    with Store.open(path, durability=Durability.STRICT) as store:
        store.insert(Account(1))
        assert (store.durability, store.flushes) == (Durability.STRICT, 1)
    with Store.open(path) as store:
        with store.transaction(durable=True) as transaction:
            transaction.insert(Account(2))
        with store.transaction() as transaction:
            transaction.durable()
        assert (store.durability, store.flushes) == (Durability.CONSISTENT, 2)
    with Store.open(path, durability=Durability.PROCESS) as store:
        with pytest.raises(InvalidError):
            with store.transaction(durable=True) as transaction:
                transaction.insert(Account(3))
        store.insert(Account(3))


def test_options_are_checked(path: Path, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="option `colour`"):
        Store.open(path, colour=1)  # type: ignore[call-arg]
    with pytest.raises(InvalidError):
        Store.open(path, page_size=1000)
    with pytest.raises(InvalidError):
        Store.open(path, busy_timeout=-1)
    wrong: dict[str, Any]
    for wrong in ({"exclusive": "yes"}, {"page_size": "big"}, {"page_size": -1}, {"key": 3}, {"durability": 3}):
        with pytest.raises((TypeError, OverflowError), match=f"option `{next(iter(wrong))}`: "):
            Store.open(path, **wrong)
    with pytest.raises(NotFoundError):
        Store.open(path, create=False)
    options: dict[str, Any] = {"page_size": 8192, "cache_bytes": 1 << 20, "busy_timeout": 0.5}
    with Store.open(path, checkpoint_pages=100, log_bytes_max=1 << 20, exclusive=True, **options) as store:
        store.insert(Account(1))
    with Store.open(path, read_only=True) as store:
        with pytest.raises(ReadOnlyError):
            store.insert(Account(2))
        assert store.count(Account) == 1
    with pytest.raises(InvalidError, match="closed"):
        store.count(Account)
    foreign = tmp_path / "foreign.db"
    foreign.write_text("no database, but a text that is long enough to be none " * 20)
    with pytest.raises(ForeignError):
        Store.open(foreign)
    assert issubclass(ForeignError, StoreError) and issubclass(InvalidError, ValueError)


@pytest.mark.parametrize("cipher", [Cipher.AEGIS, Cipher.SQLCIPHER])
def test_a_file_is_encrypted(path: Path, cipher: Cipher) -> None:
    with Store.open(path, key=bytes(range(32)), cipher=cipher) as store:
        store.insert(Account(1, owner="the cake is in the cellar"))
    assert b"cake" not in path.read_bytes()
    for wrong in (bytes(32), "words"):
        with pytest.raises(WrongKeyError):
            Store.open(path, key=wrong, cipher=cipher)
    with pytest.raises(EncryptedError, match="give its key: `key`"):
        Store.open(path)
    with pytest.raises(InvalidError, match="but no key"):
        Store.open(path, key=None, cipher=cipher)
    with pytest.raises(InvalidError, match="but no key"):
        change_key(path, key=bytes(range(32)), cipher=cipher, new_cipher=cipher)
    with pytest.raises(InvalidError, match="32 bytes"):
        Store.open(path, key=b"short")
    change_key(path, key=bytes(range(32)), cipher=cipher, new_key=None)
    with Store.open(path) as store:
        assert store.count(Account) == 1
    change_key(path, new_key="correct horse")
    with Store.open(path, key="correct horse") as store:
        assert store.count(Account) == 1


def test_a_store_is_kept_safe(store: Store, path: Path, tmp_path: Path) -> None:
    store.insert_all([Account(at) for at in range(1000)])
    copy = tmp_path / "copy.db"
    store.backup(copy)
    with pytest.raises(ExistsError):
        store.backup(copy)
    report = store.check(Account)
    assert (report.is_whole, report.problems, report.records) == (True, [], 1000)
    damaged = bytearray(copy.read_bytes())
    damaged[3 * 4096 : 3 * 4096 + 4096] = bytes(4096)
    copy.write_bytes(damaged)
    saved = salvage(copy, tmp_path / "saved.db")
    assert 0 < saved.rows < 1000 and not saved.is_complete
    assert saved.tables[0].name == "account"
    with Store.open(tmp_path / "saved.db") as again:
        assert again.count(Account) == saved.rows


class Model(RuleBasedStateMachine):
    """A store does what a dict does."""

    directory: Path
    made = 0

    def __init__(self) -> None:
        super().__init__()
        Model.made += 1
        self.store = Store.open(self.directory / f"model-{Model.made}.db")
        self.model: dict[int, Account] = {}

    accounts = st.builds(Account, st.integers(0, 5), st.integers(-(2**63), 2**63 - 1), st.none())

    @rule(account=accounts)
    def insert(self, account: Account) -> None:
        if account.id in self.model:
            with pytest.raises(ConflictError):
                self.store.insert(account)
        else:
            self.store.insert(account)
            self.model[account.id] = account

    @rule(accounts=st.lists(accounts, max_size=5))
    def put_all(self, accounts: list[Account]) -> None:
        assert self.store.put_all(accounts) == len(accounts)
        self.model.update({account.id: account for account in accounts})

    @rule(key=st.integers(0, 5))
    def remove(self, key: int) -> None:
        assert self.store.remove(Account, key) == (self.model.pop(key, None) is not None)

    @rule(accounts=st.lists(accounts, max_size=3), fails=st.booleans())
    def transact(self, accounts: list[Account], fails: bool) -> None:
        try:
            with self.store.transaction() as transaction:
                for account in accounts:
                    transaction.put(account)
                if fails:
                    raise Failed
        except Failed:
            return
        self.model.update({account.id: account for account in accounts})

    @rule()
    def reopen(self) -> None:
        path = self.store.path
        self.store.close()
        self.store = Store.open(path)

    @invariant()
    def same(self) -> None:
        assert self.store.all(Account) == [self.model[key] for key in sorted(self.model)]
        for key in range(6):
            assert self.store.get(Account, key) == self.model.get(key)

    def teardown(self) -> None:
        self.store.close()


def test_a_store_is_a_dict_that_lasts(tmp_path: Path) -> None:
    Model.directory = tmp_path
    health = [HealthCheck.too_slow]
    run_state_machine_as_test(
        Model, settings=settings(max_examples=15, stateful_step_count=15, deadline=None, suppress_health_check=health)
    )


def test_a_version_is_kept_with_the_data(tmp_path: Path) -> None:
    with Store.open(tmp_path / "version.db") as store:
        assert store.user_version() == 0
        with store.snapshot() as before:
            with store.transaction() as transaction:
                assert transaction.user_version() == 0
                transaction.set_user_version(7)
                assert transaction.user_version() == 7
            assert before.user_version() == 0
        with pytest.raises(OverflowError):
            with store.transaction() as transaction:
                transaction.set_user_version(-1)
    with Store.open(tmp_path / "version.db") as store:
        assert store.user_version() == 7


@pytest.mark.parametrize("sql", ["commit", "rollback", "pragma user_version = 3", "pragma journal_mode = delete"])
def test_sql_cannot_end_a_transaction_or_change_the_file(tmp_path: Path, sql: str) -> None:
    with Store.open(tmp_path / "guarded.db") as store:
        with store.transaction() as transaction:
            transaction.insert(Account(1, 5))
            with pytest.raises(RefusedError):
                transaction.execute(sql)
            with pytest.raises(RefusedError):
                transaction.sql(sql)
        with store.snapshot() as snapshot, pytest.raises(RefusedError):
            snapshot.sql(sql)
    with Store.open(tmp_path / "guarded.db") as store:
        assert store.all(Account) == [Account(1, 5)]


def test_a_column_of_a_key_has_an_index(tmp_path: Path) -> None:
    @record
    class Tagging:
        task: int = key()
        tag: str = key(index=True)
        person: int = key(unique=True)

    with Store.open(tmp_path / "tagging.db") as store:
        store.insert_all([Tagging(1, "home", 1), Tagging(2, "home", 2)])
        (names,) = zip(*store.sql("select name from sqlite_schema where type = 'index' and sql is not null order by 1"))
        assert names == ("tagging.person.unique", "tagging.tag")
        with pytest.raises(ConflictError):
            store.insert(Tagging(3, "work", 1))
    with pytest.raises(InvalidError, match="begins with it"):

        @record
        class Wrong:
            task: int = key(index=True)
            tag: str = key()
