"""Dependency probes on frozen attention maps, side by side (Clark et al. 2019, §5, Table 3)."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.corpus import ROOT, Corpus
from headscope.corpus.vectors import WordVectors, forms, read_vectors
from headscope.errors import UserError, unknown
from headscope.files import digest_of, sealed, unsealed, write_text
from headscope.models import Model
from headscope.models.loading import random_init
from headscope.papers.clark2019.networks import (
    RATES,
    AttentionProbe,
    DistanceProbe,
    ParseData,
    ParseProbe,
    WordsProbe,
    fit_best_rate,
    predict_heads,
)
from headscope.papers.clark2019.word_maps import (
    UNKNOWN,
    HeadWords,
    ParseSentence,
    WordMaps,
    make_word_maps,
)
from headscope.progress import PhaseUpdate, ProgressLike, Reporter, as_reporter
from headscope.runs.run import describe, versions
from headscope.stats.inference.bootstrap import compare_ratios, draws, percentiles
from headscope.stats.inference.correction import correct
from headscope.stats.inference.documents import cluster_numbers

RESAMPLES = 1000
CONFIDENCE = 0.95


@dataclass(frozen=True)
class AttachmentScore:
    """An unlabelled attachment score.

    Parameters
    ----------
    uas
        Share of words whose head is right.
    low, high
        95 % interval.
    words, sentences
        Numbers of words and sentences counted.
    """

    uas: float
    low: float
    high: float
    words: int
    sentences: int


def right_branching(length: int) -> HeadWords:
    """The baseline in which the head of every word is the next word; the last word is the root.

    Examples
    --------
    >>> right_branching(3).tolist()
    [1, 2, -1]
    """
    heads = np.arange(1, length + 1, dtype=np.int64)
    heads[-1:] = ROOT
    return heads


def attachments(
    sentences: Sequence[ParseSentence], predicted: Sequence[HeadWords], *, punctuation: bool = False
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count the correct heads of each sentence.

    Parameters
    ----------
    sentences
        Sentences with their gold heads. Words without an annotated head are not counted.
    predicted
        Predicted heads of each sentence.
    punctuation
        Whether to count punctuation.

    Returns
    -------
    right, total
        Number of correct heads and of words counted, by sentence.

    Examples
    --------
    >>> sentence = ParseSentence(("A", "dog"), np.array([1, ROOT]), np.zeros(2, bool))
    >>> attachments([sentence], [right_branching(2)])
    (array([2]), array([2]))
    """
    right, total = np.zeros(len(sentences), np.int64), np.zeros(len(sentences), np.int64)
    for index, (sentence, heads) in enumerate(zip(sentences, predicted, strict=True)):
        counted = (sentence.heads != UNKNOWN) & (~sentence.punctuation | punctuation)
        right[index] = int((heads == sentence.heads)[counted].sum())
        total[index] = int(counted.sum())
    return right, total


def attachment_score(
    right: NDArray[np.int64],
    total: NDArray[np.int64],
    *,
    seed: int,
    documents: Sequence[str] | None = None,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
) -> AttachmentScore:
    """UAS over all words, with a percentile bootstrap interval.

    Whole documents are resampled, because their words are not independent.

    Parameters
    ----------
    right, total
        Number of correct heads and of words counted, by sentence.
    seed
        Seed of the resampling.
    documents
        The document of each sentence; by default each is its own.
    resamples
        Number of resamples.
    confidence
        Level of the interval.

    Returns
    -------
    AttachmentScore
        NaN if there are no words.

    Examples
    --------
    >>> attachment_score(np.array([1, 2]), np.array([2, 2]), seed=0).uas
    0.75
    """
    units = _counted_documents(documents, total)
    right, total = right[total > 0], total[total > 0]
    if not len(total):
        return AttachmentScore(float("nan"), float("nan"), float("nan"), 0, 0)
    shares = [(counts @ right) / (counts @ total) for counts in draws(units, resamples, seed)]
    low, high = percentiles(np.concatenate(shares), confidence)
    return AttachmentScore(
        float(right.sum() / total.sum()), float(low), float(high), int(total.sum()), len(total)
    )


