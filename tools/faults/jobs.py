"""The runs that faults are injected into: tiny, resumable, and comparable bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import headscope as hs
from faults.damage import content
from headscope.papers import Clark2019
from headscope.results import Atlas
from headscope.runs.ablate import ablate
from headscope.runs.probe import probe
from headscope.runs.survey import compare, survey
from headscope.runs.tune import read_record, tune
from headscope.runs.tune.run import CHECKPOINTS
from headscope.runs.tune.trainer import last_checkpoint
from runs.probe.planted_tasks import QUICK as QUICK_PROBE
from runs.probe.planted_tasks import dogs
from runs.tune.animals import ANIMALS, QUICK, saved, sentences

Progress = Callable[[int, int], None]
HOW: dict[str, Any] = {"batch_size": 1, "max_length": 24, "every": 0.0}
PASSING = ("created", "seconds", "minutes", "versions", "identity", "corpus", "model", "models")
"""Parts of provenance that say when and in which folder a run was made, not what it found."""


@dataclass(frozen=True)
class Job:
    """A run.

    Parameters
    ----------
    name
        What to call it.
    run
        Does it in a folder, with a progress function; a digest of all numbers that came of it.
    lost
        How many steps of progress a kill may lose; None where progress is not comparable.
    read
        The same digest of the results that are saved in the folder; None if none are.
    kept
        The progress in the last checkpoint, for runs that do not report it again on resuming.
    """

    name: str
    run: Callable[[Path, Progress], str]
    lost: int | None = 2
    read: Callable[[Path], str] | None = None
    kept: Callable[[Path], int] = lambda folder: 0


def prepare(folder: Path) -> None:
    """Write the inputs of all jobs: two models, texts, labelled texts."""
    saved("bert", folder / "model")
    saved("bert", folder / "other", seed=1)
    words = ["the dog barks", "a cat sat on the mat", "it saw a bird", "we went home again"]
    texts = [f"{word} {'again ' * (at % 5)}{at}" for at, word in enumerate(words * 6)]
    (folder / "texts.txt").write_text("\n".join(texts) + "\n")
    rows = [f"{text}\t{('cat', 'dog')[at % 2]}" for at, text in enumerate(texts[:12])]
    (folder / "dev.tsv").write_text("\n".join(["sentence\tlabel", *rows]) + "\n")


def atlas_content(atlas: Atlas) -> str:
    """A digest of all numbers of some results, and of what they are of."""
    about = {key: value for key, value in atlas.provenance.items() if key not in PASSING}
    parts: list[Any] = [sorted(about.items(), key=str)]
    for node in atlas.tree.subtree:
        for name in sorted(map(str, node.variables)):
            parts += [node.path, name, node.variables[name].values]
    return content(*parts)


def _read_atlas(folder: Path) -> str:
    return atlas_content(Atlas.open(folder / "out" / "run.nc"))


def _texts(folder: Path) -> Any:
    return hs.read(folder / "texts.txt", lines=True)


def _survey(folder: Path, progress: Progress, **more: Any) -> str:
    atlas = survey(
        folder / "model",
        _texts(folder),
        measures=["position", "entropy", "special"],
        examples=4,
        output=folder / "out" / "run.nc",
        progress=progress,
        **HOW,
        **more,
    )
    assert atlas_content(atlas) == atlas_content(Atlas.open(folder / "out" / "run.nc"))
    return atlas_content(atlas)


def _compare(folder: Path, progress: Progress) -> str:
    one, other = folder / "model", folder / "other"
    output = folder / "out" / "run.nc"
    return atlas_content(
        compare(one, other, _texts(folder), output=output, progress=progress, **HOW)
    )


def _ablate(folder: Path, progress: Progress) -> str:
    _tune_once(folder)
    return atlas_content(
        ablate(
            folder / "classifier",
            task=ANIMALS,
            dev=hs.read(folder / "dev.tsv"),
            batch_size=1,
            max_length=24,
            resamples=50,
            output=folder / "out" / "run.nc",
            progress=progress,
            every=0.0,
        )
    )


def _tune_once(folder: Path) -> None:
    """A classifier to disable heads of: the untrained one will do."""
    given: dict[str, Any] = {"task": ANIMALS, "start": "untrained", **QUICK}
    given |= {"train": sentences(8, 0), "dev": sentences(4, 1)}
    tune(folder / "model", output=folder / "classifier", **given)


def _probe(folder: Path, progress: Progress) -> str:
    tasks = [dogs(name, seed, (30, 10, 10)) for seed, name in enumerate(("one", "two", "three"))]
    return atlas_content(
        probe(
            folder / "model",
            tasks,
            counts=(1, 5),
            max_length=24,
            cache=folder / "vectors",
            output=folder / "out" / "run.nc",
            progress=progress,
            **QUICK_PROBE,
        )
    )


def _tune(folder: Path, progress: Progress) -> str:
    made = tune(
        folder / "model",
        task=ANIMALS,
        train=sentences(40, 0),
        dev=sentences(12, 1),
        output=folder / "out",
        epochs=2,
        every=0,
        progress=progress,
        **QUICK,
    )
    return _tuned(made)


def _tuned(made: Any) -> str:
    network = hs.load(made.folder)
    return content(network.digest, made.scores, made.losses, made.majority, made.examples)


def _read_tuned(folder: Path) -> str:
    return _tuned(read_record(folder / "out"))


def _steps(folder: Path) -> int:
    """How many steps of training the last whole checkpoint has."""
    last = last_checkpoint(folder / "out" / CHECKPOINTS)
    return int(last.name.rpartition("-")[2]) if last else 0


def _paper(folder: Path, progress: Progress) -> str:
    found = Clark2019(
        folder / "model",
        text=_texts(folder),
        output=folder / "out",
        parts=["surface"],
        limit=6,
        max_length=24,
        batch_size=1,
    ).run()
    assert (folder / "out" / "clark2019.html").is_file()
    return content(found.records())


def _examples(folder: Path, progress: Progress) -> str:
    found = hs.examples(folder / "model", _texts(folder), "1-2", max_length=24)
    return content(found.to_json())


JOBS = (
    Job("survey", _survey, read=_read_atlas),
    Job("compare", _compare, read=_read_atlas),
    Job("ablate", _ablate, lost=None, read=_read_atlas),
    Job("probe", _probe, lost=None, read=_read_atlas),
    Job("tune", _tune, read=_read_tuned, kept=_steps),
    Job("examples", _examples, lost=None),
    Job("paper", _paper, lost=None),
)
WORKERS = Job(
    "survey, two processes",
    lambda folder, progress: _survey(folder, progress, engine="processes", workers=2),
    lost=None,
    read=_read_atlas,
)
RAY = Job(
    "survey, Ray",
    lambda folder, progress: _survey(folder, progress, engine="ray", workers=2),
    lost=None,
    read=_read_atlas,
)
