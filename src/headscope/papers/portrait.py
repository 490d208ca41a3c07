"""A portrait of a language model: what all of its heads do, and what the field says of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
import pandas as pd
import scipy  # its parts are loaded when they are used
import xarray as xr
from numpy.typing import NDArray

from headscope.corpus import Corpus, read
from headscope.errors import AnotherRunError, UserError
from headscope.figures.ablation import group_losses_chart
from headscope.figures.builders import heat_map, layer_scatter
from headscope.figures.style import subject
from headscope.heads import Head
from headscope.measures.registry import choose
from headscope.models.names import check_loading
from headscope.options import PYTHON, Option, takes
from headscope.page import Plot, Section, Table, records
from headscope.papers.catalogue import Paper
from headscope.papers.claims import Untested, Verdict, judged
from headscope.papers.recipe import Recipe, part
from headscope.papers.report import short_name
from headscope.results import Atlas
from headscope.results.columns import (
    MASKED,
    RECOVERED,
    RELATIONS,
    RETRIEVED,
    SINKS,
    Column,
    Columns,
    ends,
    for_people,
)
from headscope.runs.ablate import group_losses
from headscope.runs.looking import circuits
from headscope.runs.retrieval import choose_needles, retrieval
from headscope.runs.survey import survey
from headscope.stats import best_heads, model_summary, role_stability, sink_table
from headscope.stats.grid import grid_heads
from headscope.stats.tables.ablation import group_table, repeated_more
from headscope.stats.tables.circuits import (
    MASKING,
    composition_of,
    retrieval_heads,
    retrieval_masking,
    retrieval_recovery,
)
from headscope.stats.words.formatter import family_name, in_percent

if TYPE_CHECKING:
    from headscope.corpus import CorpusLike
    from headscope.models.loading import ModelLike
    from headscope.papers.report import PaperReport
else:
    CorpusLike = Any  # checked where it is read

Array = NDArray[np.float64]
TOP = 10
"""Heads in a table."""
PERMUTATIONS, ENOUGH = 2000, 21
"""Draws of other heads. With fewer ways to choose heads, no choice can be unlikely."""
ATTRIBUTION = "logit_attribution"
GROUPS = {
    "sink": ("sink:first",),
    "previous token": ("synthetic:previous", "position:previous"),
    "induction": ("synthetic:induction", "repetition:induction"),
    "duplicate token": ("synthetic:duplicate", "repetition:duplicate"),
    "copying": ("copying",),
    "logit attribution": (ATTRIBUTION,),
    "retrieval": ("retrieval",),
}
"""The statistic that ranks the heads of each group, and what stands in where it is missing: a model
with few tokens cannot read random ones."""
NO_RANDOM = "no random tokens were read"
SHARE = "share of attention, 0–1"


class Portrait(Recipe):
    """What :func:`portrait` runs: a page about the heads of a causal language model.

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

    paper: ClassVar[Paper] = Paper("portrait", "", "Heads of a language model")
    head: ClassVar[Literal["lm"] | None] = "lm"
    claims_title: ClassVar[str] = "What the field says"
    claims_column: ClassVar[str] = "claim"
    panel: ClassVar[str] = "The parts"

    corpus: Annotated[CorpusLike, PYTHON] = field(default="demo", kw_only=False)
    top: Annotated[int, Option(least=1, name="number of heads", metavar="N")] = 5
    draws: Annotated[int, Option(least=1, name="number of draws", metavar="N")] = 10
    lengths: Annotated[
        Sequence[int], Option(flag="--length", least=1, name="length in tokens", metavar="N")
    ] = (512,)
    needles: Annotated[int, Option(least=1, name="number of needles", metavar="N")] = 12

    @cached_property
    def given_models(self) -> Any:
        """The model as it was given: see :meth:`of_model`."""
        return "demo-llm"

    def of_model(self, model: ModelLike) -> Portrait:
        """Say which model the page is about."""
        check_loading(model, self)
        vars(self)["given_models"] = model
        _ = self.texts
        return self

    @cached_property
    def texts(self) -> Corpus:
        """The texts, read."""
        return read(self.corpus)

    @cached_property
    def why(self) -> dict[str, str]:
        """Why something is missing, by what it is."""
        return {}

    def check(self) -> None:
        """Refuse models that predict no next token."""
        from headscope.runs.preparing import check_predicts

        check_predicts(self.model_loaded)
        self.results["groups"] = self

    @property
    def subtitle(self) -> str:
        """What the page says, and on which texts."""
        return (
            "A portrait: what the attention heads do, with intervals, and what happens without "
            f"them. Texts: {short_name(self.texts.name)}"
        )

    def facts(self) -> list[tuple[str, str]]:
        """How many texts there were."""
        seen = self.about.get("survey", {}).get("counts", {}).get("seen")
        return [] if seen is None else [(str(seen), "texts")]

    def remarks(self) -> list[str]:
        """What the heads do, in sentences."""
        atlas = self.results.get("survey")
        return [] if atlas is None else [line.text for line in model_summary(atlas)]

    def missing(self, result: str) -> str | None:
        """All claims are listed."""
        return self.why.get(result, "the part was not run")

    # --- what is measured ---

    @cached_property
    def surveyed(self) -> Atlas:
        """The survey: all that is offered, logit attribution, and random tokens written twice."""
        from headscope.runs.synthetic import Sequences

        model, corpus = self.model_loaded, self.texts
        stack, offered = model.main_stack(), corpus.annotations | model.capabilities
        measures = choose(None, offered, corpus=corpus.name, cross=False)
        try:
            more = choose([ATTRIBUTION], offered, corpus=corpus.name, cross=False)
            more[0].check_model(model, stack)
            measures += more
        except UserError as error:
            self.why["attribution"] = error.message
        synthetic = True
        try:
            Sequences(seed=self.seed).check(model, stack)
        except UserError as error:
            self.reporter.say(f"no random tokens written twice: {error.message}")
            self.why["synthetic"], synthetic = error.message, False
        return self.compute(
            "survey",
            survey,
            model,
            corpus,
            measures=measures,
            synthetic=synthetic,
            limit=self.limit,
            batch_size=self.batch_size,
            max_length=self.max_length,
        )

    def attempt(self, name: str, function: Callable[..., Atlas], *values: Any, **how: Any) -> Atlas:
        """Run a function of the model; note for the claims why it cannot be run."""
        try:
            return self.compute(name, function, self.model_loaded, *values, **how)
        except UserError as error:
            self.why[name] = error.message
            raise

    @cached_property
    def composed(self) -> Atlas:
        """Circuits, from the weights alone."""
        return self.attempt("circuits", circuits)

    def ranked(self, group: str) -> list[Head]:
        """The heads at the top of a group whose scores are above 0; none if it was not measured."""
        for by in GROUPS[group]:
            for name in ("survey", "circuits", "retrieval"):
                atlas = self.results.get(name)
                if atlas is not None and by.partition(":")[0] in atlas:
                    table = atlas.heads(by=by, top=self.top)
                    above = table[table.iloc[:, 2] > 0]
                    return [Head.parse(name) for name in above["head"]]
        return []

    # --- parts ---

    @part("roles", "What the heads do", "the main role of every head on text")
    def roles(self) -> Section:
        """How many heads have each role."""
        table = self.surveyed.analysis.roles
        counts = [
            {
                "role": family_name(str(family)),
                "heads": int(count),
                "share (%)": f"{100 * count / len(table):.1f}",
            }
            for family, count in table["family"].value_counts().items()
        ]
        stable, total = role_stability(self.surveyed)
        text = (
            "The main role of a head is what it does most with the attention that does not rest "
            "on sinks, against chance, tested by documents and corrected over heads and "
            "roles."
        )
        if total:
            text += (
                f" When the documents are resampled, {stable} of {total} heads with a role keep it."
            )
        return self.section("roles", text, [Table(counts, title="Heads by main role")])

    @part("sinks", "Sinks", "Gu et al. 2025, section 2")
    def sinks(self) -> Section:
        """Attention to the first token."""
        atlas = self.surveyed
        if not int(atlas["sink"]["n"].max()):
            text = "Sinks: no text has 64 tokens or more"
            raise UserError(text, hint="use longer texts, or a larger max_length")
        table = sink_table(atlas)
        strong = int((table["low"] > 0.5).sum())
        text = (
            f"On average over heads, {in_percent(table['first'].mean())} of the attention in the "
            f"first 64 tokens goes to the first one. For {strong} of {len(table)} heads the sink "
            "rate, the share of texts in which that is more than 0.3, is over one half with its "
            "whole interval."
        )
        shown = table.nlargest(TOP, "first").drop(columns=["learned"])
        values = atlas["sink"]["mean"].sel(sink="first", drop=True)
        plot = heat_plot("sinks", "Attention to the first token", values, atlas, SHARE, (0.0, 1.0))
        return self.section(
            "sinks", text, [table_of(shown, "Heads with the strongest sinks", SINKS)], [plot]
        )

    @part("local", "Previous tokens", "Olsson et al. 2022")
    def local(self) -> Section:
        """Attention to the previous token, on text and on random tokens."""
        series = two_kinds(self.surveyed, "position", {"offset": "previous"}, "previous")
        plot = layer_plot("previous", "Attention to the previous token", series, self.surveyed)
        title = "Heads that attend to the previous token most"
        tables = [ranking(self.surveyed, "position:previous", title)]
        return self.section("local", agreement(series), tables, [plot])

    @part("induction", "Induction", "Olsson et al. 2022; Elhage et al. 2021")
    def induction(self) -> Section:
        """Induction on text and on random tokens, and what feeds the heads that do it."""
        atlas = self.surveyed
        series = two_kinds(atlas, "repetition", {"repeat": "induction"}, "induction")
        title = "Induction: attention to what followed before"
        plot = layer_plot("induction", title, series, atlas)
        tables = [of_repeats(atlas, "induction", "Induction heads")]
        heads = self.ranked("induction")
        try:
            feeders = feeding(self.composed, heads)
        except AnotherRunError:
            raise
        except UserError as error:
            self.reporter.say(f"no composition: {error.message}")
            heads = []
        if heads:
            previous = atlas.heads(by=one_kind(atlas, "synthetic:previous", "position:previous"))
            scores = dict(zip(previous["head"], previous[previous.columns[2]], strict=True))
            feeders["previous token"] = [scores.get(name) for name in feeders["head"]]
            note = (
                f"Excess of K-composition over random heads, mean over the {len(heads)} strongest "
                "induction heads that come later. Read from the weights, without any text. The "
                "last column is the head's attention to the previous token."
            )
            title = "Heads that feed induction heads"
            tables.append(table_of(feeders.head(TOP), title, FEEDERS, note=note))
        return self.section("induction", agreement(series), tables, [plot])

    @part("duplicate", "Duplicate tokens", "Wang et al. 2023, section 3")
    def duplicate(self) -> Section:
        """Attention to earlier occurrences of the same token."""
        series = two_kinds(self.surveyed, "repetition", {"repeat": "duplicate"}, "duplicate")
        plot = layer_plot("duplicate", "Attention to the same token before", series, self.surveyed)
        tables = [of_repeats(self.surveyed, "duplicate", "Duplicate-token heads")]
        return self.section("duplicate", agreement(series), tables, [plot])

    @part("copying", "Copying", "Elhage et al. 2021")
    def copying(self) -> Section:
        """Copying scores."""
        composed = self.composed
        if "copying" not in composed:
            raise UserError("Copying: the model has no unembedding to copy to")
        values = composed["copying"]["mean"]
        text = (
            "A head copies if what it writes raises the logit of the very token that it attends "
            "to: the sum of the eigenvalues of its circuit from embedding to unembedding, over the "
            f"sum of their sizes, from -1 to 1. {int((values > 0).sum())} of {values.size} heads "
            "are above 0. The last norm is not part of the circuit."
        )
        plot = heat_plot("copying", "Copying score", values, composed, "-1 to 1", (-1.0, 1.0))
        tables = [ranking(composed, "copying", "Heads that copy most")]
        return self.section("copying", text, tables, [plot])

    @part("syntax", "Syntax", "Clark et al. 2019, section 4.2")
    def syntax(self) -> Section:
        """The best head of every relation."""
        if "dependency" not in self.surveyed:
            text = "Syntax: the corpus has no trees"
            raise UserError(text, hint="give a treebank, or parse='spacy'")
        table = best_heads(self.surveyed)
        good = table[table["p_corrected"] < 0.05]
        shown = good.assign(gain=good["accuracy"] - good["baseline"]).nlargest(TOP, "gain")
        text = (
            f"For {len(good)} of {len(table)} relations, some head is right more often than the "
            "best fixed offset (p < 0.05, by documents, corrected). A causal head sees only "
            "earlier words, so that a word can find its head word only where that comes first."
        )
        note = "The ten with the largest gain." if len(good) > TOP else ""
        tables = [table_of(shown, "Best heads", RELATIONS, note=note)]
        return self.section("syntax", text, tables)

    @part("attribution", "Direct logit attribution", "Elhage et al. 2021")
    def attribution(self) -> Section:
        """What each head adds to the logit of the next token."""
        atlas = self.surveyed
        if ATTRIBUTION not in atlas:
            raise UserError(self.why["attribution"])
        values = atlas[ATTRIBUTION]["mean"].squeeze("token", drop=True)
        text = (
            "What each head adds to the logit of the token that does follow, less the mean over "
            "the vocabulary, on average over tokens. Only the direct path counts: what later "
            "layers make of a head's output is theirs. All heads together add "
            f"{float(values.sum()):.2f} logits."
        )
        most, title = float(abs(values).max()), "Direct logit attribution"
        plot = heat_plot("attribution", title, values, atlas, "logits", (-most, most))
        tables = [
            ranking(atlas, ATTRIBUTION, "Heads that raise the logit most"),
            ranking(atlas, ATTRIBUTION, "Heads that lower it most", ascending=True),
        ]
        return self.section("attribution", text, tables, [plot])

    @part("retrieval", "Retrieval", "Wu et al. 2024")
    def retrieved(self) -> Section:
        """Retrieval scores, and what disabling the best heads does."""
        how = {"lengths": self.lengths, "needles": choose_needles()[: self.needles]}
        results = self.attempt("retrieval", retrieval, self.texts, **how)
        recovery = retrieval_recovery(results)
        last = recovery.iloc[-1]
        text = (
            "Invented facts are hidden in long texts, and the model is asked for them. A head "
            "scores for each token of the answer to which it attends most in the very step in "
            f"which the model writes it. {int(last['recovered'])} of {int(last['prompts'])} "
            "answers were recovered."
        )
        tables = [table_of(recovery, "Answers", RECOVERED)]
        heads = retrieval_heads(results, top=TOP)
        if not len(heads):
            return self.section("retrieval", f"{text} So no head has a score.", tables)
        tables.append(table_of(heads, "Retrieval heads", RETRIEVED))
        if MASKING in results:
            masked = retrieval_masking(results)
            tables.append(table_of(masked, "Without retrieval heads", MASKED, note=WITHOUT))
        values = results["retrieval"]["mean"]
        plot = heat_plot("retrieval", "Retrieval score", values, results, "0 to 1", (0.0, 1.0))
        return self.section("retrieval", text, tables, [plot])

    @part("disabling", "Disabling heads", "Olsson et al. 2022")
    def disabling(self) -> Section:
        """The loss with the top heads of every role that was measured disabled."""
        _ = self.surveyed
        groups = {name: self.ranked(name) for name in GROUPS}
        chosen = {name: heads for name, heads in groups.items() if heads}
        results = self.attempt("disabling", group_losses, self.texts, chosen, draws=self.draws)
        table = group_table(results)
        table["heads"] = table["heads"].str.replace(",", ", ")
        settings = results.provenance["settings"]
        text = (
            f"Each of {settings['passages']} passages of {settings['length']} tokens is given to "
            "the model twice, one copy after the other. The first copy is new text; the second, "
            "the model has read. The heads at the top of each role are disabled by setting their "
            "output to zero; then, for comparison, as many other heads of the same layers, drawn "
            f"{settings['draws']} times. The groups overlap; the table lists them."
        )
        note = (
            "The rise of the loss with its 95 % interval over passages. p is the share of draws, "
            "the group among them, with at least such a rise."
        )
        caption = (
            "Dots are groups of heads with 95 % intervals over passages; grey ticks are draws of "
            "as many other heads of the same layers."
        )
        chart = group_losses_chart(results)
        tables = [
            table_of(table, "Loss without heads", LOSSES, note=note),
            table_of(repeated_more(results), "Repeated against new text", LOSSES),
        ]
        plot = Plot("disabling", "Loss with heads disabled", caption, chart)
        return self.section("disabling", text, tables, [plot])


