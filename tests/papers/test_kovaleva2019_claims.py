"""The paper's claims, each on numbers for which its rule is met and for which it is not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from headscope.heads import Head
from headscope.measures import Feature, Link
from headscope.papers.claims import Finding
from headscope.papers.kovaleva2019 import claims, disabling_claims
from headscope.papers.kovaleva2019.checkpoints import Checkpoint
from headscope.papers.kovaleva2019.frames import annotation_rows, bracketed
from headscope.results import Atlas
from headscope.stats.tables.ablation import scored
from headscope.stats.tables.disabling import DisablingSummary, disabling_summary
from headscope.tasks import find_task
from stats.made_ablation import made_ablation
from stats.made_patterns import CLASSES, pattern_results
from stats.sampled import DIMS, sampled

FEATURES = Feature.dims["feature"]
LINKS = Link.dims["link"]

STARTS = ("untrained", "random", "pretrained")
OFFSETS = ("previous", "current", "next")


def verdicts(findings: list[Finding]) -> dict[str, bool | None]:
    return {finding.claim.text: finding.holds for finding in findings}


def patterns(*shares: float) -> Atlas:
    """A hundred maps with these shares of the five classes."""
    found = np.repeat(np.arange(len(CLASSES)), (100 * np.array(shares)).astype(int))
    return pattern_results(found.reshape(-1, 1, 1), np.arange(len(found)) % 16)


def test_shares_of_classes() -> None:
    good = claims.pattern_findings({"RTE": patterns(0.2, 0.2, 0.1, 0.1, 0.4)})
    assert [one.holds for one in good] == [True, True]
    assert good[0].here == "RTE: 40 %"
    bad = claims.pattern_findings({"RTE": patterns(0.1, 0.1, 0.1, 0.0, 0.7)})
    assert [one.holds for one in bad] == [False, False]
    assert [one.holds for one in claims.pattern_findings({})] == [None, None]


def made(task: str, start: str, score: float) -> Checkpoint:
    found = find_task(task)
    scores = dict.fromkeys(found.metrics, score)
    return Checkpoint(found, start, "x", scores, scores, {"dev": 1})  # type: ignore[arg-type]


def test_scores_of_table_1() -> None:
    done = [
        *(
            made("sts-b", start, score)
            for start, score in zip(STARTS, (0.3, 0.1, 0.8), strict=True)
        ),
        *(made("rte", start, score) for start, score in zip(STARTS, (0.5, 0.6, 0.6), strict=True)),
    ]
    gain, random, worse = claims.tuning_findings(done)
    assert (gain.holds, gain.here) == (True, "STS-B: +50.0; RTE: +10.0; +30.0 on average")
    assert (random.holds, random.here) == (False, "STS-B: +70.0; RTE: +0.0")
    assert (worse.holds, worse.here) == (True, "STS-B: +20.0")
    assert [one.holds for one in claims.tuning_findings(done[2:3])] == [None, None, None]


def test_the_last_two_layers() -> None:
    def layers(*cosines: float) -> xr.DataArray:
        return xr.DataArray(list(cosines), {"layer": [1, 2, 3, 4]}, ("layer",))

    finding = claims._last_layers({"RTE": layers(1, 0.9, 0.7, 0.8), "QQP": layers(0, 1, 1, 1)})
    assert (finding.holds, finding.here) == (True, "RTE: layers 3 and 4")
    assert claims._last_layers({"RTE": layers(1, 0.7, 0.9, 0.8)}).holds is False
    assert claims._last_layers({"QQP": layers(0, 1, 1, 1)}).holds is None


def after(
    monkeypatch: pytest.MonkeyPatch, features: dict[str, list[float]], near: float = 0.6
) -> Atlas:
    """Features by layer; from [CLS] the same; one head, with so much on the previous token."""
    monkeypatch.setitem(DIMS, "position", {"offset": OFFSETS})
    feature = np.full((2, 2, 1, len(FEATURES)), 0.01)
    link = np.full((2, 2, 1, len(LINKS)), 0.01)
    for name, values in features.items():
        feature[..., 0, FEATURES.index(name)] = values
        link[..., 0, LINKS.index(f"cls to {name}")] = values
    position = np.full((2, 2, 1, 3), 0.2)
    position[..., 0] = near
    return sampled({"feature": feature, "link": link, "position": position})


WRONG = (claims.STRIPES, claims.EARLY, claims.FROM_CLS, claims.DIAGONAL)


def test_what_tuned_models_attend_to(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = after(monkeypatch, {"cls": [0.5, 0.1], "sep": [0.1, 0.3], "punctuation": [0, 0.4]})
    one = after(monkeypatch, {"cls": [0.5, 0.1], "sep": [0.2, 0.6]})
    layers = {"RTE": xr.DataArray([1.0, 0.5], {"layer": [1, 2]}, ("layer",))}
    found = verdicts(claims.change_findings(layers, {"RTE": pair, "SST-2": one}))
    assert all(found.values()), found
    wrong = after(monkeypatch, {"cls": [0.1, 0.5], "sep": [0.3, 0.1], "noun": [0.4, 0.4]}, 0.4)
    found = verdicts(claims.change_findings(layers, {"RTE": wrong, "SST-2": wrong}))
    assert [found[one.text] for one in WRONG] == [False] * 4
    alone = verdicts(claims.change_findings(layers, {"RTE": wrong}))
    assert alone[claims.ONE_SEP.text] is None


SUMMARY = DisablingSummary(
    0.6, 0.002, 0.001, 0.003, "1-2", 0.03, 0.02, "1-2", 0.9, 0.01, 0.02, 0.01, 3, 1, 6, 60, 60
)


def ablation() -> Atlas:
    """Sixty examples: without 1-1 all answers are wrong, nothing else matters; layer 1 helps."""
    random = np.random.default_rng(0)
    gold = random.integers(2, size=60).astype(float)
    right = np.repeat(np.arange(60)[None] < 36, 9, axis=0)
    right[1] = False
    right[7] = np.arange(60) < 55
    answers = np.where(right, gold, 1 - gold)
    return scored(made_ablation(np.stack([1 - answers, answers], axis=-1), gold), resamples=2000)


def test_claims_on_disabling_heads() -> None:
    results = {"RTE": {"seed 0": ablation()}}
    heads = {"RTE": {"seed 0": SUMMARY}}
    layers = {"RTE": {"seed 0": disabling_summary(ablation(), "layer")}}
    gains = {"RTE": xr.DataArray([[0.0, 1.0]], {"layer": [1], "head": [1, 2]}, ("layer", "head"))}
    findings = disabling_claims.disabling_findings(heads, layers, results, gains, [Head(0, 1)])
    assert [one.holds for one in findings] == [True, True, True, True, True, None]
    assert findings[2].here.startswith("seed 0: +31.7 [")  # 19 of 60 examples
    worse = replace(SUMMARY, p=0.4, mean_low=-0.001)
    changed = disabling_claims.disabling_findings(
        {"MRPC": {"seed 0": worse}}, layers, results, gains, [Head(0, 0)]
    )
    assert [one.holds for one in changed[:2]] == [False, False]
    assert changed[4].holds is False
    assert "significant: 1-1 on RTE, seed 0" in changed[4].here


def test_whether_two_tasks_rely_on_the_same_two_heads() -> None:
    dims = {"layer": [1], "head": [1, 2, 3]}
    one = xr.DataArray([[-3.0, 2.0, -1.0]], dims, tuple(dims))
    other = xr.DataArray([[-1.0, 0.0, -2.0]], dims, tuple(dims))
    assert disabling_claims._same_heads({"STS-B": one, "RTE": other}).holds is True
    assert disabling_claims._same_heads({"STS-B": one, "RTE": -other}).holds is False


def test_the_paper_says_what_its_claims_say(shared: Path) -> None:
    paper = " ".join((shared / "papers" / "kovaleva2019.txt").read_text(encoding="utf-8").split())
    for said in (
        "for all the tasks except QQP, it is the last two layers that undergo the largest changes",
        "for some tasks, such as MRPC and RTE, disabling a *random* head gives, on average, an "
        "*increase*",
        "head 1 in the fourth layer, and head 12 in the second layer",
        "with the exception of STS-B, RTE and QNLI, the $[SEP]$ gets attended the most",
        "(STS-B and QNLI), initialization with random weights yields worse performance",
        "disabling of either one does not lead to a drop of accuracy",
    ):
        assert said in paper, said


def test_annotated_sentences_have_their_frames_in_brackets() -> None:
    from headscope.corpus import read

    rows = annotation_rows(read("demo"), seed=0)
    assert len(rows) == 5
    assert all(": target]" in row["sentence"] for row in rows)
    first = next(example for example in read("demo") if example.links)
    link = first.links[0]
    words = [word.text for word in first.words]
    target = " ".join(words[link.target[0] : link.target[1] + 1])
    assert f"[{target}: target]" in bracketed(first)
