"""A portrait of a language model: what all of its heads do, on one page. Options and function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from headscope.corpus import read
from headscope.models.names import check_loading
from headscope.options import PYTHON, Option, takes
from headscope.papers.catalogue import PORTRAIT, Paper
from headscope.papers.options import RecipeOptions

if TYPE_CHECKING:
    from headscope.corpus import CorpusLike
    from headscope.models.loading import ModelLike
    from headscope.papers.report import PaperReport
else:
    CorpusLike = Any  # checked where it is read


class PortraitOptions(RecipeOptions):
    """Options of :func:`portrait`.

    Parameters
    ----------
    corpus
        Texts: whatever :func:`headscope.read` takes. Syntax needs trees.
    top
        How many heads stand for a role where heads are disabled.
    draws
        How often other heads are drawn to compare with.
    lengths
        Tokens of the long texts for retrieval.
    needles
        How many facts are hidden in long texts.
    """

    paper: ClassVar[Paper] = PORTRAIT
    panel: ClassVar[str] = "The parts"

    corpus: Annotated[CorpusLike, PYTHON] = field(default="demo", kw_only=False)
    top: Annotated[int, Option(least=1, name="number of heads", metavar="N")] = 5
    draws: Annotated[int, Option(least=1, name="number of draws", metavar="N")] = 10
    lengths: Annotated[
        Sequence[int], Option(flag="--length", least=1, name="length in tokens", metavar="N")
    ] = (512,)
    needles: Annotated[int, Option(least=1, name="number of needles", metavar="N")] = 12


@takes(PortraitOptions)
def portrait(model: ModelLike, options: PortraitOptions) -> PaperReport:
    """Write a page about the heads of a causal language model.

    Sinks, previous tokens, induction, duplicates, copying, syntax, direct logit attribution and
    retrieval, each with its figure; what disabling the top heads of each role does to the loss; and
    what the field says about heads, tested here.

    Parameters
    ----------
    model
        A hub id, a model folder, ``"demo-llm"``, a :class:`headscope.Model` loaded with its
        language-model head, or a network with its tokenizer.

    Returns
    -------
    PaperReport
        The page, its tables and the parts that were skipped.

    Examples
    --------
    >>> import headscope as hs
    >>> report = hs.portrait("demo-llm", parts=["copying"])  # doctest: +SKIP
    >>> report.page  # doctest: +SKIP
    PosixPath('portrait-demo-llm/portrait.html')
    """
    check_loading(model, options)
    texts = read(options.corpus)
    with options.reporter.status("loading libraries"):
        from headscope.papers.portrait.recipe import Portrait

    return Portrait(model, texts, options).run()