@takes(Portrait)
def portrait(model: ModelLike, options: Portrait) -> PaperReport:
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
    return options.of_model(model).run()


# --- Tables and plots -----------------------------------------------------------------------------


def feeding(circuits: Atlas, into: Sequence[Head]) -> pd.DataFrame:
    """How strongly every earlier head feeds some later heads by K-composition.

    Returns
    -------
    pandas.DataFrame
        ``head``, ``excess`` (the mean over those of the later heads that come after it) and
        ``strongest`` (the later head that it feeds most), the strongest first. Heads after which
        none of them comes are missing.
    """
    excess = composition_of(circuits)["excess"].sel(kind="K")
    rows = []
    for layer in map(int, excess["from_layer"].values):
        for place in map(int, excess["from_head"].values):
            earlier = excess.sel(from_layer=layer, from_head=place)
            later = {
                head: float(earlier.sel(layer=head.layer + 1, head=head.head + 1))
                for head in into
                if head.layer + 1 > layer
            }
            known = {head: value for head, value in later.items() if not np.isnan(value)}
            if known:
                strongest = str(max(known, key=lambda head: known[head]))
                mean = float(np.mean(list(known.values())))
                rows.append((str(Head(layer - 1, place - 1)), mean, strongest))
    frame = pd.DataFrame(rows, columns=["head", "excess", "strongest"])
    return frame.sort_values("excess", ascending=False, kind="stable").reset_index(drop=True)


