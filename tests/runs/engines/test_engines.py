"""Workers in other processes and on a Ray cluster: the same bits, whatever happens to them."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import Any

import psutil
import pytest

import headscope as hs
from headscope.errors import Interrupted, ModelError, UserError
from headscope.runs import workers as module
from headscope.runs.workers import Engine, Processes, RayCluster, Task
from processes import python
from runs.engines.workers import same, workers_of
from runs.in_process import stop_after
from tiny import tiny_network, tiny_tokenizer

pytestmark = pytest.mark.slow

TEXTS = [" ".join(["the cat sat on a mat, a dog saw it."] * (1 + index % 4)) for index in range(40)]
ROLES = ("local", "cls", "duplicate")
WAIT = 300.0
"""Seconds that nothing takes, not even on a busy machine."""
HOW: dict[str, Any] = {
    "batch_size": 1,
    "max_length": 40,
    "measures": ["entropy", hs.Role(ROLES, keep=9)],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "tiny"
    tiny_network("bert").save_pretrained(path)
    tiny_tokenizer("bert").save_pretrained(path)
    return path


@pytest.fixture(scope="module")
def model(folder):
    return hs.load(folder)


@pytest.fixture(scope="module")
def alone(model):
    return hs.survey(model, TEXTS, **HOW)


def test_results_are_those_of_a_local_run(model, alone, engine):
    seen: list[tuple[int, int]] = []
    found = hs.survey(
        model, TEXTS, engine=engine, workers=2, progress=lambda *step: seen.append(step), **HOW
    )
    same(found, alone)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1] == (40, 40)
    assert len(seen) == 5  # one for each unit


@pytest.mark.usefixtures("forked")
def test_a_wrapped_network_and_a_measure_of_one_s_own_travel(engine):
    class Mine(hs.Measure):
        name, title, unit, source = "mine", "Largest weight", "share of attention", "a test"
        dims = {"of": ("map",)}

        def layer(self, view: Any, attention: Any, prepared: Any) -> Any:
            return attention.amax((2, 3))[..., None]

    model = hs.wrap(tiny_network("gpt2"), tiny_tokenizer("gpt2"), name="tiny")
    how: dict[str, Any] = {"measures": [Mine], "batch_size": 1, "max_length": 30}
    same(
        hs.survey(model, TEXTS[:20], engine=engine, workers=1, **how),
        hs.survey(model, TEXTS[:20], **how),
    )


@pytest.mark.usefixtures("forked")
@pytest.mark.parametrize("engine", ["processes"], indirect=True)
def test_two_models_are_compared(model, engine):
    other = hs.wrap(tiny_network("bert", seed=4), tiny_tokenizer("bert"), name="other")
    how: dict[str, Any] = {"measures": "entropy", "batch_size": 2, "max_length": 40}
    same(
        hs.compare(model, other, TEXTS, engine=engine, workers=2, **how),
        hs.compare(model, other, TEXTS, **how),
    )


def test_a_killed_worker_changes_nothing_and_is_reported(model, alone, engine, caplog):
    killed: list[int] = []

    def kill(done: int, total: int) -> None:
        for process in [] if killed else workers_of(engine)[:1]:
            process.send_signal(signal.SIGKILL)
            killed.append(process.pid)

    workers = 2 if engine == "ray" else 1  # of processes, all are replaced
    same(hs.survey(model, TEXTS, engine=engine, workers=workers, progress=kill, **HOW), alone)
    assert killed
    assert [line.getMessage() for line in caplog.records if "workers" in line.name] == [
        "a worker died; what it was working on is done again by a new one"
    ]


@pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed")
def test_ray_does_not_report_dead_workers_where_results_go(capsys):
    from ray._private import worker

    def report(line: str) -> str:
        data = {"lines": [line], "pid": "raylet", "is_err": False}
        worker.print_to_stdstream(data, ignore_prefix=False)  # as Ray itself calls it
        return capsys.readouterr().out

    # Ray holds back a line that it has printed before.
    assert "One worker died." in report("One worker died.")
    with module.hushed():
        assert report("Another was killed.") == ""
    assert "The third has gone." in report("The third has gone.")


def own_measure(prepare: Callable[[], Any]) -> type[hs.Measure]:
    """A measure as of a notebook, which workers cannot import."""

    class Own(hs.Measure):
        name, title, unit, source = "own", "Own", "none", "a test"
        dims = {"of": ("map",)}

        def prepare(self, batch: Any, device: Any) -> Any:
            return prepare()

    return Own


def test_workers_that_always_die_stop_the_run(engine):
    def die(number: int) -> None:  # like a process that runs out of memory
        os.kill(os.getpid(), signal.SIGKILL)

    made: Engine = RayCluster(1) if engine == "ray" else Processes(1)
    with (
        made.start(die) as workers,
        pytest.raises(UserError, match=r"died twice .* unit 1 ") as caught,
    ):
        list(workers.map([Task(0, (0,))]))
    assert "fewer workers" in caught.value.hint


RAYLET = """
import signal, sys
import psutil
import headscope as hs
from headscope.errors import UserError

