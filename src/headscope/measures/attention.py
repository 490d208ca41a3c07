"""Where attention goes, how wide, and how far: measures that need no annotation but roles' own."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Self, get_args

import numpy as np
from numpy.typing import NDArray

from headscope.corpus import Example, Word, surface_words
from headscope.encode import SEPARATOR, START, TEXT
from headscope.encode.cross import CrossEncoded, key_batch, key_item
from headscope.errors import UserError, unknown
from headscope.measures.base import Context, Direction, Subtypes, at_least, one_of
from headscope.measures.combinators import NAN, ColumnMean, Linear, RowMean, Weights
from headscope.measures.kernels import (
    TINY,
    distance_sums,
    distances,
    entropy_terms,
    logarithms,
    over_keys,
    to_device,
)
from headscope.measures.lazy import torch
from headscope.measures.registry import HOW
from headscope.measures.relations import (
    Columns,
    Diagonals,
    Matrix,
    Pairs,
    Weighted,
    bias_weights,
    mass_weights,
)
from headscope.measures.roles import ROLES, known_ids, sinks, visible
from headscope.measures.sieves import (
    PAPER,
    SAME_LABEL,
    SYNTACTIC,
    Sieve,
    dependency_sieve,
    dependency_sieves,
    known_sieves,
)

if TYPE_CHECKING:
    from torch import Tensor

    from headscope.encode import Batch, Encoded
    from headscope.models import LayerView

STOPS = "full stops and commas"


class Position(Linear):
    """Mean attention to the previous, current and next token, over the tokens that have one.

    A causal model does not see the next token: NaN.

    References
    ----------
    Clark et al. 2019, section 3.1.
    """

    name = "position"
    title = "Attention by relative position"
    source = "Clark et al. 2019, §3.1"
    says = "attention to {offset}"
    labels = {
        "offset": {
            "previous": "the previous token",
            "current": "the token itself",
            "next": "the next token",
        }
    }

    def weights(self, item: Encoded) -> Sequence[Weights]:
        """Diagonals: one below, on and one above the middle."""
        before, here, after = (mass_weights(Diagonals(len(item), (at,))) for at in (-1, 0, 1))
        return [before, here, None if self.context.causal else after]


class Special(Linear):
    """Mean attention to [CLS], [SEP], and full stops and commas.

    From all tokens, from [SEP] alone, and from all others alone. [CLS] and [SEP] stand for the
    model's own start and end tokens (BOS, EOS); NaN for a model or text that has none.

    References
    ----------
    Clark et al. 2019, section 3.2 and Figure 2.
    """

    name = "special"
    title = "Attention to special tokens"
    source = "Clark et al. 2019, §3.2, Figure 2"
    says = "attention to {token}{row}"
    labels = {
        "token": {"cls": "{cls}", "sep": "{sep}", "punctuation": STOPS},
        "row": {"all": "", "sep": " from {sep}", "other": " from tokens other than {sep}"},
    }
    cross = True

    def weights(self, item: Encoded) -> Sequence[Weights]:
        """Columns of the map: those of one kind of token, for all rows or some."""
        separator, keys = item.kind == SEPARATOR, key_item(item)
        columns = (keys.kind == START, keys.kind == SEPARATOR, keys.stop)
        rows = (np.ones_like(separator), separator, ~separator)
        return [mass_weights(Columns(column, row)) for column in columns for row in rows]


class Entropy(RowMean):
    """Mean entropy of a head's attention, in nats.

    From all tokens, from [CLS] (or BOS) alone, and what uniform attention would have. In a model
    with a learned sink (GPT-OSS), rows sum to less than 1, and the sum is over what is there: the
    sink adds nothing.

    References
    ----------
    Clark et al. 2019, section 3.3 and Figure 4.
    """

    name = "entropy"
    title = "Entropy of attention"
    unit = "nats"
    range = "positive"
    source = "Clark et al. 2019, §3.3, Figure 4"
    says = "entropy of {row}"
    labels = {
        "row": {
            "all": "attention from all tokens",
            "cls": "attention from {cls}",
            "uniform": "uniform attention",
        }
    }
    cross = True

    def row_weights(self, item: Encoded) -> NDArray[Any]:
        """All rows, and those of start tokens."""
        start = item.kind == START
        return np.stack([np.full(len(item), 1 / len(item)), start / max(start.sum(), 1)], 1)

    def prepare(self, batch: Batch, device: Any) -> SimpleNamespace:
        """Also the entropy of uniform attention."""
        prepared = super().prepare(batch, device)
        uniform = [
            np.log(np.arange(1, len(item) + 1) if self.context.causal else len(keys)).mean()
            for item, keys in zip(batch.items, key_batch(batch).items, strict=True)
        ]
        prepared.uniform = to_device(np.array(uniform, np.float32)[:, None, None], device)
        return prepared

    def row_values(self, block: Tensor, first_row: int, prepared: SimpleNamespace) -> Tensor:
        """-Σ α ln α over keys, in nats; a weight of 0 adds nothing."""
        return row_entropy(block, prepared.keys, entropy_terms(block))[..., None]

    def end(self, view: LayerView, prepared: SimpleNamespace) -> Tensor:
        """(batch, head, 3)."""
        means = super().end(view, prepared)
        return torch.cat([means, prepared.uniform.expand(-1, means.shape[1], -1)], -1)


def row_entropy(
    attention: Tensor, keys: Tensor | None = None, terms: Tensor | None = None
) -> Tensor:
    """-Σ α ln α over keys, in nats: (batch, head, query, key) -> (batch, head, query). A weight of
    0 adds nothing.

    ``keys`` (batch, 1, key) is 1 on the keys that count and 0 on padding; without it all count.
    ``terms`` is α ln α, if it is known.

    >>> import torch
    >>> row_entropy(torch.tensor([[[[0.5, 0.5], [1.0, 0.0]]]]))
    tensor([[[0.6931, 0.0000]]])
    """
    terms = logarithms(attention).mul_(attention) if terms is None else terms
    total = terms.sum(-1) if keys is None else over_keys(terms, keys)[:, 0]
    return total.neg_().abs_()


PARSE = "use a treebank (.conllu), or parse plain text: --parse, or hs.read(path, parse=True)"
CAUSAL = "a causal model sees no later tokens"


class Role(Linear):
    """The mean sieve bias of a sequence, for every role.

    1 is what uniform attention gives; 3 means three times as much attention on the tokens of the
    role. The scores of single sequences are kept too, because tests and figures need their
    distribution.

    Parameters
    ----------
    roles
        The roles to score: names of sieves, or any dependency label of the corpus. Default: all
        roles whose annotations the corpus has.
    direction
        Of dependency roles: from a dependent to its head word (``to head``), from the head word to
        a dependent (``from head``), or ``both``. ``auto`` is ``to head``, as the overlaps that the
        paper reports imply; but ``both`` for a causal model that sees the head word in fewer than
        half of the sequences that have one of the relations. In English most subjects come before
        their verbs, which such a model cannot see from there.
    subtypes
        Keep subtypes of dependency labels (``nmod:poss``), or fold them into their kind (``nmod``).
    keep
        The scores of about this many sequences are kept; 0 keeps none.

    References
    ----------
    Pande et al. 2021, "The heads hypothesis", sections 3 and 4.

    Examples
    --------
    >>> Role(roles=["local", "nsubj"], direction="both").options()["roles"]
    ('local', 'nsubj')
    """

    name = "role"
    title = "Sieve bias of each role"
    unit = "times uniform attention"
    range = "positive"
    source = "Pande et al. 2021"
    says = "{role}"
    labels = {"role": {"": "{}"}}
    summed = True

    def __init__(
        self,
        roles: Iterable[str] = (),
        direction: Direction = "auto",
        subtypes: Subtypes = "keep",
        keep: int = 5000,
    ) -> None:
        self.roles = (roles,) if isinstance(roles, str) else tuple(roles)
        self.direction: Direction = one_of(
            "direction of dependency roles", direction, get_args(Direction)
        )
        self.subtypes: Subtypes = one_of("way with subtypes", subtypes, ("keep", "fold"))
        self.keep = at_least("number of sequences to keep scores of", keep, 0)
        self.sieves: list[Sieve] = []
        self.absent: dict[str, str] = {}
        self.way = "to head"
        self.unseen = ""

    def bind(self, context: Context, corpus: Iterable[Example]) -> Self:
        """Choose the roles that the corpus allows; sieves that learn from the corpus do so here."""
        bound = super().bind(context, corpus)
        offered, labels = self._look(corpus)
        bound.way, bound.unseen = self._find_way(context, corpus)
        known = bound._known()
        bound.sieves, bound.absent = [], {}
        for name in dict.fromkeys(self.roles or known):
            sieve = known.get(name)
            if sieve is None and name in labels:
                sieve = dependency_sieve(name, (name,), bound.way, self.subtypes == "fold")
            if sieve is None:
                raise unknown("role", name, [*known, *sorted(labels - set(known))])
            if why := self._why_not(sieve, offered, context):
                bound.absent[name] = why
            else:
                bound.sieves.append(sieve.ready(corpus))
        if not bound.sieves:
            reasons = "; ".join(f"{name}: {why}" for name, why in bound.absent.items())
            raise UserError(
                f"none of the roles can be measured here: {reasons}",
                hint="choose other roles with roles=",
            )
        bound.dims = {"role": tuple(sieve.name for sieve in bound.sieves)}
        return bound

    def beside(self) -> tuple[str, ...]:
        """What tells whether a head with a dependency role knows more than positions."""
        trees = not self.roles or any("tree" in self._needs(name) for name in self.roles)
        return ("arc",) if trees else ()

    def _needs(self, name: str) -> frozenset[str]:
        """What a role needs of a corpus; one that is no sieve is a dependency label."""
        known = known_sieves()
        return known[name].needs if name in known else frozenset({"tree"})

    def _look(self, corpus: Iterable[Example]) -> tuple[set[str], set[str]]:
        """The annotations and the dependency labels of a corpus."""
        offered: set[str] = set()
        labels: set[str] = set()
        for example in corpus:
            offered |= example.annotations
            labels |= {self._label(word) for word in example.words if word.head is not None}
        return offered, labels

    def _label(self, word: Word) -> str:
        """A word's relation to its head word, its subtype folded or not."""
        return word.relation.split(":")[0] if self.subtypes == "fold" else word.relation

    def _find_way(self, context: Context, corpus: Iterable[Example]) -> tuple[str, str]:
        """The direction of dependency roles and, where it is not the usual one, why."""
        if self.direction != "auto":
            return self.direction, ""
        if not context.causal:
            return "to head", ""
        asked = self.roles or SYNTACTIC
        wanted = {other: name for name in asked for other in SAME_LABEL.get(name, (name,))}
        having, seeing = Counter[str](), Counter[str]()
        for example in corpus:
            arcs = [
                (wanted[label], word.head < index)
                for index, word in enumerate(example.words)
                if word.head is not None
                and word.head >= 0
                and (label := self._label(word)) in wanted
            ]
            having.update({name for name, _ in arcs})
            seeing.update({name for name, earlier in arcs if earlier})
        few = [name for name in asked if 2 * seeing[name] < having[name]]
        counts = ", ".join(f"{name} in {seeing[name]} of {having[name]}" for name in few)
        return ("both", counts) if few else ("to head", "")

    def _known(self) -> dict[str, Sieve]:
        """All sieves by name, the paper's first."""
        found = known_sieves() | dependency_sieves(self.way, self.subtypes == "fold")
        names = (*PAPER, *(name for name in found if name not in PAPER))
        return {name: found[name] for name in names}

    def _why_not(self, sieve: Sieve, offered: set[str], context: Context) -> str:
        """Why a sieve cannot be used; empty if it can. Asking for it by name is then an error."""
        missing = sorted(sieve.needs - offered)
        if missing and self.roles:
            raise UserError(
                f"the role {sieve.name!r} needs {', '.join(missing)}, which this corpus lacks",
                **HOW.get(missing[0], {"hint": f"choose a corpus with {missing[0]}"}),
            )
        if missing:
            how = HOW.get(missing[0], {}).get("hint", "")
            if "parse=True" in how:  # kept in results, which are read from Python and in a terminal
                how = PARSE
            return f"the corpus has no {', '.join(missing)}: {how}".rstrip(": ")
        return CAUSAL if sieve.later and context.causal else ""

    def words(self) -> Mapping[str, Mapping[str, str]]:
        """Each role's name and title."""
        return {"role": {sieve.name: sieve.words for sieve in self.sieves}}

    def attributes(self) -> dict[str, str]:
        """Titles of the roles, the relations that dependency roles follow, and absent roles."""
        titles = {sieve.name: sieve.title for sieve in self.sieves}
        arcs = {sieve.name: list(sieve.relations) for sieve in self.sieves if sieve.relations}
        return super().attributes() | {
            "titles": json.dumps(titles),
            "arcs": json.dumps(arcs),
            "absent": json.dumps(self.absent),
            "direction": self.way,
            "subtypes": self.subtypes,
            "unseen": self.unseen,
        }

    def identity(self) -> str:
        """The options, the roles, and the code of those that a user wrote."""
        sieves = ", ".join(f"{sieve.name} {sieve.digest}".strip() for sieve in self.sieves)
        return f"{super().identity()}: {sieves}"

    def weights(self, item: Encoded) -> Sequence[Weights]:
        """The sieve of every role, weighted."""
        causal = self.context.causal
        found = (sieve.relation(item) for sieve in self.sieves)
        return [None if sieve is None else bias_weights(sieve, causal=causal) for sieve in found]