WITHOUT = (
    "Recall of the answers with heads disabled, with intervals over needles. Heads were chosen on "
    "one half of the needles and disabled on the other. Random heads are of the same layers."
)
FEEDERS = (
    *("head", "zero-based", Column("K-composition", ("excess",))),
    *(Column("feeds most", ("strongest",)), "previous token"),
)
LOSSES = (
    *("group", "heads", "text", "loss", Column("rise (nats)", ("rise",))),
    *(Column("more on repeated text (nats)", ("more",)), ends()),
    *(Column("other heads, mean", ("others",)), Column("other heads, most", ("most",)), "p"),
)


def two_kinds(
    atlas: Atlas, measure: str, labels: Mapping[str, str], score: str
) -> dict[str, xr.DataArray]:
    """A statistic on text, and its counterpart on random tokens."""
    series = {"on text": atlas[measure]["mean"].sel(labels, drop=True)}
    if "synthetic" in atlas:
        series["on random tokens"] = atlas["synthetic"]["mean"].sel(score=score, drop=True)
    return series


def one_kind(atlas: Atlas, on_random: str, on_text: str) -> str:
    """The statistic on random tokens; on text where there are none."""
    return on_random if "synthetic" in atlas else on_text


def of_repeats(atlas: Atlas, score: str, title: str) -> Table:
    """Heads ranked by random tokens, or by text where there are none."""
    where = one_kind(atlas, "random tokens", "text")
    by = one_kind(atlas, f"synthetic:{score}", f"repetition:{score}")
    return ranking(atlas, by, f"{title}, by {where}")


