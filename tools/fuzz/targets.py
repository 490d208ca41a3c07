"""What is fuzzed: each target takes bytes, and may only raise errors of Headscope's own."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from fuzz import seeds
from headscope import corpus
from headscope.corpus.reading import read_documents
from headscope.corpus.vectors import check_vectors, read_vectors
from headscope.errors import UserError
from headscope.heads import parse_heads
from headscope.measures.patterns.labels import label_maps, write_labelled
from headscope.models.pooling import Pooling
from headscope.tasks.glue import task_examples
from headscope.tasks.senteval import read_senteval
from headscope.tasks.task import GLUE, custom_task

QUICK = (
    *("text", "lines", "text.gz", "tsv", "csv", "jsonl", "conll", "coref-conllu", "conll2012"),
    *("coref-jsonl", "frames-jsonl", "brackets", "archive", "unknown ending", "senteval", "glue"),
    *("labelled table", "vectors", "matrix", "vocabulary", "labels", "maps", "skipped", "pooling"),
    *("tune record", "heads", "query"),
)
"""The targets of which a case takes less than a millisecond."""
SLOW = ("measure file", "requests", "results", "model config", "tokenizer")


@dataclass(frozen=True)
class Target:
    """Something that reads bytes.

    Parameters
    ----------
    name
        The name of the target.
    seeds
        Valid inputs.
    file
        The file that is written before each case.
    read
        Called with the file's path.
    beside
        Other files in the same folder.
    fresh
        Whether reading changes the other files, so that they are written anew before each case.
    slow
        How many cases of others one case counts as.
    """

    name: str
    seeds: tuple[bytes, ...]
    file: str
    read: Callable[[Path], object]
    beside: dict[str, bytes] = field(default_factory=dict)
    fresh: bool = False
    slow: int = 1

    @contextmanager
    def folder(self) -> Iterator[Path]:
        """A temporary folder for the cases of this target, in memory where there is one."""
        memory = Path("/dev/shm")
        with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as name:
            for file, data in self.beside.items():
                (Path(name) / file).write_bytes(data)
            yield Path(name)

    def run(self, folder: Path, data: bytes) -> bool:
        """Read some bytes; whether they were accepted.

        Raises
        ------
        Exception
            Whatever is not an error of Headscope's own: a finding.
        """
        path = folder / self.file
        path.parent.mkdir(exist_ok=True)
        if self.fresh:
            for file, whole in self.beside.items():
                (folder / file).write_bytes(whole)
        path.write_bytes(data)
        try:
            self.read(path)
        except UserError as error:
            text = f"{error.message} {error.hint} {error.command}"
            if len(text) > 5000 or not error.message:
                raise AssertionError(f"a message of {len(text)} characters") from error
            return False
        return True


def _texts(**options: Any) -> Callable[[Path], object]:
    def read(path: Path) -> object:
        found = corpus.read(path, **options)
        for example in found:
            example.annotations  # noqa: B018
        return found.preview(), found.notes, found.checksum

    return read


def _labels(path: Path) -> object:
    from headscope.labelling.store import LabelStore

    return LabelStore(path.parent).map_ids


def _record(path: Path) -> object:
    from headscope.runs.tune import read_record

    return read_record(path.parent)


def _heads(path: Path) -> object:
    text = path.read_bytes().decode("utf-8", "surrogateescape")
    return parse_heads(text, layers=12, heads=12)


def _task(path: Path) -> object:
    table = corpus.read(path)
    return custom_task(table)


def _labelled_files() -> dict[str, bytes]:
    import numpy as np

    with tempfile.TemporaryDirectory() as name:
        known = {"model": "m", "corpus": "c", "example": "1", "layer": "1", "head": "2"}
        maps = [np.eye(3), np.full((2, 2), 0.5)]
        write_labelled(name, label_maps(maps, ["diagonal", "block"], [known, known]))
        return {file.name: file.read_bytes() for file in Path(name).iterdir()}


def _tune_record() -> bytes:
    task = {"name": "rte", "title": "RTE", "kind": "classification"}
    return json.dumps(
        {
            "model": "m",
            "task": task | {"labels": ["yes", "no"], "metrics": ["accuracy"]},
            "settings": {"seed": 0},
            "scores": {"accuracy": 0.5},
            "majority": {"accuracy": None},
            "examples": {"train": 2, "dev": 2},
            "seconds": 1.5,
            "losses": [0.7],
            "identity": "x",
            "versions": {},
            "notes": [],
            "pooling": None,
            "minutes": 0.02,
        }
    ).encode()


@cache
def make_targets() -> dict[str, Target]:
    """All targets by name."""
    labelled = _labelled_files()
    tree, coref = seeds.TREE.encode(), seeds.lines_of(seeds.COREF)
    text, table = seeds.TEXT.encode(), seeds.TABLE
    vectors = {"vectors.vocab": b"dog\ncat\n"}
    found = [
        Target("text", (text,), "a.txt", _texts()),
        Target("lines", (text,), "a.txt", _texts(lines=True)),
        Target("text.gz", (seeds.packed(text),), "a.txt.gz", _texts()),
        Target("tsv", (table, seeds.RTE.encode()), "a.tsv", _texts()),
        Target("csv", (seeds.CSV,), "a.csv", _texts()),
        Target("jsonl", (seeds.JSON.encode(),), "a.jsonl", _texts()),
        Target("conll", (tree,), "a.conllu", _texts()),
        Target("coref-conllu", (tree,), "a.conllu", _texts(format="coref-conllu")),
        Target("conll2012", (seeds.CONLL2012.encode(),), "a.conll", read_all),
        Target("coref-jsonl", (coref,), "a.jsonl", read_all),
        Target("frames-jsonl", (seeds.lines_of(seeds.FRAME),), "a.jsonl", _texts()),
        Target("brackets", (seeds.BRACKETS.encode(),), "a.mrg", _texts()),
        Target("archive", (seeds.archive(a=tree, b=tree),), "a.tar.gz", read_all),
        Target("unknown ending", (text, tree, table, coref), "a.xyz", _texts()),
        Target("senteval", (seeds.SENTEVAL.encode(),), "past_present.txt", read_senteval),
        Target(
            "glue",
            (seeds.RTE.encode(),),
            "RTE/dev.tsv",
            lambda path: task_examples(GLUE["rte"], path.parent.parent, "dev"),
        ),
        Target("labelled table", (seeds.CLASSES, seeds.SCORES), "a.tsv", _task),
        Target("vectors", (seeds.VECTORS,), "v.txt", _vectors),
        Target("matrix", (seeds.matrix(),), "vectors.npy", _vectors, vectors),
        Target("vocabulary", (b"dog\ncat\n",), "v.vocab", _beside, {"v.npy": seeds.matrix()}),
        Target("labels", (labelled["labels.tsv"],), "labels.tsv", _labels, labelled, fresh=True),
        Target(
            "maps",
            (labelled["maps.safetensors"],),
            "maps.safetensors",
            _labels,
            labelled,
            fresh=True,
        ),
        Target(
            "skipped",
            (b"model\tcorpus\texample\tlayer\thead\nm\tc\t1\t1\t2\n",),
            "skipped.tsv",
            _labels,
        ),
        Target(
            "pooling",
            (b'{"heads": ["3-9", "4-1"], "layer": null, "position": "cls"}',),
            "headscope-pooling.json",
            lambda path: Pooling.read(path.parent),
        ),
        Target("tune record", (_tune_record(),), "headscope-tune.json", _record),
        Target("heads", (b"3-9, 4-*,L2H8", b"*-1"), "heads", _heads),
        *_more_targets(),
    ]
    return {target.name: target for target in found}


def _more_targets() -> list[Target]:
    """Targets of other modules, which need more to be made."""
    from fuzz.more_targets import make_more

    return make_more()


def read_all(path: Path) -> object:
    """Read documents with coreference to their end."""
    found = read_documents(path)
    return [example.annotations for example in found], found.notes


def _vectors(path: Path) -> object:
    check_vectors(path)
    found = read_vectors(path)
    return found.take(found.rows(["dog", "mouse"])), found.unknown(["x"])


def _beside(path: Path) -> object:
    return _vectors(path.with_suffix(".npy"))
