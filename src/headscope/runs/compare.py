"""Two models over one corpus, or two results side by side: options and function."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, ClassVar

from headscope.corpus import CorpusLike
from headscope.errors import UserError
from headscope.models.names import check_loading
from headscope.options import CorpusRun, Option, Reading, Workers, takes
from headscope.results import Atlas
from headscope.runs.preparing import loaded, read_for
from headscope.runs.survey import MeasuresLike, check_measures

if TYPE_CHECKING:
    from headscope.models.loading import ModelLike


NOT_FOR_RESULTS = {"engine", "workers", "address"}


@dataclass(frozen=True, kw_only=True)
class CompareOptions(CorpusRun, Workers):
    """Options of :func:`compare`.

    Parameters
    ----------
    measures
        Measures whose paired differences are computed too, as names, objects or classes.
    """

    prefix: ClassVar[str] = "compare"

    measures: Annotated[
        MeasuresLike, Option(flag="--measure", metavar="NAME", completes="measures")
    ] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        check_measures(self.measures)

    def check_for_results(self) -> None:
        """Refuse options that say how a corpus is read and run, where none is."""
        unused = [*self.changed(Reading), *self.changed(Workers).keys() & NOT_FOR_RESULTS]
        if unused:
            value = getattr(self, unused[0])
            option = f"{unused[0]}={value if isinstance(value, bool) else ''}"
            raise UserError(
                f"two results are compared without a corpus: {option} has no effect",
                hint=f"leave {option} out",
            )


@takes(CompareOptions)
def compare(
    first: ModelLike | Atlas,
    second: ModelLike | Atlas,
    corpus: CorpusLike | None = None,
    *,
    options: CompareOptions,
) -> Atlas:
    """Compare two models on a corpus, or two results.

    Two models: the measure ``change`` is the cosine of their maps, head by head; for each of
    ``measures`` there is also ``NAME-change``, its value in the second model minus that in the
    first, paired by example. Two results: for every measure that both have, the difference of their
    means (second minus first) with its interval and p-values, over the labels that they share; the
    provenance lists what only one of them has.

    Parameters
    ----------
    first, second
        Two models of one shape and one tokenizer, each as in :func:`headscope.survey`; or two
        :class:`Atlas`. An adapter is put on the second model alone.
    corpus
        What the models are run on; not for results.

    Returns
    -------
    Atlas

    Examples
    --------
    >>> import headscope as hs
    >>> texts = ["The dog barks.", "A cat sleeps."]
    >>> atlas = hs.compare("demo", "demo", texts, measures="entropy")
    >>> float(atlas.mean("change").min()) > 0.9999
    True
    """
    if isinstance(first, Atlas) and isinstance(second, Atlas):
        if corpus is not None:
            raise UserError("results are compared without a corpus", hint="leave the corpus out")
        options.check_for_results()
        from headscope.runs.survey.comparison import ResultsComparison

        return ResultsComparison(first, second, options).execute()
    if isinstance(first, Atlas) or isinstance(second, Atlas):
        raise UserError(
            "a model and results cannot be compared: give two models or two results",
            hint="survey the model, then compare the two results",
        )
    if corpus is None:
        raise UserError(
            "comparing two models needs a corpus to run them on",
            hint="give the corpus after the two models",
        )
    check_loading(first, options)
    check_loading(second, options)
    texts = read_for(corpus, options)
    bare = replace(options, adapter="")
    with loaded(first, bare) as one, loaded(second, options) as two:
        from headscope.runs.survey.comparison import Comparison, check_alike

        check_alike(one, two, options.stack or one.main_stack())
        return Comparison(one, two, texts, options).execute()