def agreement(series: Mapping[str, xr.DataArray]) -> str:
    """How well the ranks on text and on random tokens agree."""
    if len(series) < 2:
        return f"On text alone: {NO_RANDOM}."
    text, random = (values.transpose("layer", "head").values.ravel() for values in series.values())
    rho = float(scipy.stats.spearmanr(text, random, nan_policy="omit")[0])
    return (
        "On text, and in the second of two copies of 64 random tokens, where only repetition "
        f"helps. The ranks of heads in the two agree with Spearman's ρ = {rho:.2f}."
    )


def layer_plot(name: str, title: str, series: Mapping[str, xr.DataArray], atlas: Atlas) -> Plot:
    """One point per head, by layer."""
    about = subject(atlas.provenance)
    chart = layer_scatter(series, title=title, subtitle=about, unit=SHARE, top=1.0)
    return Plot(name, title, "One point per head; lines are the means of layers.", chart)


def heat_plot(
    name: str,
    title: str,
    values: xr.DataArray,
    atlas: Atlas,
    unit: str,
    domain: tuple[float, float],
) -> Plot:
    """One square per head."""
    about = subject(atlas.provenance)
    chart = heat_map(values, title=title, subtitle=about, unit=unit, domain=domain)
    return Plot(name, title, "One square per head.", chart)