class Activity(Linear):
    """Where attention goes: how much is at work, and how much rests on each kind of sink.

    Mean over the tokens of words; special tokens are not asked. The shares of the kinds add up to
    1, except in models with a learned sink (GPT-OSS), whose rows sum to less. A text without a
    start token, separators or other sinks has no share of that kind.
    """

    name = "activity"
    title = "Where attention goes"
    says = "attention {where}"
    labels = {
        "where": {
            "at work": "at work: not on sinks",
            "start": "that rests on the start token",
            "separator": "that rests on separators",
            "stops": f"that rests on {STOPS}",
            "other": "that rests on other sinks",
        }
    }

    def words(self) -> Mapping[str, Mapping[str, str]]:
        """Many decoders read texts without a start token: their sink is the first word."""
        first = {"other": "that rests on the first token or other special tokens"}
        return {"where": {**self.labels["where"], **(first if self.context.causal else {})}}

    def weights(self, item: Encoded) -> Sequence[Weights]:
        """Columns of the map. "Other" are the first token, if it is a word, and special tokens of
        other kinds.
        """
        resting, start, end = sinks(item), item.kind == START, item.kind == SEPARATOR
        stop = item.stop & ~start & ~end
        kinds = (~resting, start, end, stop, resting & ~(start | end | stop))
        always = (True, False, False, True, False)  # 0, not undefined, in a text that has none
        asking = item.kind == TEXT
        rows = (asking / max(asking.sum(), 1)).astype(np.float32)
        return [
            Weighted(Columns(np.asarray(kind)), rows)
            if asking.any() and (zero or kind.any())
            else None
            for kind, zero in zip(kinds, always, strict=True)
        ]