def _counted_documents(
    documents: Sequence[str] | None, total: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The number of the document of each sentence that has words."""
    named = [""] * len(total) if documents is None else documents
    return cluster_numbers([name for name, words in zip(named, total, strict=True) if words])


def compare_probes(
    right: Mapping[str, NDArray[np.int64]],
    total: NDArray[np.int64],
    *,
    seed: int,
    documents: Sequence[str] | None = None,
) -> list[dict[str, Any]]:
    """Compare every pair of probes by a paired bootstrap over documents.

    Two intervals may overlap although one probe is better on almost every sentence, so rows of a
    table are compared by their difference.

    Parameters
    ----------
    right
        Number of correct heads by sentence, of each probe.
    total
        Number of words counted, by sentence.
    seed
        Seed of the resampling.
    documents
        The document of each sentence; by default each is its own.

    Returns
    -------
    list of dict
        One object per pair: ``probe``, ``other``, the ``difference`` of their UAS (the better one
        minus the other), its 95 % interval ``low`` … ``high``, the two-sided ``p``, and
        ``p_corrected`` (Holm) over all pairs.

    Examples
    --------
    >>> right = {"a": np.array([2, 3]), "b": np.array([1, 1])}
    >>> compare_probes(right, np.array([4, 4]), seed=0)[0]["difference"]
    0.375
    """
    counted = total > 0
    names = sorted(right, key=lambda name: -int(right[name].sum()))
    if len(names) < 2 or not counted.any():
        return []
    table = np.stack([right[name][counted] for name in names])
    units = _counted_documents(documents, total)
    tests = compare_ratios(table, total[counted], seed=seed, documents=units)
    pairs = list(combinations(range(len(names)), 2))
    corrected = correct([float(tests["p"][pair]) for pair in pairs])
    return [
        {
            "probe": names[one],
            "other": names[other],
            **{key: float(tests[key][one, other]) for key in ("difference", "low", "high", "p")},
            "p_corrected": float(p),
        }
        for (one, other), p in zip(pairs, corrected, strict=True)
    ]


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
        word_vectors = _vectors(vectors, corpora)  # before the model does any work
        return _Comparison(model, corpora, make, seed, epochs, update).run(names, word_vectors)


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
    vectors: WordVectors | str | Path | None, corpora: Iterable[Corpus]
) -> WordVectors | None:
    """The vectors of the words of some corpora."""
    if not isinstance(vectors, str | Path):
        return vectors
    words = (word.text for corpus in corpora for example in corpus for word in example.words)
    return read_vectors(vectors, only=forms(words))


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
        right = {name: counts for name, counts in self.right.items() if len(counts) == len(total)}
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


FORMAT = 1
"""The layout of the file."""


@dataclass(frozen=True)
class ProbeRun:
    """Everything that the probes depend on.

    Parameters
    ----------
    model
        The encoder.
    train, dev
        Treebanks to train and to test on.
    vectors
        Word vectors; None if only the probes that need none are trained.
    seed, epochs
        As in :func:`headscope.papers.clark2019.parse.parse_probes`.
    folder
        Where the word maps and the table are kept.
    reporter
        Shows progress.
    """

    model: Model
    train: Corpus
    dev: Corpus
    vectors: WordVectors | None
    seed: int
    epochs: int
    folder: Path
    reporter: Reporter

    def table(self) -> pd.DataFrame:
        """Train the probes, or read the table of an earlier run that trained the same ones.

        Returns
        -------
        pandas.DataFrame
            What :func:`headscope.papers.clark2019.parse.parse_probes` returns, ``attrs`` included.
        """
        path, identity = self.folder / "probes.json", self.identity()
        earlier = _read(path, identity)
        if earlier is not None:
            return earlier
        table = parse_probes(
            self.model,
            self.train,
            self.dev,
            seed=self.seed,
            vectors=self.vectors,
            epochs=self.epochs,
            cache=self.folder / "word-maps",
            progress=self.reporter,
        )
        kept = {
            "identity": identity,
            "rows": table.to_dict("records"),
            "attrs": {str(name): value for name, value in table.attrs.items()},
        }
        plain = json.loads(json.dumps(kept, default=float))
        write_text(path, json.dumps(sealed(plain), indent=1))
        write_text(self.folder / "probes.csv", table.to_csv(index=False))
        return table

    def identity(self) -> str:
        """A digest of everything that the numbers depend on."""
        vectors = "" if self.vectors is None else json.dumps(self.vectors.vocabulary)
        matrix = b"" if self.vectors is None else self.vectors.matrix.tobytes()
        about = {
            "format": FORMAT,
            "model": self.model.identity(self.model.main_stack()),
            "seed": self.seed,
            "epochs": self.epochs,
            "headscope": versions()["headscope"],
        }
        return digest_of(
            json.dumps(about, sort_keys=True, default=str),
            *(repr(example) for corpus in (self.train, self.dev) for example in corpus),
            vectors,
            matrix,
        )

    def provenance(self, about: Mapping[Any, Any]) -> dict[str, Any]:
        """Say what the probes were trained and tested on, as surveys do.

        Parameters
        ----------
        about
            The ``attrs`` of the table.

        Returns
        -------
        dict
            Model, corpora, counts, settings and versions.
        """
        train, dev = (
            {"name": corpus.name, "sha256": corpus.checksum} for corpus in (self.train, self.dev)
        )
        return {
            "model": describe(self.model, self.model.main_stack()),
            "corpus": dev,
            "train": train,
            "counts": {"seen": about["dev"]["sentences"]},
            "settings": {"seed": self.seed, "epochs": self.epochs},
            "sizes": dict(about),
            "versions": versions(),
        }


def _read(path: Path, identity: str) -> pd.DataFrame | None:
    """The table in a file; None if there is none, it is damaged, or it is of other probes."""
    try:
        kept = unsealed(json.loads(path.read_text(encoding="utf-8")), required=True)
        if kept["identity"] != identity:
            return None
        table = pd.DataFrame(kept["rows"])
        table.attrs.update(kept["attrs"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return table