def ranking(atlas: Atlas, by: str, title: str, *, ascending: bool = False) -> Table:
    """The heads at the top of a statistic."""
    frame = atlas.heads(by=by, top=TOP, ascending=ascending)
    return table_of(frame.rename(columns={frame.columns[2]: "value"}), title)


def table_of(frame: pd.DataFrame, title: str, columns: Columns = (), *, note: str = "") -> Table:
    """A table as people read it; heads are named from 0, too."""
    if "head" in frame and "zero-based" not in frame and frame["head"].str.match(r"\d+-\d+$").all():
        frame = frame.copy()
        names = [Head.parse(name).zero_based for name in frame["head"]]
        frame.insert(list(frame.columns).index("head") + 1, "zero-based", names)
    return Table(records(for_people(frame, columns)), title=title, note=note)


# --- What the field says --------------------------------------------------------------------------

claim = Portrait.claim


@claim(
    "Gu et al. 2025, section 2",
    "",
    "the mean sink rate over heads is larger for the first token than for any other",
)
def sink(survey: Atlas) -> Verdict:
    """heads attend to the first token whatever it is."""
    if not int(survey["sink"]["n"].max()):
        raise Untested("no text was long enough")
    first = sink_table(survey)["rate"].mean()
    other = survey["sink_places"]["mean"].mean(("layer", "head"))
    place, most = str(other["token"].values[int(other.values.argmax())]), float(other.max())
    here = f"first token {first:.2f}; of the others, token {place} most ({most:.2f})"
    return Verdict(here, bool(first > most))