class Work(Linear):
    """How the attention at work is divided among roles, against even attention.

    Sinks are taken out as keys, and special tokens as rows. Of a role (say, "the previous token")
    three sums are kept over the rows that have such a token: ``attention`` on the role's tokens,
    ``left``, all attention at work, and ``uniform``, what the role's tokens would get if each row's
    working attention were spread evenly over all tokens it sees. The *excess* of a role is the
    difference of ``attention`` and ``uniform``, divided by ``left``. All are sums over the corpus,
    so the excess is a ratio of sums.

    See Also
    --------
    headscope.stats.main_roles : the role that says most about a head, tested.
    headscope.measures.roles : the list of roles.
    """

    name = "work"
    title = "Attention at work, by role"
    unit = "sum over tokens"
    says = "{role}, {part}"
    labels = {
        "role": {name: role.title for name, role in ROLES.items() if role.pairs},
        "part": {
            "attention": "attention to its tokens",
            "uniform": "what even attention would give",
            "left": "all attention at work",
        },
    }
    read = {"role": (), "part": ("attention", "uniform", "left")}
    summed = True
    listed = False

    def beside(self) -> tuple[str, ...]:
        """What roles along arcs have to beat."""
        return ("arc",)

    def bind(self, context: Context, corpus: Iterable[Example]) -> Self:
        """Choose the roles that model and corpus allow."""
        bound = super().bind(context, corpus)
        here = {"causal" if context.causal else "later"}
        here |= {"tree", "mentions"} & {name for one in corpus for name in one.annotations}
        roles = [name for name, role in ROLES.items() if role.pairs and role.needs <= here]
        bound.dims = {**self.dims, "role": tuple(roles)}
        return bound

    def weights(self, item: Encoded) -> Sequence[Weights]:
        """The three sums of every role; None where no token has the role."""
        causal, keys, asking = self.context.causal, ~sinks(item), item.kind == TEXT
        seen, columns = np.maximum(visible(item, causal), 1), Columns(keys)
        weights: list[Weights] = []
        for name in self.dims["role"]:
            relation = ROLES[name].relation(item, keys)
            sizes = np.where(asking, relation.sizes(causal), 0)
            rows, share = (sizes > 0).astype(np.float32), (sizes / seen).astype(np.float32)
            sums = (Weighted(relation, rows), Weighted(columns, share), Weighted(columns, rows))
            weights += sums if rows.any() else (None, None, None)
        return weights


