"""Random tokens written twice (Olsson et al. 2022): what heads do where only repetition helps."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from headscope.corpus import Example
from headscope.corpus.example import BUCKETS
from headscope.encode import START, TEXT, Counts, Encoded, collate
from headscope.errors import ModelError, UserError
from headscope.measures.base import Context
from headscope.measures.combinators import Linear, Weights
from headscope.measures.relations import Diagonals, Weighted
from headscope.measures.sums import Sums
from headscope.models import Model
from headscope.models.loading import ModelLike
from headscope.models.names import check_loading
from headscope.options import ModelRun, Option, takes
from headscope.results import Atlas
from headscope.runs.forward import Pass
from headscope.runs.preparing import check_decoder, opened
from headscope.runs.run import describe, versions
from headscope.runs.survey.work import Tally

NAME = "synthetic"
"""The group of the results."""
SIZE = 8
"""Sequences per batch, always the same ones: so results do not depend on how a run is split."""
ENOUGH = 3
"""A survey adds the sequences by itself if there are so many times as many tokens to draw from."""


class Repeated(Linear):
    """Attention in the second of two copies of ``n`` tokens, on average over its tokens.

    ``induction``: to what followed the token in the first copy; ``duplicate``: to the token in the
    first copy; ``previous``: to the token before.

    Parameters
    ----------
    n
        The number of tokens of one copy.
    """

    name = NAME
    title = "Random tokens written twice"
    source = "Olsson et al. 2022"
    says = "attention to {score}, in random tokens written twice"
    labels = {
        "score": {
            "induction": "what followed the token in the first copy",
            "duplicate": "the token in the first copy",
            "previous": "the previous token",
        }
    }

    def __init__(self, n: int) -> None:
        self.n = n

    def weights(self, item: Encoded) -> Sequence[Weights]:
        """Three diagonals, in the rows of the second copy."""
        rows = np.zeros(len(item), np.float32)
        rows[-self.n :] = 1 / self.n
        offsets = (1 - self.n, -self.n, -1)
        return [Weighted(Diagonals(len(item), (offset,)), rows) for offset in offsets]


@dataclass(frozen=True)
class Sequences:
    """Sequences of random tokens written twice.

    Parameters
    ----------
    n
        Tokens of one copy, drawn without replacement.
    count
        How many sequences.
    seed
        Of what is drawn. Each sequence has a seed of its own, made of this and its number.
    """

    n: int = 64
    count: int = 32
    seed: int = 0

    @property
    def name(self) -> str:
        """What results call them."""
        return f"{self.count} sequences of {self.n} random tokens written twice"

    def check(self, model: Model, stack: str) -> None:
        """Refuse models that cannot read such sequences.

        Raises
        ------
        ModelError
            If the model is no decoder, has too few tokens, or takes too short texts.
        """
        check_decoder(
            model,
            ": induction heads complete what they have read, and an encoder sees the second copy "
            "from the first",
            stack=stack,
            hint="measure it on text: hs.survey(model, corpus, measures='repetition')",
            command="measure it on text: headscope survey MODEL CORPUS --measure repetition",
        )
        tokens = len(ordinary_tokens(model))
        if tokens < self.n:
            raise ModelError(
                f"{model.name} has {tokens} ordinary tokens, too few to draw {self.n} different "
                "ones",
                hint=f"give n={max(tokens // ENOUGH, 2)}",
            )
        longest, length = model.longest, 2 * self.n + (start_of(model) is not None)
        if longest is not None and length > longest:
            raise ModelError(
                f"two copies of {self.n} tokens take {length} with the start token, and "
                f"{model.name} takes at most {longest}",
                hint=f"give n={(longest - 1) // 2}",
            )

    def why_not(self, model: Model, stack: str) -> str:
        """Why a survey does not add these sequences by itself; "" if it does."""
        try:
            self.check(model, stack)
        except ModelError as error:
            return str(error.message)
        if len(ordinary_tokens(model)) < ENOUGH * self.n:
            return f"{model.name} has too few ordinary tokens ({len(ordinary_tokens(model))})"
        return ""

    def items(self, model: Model, first: int, last: int) -> Iterator[Encoded]:
        """Some of the sequences as tokens."""
        tokens, start = ordinary_tokens(model), start_of(model)
        for number in range(first, min(last, self.count)):
            drawn = np.random.default_rng([self.seed, number]).choice(tokens, self.n, replace=False)
            twice = np.concatenate([drawn, drawn])
            yield encoded_tokens(f"sequence {number + 1}", twice, start)

    def sums(self, model: Model, stack: str, shard: tuple[int, int] = (1, 1)) -> tuple[Sums, Tally]:
        """Run the sequences of a shard: sums by sequence, and how many were used."""
        context = Context(model.shape(stack), causal=True, seed=self.seed)
        measure = Repeated(self.n).bind(context, [])
        sums, tally = Sums(measure), Tally()
        forward = Pass(model, [measure], stack, context)
        for unit in range(shard[0] - 1, -(-self.count // SIZE), shard[1]):
            numbers = range(unit * SIZE, min((unit + 1) * SIZE, self.count))
            items = self.items(model, numbers.start, numbers.stop)
            values = forward.run(collate(items, pad=model.pad))
            good = np.flatnonzero(values.broken < 0)
            sums.add([numbers[place] % BUCKETS for place in good], values.values[NAME][good])
            tally.add(Tally(seen=len(good), nonfinite=len(numbers) - len(good)))
        return sums, tally


def ordinary_tokens(model: Model) -> NDArray[np.int64]:
    """The ids that random tokens are drawn from: no special, added or unknown ones.

    Parameters
    ----------
    model
        The model.

    Examples
    --------
    >>> import headscope as hs
    >>> model = hs.load("demo")
    >>> len(ordinary_tokens(model)) < len(model.tokenizer)
    True
    """
    tokenizer = model.tokenizer
    odd = {*tokenizer.all_special_ids, *tokenizer.added_tokens_decoder}
    try:
        size = int(model.network.get_input_embeddings().weight.shape[0])
    except NotImplementedError:  # sam3_lite_text does not say where they are
        size = int(model.config.vocab_size)
    known = {number for number in tokenizer.get_vocab().values() if number < size}
    return np.array(sorted(known - odd), np.int64)


def start_of(model: Model) -> int | None:
    """The token before the first copy: the model's start token, unless texts go without it."""
    return None if model.bos == "none" else model.bos_token