@claim(
    "Olsson et al. 2022",
    "",
    "a head has more than half of its attention there on random tokens written twice (interval)",
    ours="one half",
)
def follows(survey: Atlas) -> Verdict:
    """some heads attend to what followed the same token before."""
    if "synthetic" not in survey:
        raise Untested(NO_RANDOM)
    best = survey.heads(by="synthetic:induction", top=1).iloc[0]
    here = f"{best['head']}: {best.iloc[2]:.2f} ({best['low']:.2f} to {best['high']:.2f})"
    return judged(here, [(best["low"], best["high"])], least=0.5)


def permuted(values: Array, chosen: NDArray[np.int64], seed: int) -> tuple[float, float, float]:
    """Whether chosen heads have larger values than as many heads drawn at random.

    Returns
    -------
    mean, others, p : float
        The mean of the chosen heads, of all, and the share of draws, the choice among them, whose
        mean is at least as large.

    Examples
    --------
    >>> mean, others, p = permuted(np.arange(100.0), np.array([98, 99]), seed=0)
    >>> mean, others, p < 0.01
    (98.5, 49.5, True)
    """
    known = np.flatnonzero(~np.isnan(values))
    chosen = np.intersect1d(chosen, known)
    if not len(chosen) or math.comb(len(known), len(chosen)) < ENOUGH:
        raise Untested("there are too few heads to compare with")
    generator = np.random.default_rng(seed)
    order = generator.permuted(np.tile(known, (PERMUTATIONS, 1)), axis=1)[:, : len(chosen)]
    mean = float(values[chosen].mean())
    reached = int((values[order].mean(1) >= mean - 1e-12).sum())
    return mean, float(values[known].mean()), (1 + reached) / (1 + PERMUTATIONS)


def induction_heads(groups: Portrait) -> list[Head]:
    """The top induction heads."""
    heads = groups.ranked("induction")
    if not heads:
        raise Untested(str(groups.missing("circuits")))
    return heads


@claim(
    "Elhage et al. 2021",
    "",
    "their K-composition is larger than that of other earlier heads (2000 draws, p < 0.05)",
)
def fed(circuits: Atlas, groups: Portrait, seed: int) -> Verdict:
    """previous-token heads feed induction heads by K-composition."""
    table = feeding(circuits, induction_heads(groups))
    previous = [str(head) for head in groups.ranked("previous token")]
    chosen = np.flatnonzero(table["head"].isin(previous))
    mean, others, p = permuted(table["excess"].to_numpy(float), chosen, seed)
    return Verdict(f"excess {mean:.3f} against {others:.3f} on average, p = {p:.3g}", p < 0.05)


