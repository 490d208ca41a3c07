"""The dependency probes side by side (Clark et al. 2019, §5, Table 3)."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.corpus import Corpus
from headscope.corpus.vectors import WordVectors, forms, read_vectors
from headscope.errors import UserError, unknown
from headscope.models import Model
from headscope.models.loading import random_init
from headscope.papers.clark2019.parse.data import ParseData
from headscope.papers.clark2019.parse.networks import (
    AttentionProbe,
    DistanceProbe,
    ParseProbe,
    WordsProbe,
)
from headscope.papers.clark2019.parse.sentences import UNKNOWN
from headscope.papers.clark2019.parse.training import RATES, fit_best_rate, predict_heads
from headscope.papers.clark2019.parse.uas import (
    HeadWords,
    attachment_score,
    attachments,
    compare_probes,
    right_branching,
)
from headscope.papers.clark2019.parse.wordmaps import WordMaps, make_word_maps
from headscope.progress import PhaseUpdate, ProgressLike, as_reporter

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
    progress: ProgressLike = False,
) -> pd.DataFrame:
    """Train the dependency probes on one treebank and test them on another.

    Every trained probe chooses its learning rate from the same values by the loss on held-out
    training sentences.

    Parameters
    ----------
    model
        The model.
    train, dev
        Treebanks to train and to test on.
    seed
        Seed of the random encoder, of training and of the intervals.
    vectors
        Word vectors, a file of them, or ``"glove"`` (see :func:`read_vectors`). Without them only
        the probes that need none are trained.
    probes
        Names of the probes, from ``PROBES``. Default: all.
    epochs
        Maximum number of epochs.
    limit, dev_limit
        Maximum numbers of training and test examples.
    cache
        Folder where word maps are kept for other runs. Default: a temporary folder.
    stack
        ``"encoder"`` or ``"decoder"``, for models that have both.
    max_length
        Maximum number of tokens; longer examples are skipped. Default: the maximum of the model,
        at most 512.
    batch_size
        Number of examples per forward pass.
    progress
        True for progress bars; or a function called with the number of steps done, and of all.

    Returns
    -------
    pandas.DataFrame
        One row per probe: UAS with a 95 % interval over documents, without and with punctuation;
        number of parameters, learning rate, number of rates tried, epoch and held-out loss. The
        table's ``attrs`` hold the sizes of both corpora, the numbers of skipped words, the shares
        of words without a vector, and ``pairs``: every pair of probes compared by a paired
        bootstrap over documents (see :func:`compare_probes`).

    Raises
    ------
    UserError
        If both corpora are the same, have no trees, or a probe is unknown or lacks word vectors.

    References
    ----------
    Clark et al. (2019), "What Does BERT Look At? An Analysis of BERT's Attention", §5.
    """
    names = _chosen(probes, vectors)
    if train.checksum == dev.checksum:
        raise UserError(
            f"{train.name} and {dev.name} are the same corpus: a probe must be tested on sentences "
            "that it was not trained on",
            hint="choose another corpus to test on",
        )
    folder = (
        tempfile.TemporaryDirectory(prefix="headscope-") if cache is None else nullcontext(cache)
    )
    with folder as place, as_reporter(progress).phases() as update:
        make = partial(
            make_word_maps,
            cache=Path(place),
            stack=stack,
            max_length=max_length,
            batch_size=batch_size,
            progress=update,
        )
        corpora = (train.first(limit), dev.first(dev_limit))
        found = _vectors(vectors, corpora)  # before the model does any work
        return _Comparison(model, corpora, make, seed, epochs, update).run(names, found)


def _chosen(probes: Iterable[str] | None, vectors: object) -> list[str]:
    """The probes to train, in the order of the table."""
    if probes is None:
        return [name for name in PROBES if vectors is not None or name not in NEED_VECTORS]
    names = set(probes)
    for name in names:
        if name not in PROBES:
            raise unknown("probe", name, PROBES)
        if name in NEED_VECTORS and vectors is None:
            raise UserError(
                f"the probe {name!r} needs word vectors, and none were given",
                hint="give a file of word vectors, or 'glove'",
            )
    if not names:
        raise UserError("no probe was chosen", hint=f"choose from {', '.join(PROBES)}")
    return [name for name in PROBES if name in names]


def _vectors(
    given: WordVectors | str | Path | None, corpora: Iterable[Corpus]
) -> WordVectors | None:
    """The vectors of the words of some corpora."""
    if not isinstance(given, str | Path):
        return given
    words = (word.text for corpus in corpora for example in corpus for word in example.words)
    return read_vectors(given, only=forms(words))


@dataclass
class _Comparison:
    model: Model
    corpora: tuple[Corpus, Corpus]
    make: Callable[[Model, Corpus], WordMaps]
    seed: int
    epochs: int
    update: PhaseUpdate
    right: dict[str, NDArray[np.int64]] = field(default_factory=dict)

    def run(self, names: list[str], vectors: WordVectors | None) -> pd.DataFrame:
        train, dev = (self.make(self.model, corpus) for corpus in self.corpora)
        rows = []
        for name in names:
            begun = time.monotonic()
            seen, unseen = train, dev
            if name == RANDOM:
                encoder = random_init(self.model, seed=self.seed)
                seen, unseen = (self.make(encoder, corpus) for corpus in self.corpora)
            row = self._row(name, seen, unseen, vectors)
            rows.append(row | {"seconds": time.monotonic() - begun})
        table = pd.DataFrame(rows)
        table.attrs.update(
            model=self.model.label,
            seed=self.seed,
            epochs=self.epochs,
            pairs=self._pairs(dev),
            **_about(train, dev, vectors),
        )
        return table

    def _pairs(self, dev: WordMaps) -> list[dict[str, Any]]:
        """Every pair of probes that saw the same sentences."""
        nothing = [np.full(len(sentence), UNKNOWN) for sentence in dev.sentences]
        _, total = attachments(dev.sentences, nothing)
        right = {name: one for name, one in self.right.items() if len(one) == len(total)}
        return compare_probes(right, total, seed=self.seed, documents=_documents(dev))

    def _row(
        self, name: str, train: WordMaps, dev: WordMaps, vectors: WordVectors | None
    ) -> dict[str, Any]:
        """The scores of one probe."""
        if name == RIGHT:
            predicted = [right_branching(len(sentence)) for sentence in dev.sentences]
            learned: dict[str, float] = {
                "parameters": 0,
                "rate": float("nan"),
                "tried": 0,
                "epoch": 0,
                "held_out_loss": float("nan"),
            }
        else:
            predicted, learned = self._train(name, train, dev, vectors)
        right, total = attachments(dev.sentences, predicted)
        self.right[name] = right
        about: dict[str, Any] = {"seed": self.seed, "documents": _documents(dev)}
        scores = attachment_score(right, total, **about)
        every = attachment_score(*attachments(dev.sentences, predicted, punctuation=True), **about)
        whole = {
            f"{key}_punctuation": getattr(every, key) for key in ("uas", "low", "high", "words")
        }
        return {"probe": name, **asdict(scores), **whole, **learned}

    def _train(
        self, name: str, train: WordMaps, dev: WordMaps, vectors: WordVectors | None
    ) -> tuple[list[HeadWords], dict[str, float]]:
        """Train a probe: its predictions for the test corpus, and how it was trained."""
        probe, history = fit_best_rate(
            partial(self._probe, name, train.heads, vectors.dimension if vectors else 0),
            ParseData(train.sentences, train, vectors),
            seed=self.seed,
            epochs=self.epochs,
            progress=lambda phase, done, total: self.update(
                f"training: {name}, {phase}", done, total
            ),
        )
        return predict_heads(probe, ParseData(dev.sentences, dev, vectors)), {
            "parameters": probe.size,
            "rate": history.rate,
            "tried": len(RATES),
            "epoch": history.best,
            "held_out_loss": history.loss,
        }

    def _probe(self, name: str, heads: int, dimension: int) -> ParseProbe:
        if name == DISTANCE:
            return DistanceProbe(dimension, seed=self.seed)
        return AttentionProbe(heads) if name == ATTENTION else WordsProbe(heads, dimension)


def _words(maps: WordMaps) -> list[str]:
    return [word for sentence in maps.sentences for word in sentence.words]


def _documents(maps: WordMaps) -> list[str]:
    """The document of each sentence."""
    return [sentence.document for sentence in maps.sentences]


def _about(train: WordMaps, dev: WordMaps, vectors: WordVectors | None) -> dict[str, Any]:
    """Sizes, numbers of skipped words, words without a vector, and sentences in both corpora."""
    seen = {sentence.words for sentence in train.sentences}
    about: dict[str, Any] = {
        "train": {**train.counts, "sentences": len(train), "bytes": train.size},
        "dev": {
            **dev.counts,
            "sentences": len(dev),
            "bytes": dev.size,
            "also_in_train": sum(sentence.words in seen for sentence in dev.sentences),
        },
        "vectors": None,
    }
    if vectors is not None:
        about["vectors"] = {
            "name": vectors.name,
            "dimension": vectors.dimension,
            "unknown_train": vectors.unknown(_words(train)),
            "unknown_dev": vectors.unknown(_words(dev)),
        }
    return about
