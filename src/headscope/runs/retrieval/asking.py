"""The run: every prompt answered with all heads, then again with some heads disabled.

From the answers follow retrieval scores, and the heads that they choose for the check.

Heads must not be judged on the needles that chose them. Needles are divided into two halves by
their number: what is disabled for the needles of one half was chosen on the other half. Random
heads come from the layers of the top ones, because layers differ in how much depends on them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headscope.corpus import Corpus
from headscope.errors import ModelError
from headscope.heads import Head, all_heads
from headscope.models import Model, ModelLike, Replacement, Shape, as_model
from headscope.models.projections import base_digests
from headscope.options import Loading
from headscope.progress import Update
from headscope.results import Atlas
from headscope.results.merge import RETRIEVAL
from headscope.results.moments import Range
from headscope.runs.ablate.groups import matched_heads
from headscope.runs.preparing import check_decoder
from headscope.runs.retrieval.prompts import ANSWER, Decoder, Prompts
from headscope.runs.run import Arrays, Block, Run, describe
from headscope.stats.inference.documents import interval, standard_error
from headscope.stats.tables.circuits import FOCUS, MASKING, RECOVERED

if TYPE_CHECKING:
    from headscope.runs.ablate.cache import CacheOptions
    from headscope.runs.retrieval import RetrievalOptions

MASKED = (5, 10)
HALVES = 2
SHARE = 4
"""Without a number of heads from the user, at most one head of so many is disabled."""
Array = NDArray[Any]


def retrieval_scores(
    top_keys: NDArray[np.int64],
    written: NDArray[np.int64],
    prompt: NDArray[np.int64],
    span: tuple[int, int],
) -> NDArray[np.float32]:
    """The share of the answer's tokens that each head copied (Wu et al. 2024, section 2).

    A head copies a token of the answer if, in the step in which the model writes that very token,
    the head attends to it more than to any other token. Each token of the answer counts once.

    Parameters
    ----------
    top_keys
        The place of the token with the most attention, (step, layer, head).
    written
        The token that each step wrote, (step,).
    prompt
        The tokens that were read, (token,).
    span
        The first token of the answer in the prompt, and the one after its last.

    Returns
    -------
    ndarray of float32, (layer, head)
        From 0 to 1.

    Examples
    --------
    One head looks at places 2 and 3 while tokens 7 and 8 are written; only place 2 holds what is
    written then.

    >>> top_keys = np.array([[[2]], [[3]]])
    >>> prompt = np.array([5, 6, 7, 9])
    >>> retrieval_scores(top_keys, np.array([7, 8]), prompt, span=(2, 4)).tolist()
    [[0.5]]
    """
    start, stop = span
    copied = np.zeros((*top_keys.shape[1:], stop - start), np.bool_)
    for places, token in zip(top_keys, written, strict=True):
        inside = (places >= start) & (places < stop)
        same = prompt[np.where(inside, places, start)] == token
        layers, heads = np.nonzero(inside & same)
        copied[layers, heads, places[layers, heads] - start] = True
    return np.asarray(copied.mean(-1), np.float32)


def unigram_recall(answer: str, written: str) -> float:
    """The share of the answer's words that were written (ROUGE-1 recall, without stemming).

    Parameters
    ----------
    answer
        The right answer.
    written
        What the model wrote.

    Examples
    --------
    >>> unigram_recall("a jar of honey", "It is a jar of jam.")
    0.75
    """
    wanted, given = (Counter(re.findall(r"\w+", text.lower())) for text in (answer, written))
    return (wanted & given).total() / max(wanted.total(), 1)


@dataclass(frozen=True)
class Variant:
    """What is disabled in one answer: nothing, the ``count`` top heads, or a draw of other heads.

    ``draw`` counts from 1; 0 stands for the top heads.
    """

    count: int = 0
    draw: int = 0

    @property
    def group(self) -> str:
        """What the results call it, all draws together."""
        if not self.count:
            return "none"
        return f"random {self.count}" if self.draw else f"top {self.count}"


def half_of(needle: int) -> int:
    """The half that a needle belongs to, 0 or 1."""
    return needle % HALVES


def variants_of(counts: Sequence[int], draws: int) -> list[Variant]:
    """All that is disabled in turn for one prompt, beginning with nothing.

    >>> [variant.group for variant in variants_of([5], draws=2)]
    ['none', 'top 5', 'random 5', 'random 5']
    """
    return [Variant(), *(Variant(count, draw) for count in counts for draw in range(draws + 1))]


def head_counts(given: Sequence[int] | None, heads: int) -> tuple[int, ...]:
    """How many heads are disabled at a time, for a model with so many heads.

    Random heads are drawn from those that are not among the top ones, so twice the largest number
    must not be more than there are.

    >>> head_counts(None, 270), head_counts(None, 24), head_counts(None, 8)
    ((5, 10), (5,), (1,))
    """
    if given is None:
        return tuple(one for one in MASKED if one <= heads // SHARE) or (1,)
    return tuple(one for one in given if 2 * one <= heads)


def choose_heads(
    scores: NDArray[np.float32],
    needles: NDArray[np.int64],
    recovered: NDArray[np.bool_],
    half: int,
    *,
    shape: Shape,
    counts: Sequence[int],
    draws: int,
    seed: int,
) -> list[tuple[Head, ...]] | None:
    """The heads to disable for the needles of one half, in the order of :func:`variants_of`.

    Parameters
    ----------
    scores
        Retrieval scores, (prompt, layer, head).
    needles, recovered
        The needle of each prompt, and whether its answer was recovered, (prompt,).
    half
        The half that is answered. Its own needles do not choose heads.
    shape
        The shape of the stack.
    counts, draws
        How many heads, and how many draws of random heads.
    seed
        Of the draws.

    Returns
    -------
    list of tuple of Head, or None
        None if no needle of the other half was recovered, or no head scored anything. Heads that
        score 0 are never among the top ones, so there may be fewer than asked for; draws of random
        heads are then as small. Random heads are drawn from the layers of the top ones; none of
        them is among the top heads of the largest number.
    """
    others = np.array([half_of(int(one)) != half for one in needles], np.bool_) & recovered
    if not others.any():
        return None
    mean = scores[others].mean(0, dtype=np.float64).ravel()
    order = np.argsort(-mean, kind="stable")[: int((mean > 0).sum())]
    if not len(order):
        return None
    names = all_heads(shape.numbers, shape.heads)
    ranked = [names[place] for place in order]
    others_left = [head for head in names if head not in set(ranked[: max(counts)])]
    chosen: list[tuple[Head, ...]] = []
    for variant in variants_of(counts, draws):
        heads = tuple(ranked[: variant.count])
        if variant.draw:
            generator = np.random.default_rng([seed, half, variant.count, variant.draw])
            heads = matched_heads(heads, others_left, generator)
        chosen.append(heads)
    return chosen


def layer_note(
    halves: Sequence[Sequence[tuple[Head, ...]]], variants: Sequence[Variant]
) -> str | None:
    """What to say if layers had too few other heads to match the top ones, or None.

    Parameters
    ----------
    halves
        What :func:`choose_heads` returned for each half of the needles.
    variants
        What stands for each of these sets of heads.

    Examples
    --------
    >>> chosen = [(), (Head(0, 0), Head(0, 1)), (Head(0, 2), Head(1, 1))]
    >>> layer_note([chosen], variants_of([2], draws=1))
    'layer 1 has too few other heads: 1 of 2 random heads came from other layers'
    """
    missing: Counter[int] = Counter()
    drawn = 0
    for chosen in halves:
        top: Counter[int] = Counter()
        for heads, variant in zip(chosen, variants, strict=True):
            layers = Counter(head.layer for head in heads)
            if variant.draw:
                drawn += len(heads)
                missing += top - layers
            else:
                top = layers
    if not missing:
        return None
    names = ", ".join(str(layer + 1) for layer in sorted(missing))
    which = f"layer {names} has" if len(missing) == 1 else f"layers {names} have"
    return (
        f"{which} too few other heads: {missing.total()} of {drawn} random heads came from other "
        "layers"
    )


def over_needles(
    cells: xr.DataArray, needles: Array, values: Range = "signed"
) -> tuple[xr.DataArray, ...]:
    """The mean over prompts with its 95 % interval and standard error, by jackknife over needles.

    Prompts with the same needle depend on each other, so one needle after the other is left out.

    Parameters
    ----------
    cells
        Values, one of the dimensions of which is prompt.
    needles
        The needle of each prompt.
    values
        Where the mean may lie: "share" (0 to 1), "positive" or "signed".

    Returns
    -------
    tuple of xarray.DataArray
        Mean, low, high and standard error. All are NaN without prompts; all but the mean are NaN
        with too few needles.

    Examples
    --------
    >>> cells = xr.DataArray([0.2, 0.4, 0.9], dims="prompt")
    >>> mean, low, high, error = over_needles(cells, np.array([0, 0, 1]))
    >>> round(float(mean), 3), round(float(error), 3)
    (0.5, 0.447)
    """
    if not cells.sizes["prompt"]:
        nothing = cells.sum("prompt") * np.nan
        return nothing, nothing, nothing, nothing
    known = np.unique(needles)
    parts = [cells[{"prompt": np.flatnonzero(needles == one)}].sum("prompt") for one in known]
    sums = xr.concat(parts, dim="bucket")
    counts = xr.DataArray([int((needles == one).sum()) for one in known], dims="bucket")
    return cells.mean("prompt"), *interval(sums, counts, values), standard_error(sums, counts)


# --- the run ---

EMPTY = "N/A"
"""A question without content: what it attends to by itself is no retrieval (Zhang et al. 2025)."""
SOURCE = "Wu et al. 2024"


@contextmanager
def language_model(model: ModelLike, options: RetrievalOptions | CacheOptions) -> Iterator[Model]:
    """A model with its language-model head, closed at the end if it was loaded here.

    Raises
    ------
    ModelError
        If it cannot be loaded. An encoder without a head is refused as an encoder.
    """
    # Whether its prompts are chats is no matter of loading here.
    loading = Loading(**options.subset(Loading) | {"chat": False})
    try:
        used = as_model(model, loading, head="lm")
    except ModelError as error:
        try:
            bare = as_model(model, loading)
        except ModelError:
            raise error from None
        with bare:
            check_decoder(bare, options.why)
        raise
    try:
        yield used
    finally:
        if used is not model:
            used.close()


class RetrievalRun(Run[Atlas]):
    """A resumable run of retrieval. Its blocks are prompts: once to score heads, once to check.

    Parameters
    ----------
    model
        A causal language model with its head.
    corpus
        The text around the needles.
    options
        Needles, lengths, depths, what the check disables, and where results go.
    """

    def __init__(self, model: Model, corpus: Corpus, options: RetrievalOptions) -> None:
        super().__init__(options, "retrieval")
        self.model, self.corpus, self.options = model, corpus, options
        self.decoder = Decoder(model)
        self.shape = self.decoder.shape
        heads = self.shape.layers * self.shape.heads
        self.counts = head_counts(options.masked, heads)
        self.variants = variants_of(self.counts, options.draws)
        self.prompts = Prompts(model, corpus, options)
        places = self.prompts.places
        self.needles = np.array([place.needle for place in places], np.int64)
        self.scores = np.zeros((len(places), self.shape.layers, self.shape.heads), np.float32)
        self.focus = np.zeros_like(self.scores)
        self.recall = np.full(len(places), np.nan)
        self.tokens = np.zeros(len(places), np.int64)
        self.masked = np.full((len(places), len(self.variants)), np.nan)
        self.written = [""] * len(places)

    @cached_property
    def about(self) -> dict[str, Any]:
        """Model, text and settings."""
        return {
            "kind": RETRIEVAL,
            "model": describe(self.model, self.decoder.stack)
            | {"same_weights": base_digests(self.model)},
            "corpus": self.corpus.about,
            "settings": self.options.about()
            | {
                "lengths": list(self.prompts.lengths),
                "chat": self.prompts.chat,
                "answer": ANSWER,
                "empty_question": EMPTY,
                "random_heads": "of the layers of the top heads",
            },
            "needles": [asdict(needle) for needle in self.options.hidden],
        }

    def blocks(self) -> Iterator[Block]:
        """Every prompt, then every prompt again with heads disabled."""
        count = len(self.prompts.places)
        for number in range(count * (2 if self.counts else 1)):
            yield Block(number, (number % count, number >= count))

    def progress(self) -> tuple[int, int]:
        """Prompts that were answered, with all heads and with some disabled."""
        return self.next_block, len(self.prompts.places) * (2 if self.counts else 1)

    def do(self, block: Block, update: Update) -> None:
        """Answer one prompt."""
        number, disabled = block.work
        if disabled:
            self._mask(number)
            return
        prompt = self.prompts.make(number)
        answer = self.decoder.write(self.decoder.read(prompt.ids), prompt.ids)
        text = self.decoder.text(answer)
        scores = retrieval_scores(
            np.stack(answer.top_keys), np.array(answer.tokens), prompt.ids, prompt.span
        )
        empty = self.prompts.make(number, question=EMPTY)
        asked, unasked = map(self.decoder.attention_to_needle, (prompt, empty))
        self.whole = False
        self.focus[number] = asked - unasked
        needle = self.options.hidden[prompt.place.needle]
        self.scores[number], self.tokens[number] = scores, len(prompt.ids)
        self.recall[number] = unigram_recall(needle.answer, text)
        self.written[number] = text

    def _mask(self, number: int) -> None:
        """Answer one prompt again with each set of heads disabled, if it was recovered."""
        heads = self.disabled[half_of(int(self.needles[number]))]
        if heads is None or not self.recovered[number]:
            return
        stack, way = self.decoder.stack, self.options.way
        offs = [Replacement(one, way=way, stack=stack).fit(self.model) for one in heads]
        prompt = self.prompts.make(number)
        answers = self.decoder.write_each(self.decoder.read(prompt.ids), prompt.ids, offs)
        needle = self.options.hidden[prompt.place.needle]
        texts = map(self.decoder.text, answers)
        self.masked[number] = [unigram_recall(needle.answer, text) for text in texts]

    @property
    def recovered(self) -> Any:
        """Whether each answer was recovered, (prompt,)."""
        return self.recall > RECOVERED

    @cached_property
    def disabled(self) -> list[Any]:
        """What is disabled for each half of the needles; used when all prompts are scored."""
        return [
            choose_heads(
                self.scores,
                self.needles,
                self.recovered,
                half,
                shape=self.shape,
                counts=self.counts,
                draws=self.options.draws,
                seed=self.options.seed,
            )
            for half in range(2)
        ]

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """Scores and answers so far."""
        names = ("scores", "focus", "recall", "tokens", "masked")
        return {"written": self.written}, {name: getattr(self, name) for name in names}

    def restore(self, state: dict[str, Any], arrays: Arrays) -> None:
        """Take up scores and answers."""
        self.written = list(state["written"])
        for name, array in arrays.items():
            setattr(self, name, array.copy())

    def result(self) -> Atlas:
        """Scores over recovered answers, and the check."""
        groups = {RETRIEVAL: self._score_dataset(), FOCUS: self._focus_dataset()}
        used = ~np.isnan(self.masked[:, 0])
        if self.counts and used.any():
            groups[MASKING] = self._masking_dataset(used)
        more = {"notes": self._notes(used), "masking": self._masking() if self.counts else []}
        return Atlas.build(groups, self.provenance() | more)

    def _score_dataset(self) -> xr.Dataset:
        """The retrieval score of every head, with its interval over needles, and all answers."""
        places = self.prompts.places
        found = self._head_means(self.scores, self.recovered, "share").assign(
            recall=("prompt", self.recall),
            tokens=("prompt", self.tokens),
            needle=("prompt", self.needles + 1),
            length=("prompt", np.array([place.length for place in places], np.int64)),
            depth=("prompt", np.array([place.depth for place in places], np.float64)),
            written=("prompt", np.array(self.written, dtype=object)),
        )
        unit = "share of the answer's tokens"
        return found.assign_attrs(title="retrieval score", unit=unit, source=SOURCE)

    def _focus_dataset(self) -> xr.Dataset:
        """How much more attention the needle gets from its question than from an empty one."""
        found = self._head_means(self.focus, np.ones(len(self.focus), np.bool_), "signed")
        return found.assign_attrs(
            title="query-focused retrieval",
            unit="share of the question's attention on the needle, less that of an empty question",
            source="Zhang et al. 2025, §3",
        )

    def _head_means(self, values: Array, chosen: Array, allowed: Range) -> xr.Dataset:
        """Means of every head over some prompts, with intervals over needles, and all values."""
        cells = xr.DataArray(values.astype(np.float64), dims=("prompt", "layer", "head"))
        mean, low, high, error = over_needles(cells[chosen], self.needles[chosen], allowed)
        grid, count = ("layer", "head"), int(chosen.sum())
        spread = cells[chosen].std("prompt", ddof=1) if count > 1 else mean * np.nan
        return xr.Dataset(
            {
                "mean": (grid, mean.values),
                "low": (grid, low.values),
                "high": (grid, high.values),
                "error": (grid, error.values),
                "deviation": (grid, spread.values),
                "n": (grid, np.full(mean.shape, count, np.int64)),
                "score": (("prompt", *grid), values),
            },
            {"layer": list(self.shape.labels), "head": list(range(1, self.shape.heads + 1))},
            {"kind": "mean", "listed": "yes"},
        )

    def _masking_dataset(self, used: Any) -> xr.Dataset:
        """How much of the answers is written with heads disabled, with intervals over needles."""
        recall, variants = self.masked[used], self.variants
        groups = list(dict.fromkeys(variant.group for variant in variants))
        merged = np.empty((len(groups), len(recall)))
        by_draw = np.full((len(groups), self.options.draws), np.nan)
        for at, group in enumerate(groups):
            own = [place for place, variant in enumerate(variants) if variant.group == group]
            merged[at] = recall[:, own].mean(1)
            by_draw[at, : len(own)] = recall[:, own].mean(0)
        against = [groups.index(group.replace("top", "random")) for group in groups]
        cells = xr.DataArray(merged, dims=("disabled", "prompt"))
        mean, low, high, error = over_needles(cells, self.needles[used], "share")
        differences = over_needles(cells - cells[against].values, self.needles[used])
        compared = np.array([one != at for at, one in enumerate(against)])
        names = ("difference", "difference_low", "difference_high")
        found = xr.Dataset(
            {
                "mean": ("disabled", mean.values),
                "low": ("disabled", low.values),
                "high": ("disabled", high.values),
                "deviation": ("disabled", error.values),
                "n": ("disabled", np.full(len(groups), len(recall), np.int64)),
                "draw_mean": (("disabled", "draw"), by_draw),
                **{
                    name: ("disabled", np.where(compared, part.values, np.nan))
                    for name, part in zip(names, differences, strict=False)
                },
            },
            {"disabled": np.array(groups, dtype=object)},
        )
        title, unit = "recall of answers with heads disabled", "share of the answer's words"
        return found.assign_attrs(title=title, unit=unit, source=SOURCE, kind="curve", listed="no")

    def _masking(self) -> list[dict[str, Any]]:
        """Which heads were disabled, for provenance."""
        return [
            {
                "needles": ("odd numbers", "even numbers")[half],
                "disabled": variant.group,
                "heads": [str(head) for head in heads],
            }
            for half, chosen in enumerate(self.disabled)
            for variant, heads in zip(self.variants, chosen or [], strict=False)
            if variant.count
        ]

    def _notes(self, used: Any) -> list[str]:
        notes = [
            note  # a chat template begins a text as it should
            for note in self.model.notes
            if not (self.prompts.chat and "beginning-of-sequence" in note)
        ]
        notes += self.prompts.notes
        recovered = int(self.recovered.sum())
        if not recovered:
            notes.append("no answer was recovered, so that no head has a score")
        if self.options.masked == () or not recovered:
            return notes
        if self.counts != (self.options.masked or self.counts):
            notes.append(
                "of the numbers of heads to disable, those over half of all heads were skipped"
            )
        if not self.counts:
            return notes
        if int(used.sum()) < recovered:
            notes.append(
                f"heads were disabled for {int(used.sum())} of {recovered} recovered answers: "
                "those of one half of the needles choose the heads for the other half"
            )
        note = layer_note([chosen for chosen in self.disabled if chosen], self.variants)
        return [*notes, note] if note else notes
