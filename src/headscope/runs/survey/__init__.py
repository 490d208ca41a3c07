"""Surveys: every measure that fits, over a whole corpus, in one pass; of one model, of two side by
side, and of the checkpoints of a training.

Here are options and functions; nothing of it needs torch before the corpus is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from headscope.errors import UserError
from headscope.measures.registry import (
    MEASURES,
    check_python_file,
    cross_measures,
    needs_of,
    not_for_cross,
    offered_measures,
)
from headscope.models.checkpoints import check_configs, find_checkpoints
from headscope.models.names import check_loading
from headscope.options import (
    PYTHON,
    RARE,
    AnyPath,
    CorpusRun,
    Option,
    Options,
    Reading,
    Workers,
    takes,
)
from headscope.runs.preparing import opened, read_for

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headscope.corpus import CorpusLike
    from headscope.measures.base import Measure
    from headscope.models.loading import ModelLike
    from headscope.results import Atlas

    MeasuresLike = Iterable[str | Measure | type[Measure]] | str | Measure | type[Measure]
else:  # what the command line takes, and what options keep
    MeasuresLike, CorpusLike = Sequence[Any], Any

MOST_EXAMPLES = 1024
NullName = Literal["random-weights", "random-weights-keep-embeddings", "shuffled-words"]


class Roles(Options):
    """How the roles of heads are measured, where measures are given by name.

    Parameters
    ----------
    sieves
        Python files with sieves of your own; their code is run.
    roles
        Only these roles, or any dependency labels. Default: all that the corpus allows.
    direction
        Dependency roles: "to head", "from head", "both", or "auto" ("to head", but "both" for a
        causal model that would see too few).
    subtypes
        Subtypes of dependency labels (nmod:poss): keep or fold.
    keep
        Keep the role scores of about the first N examples; 0 keeps only means and deviations.
    """

    prefix: ClassVar[str] = "roles"

    sieves: Annotated[
        Sequence[AnyPath], Option(flag="--roles.sieve", rare=True, metavar="FILE")
    ] = ()
    roles: Annotated[
        Sequence[str], Option(flag="--roles.only", rare=True, metavar="NAME", completes="roles")
    ] = ()
    direction: Annotated[Literal["auto", "to head", "from head", "both"], RARE] = "auto"
    subtypes: Annotated[Literal["keep", "fold"], RARE] = "keep"
    keep: Annotated[int, Option(least=0, rare=True, name="number of role scores")] = 5000


def check_measures(measures: MeasuresLike | None, *, cross: bool = False) -> None:
    """Check those measures that are given by name."""
    names = [measure for measure in measures or () if isinstance(measure, str)]  # type: ignore[union-attr]
    for name in names:
        MEASURES.entry(name)
        if cross and name not in cross_measures():
            raise not_for_cross(name)


class Measuring(CorpusRun, Roles):
    """What is measured, and on what.

    Parameters
    ----------
    measures
        Names such as entropy; in Python also configured measures and classes of your own. Default:
        all that corpus and model allow, except those that cost more than the pass.
    measure_files
        Python files with measures of your own; their code is run.
    maps
        What measures are computed on: attention; norm, attention weighted by the length of the
        vector that each key sends through the head (Kobayashi et al. 2020); or both. Results on
        norm-weighted maps have names that begin with norm_, such as norm_entropy. Examples and
        synthetic sequences are of attention maps.
    network
        The weights of a network of your own that classifies patterns (headscope label --retrain).
        Default: the one shipped with Headscope.
    examples
        How many examples to keep for looking at heads: a random sample of so many that all heads
        share, and of each head a quarter as many on which it is strongest. Their texts are stored
        in the results; 0 keeps none, for private corpora.
    synthetic
        Also run 32 sequences of 64 random tokens written twice, to find induction heads: the group
        synthetic. Default: with the default measures, if a decoder-only model has enough tokens
        for it.
    """

    prefix: ClassVar[str] = "survey"

    measures: Annotated[
        MeasuresLike | None, Option(flag="--measure", metavar="NAME", completes="measures")
    ] = None
    measure_files: Annotated[Sequence[AnyPath], Option(flag="--measure-file", metavar="FILE")] = ()
    maps: Annotated[Literal["attention", "norm", "both"], Option(name="kind of maps")] = "attention"
    network: Annotated[AnyPath | None, RARE] = None
    examples: Annotated[
        int,
        Option(
            least=0,
            most=MOST_EXAMPLES,
            name="number of examples to keep",
            hint="e.g. examples=32, or 0 to keep none",
        ),
    ] = 32
    synthetic: Annotated[bool | None, RARE] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for file in (*self.measure_files, *self.sieves):
            check_python_file(file)
        if not self.measure_files:  # they may define others
            check_measures(self.measures, cross=self.stack == "cross")

    @property
    def head(self) -> Literal["lm"] | None:
        """The head that a model given by name is loaded with: some measures need a language
        model.
        """
        measures: Any = self.measures or ()
        needs = (
            needs_of(one) if isinstance(one, str) else getattr(one, "needs", ()) for one in measures
        )
        return "lm" if any("lm" in needed for needed in needs) else None

    def chosen(self, annotations: frozenset[str]) -> tuple[Any, ...] | None:
        """The measures asked for, roles as the options say, and those of the user's files; None
        for all that corpus and model allow.

        Parameters
        ----------
        annotations
            Those of the corpus, and the capabilities of the model.
        """
        roles = self.changed(Roles)
        if not roles and not self.measure_files and self.network is None:
            return self.measures  # type: ignore[return-value]  # a tuple by now
        from headscope.measures import Dependency, Pattern, Role, load_measure_file, load_sieves

        for file in self.sieves:
            names = ", ".join(load_sieves(file))
            self.reporter.say(f"sieves of {file}: {names}")
        own = [measure for file in self.measure_files for measure in load_measure_file(file)]
        offered = cross_measures() if self.stack == "cross" else offered_measures(annotations)
        configured: dict[str, Any] = {
            "role": Role(
                roles=tuple(self.roles),
                direction=self.direction,
                subtypes=self.subtypes,
                keep=self.keep,
            ),
            "dependency": Dependency(subtypes=self.subtypes),
        }
        if self.network is not None:
            configured["pattern"] = Pattern(self.network)
        measures: Any = self.measures or offered
        mine = {measure.name for measure in own} if self.measures else set()
        named = (configured.get(one, one) if isinstance(one, str) else one for one in measures)
        return (*(measure for measure in named if measure not in mine), *own)


class SurveyOptions(Measuring, Workers):
    """Options of :func:`survey`.

    Parameters
    ----------
    null
        Also survey null models, to compare with: random-weights (all drawn anew by the model's own
        rule), random-weights-keep-embeddings, or shuffled-words (the words of each sentence in
        random order, while its tree stays where it is). Each costs another pass.
    shard
        Do only part I of N of the work; combine the parts with merge.
    """

    null: Annotated[Sequence[NullName], Option(name="null model", metavar="NAME")] = ()
    shard: Annotated[str | tuple[int, int], Option(rare=True, metavar="I/N")] = "1/1"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "null", tuple(dict.fromkeys(self.null)))
        _ = self.part

    @property
    def part(self) -> tuple[int, int]:
        """Part i of n of the work, both from 1.

        >>> SurveyOptions(shard="2/4").part
        (2, 4)
        """
        shard = self.shard
        words = shard.split("/") if isinstance(shard, str) else []
        if isinstance(shard, tuple | list):
            words = [str(number) for number in shard]
        if len(words) == 2 and all(word.isdecimal() and len(word) < 7 for word in words):
            number, total = (int(word) for word in words)
            if 1 <= number <= total:
                return number, total
        raise UserError(
            f"the shard must be i/n with 1 ≤ i ≤ n, got {shard!r} instead", hint="e.g. shard='1/4'"
        )


@takes(SurveyOptions)
def survey(model: ModelLike, corpus: CorpusLike, options: SurveyOptions) -> Atlas:
    """Measure every head of a model on a corpus, in one pass.

    Parameters
    ----------
    model
        A hub id, a folder, "demo", a :class:`~headscope.Model`, or a pair of a loaded network and
        its tokenizer.
    corpus
        A path, "demo", a :class:`~headscope.Corpus`, a list of texts or of pairs of texts, a
        DataFrame, or a ``datasets.Dataset``; see :func:`headscope.read`.

    Returns
    -------
    Atlas
        Means, intervals and counts of every head, with provenance.

    See Also
    --------
    compare : two models side by side.
    merge : put the shards of a run together.

    Examples
    --------
    >>> import headscope as hs
    >>> atlas = hs.survey("demo", ["The dog barks.", "A cat sleeps."], measures="position")
    >>> round(float(atlas.mean("position").sel(layer=1, head=3, offset="previous")), 1)
    1.0
    """
    check_loading(model, options)
    texts = read_for(corpus, options)
    with opened(model, options, head=options.head) as used:
        from headscope.runs.survey.surveying import survey_run

        return survey_run(used, texts, options).execute()


NOT_FOR_RESULTS = {"engine", "workers", "address"}


class CompareOptions(CorpusRun, Workers):
    """Options of :func:`compare`.

    Parameters
    ----------
    corpus
        What the models are run on; not for results.
    measures
        Measures whose paired differences are computed too, as names, objects or classes.
    match
        Also find each head's partner in the second model, one to one, by the cosine of their maps:
        within its layer, among all heads, or not (Bali et al. 2026).
    """

    prefix: ClassVar[str] = "compare"

    corpus: Annotated[CorpusLike | None, PYTHON] = field(default=None, kw_only=False)
    measures: Annotated[
        MeasuresLike, Option(flag="--measure", metavar="NAME", completes="measures")
    ] = ()
    match: Literal["no", "layer", "all"] = "no"

    def __post_init__(self) -> None:
        match: object = self.match
        if isinstance(match, bool):
            object.__setattr__(self, "match", "layer" if match else "no")
        super().__post_init__()
        check_measures(self.measures)

    def check_for_results(self) -> None:
        """Refuse options that say how a corpus is read and run, where none is."""
        matching = [] if self.match == "no" else ["match"]
        unused = [
            *self.changed(Reading),
            *matching,
            *self.changed(Workers).keys() & NOT_FOR_RESULTS,
        ]
        if unused:
            value = getattr(self, unused[0])
            option = f"{unused[0]}={value if isinstance(value, bool) else ''}"
            raise UserError(
                f"two results are compared without a corpus: {option} has no effect",
                hint=f"leave {option} out",
            )


@takes(CompareOptions)
def compare(first: ModelLike | Atlas, second: ModelLike | Atlas, options: CompareOptions) -> Atlas:
    """Compare two models on a corpus, or two results.

    Two models: the measure ``change`` is the cosine of their maps, head by head; for each of
    ``measures`` there is also ``NAME-change``, its value in the second model minus that in the
    first, paired by example; with ``match`` also ``match``, the cosines of every two heads, from
    which :func:`headscope.stats.matched_heads` pairs them. Two results: for every measure that both
    have, the difference of their means (second minus first) with its interval and p-values, over
    the labels that they share; the provenance lists what only one of them has.

    Parameters
    ----------
    first, second
        Two models of one shape and one tokenizer, each as in :func:`headscope.survey`; or two
        :class:`Atlas`. An adapter is put on the second model alone.

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
    from headscope.results import Atlas

    if isinstance(first, Atlas) and isinstance(second, Atlas):
        if options.corpus is not None:
            raise UserError("results are compared without a corpus", hint="leave the corpus out")
        options.check_for_results()
        from headscope.runs.survey.comparison import ResultsComparison

        return ResultsComparison(first, second, options).execute()
    if isinstance(first, Atlas) or isinstance(second, Atlas):
        raise UserError(
            "a model and results cannot be compared: give two models or two results",
            hint="survey the model, then compare the two results",
        )
    if options.corpus is None:
        raise UserError(
            "comparing two models needs a corpus to run them on",
            hint="give the corpus after the two models",
        )
    check_loading(first, options)
    check_loading(second, options)
    texts = read_for(options.corpus, options)
    bare = replace(options, adapter="")
    with opened(first, bare) as left, opened(second, options) as right:
        from headscope.runs.survey.comparison import Comparison, check_alike

        check_alike(left, right, options.stack or left.main_stack())
        return Comparison(left, right, texts, options).execute()