class Spread(RowMean):
    """How evenly a head's attention at work is spread: entropy over the uniform one.

    Sinks (special tokens, the first token, full stops and commas) are taken out as keys, and what
    is left of a row is scaled to sum to 1. Rows count by how much is left of them. Two sums are
    kept, ``entropy`` (as a share of that of even attention) and ``left``; the spread is their
    ratio: 1 for a head that looks at all words alike, 0 for one that looks at one word only.
    """

    name = "spread"
    title = "Spread of the attention at work"
    unit = "sum over tokens"
    says = "{part}"
    labels = {
        "part": {"entropy": "entropy, as a share of that of even attention", "left": "at work"}
    }
    summed = True
    listed = False

    def counted_keys(self, item: Encoded) -> Matrix:
        """All but sinks."""
        return ~sinks(item)

    def row_weights(self, item: Encoded) -> NDArray[Any]:
        """1 / ln of the number of keys that a row sees; and 1, where these are two or more."""
        seen = visible(item, self.context.causal)
        some = (seen > 1) & (item.kind == TEXT)
        scale = (1 / np.log(np.maximum(seen, 2))).astype(np.float32)
        return np.stack([np.where(some, scale, 0), some], 1)

    def row_values(self, block: Tensor, first_row: int, prepared: SimpleNamespace) -> Tensor:
        """Entropy of what is left of a row, times how much that is; and how much."""
        keys = block.new_ones(1, 1, 1).expand(len(block), 1, block.shape[3])
        keys = keys if prepared.keys is None else prepared.keys
        left = over_keys(block, keys)[:, 0]
        entropy = left * logarithms(left) - over_keys(entropy_terms(block), keys)[:, 0]
        return torch.stack([entropy, left], -1)

    def end(self, view: LayerView, prepared: SimpleNamespace) -> Tensor:
        """(batch, head, 2)."""
        return super().end(view, prepared).clamp_min(0.0)


