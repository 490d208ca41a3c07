"""The paper's claims, each on numbers for which its rule is met and for which it is not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from headscope.heads import Head
from headscope.measures import Feature, Link
from headscope.papers import Kovaleva2019, kovaleva2019
from headscope.papers.claims import Finding
from headscope.papers.kovaleva2019 import annotation_rows, bracketed
from headscope.papers.kovaleva2019_tuned import Checkpoint
from headscope.results import Atlas
from headscope.stats.tables.ablation import scored
from headscope.stats.tables.disabling import DisablingSummary, disabling_summary
from headscope.tasks import find_task
from papers.claimed import findings, found, verdicts
from stats.made_ablation import made_ablation
from stats.made_patterns import CLASSES, pattern_results
from stats.sampled import DIMS, sampled

FEATURES, LINKS = Feature.dims["feature"], Link.dims["link"]
STARTS = ("untrained", "random", "pretrained")
OFFSETS = ("previous", "current", "next")


def patterns(*shares: float) -> Atlas:
    """A hundred maps with these shares of the five classes."""
    maps = np.repeat(np.arange(len(CLASSES)), (100 * np.array(shares)).astype(int))
    return pattern_results(maps.reshape(-1, 1, 1), np.arange(len(maps)) % 16)


def test_shares_of_classes():
    good = findings(Kovaleva2019, tuned_patterns={"RTE": patterns(0.2, 0.2, 0.1, 0.1, 0.4)})
    assert verdicts(good) == {"heterogeneous": True, "repeated": True}
    assert good["heterogeneous"].here == "RTE: 40 %"
    bad = findings(Kovaleva2019, tuned_patterns={"RTE": patterns(0.1, 0.1, 0.1, 0.0, 0.7)})
    assert verdicts(bad) == {"heterogeneous": False, "repeated": False}
    none = findings(Kovaleva2019, tuned_patterns={})
    assert {one.holds for one in none.values()} == {"not tested"}


def made(task: str, start: str, score: float) -> Checkpoint:
    one = find_task(task)
    scores = dict.fromkeys(one.metrics, score)
    return Checkpoint(one, start, "x", scores, scores, {"dev": 1})  # type: ignore[arg-type]


def test_scores_of_table_1():
    done = [
        *(
            made("sts-b", start, score)
            for start, score in zip(STARTS, (0.3, 0.1, 0.8), strict=True)
        ),
        *(made("rte", start, score) for start, score in zip(STARTS, (0.5, 0.6, 0.6), strict=True)),
    ]
    some = findings(Kovaleva2019, tuned=done)
    assert found(some, "gain") == ("STS-B: +50.0; RTE: +10.0; +30.0 on average", True)
    assert found(some, "from_random") == ("STS-B: +70.0; RTE: +0.0", False)
    assert found(some, "worse_than_untuned") == ("STS-B: +20.0", True)
    alone = findings(Kovaleva2019, tuned=done[2:3])
    assert {one.holds for one in alone.values()} == {"not tested"}


class Changes:
    """A comparison whose maps have these mean cosines by layer, and features that change so."""

    def __init__(self, *cosines: float, **gains: list[float]) -> None:
        layer = {"layer": list(range(1, len(cosines) + 1)), "head": [1]}
        self.cosines = xr.DataArray(np.reshape(cosines, (-1, 1)), layer, ("layer", "head"))
        names = ["noun", "object", "negation"]
        mean = np.array([gains.get(name, [0.0] * 4) for name in names]).T
        data = xr.DataArray(mean, {"head": range(4), "feature": names}, ("head", "feature"))
        self.change = xr.Dataset({"mean": data, "low": data - 0.01, "high": data + 0.01})

    def mean(self, name: str) -> xr.DataArray:
        assert name == "change"
        return self.cosines

    def __getitem__(self, name: str) -> xr.Dataset:
        assert name == "feature-change"
        return self.change


def test_the_last_two_layers():
    def last(**tasks: Changes) -> tuple[str, bool | None]:
        changes = {task: {"seed 0": one} for task, one in tasks.items()}
        return found(findings(Kovaleva2019, changes=changes), "last_layers")

    qqp = Changes(0, 1, 1, 1)
    assert last(RTE=Changes(1, 0.9, 0.7, 0.8), QQP=qqp) == ("RTE: layers 3 and 4", True)
    assert last(RTE=Changes(1, 0.7, 0.9, 0.8))[1] is False
    assert last(QQP=qqp)[1] is None


def test_some_head_attends_more_to_features_after_tuning():
    def more(name: str, **tasks: Changes) -> tuple[str, bool | None]:
        changes = {task: {"seed 0": one} for task, one in tasks.items()}
        return found(findings(Kovaleva2019, changes=changes), name)

    gain, fall = [0.05, 0.0, 0.0, -0.1], [-0.05, 0.0, 0.0, 0.0]
    both = Changes(1, 1, noun=gain, object=gain)
    assert more("more_nouns", RTE=both) == ("RTE: noun 1 of 4 heads, object 1 of 4 heads", True)
    assert more("more_nouns", RTE=both, MRPC=Changes(1, 1, noun=gain, object=fall))[1] is False
    assert more("more_negation", QNLI=Changes(1, 1, negation=gain))[1] is True
    # 0.013 is 2.5 standard errors: enough for one head, not for the best of four
    assert more("more_negation", QNLI=Changes(1, 1, negation=[0.0105, 0, 0, 0]))[1] is False
    assert more("more_negation", RTE=both)[0] == "none of the tasks was run: give QNLI"


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


WRONG = ("stripes", "early_cls", "from_cls", "diagonal")


def test_what_tuned_models_attend_to(monkeypatch):
    pair = after(monkeypatch, {"cls": [0.5, 0.1], "sep": [0.1, 0.3], "punctuation": [0, 0.4]})
    one = after(monkeypatch, {"cls": [0.5, 0.1], "sep": [0.2, 0.6]})
    right = verdicts(findings(Kovaleva2019, after={"RTE": pair, "SST-2": one}))
    assert right == dict.fromkeys([*WRONG, "one_separator"], True)
    wrong = after(monkeypatch, {"cls": [0.1, 0.5], "sep": [0.3, 0.1], "noun": [0.4, 0.4]}, 0.4)
    some = verdicts(findings(Kovaleva2019, after={"RTE": wrong, "SST-2": wrong}))
    assert [some[name] for name in WRONG] == [False] * 4
    alone = verdicts(findings(Kovaleva2019, after={"RTE": wrong}))
    assert alone["one_separator"] is None


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


def test_claims_on_disabling_heads(monkeypatch):
    def disabled(task: str, summary: DisablingSummary, frame_head: Head) -> dict[str, Finding]:
        table = pd.DataFrame({"head": [str(frame_head)], "mean": [0.3]})
        monkeypatch.setattr(kovaleva2019, "frame_table", lambda *_, **__: table)
        return findings(
            Kovaleva2019,
            off={"RTE": {"seed 0": ablation()}},
            heads_off={task: {"seed 0": summary}},
            layers_off={"RTE": {"seed 0": disabling_summary(ablation(), "layer")}},
            frames=None,
        )

    some = disabled("RTE", SUMMARY, Head(0, 1))
    names = ("some_heads", "any_head", "first_layer", "any_layer", "without_frame_heads")
    assert [found(some, name)[1] for name in (*names, "same_heads")] == [True] * 5 + [None]
    assert some["first_layer"].here.startswith("seed 0: +31.7 [")  # 19 of 60 examples
    changed = disabled("MRPC", replace(SUMMARY, p=0.4, mean_low=-0.001), Head(0, 0))
    wrong = ("some_heads", "any_head", "without_frame_heads")
    assert [found(changed, name)[1] for name in wrong] == [False] * 3
    assert "significant: 1-1 on RTE, seed 0" in changed["without_frame_heads"].here


def test_a_layer_that_hurts_a_little_on_qnli(monkeypatch):
    def losing(*gains: float) -> bool | None:
        table = pd.DataFrame({"layer off": ["1", "2"], "gain": gains})
        monkeypatch.setattr(kovaleva2019, "change_table", lambda *_: table)
        losses = kovaleva2019.layer_losses({"QNLI": {"seed 0": None}})  # type: ignore[dict-item]
        return losses.holds

    assert losing(0.01, -0.001) is True
    assert losing(0.01, -0.003) is False
    assert losing(0.01, 0.0) is False


def test_whether_two_tasks_rely_on_the_same_two_heads(monkeypatch):
    dims = {"layer": [1], "head": [1, 2, 3]}
    one = xr.DataArray([[-3.0, 2.0, -1.0]], dims, tuple(dims))
    other = xr.DataArray([[-1.0, 0.0, -2.0]], dims, tuple(dims))
    monkeypatch.setattr(kovaleva2019, "head_gains", lambda gains: gains)

    def same(first: xr.DataArray, second: xr.DataArray) -> bool | None:
        off: Any = {"STS-B": {"seed 0": first}, "RTE": {"seed 0": second}}
        return kovaleva2019.same_heads(off).holds

    assert same(one, other) is True
    assert same(one, -other) is False


def test_the_paper_says_what_its_claims_say(shared):
    paper = " ".join((shared / "papers" / "kovaleva2019.txt").read_text(encoding="utf-8").split())
    for said in (
        "for all the tasks except QQP, it is the last two layers that undergo the largest changes",
        "for some tasks, such as MRPC and RTE, disabling a *random* head gives, on average, an "
        "*increase*",
        "head 1 in the fourth layer, and head 12 in the second layer",
        "with the exception of STS-B, RTE and QNLI, the $[SEP]$ gets attended the most",
        "(STS-B and QNLI), initialization with random weights yields worse performance",
        "disabling of either one does not lead to a drop of accuracy",
        "attention to nouns and direct objects of the main predicates (on the MRPC, RTE and QQP "
        "tasks), and negation tokens (on the QNLI task)",
        "for QNLI and MNLI, it produces a performance drop of up to -0.2%",
    ):
        assert said in paper, said


def test_annotated_sentences_have_their_frames_in_brackets():
    from headscope.corpus import read

    rows = annotation_rows(read("demo"), seed=0)
    assert len(rows) == 5
    assert all(": target]" in row["sentence"] for row in rows)
    first = next(example for example in read("demo") if example.links)
    link = first.links[0]
    words = [word.text for word in first.words]
    target = " ".join(words[link.target[0] : link.target[1] + 1])
    assert f"[{target}: target]" in bracketed(first)