@claim(
    "Elhage et al. 2021",
    "",
    "their copying score is larger than that of other heads (2000 draws, p < 0.05)",
)
def copies(circuits: Atlas, groups: Portrait, seed: int) -> Verdict:
    """induction heads copy the token that they attend to."""
    heads = [str(head) for head in induction_heads(groups)]
    if "copying" not in circuits:
        raise Untested("the model has no unembedding to copy to")
    values = circuits["copying"]["mean"].transpose("layer", "head")
    names = pd.Series([str(head) for head in grid_heads(values)])
    chosen = np.flatnonzero(names.isin(heads))
    mean, others, p = permuted(values.values.ravel().astype(float), chosen, seed)
    return Verdict(f"{mean:.2f} against {others:.2f} on average, p = {p:.3g}", p < 0.05)


@claim(
    "Olsson et al. 2022",
    "",
    "disabling them raises the loss on repeated text by more than on new text (interval above 0), "
    "and by more than any draw of other heads of the same layers",
)
def needed(disabling: Atlas) -> Verdict:
    """induction heads carry what a model gains from having read a text."""
    if "induction" not in disabling["group_loss"]["disabled"].values:
        raise Untested("the part was not run")
    table = group_table(disabling)
    own = table[table["group"] == "induction"].set_index("text")
    rise, most = own["rise"].to_dict(), float(own["most"].to_dict()["repeated"])
    more = repeated_more(disabling).set_index("group").loc[["induction"]].iloc[0]
    here = (
        f"repeated {rise['repeated']:+.2f} nats, new {rise['new']:+.2f}; difference "
        f"{more['low']:.2f} to {more['high']:.2f}; other heads at most {most:+.2f}"
    )
    return Verdict(here, bool(more["low"] > 0 and rise["repeated"] > most))


@claim(
    "Clark et al. 2019, section 4.2",
    "",
    "a head beats the best fixed offset at a relation (corrected p < 0.05)",
)
def finds_relation(survey: Atlas) -> Verdict:
    """some heads find a syntactic relation."""
    if "dependency" not in survey:
        raise Untested("the corpus has no trees")
    table = best_heads(survey)
    good = table[table["p_corrected"] < 0.05]
    if not len(good):
        return Verdict("no head does", False)
    gain = good.assign(gain=good["accuracy"] - good["baseline"]).nlargest(1, "gain").iloc[0]
    here = (
        f"{len(good)} of {len(table)} relations; {gain['head']} at {gain['relation']}: "
        f"{gain['accuracy']:.2f} against {gain['baseline']:.2f}"
    )
    return Verdict(here, True)


def recovered(retrieval: Atlas) -> Atlas:
    """Results of retrieval in which some answer was recovered."""
    if not int(retrieval["retrieval"]["n"].max()):
        raise Untested("no answer was recovered")
    return retrieval


@claim(
    "Wu et al. 2024", "less than 5 % of heads", "less than 5 % of heads have a score of 0.1 or more"
)
def rare(retrieval: Atlas) -> Verdict:
    """retrieval heads are rare."""
    scores = recovered(retrieval)["retrieval"]["mean"].values.ravel()
    many = int((scores >= 0.1).sum())
    share = many / scores.size
    return Verdict(f"{many} of {scores.size} heads ({100 * share:.1f} %)", share < 0.05)


@claim(
    "Wu et al. 2024",
    "",
    "recall is lower than without as many other heads of the same layers (interval below 0, "
    "largest number of heads)",
)
def loses_answers(retrieval: Atlas) -> Verdict:
    """without its retrieval heads a model loses answers that it had found."""
    if MASKING not in recovered(retrieval):
        raise Untested("no heads were disabled")
    data = retrieval[MASKING]
    tops = [str(name) for name in data["disabled"].values if str(name).startswith("top ")]
    largest = data.sel(disabled=max(tops, key=lambda name: int(name.split()[1])))
    low, high = float(largest["difference_low"]), float(largest["difference_high"])
    difference, count = float(largest["difference"]), int(largest["n"])
    here = f"{difference:+.2f} ({low:+.2f} to {high:+.2f}), n = {count}"
    return judged(here, [(-high, -low)], least=0.0)