class Repetition(Linear):
    """Attention from a token that has occurred before.

    ``induction``: to the tokens that followed its earlier occurrences; ``duplicate``: to these
    occurrences themselves. The sum over all of them, averaged over the tokens that have any.
    Special tokens and unknown ones take no part. On text, a head may attend to such tokens for
    other reasons too; :func:`headscope.synthetic` tests the same on random tokens.

    References
    ----------
    Olsson et al. 2022, "In-context Learning and Induction Heads".

    Examples
    --------
    >>> import headscope as hs
    >>> texts = ["The dog saw the cat and the dog barked.", "A cat, a mat, a cat."]
    >>> atlas = hs.survey("demo", texts, measures="repetition")
    >>> atlas.mean("repetition").sel(layer=4, head=2).round(1).values.tolist()
    [0.2, 0.0]
    """

    name = "repetition"
    title = "Attention where a token occurs again"
    source = "Olsson et al. 2022"
    says = "attention to {repeat}"
    labels = {
        "repeat": {
            "induction": "what followed the same token before",
            "duplicate": "earlier occurrences of the same token",
        }
    }

    def weights(self, item: Encoded) -> Sequence[Weights]:
        """Lists of pairs."""
        return [mass_weights(followers(item)), mass_weights(earlier_same(item))]


def earlier_same(item: Encoded) -> Pairs:
    """From every token to each of its earlier occurrences.

    Special tokens and unknown ones are never the same as another.

    >>> import headscope as hs
    >>> from headscope.encode import Encoder
    >>> encoder = Encoder(hs.load("demo").tokenizer)
    >>> item = next(iter(encoder.encode(hs.read(["a b c a"]))))  # [CLS] a b c a [SEP]
    >>> pairs = earlier_same(item)
    >>> pairs.queries.tolist(), pairs.keys.tolist()
    ([4], [1])
    """
    same = Pairs.alike(known_ids(item))
    return same.where(same.keys < same.queries)


