"""A corpus at a glance, as HTML for notebooks: plain, with every text escaped."""

from __future__ import annotations

from html import escape
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headscope.corpus.corpus import Corpus
    from headscope.corpus.example import Example

EXAMPLES = 3
"""How many examples are shown."""
LETTERS = 200
"""How many letters of a text are shown."""
COUNTED = 10_000
"""Examples that are counted at most: a large file is not read to its end."""
WORDS = {
    "frames": "frames",
    "mentions": "coreference",
    "pair": "pairs of texts",
    "tags": "part-of-speech tags",
    "tree": "dependency trees",
    "words": "words",
}
"""What annotations are called."""


def corpus_html(corpus: Corpus) -> str:
    """The name, size, annotations and first examples of a corpus.

    Parameters
    ----------
    corpus
        Any corpus. Its first examples are read.

    Returns
    -------
    str
        HTML without scripts.

    Examples
    --------
    >>> from headscope.corpus import read
    >>> html = corpus_html(read(["A <b>dog</b> barks.", "A cat sleeps."]))
    >>> "2 examples" in html, "<b>dog" in html, "&lt;b&gt;dog" in html
    (True, False, True)
    """
    from headscope.corpus.corpus import excerpt

    counted = sum(1 for _ in islice(_quickly(corpus), COUNTED + 1))
    size = f"more than {COUNTED:,}" if counted > COUNTED else f"{counted:,}"
    noun = "example" if counted == 1 else "examples"
    found = sorted(WORDS.get(one, one) for one in corpus.annotations)
    shown = "".join(
        f"<li>{escape(' | '.join(excerpt(text, LETTERS) for text in example.texts))}</li>"
        for example in islice(_quickly(corpus), EXAMPLES)
    )
    more = '<li style="list-style:none">…</li>' if counted > EXAMPLES else ""
    return (
        f'<div style="font:13px/20px sans-serif"><b>{escape(excerpt(corpus.name))}</b>: '
        f"{size} {noun}, read as {escape(corpus.format)}; "
        f"annotations: {escape(', '.join(found)) or 'none'}"
        f'<ol style="margin:8px 0 0;padding-left:24px">{shown}{more}</ol></div>'
    )


def _quickly(corpus: Corpus) -> Iterator[Example]:
    """The examples, before parsing where that is slow."""
    return islice((corpus.rough or corpus.source)(), corpus.limit)
