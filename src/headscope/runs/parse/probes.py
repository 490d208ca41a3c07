"""The dependency probes side by side (Clark et al. 2019, §5, Table 3): how much syntax the heads hold together."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from headscope.corpus import Corpus
from headscope.errors import UserError, unknown
from headscope.models import Model
from headscope.models.random import random_init
from headscope.runs.parse.data import Data
from headscope.runs.parse.scores import AttentionProbe, DistanceProbe, ParseProbe, WordsProbe
from headscope.runs.parse.training import RATES, fit_best, predict
from headscope.runs.parse.uas import Heads, attachments, right_branching, score
from headscope.runs.parse.vectors import WordVectors, forms, read_vectors
from headscope.runs.parse.wordmaps import Progress, WordMaps, make_word_maps

RIGHT, DISTANCE, RANDOM, ATTENTION, WORDS = (
    "right-branching",
    "words + distances",
    "attention + words, random encoder",
    "attention",
    "attention + words",
)
PROBES = (RIGHT, DISTANCE, RANDOM, ATTENTION, WORDS)
"""The rows of Table 3, in its order."""
NEED_VECTORS = frozenset({DISTANCE, RANDOM, WORDS})
EPOCHS = 20


def parse_probes(
    model: Model,
    train: Corpus,
    dev: Corpus,
    *,
    seed: int,
    vectors: WordVectors | str | Path | None = None,
    probes: Iterable[str] | None = None,
    epochs: int = EPOCHS,
    limit: int | None = None,
    dev_limit: int | None = None,
    cache: str | Path | None = None,
    stack: str = "",
    max_length: int | None = None,
    batch_size: int = 32,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """UAS of every probe and baseline on ``dev`` after training on ``train``: one row a probe, with an interval over sentences.

    ``vectors`` are word vectors or where to read them (:func:`read_vectors`); without any, only the rows that need none are made. ``probes`` names
    the rows that are wanted. Word maps are kept in the folder ``cache``, and found there next time; without one they are made in a temporary folder.
    Every trained row chooses its learning rate from the same few by the loss on held-out training sentences; ``rate`` and ``tried`` say which, and of how many.
    ``limit`` and ``dev_limit`` cut the two corpora to their first examples. What else is to be known stands in the table's ``attrs``: sizes, words left out, words without a vector.
    """
    wanted = _wanted(probes, vectors)
    if train.checksum == dev.checksum:
        raise UserError(
            f"{train.name} and {dev.name} are the same corpus: a probe must be tested on sentences that it was not trained on",
            hint="give another corpus to test on",
        )
    with (
        tempfile.TemporaryDirectory(prefix="headscope-")
        if cache is None
        else nullcontext(str(cache)) as folder
    ):
        make = partial(
            make_word_maps,
            cache=Path(folder),
            stack=stack,
            max_length=max_length,
            batch_size=batch_size,
            progress=progress,
        )
        return _Table(
            model, (train.first(limit), dev.first(dev_limit)), make, seed, epochs, progress
        ).run(wanted, vectors)


def _wanted(probes: Iterable[str] | None, vectors: object) -> list[str]:
    if probes is None:
        return [name for name in PROBES if vectors is not None or name not in NEED_VECTORS]
    names = list(dict.fromkeys(probes))
    for name in names:
        if name not in PROBES:
            raise unknown("probe", name, PROBES)
        if name in NEED_VECTORS and vectors is None:
            raise UserError(
                f"the probe {name!r} needs word vectors, and none were given",
                hint="give a file of word vectors, or 'glove'",
            )
    if not names:
        raise UserError("no probe was asked for", hint=f"choose from {', '.join(PROBES)}")
    return [name for name in PROBES if name in names]


@dataclass
class _Table:
    model: Model
    corpora: tuple[Corpus, Corpus]
    make: Callable[[Model, Corpus], WordMaps]
    seed: int
    epochs: int
    progress: Progress | None

    def run(self, wanted: list[str], given: WordVectors | str | Path | None) -> pd.DataFrame:
        train, dev = (self.make(self.model, corpus) for corpus in self.corpora)
        vectors = (
            read_vectors(given, only=forms(_words(train) + _words(dev)))
            if isinstance(given, str | Path)
            else given
        )
        rows = []
        for name in wanted:
            begun = time.monotonic()
            encoder = random_init(self.model, seed=self.seed) if name == RANDOM else None
            seen, unseen = (
                (self.make(encoder, corpus) for corpus in self.corpora) if encoder else (train, dev)
            )
            rows.append(
                self._row(name, seen, unseen, vectors) | {"seconds": time.monotonic() - begun}
            )
        table = pd.DataFrame(rows)
        table.attrs.update(
            model=self.model.name, seed=self.seed, epochs=self.epochs, **_about(train, dev, vectors)
        )
        return table

    def _row(
        self, name: str, train: WordMaps, dev: WordMaps, vectors: WordVectors | None
    ) -> dict[str, Any]:
        if name == RIGHT:
            predicted: list[Heads] = [right_branching(len(sentence)) for sentence in dev.sentences]
            learned = {
                "parameters": 0,
                "rate": float("nan"),
                "tried": 0,
                "epoch": 0,
                "held_out_loss": float("nan"),
            }
        else:
            make = partial(self._probe, name, train.heads, vectors.dimension if vectors else 0)
            probe, how = fit_best(
                make,
                Data(train.sentences, train, vectors),
                seed=self.seed,
                epochs=self.epochs,
                progress=self._report(name),
            )
            predicted = predict(probe, Data(dev.sentences, dev, vectors))
            learned = {
                "parameters": probe.size,
                "rate": how.rate,
                "tried": len(RATES),
                "epoch": how.best,
                "held_out_loss": how.loss,
            }
        found = score(*attachments(dev.sentences, predicted), seed=self.seed)
        every = score(*attachments(dev.sentences, predicted, punctuation=True), seed=self.seed)
        whole = {
            f"{key}_punctuation": getattr(every, key) for key in ("uas", "low", "high", "words")
        }
        return {"probe": name, **asdict(found), **whole, **learned}

    def _report(self, name: str) -> Progress | None:
        progress = self.progress
        return (
            None
            if progress is None
            else lambda what, done, total: progress(f"training: {name}, {what}", done, total)
        )

    def _probe(self, name: str, heads: int, dimension: int) -> ParseProbe:
        if name == DISTANCE:
            return DistanceProbe(dimension, seed=self.seed)
        return AttentionProbe(heads) if name == ATTENTION else WordsProbe(heads, dimension)


def _words(maps: WordMaps) -> list[str]:
    return [word for sentence in maps.sentences for word in sentence.words]


def _about(train: WordMaps, dev: WordMaps, vectors: WordVectors | None) -> dict[str, Any]:
    """What a reader of the table should know: sizes, what was left out, words without a vector, sentences that stand in both corpora."""
    seen = {sentence.words for sentence in train.sentences}
    return {
        "train": {**train.counts, "sentences": len(train), "bytes": train.size},
        "dev": {
            **dev.counts,
            "sentences": len(dev),
            "bytes": dev.size,
            "also_in_train": sum(sentence.words in seen for sentence in dev.sentences),
        },
        "vectors": None
        if vectors is None
        else {
            "name": vectors.name,
            "dimension": vectors.dimension,
            **{
                f"unknown_{key}": vectors.unknown(_words(part))
                for key, part in (("train", train), ("dev", dev))
            },
        },
    }