def followers(item: Encoded) -> Pairs:
    """From every token to what followed each of its earlier occurrences, up to the token before.

    >>> import headscope as hs
    >>> from headscope.encode import Encoder
    >>> encoder = Encoder(hs.load("demo").tokenizer)
    >>> item = next(iter(encoder.encode(hs.read(["a b c a"]))))  # [CLS] a b c a [SEP]
    >>> pairs = followers(item)
    >>> pairs.queries.tolist(), pairs.keys.tolist()
    ([4], [2])
    """
    same = earlier_same(item)
    after = Pairs(len(item), same.queries, same.keys + 1)
    return after.where((after.keys < after.queries) & (known_ids(item)[after.keys] >= 0))


class Sink(ColumnMean):
    """Whether the first token is a sink of attention.

    ``first`` is the mean attention to the first token over the first ``length`` tokens of a text;
    ``rate`` the share of texts in which that is over ``threshold``. Longer texts are cut, and
    shorter ones are left out: the number of texts says how many took part. ``learned`` is what a
    learned sink takes (GPT-OSS), where a row of attention sums to less than 1.

    Parameters
    ----------
    length
        How many tokens of a text count.
    threshold
        From which mean attention on a token is a sink.

    See Also
    --------
    SinkPlaces : the same for other tokens.
    headscope.stats.sink_table : both, one row per head.

    References
    ----------
    Gu et al. 2025, "When Attention Sink Emerges in Language Models", section 2.

    Examples
    --------
    >>> import headscope as hs
    >>> texts = ["The dog barks at the cat that sleeps.", "A cat sleeps on the mat all day."]
    >>> atlas = hs.survey("demo", texts, measures=hs.Sink(length=8))
    >>> float(atlas.mean("sink").sel(layer=1, head=3, sink="rate"))
    0.0
    """

    name = "sink"
    title = "Attention sink on the first token"
    unit = "share of attention or of texts"
    source = "Gu et al. 2025, §2"
    says = "{sink}"
    labels = {
        "sink": {
            "first": "attention to the first of {length} tokens",
            "rate": "sink rate: texts with more than {threshold} on the first token",
            "learned": "attention to the learned sink",
        }
    }
    read = {"sink": ("first", "rate")}
    length: int

    def __init__(self, length: int = 64, threshold: float = 0.3) -> None:
        self.length = at_least("length of texts for sinks", length, 4)
        if isinstance(threshold, bool) or not 0 < threshold < 1:
            raise UserError(
                f"the threshold of sinks must be between 0 and 1, got {threshold!r} instead",
                hint="e.g. threshold=0.3",
            )
        self.threshold = float(threshold)

    def row_weights(self, item: Encoded) -> NDArray[Any]:
        """The first rows of texts that are long enough."""
        return (np.arange(len(item)) < self.length) & (len(item) >= self.length)

    def of_columns(self, columns: Tensor, prepared: SimpleNamespace) -> Tensor:
        """Attention to the first token, whether it is a sink, and what the learned sink takes."""
        first = columns[..., :1] / self.length  # every row sees the first token
        learned = 1 - columns.sum(-1, keepdim=True) / self.length
        none = learned if self.context.shape.sink else torch.full_like(learned, NAN)
        return torch.cat([first, (first > self.threshold).float(), none], -1)