class TrackOptions(Measuring, Workers):
    """Options of :func:`track`.

    Parameters
    ----------
    revisions
        Branches, tags or commits of one hub model, in their order.
    """

    revisions: Annotated[Sequence[str], Option(separator=",", metavar="A,B,...")] = ()


@takes(TrackOptions)
def track(
    models: ModelLike | Sequence[ModelLike], corpus: CorpusLike, options: TrackOptions
) -> Atlas:
    """Survey the checkpoints of a training, to see when heads get their roles.

    The checkpoints are surveyed one after the other, so that one model is in memory at a time. A
    run that was stopped resumes: finished checkpoints are kept in the folder ``OUTPUT.parts`` until
    all are done. Examples are kept of the last checkpoint.

    Parameters
    ----------
    models
        The checkpoints, in their order: folders, hub ids, models, or pairs of a network and its
        tokenizer. Or one folder that holds a folder for each checkpoint, as a Trainer writes them
        (``checkpoint-500``, …). Or one hub id, with ``revisions``.
    corpus
        As in :func:`headscope.survey`.

    Returns
    -------
    Atlas
        The survey of the last checkpoint, and the values of all checkpoints beside it: see
        :attr:`headscope.Atlas.track`.

    Raises
    ------
    ModelError
        If a folder holds no model, a revision cannot be read, or checkpoints differ in shape.

    See Also
    --------
    headscope.stats.emergence : the first checkpoint from which on a head keeps a role.

    Examples
    --------
    >>> import headscope as hs
    >>> from headscope.models.loading import random_init
    >>> texts = ["The dog barks.", "A cat sleeps."]
    >>> random = random_init(hs.load("demo"), seed=0)
    >>> atlas = hs.track([random, hs.load("demo")], texts, measures="position")
    >>> hs.stats.emergence(atlas, by="position:previous", threshold=0.5)["head"].tolist()
    ['1-3']
    """
    checkpoints = find_checkpoints(models, options.revisions)
    texts = read_for(corpus, options)
    check_configs(checkpoints, trust_remote_code=options.trust_remote_code)
    from headscope.runs.survey.surveying import track_run

    return track_run(checkpoints, texts, options).execute()
