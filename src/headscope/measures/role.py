"""Sieve bias (Pande et al. 2021): how much more a head attends to a role's sieve than uniformly."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Self, get_args

from headscope.corpus import Example, Word
from headscope.encode import Encoded
from headscope.errors import UserError, unknown
from headscope.measures.base import Context
from headscope.measures.kinds import bias_weights
from headscope.measures.options import Direction, Subtypes, at_least, one_of
from headscope.measures.registry import HOW
from headscope.measures.relation import Linear, Weights
from headscope.measures.sieves.base import Sieve, known_sieves
from headscope.measures.sieves.builtin import (
    PAPER,
    SAME_LABEL,
    SYNTACTIC,
    dependency_sieve,
    dependency_sieves,
)

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