class SinkPlaces(Sink):
    """Which other tokens are sinks: the sink rate of each token up to half of ``length``.

    Later tokens are not looked at, because few rows see them: at the end, every head that attends
    to the token itself would seem to have a sink.

    Parameters
    ----------
    length, threshold
        As in :class:`Sink`.

    References
    ----------
    Gu et al. 2025, "When Attention Sink Emerges in Language Models", section 2.

    Examples
    --------
    >>> import headscope as hs
    >>> texts = ["The dog barks at the cat that sleeps.", "A cat sleeps on the mat all day."]
    >>> atlas = hs.survey("demo", texts, measures=hs.SinkPlaces(length=8))
    >>> atlas.mean("sink_places")["token"].values.tolist()
    ['2', '3', '4']
    """

    name = "sink_places"
    title = "Sink rate by token"
    unit = "share of texts"
    says = "sink rate of token {token}"
    labels = {"token": {"": "{}"}}
    read = {"token": ()}
    listed = False

    def __init__(self, length: int = 64, threshold: float = 0.3) -> None:
        super().__init__(length, threshold)
        self.dims = {"token": tuple(str(place) for place in range(2, length // 2 + 1))}

    def of_columns(self, columns: Tensor, prepared: SimpleNamespace) -> Tensor:
        """Whether each token but the first is a sink, by the mean over the rows that see it."""
        sums = columns[..., 1 : self.length // 2]
        places = torch.arange(1, 1 + sums.shape[-1], device=sums.device)
        means = sums / (self.length - places if self.context.causal else self.length)
        # There are too few columns only where all texts are too short: they do not count.
        padding = (0, self.width - means.shape[-1])
        return torch.nn.functional.pad((means > self.threshold).float(), padding)


class Reach(RowMean):
    """The distance between a token and the tokens that it attends to, in tokens.

    Three means over tokens: ``distance``, the mean distance under the token's weights; ``square``,
    the mean squared distance; and ``variance``, their variance within the row. The variance over
    all rows and keys together is ``square`` less the square of ``distance``. In a model with a
    learned sink (GPT-OSS), what the sink takes has no distance: rows are scaled to sum to 1.

    Examples
    --------
    >>> import headscope as hs
    >>> atlas = hs.survey("demo", ["The dog barks.", "A cat sleeps."], measures="reach")
    >>> round(float(atlas.mean("reach").sel(layer=1, head=3, moment="distance")))
    1
    """

    name = "reach"
    title = "Distance of attention"
    unit = "tokens"
    range = "positive"
    says = "{moment}"
    labels = {
        "moment": {
            "distance": "distance of attention",
            "square": "squared distance of attention (tokens²)",
            "variance": "variance of the distance within a token's attention (tokens²)",
        }
    }

    def of_rows(self, block: Tensor, first_row: int) -> Tensor:
        """Mean distance, mean square and variance of every row."""
        if self.context.shape.sink:
            block = block / block.sum(-1, keepdim=True).clamp_min(TINY)
        once, twice = distance_sums(block, first_row)
        return torch.stack([once, twice, (twice - once**2).clamp_min(0.0)], -1)


class Confidence(RowMean):
    """The mean over tokens of their largest attention weight.

    The end token ([SEP], EOS) takes no part, neither as a row nor as a key.

    References
    ----------
    Voita et al. 2019, "Analyzing Multi-Head Self-Attention", section 5.1.

    Examples
    --------
    >>> import headscope as hs
    >>> atlas = hs.survey("demo", ["The dog barks.", "A cat sleeps."], measures="confidence")
    >>> round(float(atlas.mean("confidence").sel(layer=1, head=3)), 1)
    1.0
    """

    name = "confidence"
    title = "Confidence"
    source = "Voita et al. 2019, §5.1"
    says = "largest attention weight of a token"

    def of_rows(self, block: Tensor, first_row: int) -> Tensor:
        """The largest weight of every row."""
        return block.amax(-1, keepdim=True)

    def counted_rows(self, item: Encoded) -> Matrix:
        """All rows but those of end tokens."""
        return np.asarray(item.kind != SEPARATOR)

    counted_keys = counted_rows


class Peak(RowMean):
    """The key that gets most of a token's attention, averaged over tokens.

    ``position`` is its place from 0 (the first key) to 1 (the last); ``distance`` is how far that
    is from the token's own place, likewise from 0 to 1, so that a head which reads along has small
    values; ``weight`` is the attention that it gets. Of equal keys the first counts. It is given
    for cross attention; for other attention it must be asked for by name.

    The mean of the largest weight, without the end token, is what Voita et al. 2019, "Analyzing
    Multi-Head Self-Attention", call the confidence of a head.
    """

    name = "peak"
    title = "Strongest key"
    unit = "0 to 1"
    range = "share"
    says = "{peak}"
    labels = {
        "peak": {
            "position": "place of the strongest key, 0 (first) to 1 (last)",
            "distance": "distance of the strongest key from the token's own place, 0 to 1",
            "weight": "attention to the strongest key",
        }
    }
    offered = False
    cross = True

    def row_values(self, block: Tensor, first_row: int, prepared: SimpleNamespace) -> Tensor:
        """Padding is never the strongest key; places of a single row or key are undefined."""
        if prepared.keys is not None:
            block = block.masked_fill(prepared.keys[:, None] == 0, -1.0)
        weight, place = block.max(-1)
        last, own_last = (
            torch.where(count > 1, count - 1, NAN) for count in (prepared.across, prepared.lengths)
        )
        own = torch.arange(first_row, first_row + block.shape[2], device=block.device)
        position = place / last
        return torch.stack([position, (position - own / own_last).abs(), weight], -1)


class Streaming(RowMean):
    """Attention to the first tokens of a text, to recent ones, and to all others: distant ones.

    A head with little distant attention can do with a short cache of keys and values. Only tokens
    that have a distant key take part, so texts must be longer than ``first + recent`` tokens.
    Where tokens see later ones too, "recent" means near, on either side. The three shares add up
    to 1, except in models with a learned sink (GPT-OSS), whose rows sum to less.

    Parameters
    ----------
    first
        How many tokens at the start are kept.
    recent
        How far the recent tokens reach: a key is recent if it is fewer tokens away.

    References
    ----------
    Xiao et al. 2024, "DuoAttention", section 2. Their own values are gates that are learnt; the
    sizes here are our choice (their code has 64 and 256).

    Examples
    --------
    >>> import headscope as hs
    >>> texts = ["The dog barks at the cat that sleeps.", "A cat sleeps on the mat all day."]
    >>> atlas = hs.survey("demo", texts, measures=hs.Streaming(first=1, recent=3))
    >>> round(float(atlas.mean("streaming").sel(layer=1, head=3).sum()), 3)
    1.0
    """

    name = "streaming"
    title = "Attention to first, recent and distant tokens"
    source = "after Xiao et al. 2024, §2"
    says = "attention to {where}"
    labels = {
        "where": {
            "first": "the first {first} tokens",
            "recent": "the last {recent} tokens",
            "distant": "distant tokens: neither first nor recent",
        }
    }
    offered = False

    def __init__(self, first: int = 4, recent: int = 64) -> None:
        self.first = at_least("number of first tokens", first, 0)
        self.recent = at_least("number of recent tokens", recent, 1)

    def counted_rows(self, item: Encoded) -> Matrix:
        """The rows with a distant key."""
        places, last = np.arange(len(item)), len(item) - 1
        before = places >= self.first + self.recent
        after = (last >= self.first) & (last - places >= self.recent)
        return np.asarray(before if self.context.causal else before | after)

    def of_rows(self, block: Tensor, first_row: int) -> Tensor:
        """Attention to the three kinds of keys."""
        away = distances(block, first_row)
        late = torch.arange(block.shape[3], device=block.device) >= self.first
        near, far = (
            (late & kind).to(block.dtype) for kind in (away < self.recent, away >= self.recent)
        )
        first = block[..., : self.first].sum(-1)
        return torch.stack([first, (block * near).sum(-1), (block * far).sum(-1)], -1)


class Alignment(Linear):
    """Mean attention to the pieces of equal words: of a token's own word, or of the next one.

    ``this word`` is attention to the words that equal the token's own; ``next word`` to those that
    equal the word of the token after it, which the decoder is about to write. Upper and lower case
    are the same. Tokens whose word is not among the keys do not count. It is given for cross
    attention, where it shows heads that copy or align names and numbers; for other attention it
    must be asked for by name, and a token's own word then includes itself.
    """

    name = "alignment"
    title = "Attention to equal words"
    says = "attention to words equal to {word}"
    labels = {"word": {"this word": "the token's own", "next word": "the next word"}}
    offered = False
    cross = True

    def weights(self, item: Encoded) -> Sequence[Weights]:
        """Pairs of a token and the pieces of equal words."""
        pieces: dict[str, list[int]] = {}
        for place, word in enumerate(token_words(key_item(item))):
            pieces.setdefault(word, []).append(place)
        words = token_words(item)
        return [
            mass_weights(
                Pairs.of(
                    len(item),
                    (
                        (row, key)
                        for row, word in enumerate(asked)
                        if word
                        for key in pieces.get(word, ())
                    ),
                )
            )
            for asked in (words, [*words[1:], ""])
        ]


def token_words(item: Encoded) -> list[str]:
    """The word of each token in lower case; "" for a token of none."""
    # The tokens of cross attention were encoded one text at a time.
    alone = isinstance(item, CrossEncoded)
    example = Example("", item.example.texts[-1:]) if alone else item.example
    words = surface_words(example, int(item.unit.max(initial=-1)) + 1)
    return ["" if unit < 0 else words[unit].lower() for unit in item.unit.tolist()]