def encoded_tokens(
    name: str, ids: NDArray[np.int64], start: int | None, *, group: str = ""
) -> Encoded:
    """Tokens that are no text of their own, as an example; ``start`` is put before them."""
    before = [] if start is None else [start]
    size = len(before) + len(ids)
    none = np.full(size, -1, np.int64)
    kind = np.full(size, TEXT, np.int8)
    kind[: len(before)] = START
    return Encoded(
        Example(name, ("",), group=group or name),
        np.concatenate([np.array(before, np.int64), ids]),
        np.zeros(size, np.int64),
        kind,
        np.where(kind == TEXT, 0, -1).astype(np.int8),
        none,
        np.zeros(size, np.bool_),
        ("",) * size,
        none,
        np.zeros(size, np.bool_),
    )


class SyntheticOptions(ModelRun):
    """Options of :func:`synthetic`.

    Parameters
    ----------
    n
        Tokens of one copy, drawn without replacement.
    sequences
        How many sequences.
    seed
        Of what is drawn.
    stack
        The stack. Default: the model's main one.
    """

    n: Annotated[int, Option(least=2, name="number of random tokens")] = 64
    sequences: Annotated[int, Option(least=2, name="number of sequences")] = 32
    seed: int = 0
    stack: str = ""


@takes(SyntheticOptions)
def synthetic(model: ModelLike, options: SyntheticOptions) -> Atlas:
    """Test every head of a language model on random tokens that are written twice.

    A sequence is the start token, if the model has one, ``n`` random tokens, and the same again.
    Only a head that finds the first copy can know what comes next: its attention from the second
    copy to what followed the same token in the first is its induction score. The tokens mean
    nothing, so what a head does here can differ from what it does on text; the measure
    ``repetition`` looks there.

    Parameters
    ----------
    model
        A hub id, a folder, "demo-llm", a :class:`~headscope.Model`, or a pair of a loaded network
        and its tokenizer. It must be a decoder-only language model.

    Returns
    -------
    Atlas
        The group ``synthetic``: attention in the second copy to what followed the token in the
        first (``induction``), to the token in the first (``duplicate``), and to the token before
        (``previous``), with intervals over sequences.

    Raises
    ------
    ModelError
        If the model is no decoder, has too few tokens, or takes too short texts.

    References
    ----------
    Olsson et al. 2022, "In-context Learning and Induction Heads". Two copies of 64 tokens are our
    choice; they use four copies of 25.

    Examples
    --------
    >>> import headscope as hs
    >>> atlas = hs.synthetic("demo-llm", n=16, sequences=8)  # doctest: +SKIP
    >>> atlas.heads(by="synthetic:induction", top=3)["head"].tolist()  # doctest: +SKIP
    ['19-7', '18-5', '18-6']
    """
    check_loading(model, options)
    with opened(model, options) as used:
        stack = options.stack or used.main_stack()
        chosen = Sequences(options.n, options.sequences, options.seed)
        chosen.check(used, stack)
        sums, tally = chosen.sums(used, stack)
        about = {
            "model": describe(used, stack),
            "corpus": {
                "name": f"{chosen.count} sequences of {chosen.n} random tokens written twice"
            },
            "settings": {
                "n": chosen.n,
                "sequences": chosen.count,
                "seed": chosen.seed,
                "stack": stack,
            },
            "measures": [NAME],
            "details": {NAME: f"n={chosen.n}"},
            "shards": ["1/1"],
            "identity": "",
            "versions": versions(),
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "notes": list(used.notes),
            "counts": asdict(Counts(read=chosen.count, used=chosen.count)) | asdict(tally),
        }
    return Atlas.build({NAME: sums.dataset()}, about)


def chosen_sequences(
    synthetic: bool | None, model: Model, stack: str, *, offered: bool, seed: int
) -> tuple[Sequences | None, str]:
    """The sequences that a survey adds, and a note if it adds none.

    Parameters
    ----------
    synthetic
        True or False as the user wishes; None for those models that can read them.
    model, stack
        Of the survey.
    offered
        Whether the survey computes its default measures.
    seed
        Of the survey.
    """
    if not isinstance(synthetic, bool | None):
        raise UserError(f"synthetic must be True, False or None, got {synthetic!r} instead")
    sequences = Sequences(seed=seed)  # 32 of twice 64 tokens
    if synthetic:
        sequences.check(model, stack)
        return sequences, ""
    if synthetic is False or not offered or model.encoder_decoder or not model.causal(stack):
        return None, ""
    why = sequences.why_not(model, stack)
    return (None, f"no random tokens written twice: {why}") if why else (sequences, "")
