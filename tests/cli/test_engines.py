"""``--engine``, ``--workers`` and ``--address``: the same numbers, and mistakes found at once."""

from __future__ import annotations

import sys

import pytest
import xarray as xr

import headscope as hs
from cli.conftest import MEASURES, TEXT
from cli.test_mistakes import mistake
from headscope.cli.app import load_commands
from headscope.options import cores
from runs.engines.conftest import forked  # noqa: F401 (fixture)

CORES = cores()
ADDRESS = "only the engine 'ray' has an address; got the engine "
MISTAKES = {
    ("--engine", "proceses"): (
        "the engine must be one of local, processes, ray; got 'proceses' instead. Did you mean "
        "'processes'?",
        "see headscope survey --help",
    ),
    ("--engine", "processes", "--workers.address", "auto"): (
        f"{ADDRESS}'processes' and 'auto'",
        "give --engine ray",
    ),
    ("--workers.address", "10.0.0.1:6379"): (
        f"{ADDRESS}'local' and '10.0.0.1:6379'",
        "give --engine ray",
    ),
    ("--engine", "processes", "--workers", "0"): (
        "the number of workers must be 1 or more, got 0 instead",
        "see headscope survey --help",
    ),
    ("--engine", "ray", "--workers", "-1"): (
        "the number of workers must be 1 or more, got -1 instead",
        "see headscope survey --help",
    ),
    ("--workers", "2"): (
        "the engine 'local' works in this process alone, got 2 workers",
        "give --engine processes",
    ),
    ("--engine", "processes", "--workers", str(CORES + 1)): (
        f"there must be at most as many workers as cores, {CORES}, got {CORES + 1} instead",
        f"give --workers {CORES}",
    ),
}
WITH_WORKERS = {
    "survey": ("demo", "demo"),
    "compare": ("demo", "demo", "demo"),
    "ablate": ("demo",),
    "probe": ("demo", "demo"),
    "tune": ("demo",),
}
COMMANDS = {name: given for name, given in WITH_WORKERS.items() if name in load_commands()}


@pytest.fixture(autouse=True)
def one_thread(monkeypatch):
    """Workers have one thread, as the tests have: the last bits depend on threads."""
    monkeypatch.setattr("headscope.runs.workers.threads_for", lambda workers: 1)


@pytest.fixture
def texts(text):
    """Twelve paragraphs: units of work of 8 and of 4, one by one."""
    text.write_text("\n\n".join([TEXT] * 3))
    return text


@pytest.mark.parametrize("given", MISTAKES, ids=" ".join)
def test_a_choice_of_workers_that_is_not_possible(run, here, given):
    done = run("survey", "demo", "demo", *given)
    assert mistake(done) == MISTAKES[given]
    assert len(done.err.splitlines()) == 2
    assert list(here.iterdir()) == []


def test_ray_that_is_not_installed(run, here, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    done = run("survey", "demo", "demo", "--engine", "ray")
    assert mistake(done) == (
        "the engine 'ray' needs Ray, which is not installed",
        "install it: pip install 'headscope[ray]'",
    )
    assert len(done.err.splitlines()) == 2


def test_an_engine_for_results_files(run, made_nc):
    assert mistake(run("compare", made_nc, made_nc, "--engine", "processes")) == (
        "two results are compared without a corpus: --engine has no effect",
        "leave --engine out",
    )


def local_and_workers(run, folder, *line):
    """The results of a command in this process and by a worker, which must be the same."""
    line += ("--single", "--batch-size", "1", "--max-length", "32", "-o")
    assert run(*line, folder / "local.nc").code == 0
    done = run(*line, folder / "workers.nc", "--engine", "processes", "--workers", "1")
    assert done.code == 0, done.err
    local, other = hs.open(folder / "local.nc"), hs.open(folder / "workers.nc")
    assert local.measures == other.measures
    for measure in local:
        xr.testing.assert_identical(local[measure], other[measure])
    return local, other


@pytest.mark.slow
def test_a_survey_by_processes_gives_the_numbers_of_one_process(run, tmp_path, tiny_folder, texts):
    both = local_and_workers(run, tmp_path, "survey", tiny_folder, texts, *MEASURES)
    assert both[0].provenance["counts"] == both[1].provenance["counts"]


@pytest.mark.slow
@pytest.mark.usefixtures("forked")
def test_a_comparison_by_processes_gives_the_numbers_of_one_process(
    run, tmp_path, tiny_folder, texts
):
    both = local_and_workers(run, tmp_path, "compare", tiny_folder, tiny_folder, texts)
    assert both[0].measures == ("change",)


@pytest.mark.usefixtures("forked")
def test_measures_and_sieves_of_a_user_s_files_travel_to_the_workers(
    run, tmp_path, tiny_folder, texts
):
    (tmp_path / "mine.py").write_text(
        "from headscope.measures import Groups, Linear, mass_weights\n\n"
        "class Own(Linear):\n"
        '    name, title, unit, source = "own", "Own text", "share of attention", "a test"\n'
        '    dims = {"text": ("same",)}\n\n'
        "    def weights(self, item):\n"
        "        return [mass_weights(Groups(item.segment))]\n"
    )
    (tmp_path / "sieves.py").write_text(
        "import headscope as hs\n\n"
        '@hs.sieve("short", title="Short pieces")\n'
        "def short(tokens):\n"
        "    return [0 < len(piece) < 3 for piece in tokens.text]\n"
    )
    own = ("--measure-file", tmp_path / "mine.py", "--roles.sieve", tmp_path / "sieves.py")
    own += ("--measure", "role", "--roles.only", "short")
    both = local_and_workers(run, tmp_path, "survey", tiny_folder, texts, *own)
    assert both[0].measures == ("role", "own")
