"""What heads do: tested roles, and the attention that does not rest on sinks."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Self, get_args

import numpy as np
from numpy.typing import NDArray

from headscope.corpus import Example, Word
from headscope.encode import SEPARATOR, START, TEXT, Encoded
from headscope.errors import UserError, unknown
from headscope.measures.base import Context, Direction, Subtypes, at_least, one_of
from headscope.measures.combinators import Linear, RowMean, Weights
from headscope.measures.kernels import entropy_terms, logarithms, over_keys
from headscope.measures.lazy import torch
from headscope.measures.registry import HOW
from headscope.measures.relations import Columns, Matrix, Weighted, bias_weights
from headscope.measures.roles import ROLES, sinks, visible
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

    from headscope.models import LayerView

from headscope.measures.attention import STOPS

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
        roles = self.roles or SYNTACTIC
        wanted = {other: name for name in roles for other in SAME_LABEL.get(name, (name,))}
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
        few = [name for name in roles if 2 * seeing[name] < having[name]]
        counts = ", ".join(f"{name} in {seeing[name]} of {having[name]}" for name in few)
        return ("both", counts) if few else ("to head", "")

    def _known(self) -> dict[str, Sieve]:
        """All sieves by name, the paper's first."""
        known = known_sieves() | dependency_sieves(self.way, self.subtypes == "fold")
        names = (*PAPER, *(name for name in known if name not in PAPER))
        return {name: known[name] for name in names}

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
        relations = (sieve.relation(item) for sieve in self.sieves)
        return [None if part is None else bias_weights(part, causal=causal) for part in relations]


class Activity(Linear):
    """Where attention goes: how much is active, and how much rests on each kind of sink.

    Mean over the tokens of words; special tokens are not asked. The shares of the kinds add up to
    1, except in models with a learned sink (GPT-OSS), whose rows sum to less. A text without a
    start token, separators or other sinks has no share of that kind.
    """

    name = "activity"
    title = "Where attention goes"
    says = "attention {where}"
    labels = {
        "where": {
            "at work": "that is active: not on sinks",
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
    """How the active attention is divided among roles, against chance.

    Sinks are taken out as keys, and special tokens as rows. Of a role (say, "the previous token")
    three sums are kept over the rows that have such a token: ``attention`` on the role's tokens,
    ``left``, all active attention, and ``uniform``, what the role's tokens would get if each row's
    active attention were spread evenly over all tokens it sees. The *excess* of a role is the
    difference of ``attention`` and ``uniform``, divided by ``left``. All are sums over the corpus,
    so the excess is a ratio of sums.

    See Also
    --------
    headscope.stats.main_roles : the role that says most about a head, tested.
    headscope.measures.roles : the list of roles.
    """

    name = "work"
    title = "Active attention, by role"
    unit = "sum over tokens"
    says = "{role}, {part}"
    labels = {
        "role": {name: role.title for name, role in ROLES.items() if role.pairs},
        "part": {
            "attention": "attention to its tokens",
            "uniform": "what chance would give",
            "left": "all active attention",
        },
    }
    read = {"role": (), "part": ("attention", "uniform", "left")}
    closed = ("role",)
    summed = True
    listed = False

    def beside(self) -> tuple[str, ...]:
        """What roles along arcs have to beat."""
        return ("arc",)

    def bind(self, context: Context, corpus: Iterable[Example]) -> Self:
        """Choose the roles that model and corpus allow."""
        bound = super().bind(context, corpus)
        here = {"causal" if context.causal else "later"}
        here |= {"tree", "mentions"} & {name for example in corpus for name in example.annotations}
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
    """How evenly a head's active attention is spread: entropy over the uniform one.

    Sinks (special tokens, the first token, full stops and commas) are taken out as keys, and what
    is left of a row is scaled to sum to 1. Rows count by how much is left of them. Two sums are
    kept, ``entropy`` (as a share of the greatest possible) and ``left``; the spread is their
    ratio: 1 for a head that looks at all words alike, 0 for one that looks at one word only.
    """

    name = "spread"
    title = "Spread of the active attention"
    unit = "sum over tokens"
    says = "{part}"
    labels = {
        "part": {
            "entropy": "entropy, as a share of the greatest possible",
            "left": "active attention",
        }
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