def kill(done, total):
    for child in psutil.Process().children(recursive=True):
        if done >= 16 and child.name() == "raylet":
            child.send_signal(signal.SIGKILL)

try:
    hs.survey(
        sys.argv[1], hs.read(sys.argv[2], lines=True), engine="ray", workers=1, batch_size=1,
        max_length=40, measures="entropy", output=sys.argv[3], every=0, progress=kill,
    )
except UserError as error:
    print(error.message)
"""


@pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed")
def test_a_killed_raylet_is_reported_and_the_state_is_kept(folder, model, tmp_path):
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS))
    output = tmp_path / "run.nc"
    command = [sys.executable, "-c", RAYLET, folder, tmp_path / "texts.txt", output]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=WAIT)
    state = tmp_path / "run.nc.partial"
    assert done.stdout.splitlines() == [
        "Ray's own process on this machine (the raylet) died, and the workers with it; the state "
        f"is kept in {state}"
    ], done.stderr
    resumed: list[int] = []
    corpus = hs.read(tmp_path / "texts.txt", lines=True)
    how: dict[str, Any] = {"batch_size": 1, "max_length": 40, "measures": "entropy"}
    found = hs.survey(
        model, corpus, output=output, progress=lambda done, _: resumed.append(done), **how
    )
    assert resumed[0] >= 16
    same(found, hs.survey(model, corpus, **how))


@pytest.mark.usefixtures("forked")
def test_an_error_of_the_work_is_raised_once_with_its_advice(model, engine):
    def fail() -> None:
        raise UserError("no such luck", hint="try something else")

    wrong = own_measure(fail)
    with pytest.raises(UserError, match="no such luck") as caught:
        hs.survey(
            model, TEXTS, engine=engine, workers=1, batch_size=1, max_length=40, measures=[wrong]
        )
    assert caught.value.hint == "try something else"


@pytest.mark.usefixtures("forked")
def test_a_worker_that_cannot_load_the_model_says_so(folder, tmp_path, engine):
    place = tmp_path / "gone"
    shutil.copytree(folder, place)
    model = hs.load(place)
    shutil.rmtree(place)
    with pytest.raises(ModelError, match="gone"):
        hs.survey(model, TEXTS, engine=engine, workers=1, **HOW)


@pytest.mark.usefixtures("forked")
def test_weights_that_were_changed_in_memory_are_not_loaded_anew(folder):
    model = hs.load(folder)
    next(model.network.parameters()).data.add_(1.0)
    with pytest.raises(ModelError, match="other weights where a worker loads it"):
        hs.survey(model, TEXTS, engine="processes", workers=1, **HOW)


@pytest.mark.usefixtures("forked")
def test_ctrl_c_stops_all_and_a_run_goes_on_with_any_engine(model, alone, engine, tmp_path):
    output = tmp_path / "run.nc"
    with pytest.raises(Interrupted, match="kept in"):  # here, in the middle of the first unit
        hs.survey(model, TEXTS, output=output, progress=stop_after(3), **HOW)
    with pytest.raises(Interrupted, match="kept in"):
        hs.survey(
            model, TEXTS, output=output, engine=engine, workers=2, progress=stop_after(2), **HOW
        )
    _, alive = psutil.wait_procs(workers_of(engine), timeout=WAIT)
    assert not alive
    same(hs.survey(model, TEXTS, output=output, **HOW), alone)


DRIVER = f"""
import sys
import headscope as hs
from headscope.runs import workers

workers.threads_for = lambda workers: 1

def tell(done, total):
    print(done, flush=True)
    if done >= 16:
        sys.stdin.read()  # until this process is killed

hs.survey(hs.load(sys.argv[1]), sys.argv[4:], output=sys.argv[2], engine=sys.argv[3], workers=1,
    every=0.0, progress=tell, batch_size=1, max_length=40,
    measures=["entropy", hs.Role({ROLES!r}, keep=9)])
