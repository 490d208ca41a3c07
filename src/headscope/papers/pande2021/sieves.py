"""A text to draw sieves over (Pande et al. 2021, Figure 1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice, pairwise
from math import ceil

import numpy as np

from headscope.corpus import ROOT, Corpus, Example
from headscope.encode import TEXT, Encoded
from headscope.errors import UserError
from headscope.figures import DrawnSieve, sieve_arcs
from headscope.figures.lines import text_width
from headscope.measures.sieves import dependency_sieves, known_sieves
from headscope.models import Model
from headscope.page import Plot
from headscope.runs.examples import sentences

ROLES = ("block", "nsubj", "local", "amod", "delimiter")
"""The panels of the paper's figure, in its order."""
WIDEST, WIDER = 635, 150
"""Pixels: up to the first, a text can be read on a narrow page too. Beyond it, a text is preferred
that is narrower by the second."""
MOST_WORDS = 16
"""Two sentences with no more words may be drawn as a pair."""
TRIED = 1000
"""Examples that are looked at."""


def drawn_sieves(item: Encoded, *, direction: str, causal: bool) -> list[DrawnSieve]:
    """Find a telling token of a text for each role of the figure.

    Parameters
    ----------
    item
        The tokens of a text.
    direction
        Of dependency roles.
    causal
        Whether tokens see only those before them.

    Returns
    -------
    list of DrawnSieve
        One for each role that the text has.
    """
    sieves = known_sieves() | dependency_sieves(direction)
    middle = [place for place in range(len(item)) if item.kind[place] == TEXT]
    found = []
    for role in ROLES:
        relation = sieves[role].relation(item)
        if relation is None:
            continue
        pairs = np.tril(relation.matrix()) if causal else relation.matrix()
        rows = [place for place in middle if pairs[place].any()]
        if rows:
            words = [place for place in rows if item.text[place].strip()[:1].isalnum()]
            query = min(words or rows, key=lambda place: abs(place - len(item) / 3))
            keys = tuple(int(key) for key in np.flatnonzero(pairs[query]))
            title = sieves[role].title.removeprefix(f"{role}: ")
            found.append(DrawnSieve(role, title, query, keys))
    return found


def telling_text(
    model: Model, corpora: Iterable[Corpus], *, direction: str
) -> tuple[list[str], list[DrawnSieve]] | None:
    """Find a short text with as many roles of the figure as possible.

    Parameters
    ----------
    model
        Whose tokens are drawn.
    corpora
        The corpora; the first examples of each are looked at.
    direction
        Of dependency roles.

    Returns
    -------
    tuple of list of str and list of DrawnSieve, or None
        The tokens and the sieves; None without any example.
    """
    stack = model.main_stack()
    causal = model.causal(stack)
    best: tuple[tuple[int, int, int, float], list[str], list[DrawnSieve]] | None = None
    for corpus in corpora:
        longest = min(128, model.longest or 128)
        encoder = model.encoder(max_length=longest, long="truncate", stack=stack)
        for item in encoder.encode(_short(corpus)):
            tokens = _shown(model, item)
            sieves = drawn_sieves(item, direction=direction, causal=causal)
            width = text_width(tokens)
            beyond = max(0, ceil((width - WIDEST) / WIDER))
            rank = (-beyond, len(sieves), -_split(item), -width)
            if best is None or rank > best[0]:
                best = rank, tokens, sieves
    return None if best is None else best[1:]


def _short(corpus: Iterable[Example]) -> Iterator[Example]:
    """Examples, and pairs of short sentences that follow each other in one."""
    for example in islice(corpus, TRIED):
        yield example
        for one, two in pairwise(sentences([example])):
            if len(one.words) + len(two.words) <= MOST_WORDS:
                shift = len(one.words)
                moved = tuple(
                    replace(
                        word,
                        segment=1,
                        head=word.head + shift
                        if word.head is not None and word.head >= 0
                        else ROOT,
                    )
                    for word in two.words
                )
                texts = (one.texts[0], two.texts[0])
                yield Example(f"{one.id}-pair", texts, (*one.words, *moved))


def _shown(model: Model, item: Encoded) -> list[str]:
    """The tokens as people read them, without the marks of spaces; a lone space is ␣."""
    names = map(str, model.tokenizer.convert_ids_to_tokens(item.ids.tolist()))
    shown = []
    for name, text in zip(names, item.text, strict=True):
        plain = text.strip() or ("␣" if text else name)
        shown.append(name if name.startswith("##") else plain)
    return shown


def _split(item: Encoded) -> int:
    """How many pieces of words there are beside the first of each."""
    words = item.unit[item.unit >= 0]
    return len(words) - len(set(words.tolist()))


def sieve_plot(model: Model, corpora: Iterable[Corpus], direction: str) -> Plot:
    """Draw the sieves of the paper's roles over a text of the corpora.

    Parameters
    ----------
    model, corpora, direction
        As in :func:`telling_text`.

    Raises
    ------
    UserError
        If the corpora have no example.
    """
    found = telling_text(model, corpora, direction=direction)
    if found is None:
        raise UserError("no corpus has any example", hint="give another corpus")
    tokens, sieves = found
    caption = "After Figure 1 of Pande et al. 2021."
    return Plot("role-sieves", "Sieves", caption, sieve_arcs(tokens, sieves))
