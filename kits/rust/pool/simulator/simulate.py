"""Holds the pool's policies against a simulator, libCacheSim, on the orders of gets that the lab makes.

    python simulate.py ORDERS HITS

ORDERS is a folder that xtask's `orders` wrote, HITS the pool's example `hits`. Fails where a policy without freedom hits other gets
than the simulator's, where the lab's best possible pool is not the simulator's, and where the best policy here hits less than 97 %
of what the best of the same policies hits there. Others are told beside them.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from array import array
from pathlib import Path

import libcachesim as published

#: Never again.
NEVER = 2**62
#: What a policy needs at least, of what the best published one hits.
ENOUGH = 0.97
#: For how many pages each has room at first, as a power of two: its tables grow.
ROOM = {"hashpower": 16}

#: Each as published. Its window has a page or more: with none the simulator's keeps nothing.
PUBLISHED = {
    "lru": lambda pages: published.LRU(pages, **ROOM),
    "clock": lambda pages: published.Clock(pages, **ROOM),
    "sieve": lambda pages: published.Sieve(pages, **ROOM),
    "two-queues": lambda pages: published.TwoQ(pages, **ROOM),
    "s3-fifo": lambda pages: published.S3FIFO(pages, **ROOM),
    "w-tinylfu": lambda pages: published.WTinyLFU(pages, window_size=max(0.01, 1 / pages), **ROOM),
}
#: Policies that the pool does not have.
OTHERS = {
    "arc": lambda pages: published.ARC(pages, **ROOM),
    "lirs": lambda pages: published.LIRS(pages, **ROOM),
}
#: Policies that say for each get what leaves. The others leave open what a sketch or a full queue does.
EXACT = ["lru", "clock", "sieve", "two-queues"]
BEST = "belady"


def main(folder: Path, hits: Path) -> int:
    cases = json.loads((folder / "orders.json").read_text())
    if not cases:
        print(f"{folder / 'orders.json'} has no case: its plan needs one about a pool", file=sys.stderr)
        return 1
    print("Hits of 100 gets, here and simulated.\n")
    wrong = [mistake for case in cases for mistake in compared(case, folder, hits)]
    print()
    for mistake in wrong:
        print(mistake, file=sys.stderr)
    if not wrong:
        print(f"In all {len(cases)} cases they agree, and the best policy here hits at least 97 % of what the best one does as published.")
    return 1 if wrong else 0


def compared(case: dict, folder: Path, hits: Path) -> list[str]:
    """Prints a case, and says what is wrong with it."""
    name, before, pages = case["case"], case["before"], case["pool_pages"]
    operations = array("I", (folder / case["file"]).read_bytes())[: before + case["gets"]]
    here = hits_here(hits, operations, before, pages) | {BEST: case["best_hits"]}
    simulate = lambda policies: {policy: hits_of(make(pages), operations, before) for policy, make in policies.items()}
    simulated = simulate(PUBLISHED) | simulate({BEST: lambda pages: published.Belady(pages, **ROOM)})
    share = lambda counted, policy: f"{100 * counted[policy] / case['gets']:.2f}" if policy in counted else "-"
    all_simulated = simulated | simulate(OTHERS)
    told = (f"{policy} {share(here, policy)} / {share(all_simulated, policy)}" for policy in all_simulated)
    print(f"{name}, {pages} pages:", ", ".join(told), flush=True)
    wrong = [
        f"{name}: {policy} hits {here[policy]} gets here and {simulated[policy]} in the simulator: one of the two is wrong"
        for policy in [*EXACT, BEST]
        if here[policy] != simulated[policy]
    ]
    (ours, most), (theirs, limit) = best(here), best(simulated)
    if most < ENOUGH * limit:
        wrong.append(f"{name}: the best policy here, {ours}, hits {most} gets, and {theirs} {limit}: more than 3 % away")
    return wrong


def best(counted: dict[str, int]) -> tuple[str, int]:
    policies = {policy: count for policy, count in counted.items() if policy != BEST}
    return max(policies.items(), key=lambda pair: pair[1])


def hits_here(hits: Path, operations: array, before: int, pages: int) -> dict[str, int]:
    with tempfile.NamedTemporaryFile() as file:
        operations.tofile(file)
        file.flush()
        command = [hits, file.name, str(before), str(pages)]
        told = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    return {policy: int(count) for policy, count in (line.split() for line in told.splitlines())}


def hits_of(cache: published.CacheBase, operations: array, before: int) -> int:
    """Hits of the gets after the first `before`; every page has the size of 1."""
    following, known = [NEVER] * len(operations), {}
    for at in range(len(operations) - 1, -1, -1):
        following[at] = known.get(operations[at], NEVER)
        known[operations[at]] = at
    hit = 0
    for at, page in enumerate(operations):
        request = published.Request()
        request.obj_id, request.obj_size = page, 1
        request.clock_time, request.next_access_vtime = at, following[at]
        hit += cache.get(request) and at >= before
    return hit


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