"""


def test_a_killed_driver_leaves_what_was_done(folder, alone, tmp_path):
    output = tmp_path / "run.nc"
    line = [sys.executable, "-c", DRIVER, str(folder), str(output), "processes", *TEXTS]
    with subprocess.Popen(
        line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        children: list[psutil.Process] = []
        for told in process.stdout:
            if int(told) >= 16:
                children = psutil.Process(process.pid).children(recursive=True)
                process.kill()
                break
    assert process.returncode == -signal.SIGKILL
    _, alive = psutil.wait_procs(children, timeout=WAIT)
    assert not alive  # no worker outlives its driver
    assert output.with_name("run.nc.partial").is_file()
    seen: list[int] = []
    found = hs.survey(
        hs.load(folder), TEXTS, output=output, progress=lambda done, _: seen.append(done), **HOW
    )
    same(found, alone)
    assert seen[0] >= 8  # what the first driver did was not done again


def test_a_local_cluster_can_be_reached_from_this_machine_alone(cluster):
    heard: set[str] = set()
    for process in [psutil.Process(), *psutil.Process().children(recursive=True)]:
        with suppress(psutil.NoSuchProcess):  # Ray's idle workers come and go
            heard |= {
                connection.laddr.ip.removeprefix("::ffff:")
                for connection in process.net_connections("inet")
                if connection.status == psutil.CONN_LISTEN
            }
    assert heard <= {"127.0.0.1", "::1"}
    assert heard


def test_a_slow_worker_holds_up_nobody(cluster, tmp_path):
    """The first task ends when the others have been given back, however slow they are."""
    engine = RayCluster(2)
    given_back = tmp_path / "given back"

    def work(number: int) -> int:
        end = time.monotonic() + WAIT
        while number == 0 and not given_back.exists():
            if time.monotonic() > end:
                raise TimeoutError("the first task held up the others")
            time.sleep(0.05)
        return number * number

    found = []
    with engine.start(work) as workers:
        for result in workers.map(Task(number, (number,)) for number in range(6)):
            found.append(result)
            if len(found) == 5:
                given_back.touch()
    assert sorted(found) == [(number, number * number) for number in range(6)]
    assert found[-1][0] == 0


@contextmanager
def occupied(cpus: int) -> Iterator[Any]:
    """A cluster that has so many CPUs fewer, as after the end of a machine."""
    import ray

    blocker = ray.remote(num_cpus=cpus)(type("Blocker", (), {"here": lambda self: None})).remote()
    ray.get(blocker.here.remote())
    try:
        yield lambda: ray.kill(blocker)
    finally:
        ray.kill(blocker)


def test_the_task_of_a_worker_that_never_starts_is_done_by_another(cluster):
    engine = RayCluster(2)
    with occupied(1), engine.start(lambda number: number * number) as workers:
        found = dict(workers.map(Task(number, (number,)) for number in range(6)))
    assert found == {number: number * number for number in range(6)}


def test_a_cluster_without_room_is_waited_for_with_a_warning(cluster, monkeypatch, caplog):
    engine = RayCluster(1)
    monkeypatch.setattr(module, "PATIENCE", 0.2)
    with occupied(2) as leave, engine.start(lambda number: number + 1) as workers:
        warn = module.log.warning
        monkeypatch.setattr(module.log, "warning", lambda text: (warn(text), leave()))
        assert list(workers.map([Task(0, (1,))])) == [(0, 2)]
    assert "no free CPU" in caplog.text


LOST_NODE = """
import time
from headscope.runs.workers import RayCluster, Task
engine = RayCluster(2)
from ray.cluster_utils import Cluster

def work(number):
    return number, b"x" * 1_000_000  # too large to travel with the answer: it stays on its node

cluster = Cluster(True, head_node_args={"num_cpus": 0, "include_dashboard": False})
node = cluster.add_node(num_cpus=2)
seen = []
with RayCluster(2, cluster.address).start(work) as workers:
    for index, (number, _) in workers.map(Task(number, (number,)) for number in range(6)):
        seen.append((index, number))
        if len(seen) == 1:
            time.sleep(1.0)  # the next is finished, and not yet fetched
            cluster.remove_node(node, allow_graceful=False)
            cluster.add_node(num_cpus=2)
print(sorted(seen))
"""


@pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed")
def test_results_that_are_lost_with_their_machine_are_computed_again(tmp_path):
    done = python("-c", LOST_NODE, timeout=WAIT, cwd=tmp_path)
    assert done.stdout.splitlines()[-1:] == [str([(number, number) for number in range(6)])], (
        done.stderr
    )
