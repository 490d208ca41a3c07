"""A Ray cluster of two machines, for once: ``make cluster`` (Linux, as root).

Two network namespaces with a cable between them are two machines that reach nobody else. Each has
processes, memory files and mounts of its own, and the second sees neither the driver's folder nor
these sources: it has the package as if it were installed there. A survey is done in one process,
then on both machines, then on both while the second loses its power in the middle; all three must
be the same bit for bit.
"""

from __future__ import annotations

import logging
import os
import secrets
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).parents[1]
NAMES = ("headscope-one", "headscope-two")
ADDRESSES = ("10.77.0.1", "10.77.0.2")
CABLE = ("headscope-a", "headscope-b")
PORT = 6379
ENV = {
    "OMP_NUM_THREADS": "1",  # as workers on a cluster have
    "PYTHONSAFEPATH": "1",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AUTH_MODE": "token",
    "RAY_AUTH_TOKEN": secrets.token_hex(32),  # both machines know it, for as long as they last
}
COPIES = 4  # of the demo corpus: some 20 units of work


def main() -> None:
    """Run the driver on the first machine, and cut the power of the second when it says so."""
    if sys.argv[1:2] == ["driver"]:
        with TemporaryDirectory() as folder:
            drive(Path(folder))
        return
    if os.geteuid():
        sys.exit("make cluster: only root may make network namespaces")
    with ExitStack() as stack:
        stack.enter_context(network())
        second = stack.enter_context(machine(1, second_script(), {"PYTHONPATH": SECOND}))
        paths = f"{ROOT / 'src'}{os.pathsep}{ROOT}"
        first = stack.enter_context(
            machine(0, first_script(), {"PYTHONPATH": paths}, stdout=subprocess.PIPE)
        )
        assert first.stdout is not None
        for line in first.stdout:
            if line == "cut\n":
                ip("netns", "exec", NAMES[1], "ip", "link", "set", CABLE[1], "down")
                second.kill()
                line = "the second machine lost its power\n"
            print(line, end="", flush=True)
        sys.exit(first.wait())


# --- two machines ---

SECOND = "/run/headscope-installed"


def first_script() -> str:
    """Start the cluster, then the driver."""
    driver = shlex.join([sys.executable, __file__, "driver"])
    return f"{ray()} --head --port={PORT} --num-cpus=1 --include-dashboard=false && {driver}"


def second_script() -> str:
    """Install the package, hide what the driver's machine has, join the cluster, and stay."""
    hidden, prefix = str(ROOT), Path(sys.prefix)
    lines = [
        f"mkdir -p {SECOND} /run/venv",
        f"mount -t tmpfs none {SECOND}",
        f"cp -r {ROOT / 'src' / 'headscope'} {SECOND}",
    ]
    if prefix.is_relative_to(ROOT):  # Python and its packages stay where they are
        lines += [f"mount --bind {prefix} /run/venv", f"mount -t tmpfs none {hidden}"]
        lines += [f"mkdir -p {prefix}", f"mount --bind /run/venv {prefix}"]
    else:
        lines += [f"mount -t tmpfs none {hidden}"]
    join = f"{ray(1)} --address={ADDRESSES[0]}:{PORT} --num-cpus=1 --block"
    again = f"until {join}; do sleep 1; done"  # until the first machine has started
    return " && ".join([*lines, "cd /", again])


def ray(number: int = 0) -> str:
    """The command that starts a node."""
    command = Path(sys.executable).with_name("ray")
    return f"{command} start --node-ip-address={ADDRESSES[number]} --disable-usage-stats >&2"


@contextmanager
def network() -> Iterator[None]:
    """Two network namespaces, and a cable between them."""
    try:
        for name in NAMES:
            ip("netns", "add", name)
        ip("link", "add", CABLE[0], "netns", NAMES[0], "type", "veth", "peer", "name", CABLE[1],
           "netns", NAMES[1])  # fmt: skip
        for name, cable, address in zip(NAMES, CABLE, ADDRESSES, strict=True):
            inside = ("netns", "exec", name, "ip")
            ip(*inside, "addr", "add", f"{address}/24", "dev", cable)
            ip(*inside, "link", "set", cable, "up")
            ip(*inside, "link", "set", "lo", "up")
        yield
    finally:
        for name in NAMES:
            subprocess.run(["ip", "netns", "del", name], stderr=subprocess.DEVNULL, check=False)


