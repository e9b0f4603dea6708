"""Threads that move money between accounts: whatever they do, none of it is lost.

    python examples/bank.py bank.db
"""

from __future__ import annotations

import random
import sys
from concurrent.futures import ThreadPoolExecutor

from touchstone_store import Column, Durability, Store, Transaction, field, key, record


@record
class Account:
    id: Column[int] = key()
    balance: Column[int] = field(default=0)


class Poor(Exception):
    """There is not as much on the account."""


def move(transaction: Transaction, source: int, target: int, amount: int) -> None:
    def change(more: int) -> None:
        account = transaction.get(Account, source if more < 0 else target)
        assert account is not None
        if account.balance + more < 0:
            raise Poor
        transaction.put(Account(account.id, account.balance + more))

    change(-amount)
    change(amount)


def main(path: str) -> int:
    with Store.open(path, durability=Durability.CONSISTENT) as store:
        with store.transaction() as transaction:
            transaction.clear(Account)
            transaction.insert_all(Account(number, 100) for number in range(10))

        def work(seed: int) -> None:
            chance = random.Random(seed)
            for _ in range(50):
                source, target = chance.sample(range(10), 2)
                try:
                    store.write(move, source, target, chance.randrange(60))
                except Poor:
                    pass

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(work, range(4)))
        with store.snapshot() as snapshot:
            total = sum(account.balance for account in snapshot.all(Account))
            print(total, "in", snapshot.query(Account).filter(Account.balance > 0).count(), "accounts")
    return 0 if total == 1000 else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
