"""The explorer and the labelling page under load: ``make load``.

A tiny model is served as ``headscope explore`` serves one. Many clients ask at once while others
send one byte now and then, send huge requests or go away; then one client asks thousands of times,
and the memory of the process must not grow. Prints a table; the exit code is 1 if a bound is not
kept.
"""

from __future__ import annotations

import argparse
import gc
import os
import socket
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import psutil

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT)]
os.environ.setdefault("HF_HUB_OFFLINE", "1")
GROWTH = 20_000_000
"""Bytes by which the memory may grow over the second half of the requests."""
AT_ONCE = 8
"""Clients that ask while the memory is measured."""
ANSWERED = {200, 409, 503}
"""What a client may be told: the answer, that a newer request took its place, or to come back."""


def main() -> int:
    """Run all loads."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--each", type=int, default=20, help="requests of each client")
    parser.add_argument("--requests", type=int, default=10_000, help="for the memory")
    options = parser.parse_args()
    good = True
    for name, opened, ask in (
        ("explorer", explorer, ask_explorer),
        ("labelling page", labelling, ask_labelling),
    ):
        with opened() as address:
            codes, slowest = many_clients(address, ask, options.clients, options.each)
            kept = set(codes) <= ANSWERED and codes[200] > 0
            print(
                f"{name}: {options.clients} clients × {options.each}: {dict(codes)}, "
                f"slowest {slowest:.2f} s  {'ok' if kept else 'NOT KEPT'}",
                flush=True,
            )
            good &= kept
            with slow_clients(address, 100):
                began = time.monotonic()
                code = ask(httpx.Client(base_url=address, timeout=60), 0)
                print(
                    f"{name}: with 100 slow clients: {code} in {time.monotonic() - began:.2f} s",
                    flush=True,
                )
                good &= code == 200
            refused = huge(address)
            print(f"{name}: huge requests: {refused}", flush=True)
            good &= all(code in {400, 404, 413, 431, 0} for code in refused)
            growth = memory(address, ask, options.requests)
            kept = growth < GROWTH
            print(
                f"{name}: {options.requests:,} requests, memory of the second half "
                f"{growth / 1e6:+.1f} MB  {'ok' if kept else 'NOT KEPT'}",
                flush=True,
            )
            good &= kept
    return 0 if good else 1


@contextmanager
def explorer() -> Iterator[str]:
    """An explorer of a tiny model."""
    from headscope.page.explorer.start import Explorer
    from headscope.runs.live import LiveModel
    from tiny import tiny_model

    with Explorer(LiveModel(tiny_model("bert"))) as served:
        yield served.address


@contextmanager
def labelling() -> Iterator[str]:
    """The labelling page of a small model."""
    from headscope.corpus import from_texts
    from headscope.labelling import CorpusMaps, LabelSession, LabelStore
    from headscope.labelling.server import serve
    from headscope.page.serving import open_port
    from labelling.conftest import TEXTS, network, planted

    addresses: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        maps = CorpusMaps(planted(), from_texts(TEXTS), limit=3, seed=0, max_length=24)
        session = LabelSession(maps, LabelStore(Path(folder) / "labels"), network())
        thread = threading.Thread(
            target=serve, args=(session, open_port(0), addresses.append), daemon=True
        )
        thread.start()
        while not addresses:
            time.sleep(0.01)
        yield addresses[0]
        httpx.post(addresses[0] + "stop", json={})
        thread.join(10)


def ask_explorer(client: httpx.Client, number: int) -> int:
    """Ask for the maps of a text, as the page does."""
    body = {"text": f"The dog barks {number}.", "heads": ["1-1"], "page": str(number), "slot": "m"}
    return client.post("live/maps", json=body).status_code


def ask_labelling(client: httpx.Client, number: int) -> int:
    """Ask for the map to be labelled."""
    return client.get("state").status_code


def many_clients(address: str, ask, clients: int, each: int) -> tuple[Counter[int], float]:
    """The codes that clients got who asked at once, and the longest time that one waited."""
    codes: Counter[int] = Counter()
    times: list[float] = []

    def one(number: int) -> None:
        with httpx.Client(base_url=address, timeout=120) as client:
            for turn in range(each):
                began = time.monotonic()
                codes[ask(client, number * each + turn)] += 1
                times.append(time.monotonic() - began)

    with ThreadPoolExecutor(clients) as threads:
        list(threads.map(one, range(clients)))
    return codes, max(times)


@contextmanager
def slow_clients(address: str, count: int) -> Iterator[list[socket.socket]]:
    """Connections that send the first bytes of a request, and then nothing."""
    parts = urlsplit(address)
    opened = []
    try:
        for _ in range(count):
            client = socket.create_connection((parts.hostname, parts.port), timeout=60)
            client.sendall(b"POST " + parts.path.encode() + b"live/maps HTTP/1.1\r\nHost: 127.0")
            opened.append(client)
        yield opened
    finally:
        for client in opened:
            client.close()


def huge(address: str) -> list[int]:
    """The codes for a large body, a large head and a length of thousands of digits."""
    parts = urlsplit(address)
    body = httpx.post(
        address + "live/maps",
        content=b"[" * 5_000_000,
        headers={"content-type": "application/json"},
    ).status_code
    start = f"POST {parts.path}live/maps HTTP/1.1\r\nHost: {parts.netloc}\r\n".encode()
    heads = [b"X: " + b"x" * 1_000_000, b"Content-Length: " + b"9" * 5000]
    return [body, *(raw(parts.hostname, parts.port, start + head + b"\r\n\r\n") for head in heads)]


def raw(host: str | None, port: int | None, data: bytes) -> int:
    """The code for some bytes; 0 if the connection was closed without one."""
    with socket.create_connection((host, port), timeout=60) as client:
        try:
            client.sendall(data)
            answer = client.recv(1000)
        except ConnectionError:
            return 0
    return int(answer.split()[1]) if answer.startswith(b"HTTP/1.1 ") else 0


def memory(address: str, ask, requests: int) -> int:
    """By how many bytes the process grows over the second half of many requests."""
    process = psutil.Process()
    each = requests // (2 * AT_ONCE)
    many_clients(address, ask, AT_ONCE, each)
    gc.collect()
    before = process.memory_info().rss
    many_clients(address, ask, AT_ONCE, each)
    gc.collect()
    return process.memory_info().rss - before


if __name__ == "__main__":
    sys.exit(main())
