"""Examples: texts on which a head does what it does, kept by surveys or found on demand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from headscope.corpus import CorpusLike
from headscope.heads import Head, HeadLike
from headscope.models.names import check_loading
from headscope.options import CorpusRun, Option, takes
from headscope.runs.preparing import loaded, read_for
from headscope.stats.tables.examples import check_relation

if TYPE_CHECKING:
    import pandas as pd

    from headscope.models.like import ModelLike


@dataclass(frozen=True, kw_only=True)
class ExampleOptions(CorpusRun):
    """Options of :func:`examples`.

    Parameters
    ----------
    relation
        Only this relation: texts in which the head's strongest link is one of it.
    top
        How many examples to show.
    limit
        Look at no more than the first so many examples; None for all.
    """

    relation: Annotated[str, Option(metavar="NAME", completes="relations")] = ""
    top: Annotated[int, Option(least=1, name="number of examples", metavar="N", short="-k")] = 10
    limit: Annotated[int | None, Option(least=1, metavar="N")] = 1000


@takes(ExampleOptions)
def examples(
    model: ModelLike, corpus: CorpusLike, head: HeadLike, options: ExampleOptions
) -> pd.DataFrame:
    """Look in a corpus for texts on which a head does what it does.

    A survey keeps examples of every head in its results; this is for results that hold none, and
    for a relation that is rare. Of long inputs, the first 128 tokens are shown.

    Parameters
    ----------
    model, corpus
        As in :func:`headscope.survey`.
    head
        ``"3-9"`` (from 1), ``"L2H8"`` (from 0), or a :class:`~headscope.Head`.

    Returns
    -------
    pandas.DataFrame
        As :meth:`headscope.Atlas.examples`.

    Examples
    --------
    >>> import headscope as hs
    >>> hs.examples("demo", ["The dog barks.", "A cat sleeps."], "1-3", top=1)
    Head 1-3: the examples on which it is strongest
      1  strength 0.80  1
         The dog barks .
         dog → The 1.00; barks → dog 0.50
    """
    Head.parse(head)
    check_loading(model, options)
    texts = read_for(corpus, options)
    texts = texts.first(options.limit) if options.limit else texts
    check_relation(texts, options.relation)
    with loaded(model, options) as used:
        from headscope.runs.keeping.on_demand import find_examples

        return find_examples(used, texts, head, options)
