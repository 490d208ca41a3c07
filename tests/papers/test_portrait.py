"""The portrait of a planted induction model, whose roles are known by construction."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import headscope as hs
from cli.conftest import Run, here, run  # noqa: F401 (fixtures)
from headscope.errors import UserError
from headscope.papers import PaperReport
from headscope.papers.claims import Untested
from headscope.papers.portrait import feeding, permuted
from headscope.stats.tables.circuits import composition_of
from planted_induction import INDUCTION, PREVIOUS, Layout, induction_model

WORDS = ("<s>", *(f"w{number}" for number in range(60)))
PARTS = ("roles", "sinks", "local", "induction", "copying", "attribution", "disabling")


def texts() -> list[str]:
    """Every text has each word once, and begins again."""
    generator = np.random.default_rng(0)
    orders = [generator.permutation(WORDS[1:])[:50] for _ in range(6)]
    return [" ".join([*order, *order[:20]]) for order in orders]


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    model = induction_model(Layout(words=WORDS, positions=128, size=512))
    folder = tmp_path_factory.mktemp("portrait")
    return hs.portrait(model, texts(), output=folder, parts=PARTS, top=1, draws=3)


def claims(report: PaperReport) -> dict[str, dict[str, Any]]:
    section = next(one for one in report.sections if one.id == "claims")
    return {row["claim"].partition(" (")[0]: dict(row) for row in section.tables[0].rows}


def test_the_planted_heads_are_found_and_needed(report):
    found = claims(report)
    fed = found["Previous-token heads feed induction heads by K-composition"]
    assert fed["here"] == "there are too few heads to compare with"
    needed = found["Induction heads carry what a model gains from having read a text"]
    assert needed["holds"] == "yes"
    assert found["Retrieval heads are rare"]["holds"] == "not tested"


def test_the_planted_heads_lead_their_tables(report):
    sections = {section.id: section for section in report.sections}
    assert sections["local"].tables[0].rows[0]["head"] == PREVIOUS
    assert sections["induction"].tables[0].rows[0]["head"] == INDUCTION
    assert sections["induction"].tables[1].rows[0]["head"] == PREVIOUS
    groups = {row["group"]: row["heads"] for row in sections["disabling"].tables[0].rows}
    assert groups["induction"] == INDUCTION
    assert groups["previous token"] == PREVIOUS


def test_a_small_vocabulary_is_read_as_text_alone(report):
    text = next(section.text for section in report.sections if section.id == "induction")
    assert "no random tokens were read" in text


def test_every_figure_is_written_as_png_and_svg(report):
    folder = report.page.parent / "figures"
    names = {plot.name for section in report.sections for plot in section.plots}
    assert {"sinks", "previous", "induction", "copying", "attribution", "disabling"} <= names
    assert {path.name for path in folder.iterdir()} == {
        f"{name}.{ending}" for name in names for ending in ("png", "svg")
    }


def test_feeding_is_the_mean_composition_into_later_heads(report):
    circuits = hs.open(report.page.parent / "circuits.nc")
    into = [hs.Head.parse("2-3"), hs.Head.parse("2-1")]
    table = feeding(circuits, into).set_index("head")
    excess = composition_of(circuits)["excess"].sel(kind="K", from_layer=1, from_head=2, layer=2)
    values = [float(excess.sel(head=head)) for head in (3, 1)]
    assert table.loc["1-2", "excess"] == pytest.approx(np.mean(values))
    assert not [name for name in table.index if name.startswith("2-")]


def test_permutations_give_the_p_of_scipy():
    generator = np.random.default_rng(1)
    values = generator.normal(size=40)
    values[:4] += 0.8
    mean, others, p = permuted(values, np.arange(4), seed=0)
    expected = stats.permutation_test(
        (values[:4], values[4:]),
        lambda one, other, axis: one.mean(axis) - other.mean(axis),
        alternative="greater",
        vectorized=True,
        n_resamples=20_000,
        rng=0,
    ).pvalue
    assert (mean, others) == pytest.approx((values[:4].mean(), values.mean()))
    assert p == pytest.approx(expected, abs=0.02)


def test_heads_without_a_value_take_no_part():
    values = np.array([np.nan, *range(30)], float)
    mean, others, p = permuted(values, np.array([0, 30]), seed=0)
    assert (mean, others) == (29.0, 14.5)
    assert p == pytest.approx(1 / 30, abs=0.02)
    for few, chosen in ((values, 0), (values[:9], 8)):
        with pytest.raises(Untested, match="too few heads"):
            permuted(few, np.array([chosen]), seed=0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["demo"], "language-model head"),
        (["demo-llm", "--part", "sinkz"], "Did you mean 'sinks'?"),
        (["demo-llm", "nowhere.txt"], "nowhere.txt"),
        (["demo-llm", "--top", "0"], "number of heads"),
    ],
)
def test_bad_input_is_named_without_a_traceback(arguments, message, run, here):
    done = run("portrait", *arguments)
    assert done.code == 2
    assert message in done.told[0]


def test_numbers_must_be_positive():
    with pytest.raises(UserError, match="number of draws"):
        hs.portrait("demo-llm", draws=0)