def ip(*words: str) -> None:
    """Run a command of iproute2."""
    subprocess.run(["ip", *words], check=True)


@contextmanager
def machine(
    number: int, script: str, env: dict[str, str], **options: Any
) -> Iterator[subprocess.Popen[str]]:
    """A machine that runs a script; at the end, or when it is killed, all of it is gone."""
    command = ["ip", "netns", "exec", NAMES[number]]
    command += ["unshare", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child"]
    mounts = "mount -t tmpfs none /dev/shm && mount -t tmpfs none /tmp"
    command += ["sh", "-c", f"{mounts} && {script}"]
    log = (Path("/tmp") / f"{NAMES[number]}.log").open("w")
    with (
        log,
        subprocess.Popen(
            command, env=os.environ | ENV | env, text=True, stderr=log, **options
        ) as process,
    ):
        try:
            yield process
        finally:
            process.kill()


# --- the driver, on the first machine ---


def drive(folder: Path) -> None:
    """Survey in one process, on both machines, and on both until one of them is gone."""
    import headscope as hs

    texts = [example.texts[0] for example in hs.read("demo")] * COPIES
    (folder / "texts.txt").write_text("\n".join(text.replace("\n", " ") for text in texts))
    corpus = hs.read(folder / "texts.txt", lines=True)
    wait_for_both(folder)

    logging.getLogger("headscope").addHandler(logging.StreamHandler(sys.stdout))

    def survey(name: str, **options: Any) -> Any:
        began = time.monotonic()
        atlas = hs.survey("demo", corpus, batch_size=2, output=folder / f"{name}.nc", **options)
        print(f"{name}: {len(texts)} examples in {time.monotonic() - began:.0f} s", flush=True)
        return atlas

    def cut(done: int, total: int) -> None:
        if done > total / 3 and not told:
            told.append(done)
            print(f"{done} of {total} examples are done", flush=True)
            print("cut", flush=True)

    told: list[int] = []
    cluster = {"engine": "ray", "workers": 2, "address": f"{ADDRESSES[0]}:{PORT}"}
    alone = survey("one process")
    for name, progress in {"two machines": False, "two machines, one lost": cut}.items():
        both = survey(name, progress=progress, **cluster)
        same = set(both.tree.children) == set(alone.tree.children) and all(
            both.tree[group].to_dataset().identical(alone.tree[group].to_dataset())
            for group in alone.tree.children
        )
        print(f"the same as in one process, bit for bit: {'yes' if same else 'NO'}", flush=True)
        if not same:
            sys.exit(1)


def wait_for_both(folder: Path) -> None:
    """Wait until both machines have joined; say what the second sees, and that it works."""
    import ray

    ray.init(address=f"{ADDRESSES[0]}:{PORT}", log_to_driver=False)
    end = time.monotonic() + 120
    while ray.cluster_resources().get("CPU", 0) < 2:
        if time.monotonic() > end:
            sys.exit("the second machine did not join: see /tmp/headscope-two.log")
        time.sleep(0.5)
    other = next(node for node in ray.nodes() if node["NodeManagerAddress"] == ADDRESSES[1])
    seen = ray.remote(resources={f"node:{other['NodeManagerAddress']}": 0.01})(look)
    paths = [str(folder / "texts.txt"), str(ROOT / "src"), f"{SECOND}/headscope"]
    for path, there in zip(paths, ray.get(seen.remote(paths)), strict=True):
        print(f"the second machine {'sees' if there else 'does not see'} {path}", flush=True)
    ray.shutdown()


def look(paths: list[str]) -> list[bool]:
    """Which paths there are."""
    return [os.path.exists(path) for path in paths]  # noqa: PTH110


if __name__ == "__main__":
    main()
