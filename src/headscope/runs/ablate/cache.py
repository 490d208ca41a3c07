"""Which KV heads may do with a cut cache: the options and the function.

The cache of some KV heads is cut to the first and the most recent tokens (Xiao et al. 2024); the
loss on long text and the recall of needles tell what that costs. Nothing here needs torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar

from headscope.corpus import read
from headscope.errors import UserError, unknown
from headscope.models.names import check_loading
from headscope.options import ModelRun, Option, Resuming, takes
from headscope.registry import MEASURES
from headscope.results.query import split_value
from headscope.runs.ablate import Window
from headscope.runs.ablate.prune import file_and_value, read_ranking
from headscope.runs.retrieval import Asking

if TYPE_CHECKING:
    from headscope.models.loading import ModelLike
    from headscope.results import Atlas


class Cutting(Asking, Window):
    """What is cut, and how it is judged.

    Parameters
    ----------
    text
        The long texts, which also surround the needles: whatever :func:`headscope.read` takes.
        Default: the built-in corpus.
    by
        What ranks KV heads, each by the largest value of its query heads; the lowest are cut first.
        A statistic of a results file, FILE.nc:retrieval; with a minus before it, the highest are
        cut first. Or a statistic that is surveyed on the long texts, such as the default,
        streaming:distant (attention outside the window of 4 + 64 tokens).
    keep
        The shares of KV heads that keep the whole cache, from 0 to 1. Default: 0.75, 0.5, 0.25 and
        0.
    tolerance
        A choice is good enough if the loss rises by no more than this, in nats, and the recall
        falls by no more than this. The smallest such cache is what export writes.
    passages
        How many long texts the loss is computed on.
    tokens
        Tokens of each of these texts, at most as many as the model takes.
    """

    prefix: ClassVar[str] = "cache"
    why: ClassVar[str] = (
        ": a cache of keys and values is kept while a model writes, and an encoder writes nothing"
    )

    by: Annotated[Sequence[str], Option(metavar="FILE:VALUE|VALUE")] = ("streaming:distant",)
    keep: Annotated[
        Sequence[float],
        Option(least=0, most=1, separator=",", name="share of KV heads", metavar="X,X"),
    ] = (0.75, 0.5, 0.25, 0.0)
    tolerance: Annotated[float, Option(least=0, metavar="X")] = 0.1
    passages: Annotated[int, Option(least=2, name="number of passages")] = 4
    tokens: Annotated[int, Option(least=16, name="number of tokens")] = 4096

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.by and all(self.by)) or not set(self.keep) - {1}:
            raise UserError(
                "at least one ranking and one share below 1 must be given",
                hint="e.g. by=['retrieval.nc:retrieval'], keep=[0.5]",
            )
        for one in self.by:
            file, value = file_and_value(one)
            if not file and (measure := split_value(value)[0]) not in MEASURES:
                raise unknown(
                    "ranking of KV heads",
                    measure,
                    [*MEASURES, "FILE.nc:VALUE"],
                    hint="give by='retrieval.nc:retrieval', a value of a file, or a measure",
                )


class CacheOptions(Cutting, ModelRun, Resuming):
    """Options of :func:`cache`."""


@takes(CacheOptions)
def cache(model: ModelLike, options: CacheOptions) -> Atlas:
    """Cut the cache of more and more KV heads, and see what the model loses.

    A cut KV head sees the first and the most recent tokens only, while a text is read and while an
    answer is written: what a streaming cache would hold. Each ranking of KV heads is tested beside
    random choices of as many. Needles that made a ranking are not asked for again.

    Parameters
    ----------
    model
        A hub id, a folder, ``"demo-llm"``, a :class:`~headscope.Model`, or a network with its
        tokenizer, ``(network, tokenizer)``. It must be a causal language model.

    Returns
    -------
    Atlas
        With the groups

        - ``cache``: the ``loss`` on long texts and the ``recall`` of answers, with intervals over
          texts and over needles; the ``change`` from the whole cache and what it is ``over``
          random choices, paired;
        - ``kept``: 1 for every head that keeps its cache, by ranking and share, which
          ``atlas.export(folder, format="duoattention")`` writes for cache compression.

    Raises
    ------
    UserError
        If the options do not fit together or do not fit the model.
    ModelError
        If the model is no decoder, or has no language-model head.
    CorpusError
        If there is too little text.

    See Also
    --------
    headscope.ablate : with ``way="window"`` cuts each head, or chosen ones.
    headscope.stats.cache_table : the results as a table.

    References
    ----------
    Xiao et al. 2024, "DuoAttention", section 2. Fu et al. 2024, "Not All Heads Matter" (HeadKV).

    Examples
    --------
    >>> import headscope as hs
    >>> atlas = hs.cache("demo-llm", tokens=1024, lengths=[256], needles=4)  # doctest: +SKIP
    >>> atlas.export("pattern", format="duoattention")  # doctest: +SKIP
    """
    check_loading(model, options)
    corpus = read(options.text)
    rankings = [by if (ranking := read_ranking(by)) is None else ranking for by in options.by]
    with options.reporter.status("loading libraries and model"):
        from headscope.runs.ablate.cutting import CacheRun
        from headscope.runs.retrieval.asking import language_model
    with language_model(model, options) as used:
        return CacheRun(used, corpus, rankings, options).execute()
