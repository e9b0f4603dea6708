#!/usr/bin/env python3
"""Our generator beside wrk, oha, k6 and Locust, in one interleaved run: compare.py FOLDER

FOLDER is the one that `install.sh` filled. Needs `cargo build --release --package touchstone-load --bins --examples` before it.

Two questions. What does a request cost the generator: a closed loop of 32 connections, the service on one processor and the generator
on another, rounds in turns, the generator's own user and system time divided by the requests that it counted. And what does it say
of a service that stands still: 2,000 requests a second for 10 s, the service stopped for one second in the middle. 20,000 requests are
due and 2,000 of them fall into the stop, so the 95th percentile is 500 ms and the 99th 900 ms.
"""

import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
BUILT = os.path.join(ROOT, "target", "release")
URL = "http://127.0.0.1:18090/"
SECONDS = 4
ROUNDS = 3
CONNECTIONS = 32

K6 = """
import http from 'k6/http';
export const options = { %s, summaryTrendStats: ['med', 'p(95)', 'p(99)', 'max'] };
export default function () { http.get('%s'); }
"""
LOCUST = """
from locust import FastHttpUser, constant_throughput, task
class User(FastHttpUser):
    %s
    @task
    def ask(self):
        self.client.get("/")
"""


def run(command, processor=None, scratch=None):
    """Runs a command on a processor. Its output, and the seconds of processor time that it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    pinned = (["taskset", "-c", str(processor)] if processor is not None else []) + command
    done = subprocess.run(pinned, capture_output=True, text=True, cwd=scratch)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return done.stdout + done.stderr, used


def first(pattern, text):
    found = re.search(pattern, text)
    return found.group(1) if found else None


class Generators:
    """How each is asked, and where it says how many requests it made."""

    def __init__(self, folder, scratch):
        self.folder, self.scratch = folder, scratch

    def path(self, name):
        return os.path.join(self.folder, "bin", name)

    def write(self, name, text):
        path = os.path.join(self.scratch, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def closed(self):
        ours = [os.path.join(BUILT, "touchstone-load"), URL, "--users", str(CONNECTIONS), "--for", f"{SECONDS}s", "--warm-up", "0s", "--json"]
        k6 = self.write("closed.js", K6 % (f"vus: {CONNECTIONS}, duration: '{SECONDS}s'", URL))
        locust = self.write("closed_locust.py", LOCUST % "")
        return {
            "touchstone-load": (ours, lambda text: json.loads(text[text.index("{") :])["due"]),
            "wrk": (["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{SECONDS}s", URL], lambda text: int(first(r"(\d+) requests in", text))),
            "oha": ([self.path("oha"), "-c", str(CONNECTIONS), "-z", f"{SECONDS}s", "--no-tui", URL], oha_count),
            "k6": ([self.path("k6"), "run", "--no-usage-report", k6], lambda text: int(first(r"http_reqs\.*: (\d+)", text))),
            "locust": (self.locust(locust, CONNECTIONS, SECONDS), lambda text: int(first(r"Aggregated\s+(\d+)", text))),
        }

    def locust(self, file, users, seconds):
        program = os.path.join(self.folder, "venv", "bin", "locust")
        rise = ["-u", str(users), "-r", str(users), "-t", f"{seconds}s"]
        return [program, "-f", file, "--headless", "--only-summary", "--host", URL.rstrip("/")] + rise

    def stalled(self):
        rate = "scenarios: { a: { executor: 'constant-arrival-rate', rate: 2000, timeUnit: '1s', duration: '10s', preAllocatedVUs: 32, maxVUs: 32 } }"
        k6 = self.write("open.js", K6 % (rate, URL))
        locust = self.write("open_locust.py", LOCUST % "wait_time = constant_throughput(2000 / 32)")
        ours = [os.path.join(BUILT, "touchstone-load"), URL, "--rate", "2000", "--for", "10s", "--warm-up", "0s", "--connections", "32"]
        oha = [self.path("oha"), "-c", "32", "-z", "10s", "-q", "2000", "--no-tui", URL]
        return {
            "touchstone-load": ours,
            "oha": oha,
            "oha --latency-correction": oha[:-1] + ["--latency-correction", URL],
            "k6 (32 users)": [self.path("k6"), "run", "--no-usage-report", k6],
            "locust": self.locust(locust, 32, 10),
        }


def oha_count(text):
    return sum(int(count) for count in re.findall(r"\[\d+\] (\d+) responses", text))


def is_there(command):
    return subprocess.run(["which", command[0]], capture_output=True).returncode == 0


def service():
    process = subprocess.Popen(["taskset", "-c", "0", os.path.join(BUILT, "examples", "fixed"), URL[7:-1]], stdout=subprocess.PIPE)
    process.stdout.readline()
    return process


def costs(generators):
    found = {}
    for _ in range(ROUNDS):
        for name, (command, count) in generators.closed().items():
            if not is_there(command):
                print(f"{name}: not installed")
                continue
            text, used = run(command, processor=1, scratch=generators.scratch)
            try:
                requests = count(text)
            except (TypeError, ValueError, KeyError):
                print(f"{name}: says no count: {text[-300:]}")
                continue
            found.setdefault(name, []).append((used / requests * 1e6, requests / SECONDS))
    print(f"\nA request of a closed loop of {CONNECTIONS} connections, {ROUNDS} rounds in turns:")
    for name, all in found.items():
        each = " ".join(f"{cost:.2f}" for cost, _ in all)
        best, rate = min(all)
        print(f"  {name:18} {best:8.2f} µs ({each}), {rate:,.0f} a second")


def stalls(generators, server):
    for name, command in generators.stalled().items():
        if not is_there(command):
            continue
        print(f"\n2,000 a second for 10 s, 1 s of them stopped: {name}")
        stop = threading.Timer(5.0, lambda: os.kill(server.pid, signal.SIGSTOP))
        go = threading.Timer(6.0, lambda: os.kill(server.pid, signal.SIGCONT))
        stop.start()
        go.start()
        text, _ = run(command, processor=1, scratch=generators.scratch)
        go.join()
        wanted = re.compile(r"GET|requests? |Aggregated|http_reqs|http_req_duration|dropped|9[59].*%|in [\d.]+ |Slowest|P50|Success", re.I)
        print("\n".join("  " + line for line in text.splitlines() if wanted.search(line))[:1800])
        time.sleep(1)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    server = service()
    try:
        with tempfile.TemporaryDirectory() as scratch:
            generators = Generators(os.path.abspath(sys.argv[1]), scratch)
            costs(generators)
            stalls(generators, server)
    finally:
        server.kill()


main()
