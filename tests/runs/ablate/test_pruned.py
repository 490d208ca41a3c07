"""Models pruned for good: which heads go, what it costs, and what is left in the folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy
from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification, AutoTokenizer

import headscope as hs
from headscope.errors import Interrupted, ModelError, ResultsError, UserError
from headscope.heads import parse_heads
from headscope.models import Model, wrap
from headscope.runs.ablate.prune import Pruned, read_ranking
from headscope.runs.ablate.removing import PruneRun
from runs.ablate.made import TASK, classifier, labelled, language_model
from runs.in_process import interrupt_at
from tiny import SENTENCES, tiny_network, tiny_tokenizer

TEXTS = [f"{text} {text[:9]}" for text in SENTENCES] + list(SENTENCES)
SMALL: dict[str, Any] = {"batch_size": 2, "max_length": 24, "draws": 2}


def qwen(**changes: Any) -> Model:
    network = tiny_network("qwen3", auto=AutoModelForCausalLM, **changes)
    return wrap(network, tiny_tokenizer("qwen3"), name="tiny-qwen3")


def pruned(folder: Path, model: Any = None, **more: Any) -> Pruned:
    judged = {} if {"dev", "corpus"} & more.keys() else {"corpus": TEXTS}
    return hs.prune(model or qwen(), output=folder / "out", **SMALL | judged | more)


def plain_loss(folder: Path, texts: list[str]) -> float:
    """The mean over texts of the loss that transformers computes alone."""
    network = AutoModelForCausalLM.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    losses = []
    for text in texts:
        ids = torch.tensor([tokenizer(text).input_ids[:24]])
        with torch.inference_mode():
            losses.append(float(cross_entropy(network(ids).logits[0, :-1], ids[0, 1:])))
    return float(np.mean(losses))


@pytest.fixture(scope="module")
def importance(tmp_path_factory):
    path = tmp_path_factory.mktemp("ranked") / "importance.nc"
    hs.ablate(
        qwen(), corpus=TEXTS, importance=True, heads=False, layers=False, max_length=24, output=path
    )
    return path


def test_the_head_that_matters_stays(tmp_path):
    found = pruned(
        tmp_path, classifier(only=(0, 1)), share=0.9, task=TASK, dev=labelled(), steps=3, cut=False
    )
    assert sorted(map(str, parse_heads("1-*,2-*", layers=2, heads=4))) == sorted(
        [*found.heads, "1-2"]
    )
    assert [step["difference"] for step in found.curve] == [0, 0, 0, 0]
    assert [step["removed"] for step in found.curve] == [0, 2, 5, 7]
    expected = (False, [], None, "AutoModelForSequenceClassification")
    assert (found.cut, found.shares, found.speed, found.auto) == expected
    loaded = AutoModelForSequenceClassification.from_pretrained(found.folder)
    assert loaded.config.id2label == {0: "no", 1: "yes"}


@pytest.mark.parametrize("cut", [True, False])
def test_the_curve_ends_at_the_loss_that_transformers_computes(tmp_path, importance, cut):
    found = pruned(tmp_path, share=0.5, by=importance, cut=cut, steps=2)
    assert found.last["mean"] == pytest.approx(plain_loss(found.folder, TEXTS), abs=1e-5)
    assert found.error < 1e-5
    assert (found.share, found.cut, found.documents) == (0.5, cut, len(TEXTS))
    assert (found.parameters["after"] < found.parameters["before"]) == cut
    assert ("not smaller" in found.sentence) == (not cut)
    layers = [head.split("-")[0] for head in found.heads]
    if cut:
        assert found.speed is not None
        assert layers == ["1", "1", "2", "2"]
        assert {"1-1,1-2", "1-3,1-4"} & {",".join(found.heads[:2])}
    record = json.loads((found.folder / "headscope-prune.json").read_text())
    assert record["heads"] == found.heads
    assert record["about"]["pruning"]["by"]["value"] == "importance in importance.nc"


def test_random_choices_are_as_many_heads_of_the_same_layers(tmp_path):
    seen: list[list[tuple[Any, ...]]] = []
    choices = PruneRun.choices

    def spied(self: PruneRun, count: int) -> list[tuple[Any, ...]]:
        seen.append(choices(self, count))
        return seen[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PruneRun, "choices", spied)
        pruned(tmp_path, share=0.5, cut=False, steps=2, draws=3)
    for chosen, *draws in seen:
        assert len(draws) == 3
        for drawn in draws:
            assert sorted(head.layer for head in drawn) == sorted(head.layer for head in chosen)
    fewer, more = seen[0], seen[1]
    if sorted(head.layer for head in fewer[0]) <= sorted(head.layer for head in more[0]):
        assert all(set(one) <= set(other) for one, other in zip(fewer[1:], more[1:], strict=True))


@pytest.mark.parametrize("by", ["importance", "ablation", "output_norm"])
def test_what_ranks_heads_does_not_judge(tmp_path, by):
    found = pruned(tmp_path, share=0.5, by=by)
    assert found.documents == 5
    assert len(found.heads) == 4


def test_a_results_file_ranks_heads(tmp_path, importance):
    low, high = (
        pruned(tmp_path / str(at), share=0.12, by=f"{importance}{value}", cut=False)
        for at, value in enumerate((":importance", ":-importance"))
    )
    mean = hs.open(importance).mean("importance")
    order = [f"{one // 4 + 1}-{one % 4 + 1}" for one in np.argsort(mean.values, axis=None)]
    assert (low.heads, high.heads) == (order[:1], order[-1:])
    path = tmp_path / "off.nc"
    atlas = hs.ablate(qwen(), corpus=TEXTS, layers=False, max_length=24, output=path, resamples=50)
    worst = atlas["head_off"]["difference"].values.argmax()  # the loss rises most without it
    values = read_ranking(str(path))
    assert values is not None
    assert (values.values.argmax(), values.name) == (worst, "head_off in off.nc")


def test_a_tolerance_ends_the_removal(tmp_path, monkeypatch):
    def sharpness(output: Any, _batch: Any) -> Any:  # which falls, as heads of a random model go
        return output.logits.std((1, 2))

    how: dict[str, Any] = {"share": 0.9, "cut": False, "steps": 4, "objective": sharpness}
    whole = pruned(tmp_path, **how)
    falls = [-step["difference"] for step in whole.curve]
    worse = next(at for at in range(2, 5) if falls[at] > max(falls[:at]))
    most = (falls[worse] + max(falls[:worse])) / 2
    found = pruned(tmp_path / "less", **how, tolerance=most)
    assert found.stopped
    assert found.last == whole.curve[worse - 1]
    assert len(found.curve) == worse + 1
    assert "more than the tolerance" in found.sentence
    monkeypatch.setattr(PruneRun, "cost", lambda _run, _row: 1.0)
    with pytest.raises(UserError, match=r"the first step, 4 heads, already costs 1\.0000 of loss"):
        pruned(tmp_path / "none", share=0.5, cut=True, tolerance=0.5)
    assert not (tmp_path / "none" / "out").exists()


def test_a_stopped_run_resumes_to_the_same_model(tmp_path):
    whole = pruned(tmp_path / "whole", share=0.5, cut=False, steps=3)
    message = r"stopped after . of 3 steps; the state is kept in .*out"
    with pytest.raises(Interrupted, match=message):
        pruned(tmp_path, share=0.5, cut=False, steps=3, progress=interrupt_at(250))
    assert (tmp_path / "out.partial").exists()
    seen: list[int] = []
    again = pruned(
        tmp_path, share=0.5, cut=False, steps=3, progress=lambda done, _total: seen.append(done)
    )
    assert (again.curve, again.heads) == (whole.curve, whole.heads)
    assert min(seen) >= 200
    assert not (tmp_path / "out.partial").exists()
    for name in ("model.safetensors", "config.json"):
        one, other = (path / "out" / name for path in (tmp_path, tmp_path / "whole"))
        assert one.read_bytes() == other.read_bytes()


def test_a_finished_folder_is_read_and_another_is_not_written_over(tmp_path):
    first = pruned(tmp_path, share=0.5)
    again = pruned(tmp_path, share=0.5)
    assert again == first
    assert again.again
    with pytest.raises(UserError, match=r"holds the results of another run: .*share: 0\.5 there"):
        pruned(tmp_path, share=0.25)
    other = pruned(tmp_path, share=0.25, overwrite=True)
    assert (other.cut, len(other.heads)) == (False, 2)
    (tmp_path / "out" / "config.json").write_text("{}")
    mended = pruned(tmp_path, share=0.25)
    assert not mended.again
    assert json.loads((tmp_path / "out" / "config.json").read_text())["model_type"] == "qwen3"
    (tmp_path / "file").mkdir()
    (tmp_path / "file" / "out").write_text("mine")
    with pytest.raises(UserError, match="out is a file, not a folder"):
        pruned(tmp_path / "file", share=0.25)
    (tmp_path / "mine" / "out").mkdir(parents=True)
    (tmp_path / "mine" / "out" / "thesis.txt").write_text("mine")
    with pytest.raises(UserError, match="is not empty, and not the folder of a pruned model"):
        pruned(tmp_path / "mine", share=0.5)
    pruned(tmp_path / "mine", share=0.5, overwrite=True)
    assert (tmp_path / "mine" / "out" / "thesis.txt").read_text() == "mine"


def test_a_network_that_was_given_is_unchanged(tmp_path):
    network = tiny_network("qwen3", auto=AutoModelForCausalLM)
    before = {name: value.clone() for name, value in network.state_dict().items()}
    pruned(tmp_path, (network, tiny_tokenizer("qwen3")), share=0.5)
    assert network.config.num_attention_heads == 4
    assert network.config._attn_implementation == "eager"
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"share": 0.0}, "the share of heads to remove must be between 0 and 1, got 0 instead"),
        ({"share": 1.5}, "the share of heads to remove must be between 0 and 1, got 1.5 instead"),
        ({"by": "importanc"}, "Did you mean 'importance'"),
        ({"by": "gone.nc"}, "no such results file: gone.nc"),
        ({"tolerance": -1}, "the tolerance must be 0 or more, got -1 instead"),
        ({"steps": 0}, "the number of steps must be 1 or more, got 0 instead"),
        ({"share": 0.3, "cut": True}, r"can be cut out of tiny-qwen3: 0\.5; got 0\.3"),
        ({"corpus": TEXTS[:1]}, "pruning needs two documents or more"),
        ({"long": "split"}, "long examples cannot be split here"),
    ],
)
def test_impossible_options_are_errors(tmp_path, given, message):
    with pytest.raises(UserError, match=message):
        pruned(tmp_path, **given)
    assert not (tmp_path / "out").exists()


def test_models_that_cannot_be_judged_or_cut_and_other_rankings_are_errors(tmp_path, importance):
    bare = wrap(tiny_network("bert"), tiny_tokenizer("bert"), name="bare")
    with pytest.raises(ModelError, match="has no language-model head; and no task was given"):
        pruned(tmp_path, bare)
    with pytest.raises(UserError, match=r"can be cut out of tiny-bert: none; got 0\.5"):
        pruned(tmp_path, language_model("bert"), share=0.5, cut=True)
    with pytest.raises(UserError, match="is of 2 layers with 4 heads each, and tiny-qwen3 has 3"):
        pruned(tmp_path, qwen(num_hidden_layers=3), by=importance)
    path = tmp_path / "survey.nc"
    hs.survey(qwen(), TEXTS, measures="entropy", max_length=24, output=path)
    with pytest.raises(ResultsError, match="has neither gradient importance nor heads that were"):
        pruned(tmp_path, by=path)
    assert pruned(tmp_path, by=f"{path}:entropy").by == "entropy in survey.nc"
