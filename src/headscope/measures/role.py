"""Sieve bias (Pande et al. 2021): how much more a head attends to a role's sieve than uniform attention would."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from headscope.corpus import Example
from headscope.encode import Encoded
from headscope.errors import UserError, unknown
from headscope.measures.base import HOW, Setting
from headscope.measures.relation import Linear, Pairs
from headscope.measures.sieves.base import Sieve, known_sieves
from headscope.measures.sieves.builtin import PAPER, dependency_sieve, dependency_sieves

CAUSAL = "a causal model sees no later tokens"


def bias_weights(pairs: Pairs, visible: NDArray[np.int64]) -> NDArray[np.float32] | None:
    """Weights under which the sum of a map is the sieve bias (P2): ``visible / (size of the sieve · number of tokens with one)``. None without any.

    ``visible`` is how many tokens each query sees: all of them, or in a causal model those up to itself, so that uniform attention scores 1 in both.

    >>> bias_weights(np.array([[False, False], [True, True]]), np.array([2, 2])).tolist()
    [[0.0, 0.0], [1.0, 1.0]]
    """
    size = pairs.sum(1)
    having = int((size > 0).sum())
    if not having:
        return None
    scale = (visible / (np.maximum(size, 1) * having)).astype(np.float32)
    return np.asarray(pairs * scale[:, None], np.float32)


class Role(Linear):
    """The mean sieve bias of a sequence: 1 is what uniform attention gives, 3 means three times as much on the tokens of the role (P2).

    Which roles: all whose annotations the corpus has, or those that the setting names; any dependency label of the corpus is a role too.
    The score of every sequence is kept, because tests and figures need the distribution.
    """

    name = "role"
    title = "Sieve bias of each role"
    unit = "times uniform attention"
    source = "Pande et al. 2021"
    keeps = True

    def __init__(
        self, setting: Setting, sieves: Sequence[Sieve], absent: Mapping[str, str]
    ) -> None:
        super().__init__(setting)
        self.sieves = list(sieves)
        self.absent = dict(absent)
        self.dims = {"role": tuple(sieve.name for sieve in sieves)}

    @classmethod
    def study(cls, setting: Setting, corpus: Iterable[Example]) -> Self:
        """Look which annotations and labels there are, choose the roles, and let those learn that must."""
        offered: set[str] = set()
        labels: set[str] = set()
        fold = setting.subtypes == "fold"
        for example in corpus:
            offered |= example.annotations
            labels |= {
                word.relation.split(":")[0] if fold else word.relation
                for word in example.words
                if word.head is not None
            }
        found = known_sieves() | dependency_sieves(setting.direction, fold)
        known = {
            name: found[name] for name in (*PAPER, *(name for name in found if name not in PAPER))
        }
        chosen, absent = [], {}
        for name in dict.fromkeys(setting.roles or known):
            sieve = known.get(name)
            if sieve is None and name in labels:
                sieve = dependency_sieve(name, (name,), setting.direction, fold)
            if sieve is None:
                raise unknown("role", name, [*known, *sorted(labels - set(known))])
            missing = sorted(sieve.needs - offered)
            if missing and setting.roles:
                raise UserError(
                    f"the role {name!r} needs {', '.join(missing)}, which this corpus does not have",
                    hint=HOW.get(missing[0], f"give a corpus with {missing[0]}"),
                )
            if missing:
                absent[name] = (
                    f"the corpus has no {', '.join(missing)}: {HOW.get(missing[0], '')}".rstrip(
                        ": "
                    )
                )
            elif sieve.later and setting.causal:
                absent[name] = CAUSAL
            else:
                chosen.append(sieve.ready(corpus))
        if not chosen:
            raise UserError(
                f"none of the roles can be seen here: {'; '.join(f'{name}: {why}' for name, why in absent.items())}",
                hint="ask for other roles with --role",
            )
        return cls(setting, chosen, absent)

    def attributes(self) -> dict[str, str]:
        """Titles of the roles, and which are absent and why."""
        titles = {sieve.name: sieve.title for sieve in self.sieves}
        return super().attributes() | {
            "titles": json.dumps(titles),
            "absent": json.dumps(self.absent),
            "direction": self.setting.direction,
        }

    def identity(self) -> str:
        """The roles, and the code of those that a user wrote."""
        return ", ".join(f"{sieve.name} {sieve.digest}".strip() for sieve in self.sieves)

    def weights(self, item: Encoded) -> Sequence[NDArray[np.float32] | None]:
        """One matrix a role: the sieve, weighted."""
        size = len(item)
        visible = np.arange(1, size + 1) if self.setting.causal else np.full(size, size)
        seen = np.tri(size, dtype=np.bool_) if self.setting.causal else np.True_
        found = (sieve.pairs(item) for sieve in self.sieves)
        return [None if pairs is None else bias_weights(pairs & seen, visible) for pairs in found]
