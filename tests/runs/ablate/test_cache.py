"""The cut cache: a planted model that loses the needle, and transformers' own attention by hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers import AutoModelForCausalLM

import headscope as hs
from headscope.errors import CorpusError, Interrupted, ModelError, UserError
from headscope.models import Model, Replacement, wrap
from headscope.results import Atlas
from headscope.runs.ablate.cache import CacheOptions
from headscope.runs.ablate.cutting import CacheRun
from headscope.runs.retrieval import prompts
from headscope.runs.retrieval.prompts import Decoder
from headscope.stats import cache_table
from headscope.stats.tables.cache import best_choice, cache_sentences
from planted_induction import INDUCTION
from runs.retrieval.planted import LENGTH, NEEDLES, TEXTS, retrieving_model
from tiny import HEADS, LAYERS, SENTENCES, tiny_model, tiny_network, tiny_tokenizer

LONG = TEXTS * 8
HOW: dict[str, Any] = {
    "tokens": 40,
    "passages": 2,
    "lengths": [LENGTH],
    "needles": NEEDLES[:3],
    "chat": False,
    "first": 1,
    "recent": 8,
    "keep": [0.875, 0.5, 0],
    "draws": 3,
}


@pytest.fixture(scope="module")
def planted() -> Model:
    return retrieving_model()


@pytest.fixture(scope="module")
def scores(planted: Model, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A results file with retrieval scores."""
    path = str(tmp_path_factory.mktemp("cache") / "scores.nc")
    how = {"lengths": [LENGTH], "needles": NEEDLES[:1], "masking": False, "chat": False}
    hs.retrieval(planted, TEXTS, **how, output=path)
    return path


@pytest.fixture(scope="module")
def results(planted: Model, scores: str) -> Atlas:
    by = [f"{scores}:retrieval", f"{scores}:-retrieval"]
    return hs.cache(planted, LONG, by=by, **HOW)


def row(results: Atlas, by: str, kept: int, judged: str) -> pd.Series:
    table = cache_table(results).set_index(["by", "kept", "judged"])
    return table.loc[(by, kept, judged)]


def test_the_needle_is_lost_when_the_planted_head_is_cut_and_not_before(results: Atlas) -> None:
    for kept in (7, 4):  # the planted head is the last of one ranking, the first of the other
        assert row(results, "retrieval", kept, "recall")["mean"] == 1
        assert row(results, "-retrieval", kept, "recall")["mean"] == 0
    assert row(results, "retrieval", 8, "recall")["mean"] == 1
    assert row(results, "-retrieval", 0, "recall")["mean"] == 0
    assert row(results, "-retrieval", 7, "recall")["change"] == -1
    assert results["kept"]["mean"].sel(by="-retrieval", kept=7).sum() == 7
    layer, head = map(int, INDUCTION.split("-"))
    kept = results["kept"]["mean"].sel(layer=layer, head=head)
    assert kept.sel(by="retrieval").values.tolist() == [1, 1]
    assert kept.sel(by="-retrieval").values.tolist() == [0, 0]


def test_random_choices_lose_the_needle_only_if_they_cut_the_planted_head(
    results: Atlas,
) -> None:
    draws = results["cache"]["draw"].sel(judged="recall")
    assert set(draws.values.ravel().tolist()) == {0.0, 1.0}
    assert (np.diff(draws.values, axis=1) <= 0).all()  # fewer heads are some of more
    over = row(results, "retrieval", 4, "recall")["over"]
    assert over == pytest.approx(1 - float(draws.sel(kept=4).mean()))


def test_needles_that_made_a_ranking_do_not_judge_it(results: Atlas) -> None:
    asked = [needle["text"] for needle in results.provenance["needles"]]
    assert asked == [needle.text for needle in NEEDLES[1:3]]
    assert "needles that made a ranking are not asked for: 1" in results.provenance["notes"]
    assert row(results, "random", 8, "recall")["n"] == 2


def mask_of(length: int, cut: Sequence[int], first: int, recent: int) -> Tensor:
    """The mask that transformers gets, (1, head, row, key), by a plain loop."""
    mask = torch.full((1, HEADS, length, length), torch.finfo(torch.float32).min)
    for head in range(HEADS):
        for at in range(length):
            for key in range(at + 1):
                if head not in cut or key < first or at - key < recent:
                    mask[0, head, at, key] = 0
    return mask


def ranked(path: Path, values: NDArray[np.float64]) -> str:
    """A results file with a value of every head of a tiny model."""
    atlas = hs.survey(tiny_model("llama"), list(SENTENCES), measures="entropy", max_length=64)
    tree = atlas.tree.copy()
    data = tree["entropy"].to_dataset()
    data["mean"] = data["mean"] * 0 + values[..., None]
    tree["entropy"] = type(tree)(data)
    Atlas(tree).save(path)
    return f"{path}:entropy:all"


@pytest.fixture(scope="module")
def tiny_lm() -> Model:
    """Two layers of four query heads and two KV heads, with random weights."""
    network = tiny_network("llama", auto=AutoModelForCausalLM, max_position_embeddings=256)
    return wrap(network, tiny_tokenizer("llama"), name="tiny-llama")


TINY: dict[str, Any] = {
    **{"tokens": 48, "passages": 3, "lengths": [120], "first": 2, "recent": 5, "keep": [0.5]},
    **{"needles": [hs.Needle("the red cat is old.", "who is old?", "cat")], "draws": 2},
}


@pytest.fixture(scope="module")
def tiny_results(tiny_lm: Model, tmp_path_factory: pytest.TempPathFactory) -> Atlas:
    # Of each KV head one query head counts: the first of KV head 1 in both layers.
    values = np.array([[3.0, 0, 1, 1], [2, 0, 1, 1]])
    by = ranked(tmp_path_factory.mktemp("ranked") / "made.nc", values)
    return hs.cache(tiny_lm, list(SENTENCES) * 20, by=by, **TINY)


def test_a_kv_head_counts_by_the_largest_value_of_its_query_heads(tiny_results: Atlas) -> None:
    kept = tiny_results["kept"]["mean"].sel(by="entropy:all", kept=2)
    assert kept.values.tolist() == [[1, 1, 0, 0]] * LAYERS
    table = tiny_results.kv_heads('kept:"entropy:all":2')
    assert table["max"].tolist() == [1, 0, 1, 0]


def test_the_loss_is_that_of_transformers_with_a_mask_by_hand(
    tiny_lm: Model, tiny_results: Atlas
) -> None:
    network = tiny_network("llama", auto=AutoModelForCausalLM, max_position_embeddings=256)
    words = " ".join(list(SENTENCES) * 20)
    losses: dict[int, list[float]] = {4: [], 2: []}
    encoder = tiny_lm.encoder(max_length=48, long="truncate", stack="decoder")
    data = tiny_results["cache"]
    options = CacheOptions(by=["entropy:all"], **TINY)
    run = CacheRun(tiny_lm, hs.read(list(SENTENCES) * 20), ["entropy:all"], options)
    texts = [example.texts[0] for example in run.texts]
    assert len(texts) == 3
    assert all("".join(text.split()) in "".join(words.split()) for text in texts)
    for item in encoder.encode(run.texts):
        ids = torch.from_numpy(item.ids)[None]
        assert ids.shape[1] == 48
        for kept, cut in ((4, []), (2, [2, 3])):
            with torch.inference_mode():
                mask = mask_of(48, cut, 2, 5)
                loss = network(input_ids=ids, labels=ids, attention_mask=mask).loss
            losses[kept].append(float(loss))
    for kept, values in losses.items():
        cell = data.sel(by="entropy:all", kept=kept, judged="loss")
        assert float(cell["mean"]) == pytest.approx(np.mean(values), abs=1e-5)
        changes = np.subtract(values, losses[4])
        assert float(cell["change"]) == pytest.approx(changes.mean(), abs=1e-5)
    error = changes.std(ddof=1) / np.sqrt(len(changes) - 1)  # as leaving out one text gives
    ends = scipy.stats.t.interval(0.95, len(changes) - 1, changes.mean(), error)
    assert (float(cell["change_low"]), float(cell["change_high"])) == pytest.approx(ends, abs=1e-4)
    assert abs(changes.mean()) > 1e-3


def test_answers_written_together_are_those_of_a_plain_loop_without_a_cache(
    tiny_lm: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prompts, "ANSWER", 8)
    network = tiny_network("llama", auto=AutoModelForCausalLM, max_position_embeddings=256)
    decoder, differ = Decoder(tiny_lm), False
    cuts = [[], [1, 3], [2]]
    offs = [
        Replacement(
            [f"{layer}-{head + 1}" for layer in (1, 2) for head in cut],
            *("window", "decoder"),
            window=(2, 5),
        ).fit(tiny_lm)
        for cut in cuts
    ]
    for seed in range(3):
        ids = np.random.default_rng(seed).integers(5, 60, 40)
        answers = decoder.write_cut(ids, offs)
        for answer, cut in zip(answers, cuts, strict=True):
            tokens = ids.tolist()
            for _ in answer.tokens:
                mask = mask_of(len(tokens), cut, 2, 5)
                with torch.inference_mode():
                    output = network(torch.tensor([tokens]), attention_mask=mask, use_cache=False)
                tokens.append(int(output.logits[0, -1].argmax()))
            assert answer.tokens == tokens[40:]
        differ |= len({tuple(answer.tokens) for answer in answers}) == len(cuts)
    assert differ


def test_a_surveyed_ranking_is_the_measure_on_the_same_texts(planted: Model) -> None:
    how = HOW | {"tokens": 100, "passages": 2, "keep": [0.125], "draws": 1}
    results = hs.cache(planted, LONG, by="position:previous", **how)
    assert results["kept"]["mean"].sel(layer=1, head=1).values.item() == 1  # the planted head 1-1


def test_a_stopped_run_goes_on_where_it_was(planted: Model, scores: str, tmp_path: Path) -> None:
    how = HOW | {"by": [f"{scores}:retrieval"], "keep": [0.5], "draws": 1}
    how |= {"output": tmp_path / "cache.nc", "every": 0.0}
    whole = hs.cache(planted, LONG, **(how | {"output": None}))

    def stop(done: int, total: int) -> None:
        if done >= total // 2:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted):
        hs.cache(planted, LONG, **how, progress=stop)
    seen: list[int] = []
    again = hs.cache(planted, LONG, **how, progress=lambda done, _total: seen.append(done))
    assert seen[0] == 4  # of six texts with a choice, and two prompts
    np.testing.assert_array_equal(again["cache"]["mean"], whole["cache"]["mean"])
    assert hs.cache(planted, LONG, **how).provenance["created"] == again.provenance["created"]


def test_the_smallest_cache_within_the_tolerance_is_exported(
    results: Atlas, tmp_path: Path
) -> None:
    assert best_choice(results["cache"]) == ("retrieval", 4)
    folder = results.export(tmp_path / "pattern", format="duoattention")
    gates = np.loadtxt(folder / "full_attention_heads.tsv", delimiter="\t")
    kept = results["kept"]["mean"].sel(by="retrieval", kept=4)
    np.testing.assert_array_equal(gates, kept)
    assert gates[1, 2] == 1
    assert gates.sum() == 4
    config = json.loads((folder / "config.json").read_text())
    assert (config["sink_size"], config["recent_size"]) == (1, 8)
    assert config["headscope"]["sizes"] == "those that were tested"
    path = results.export(tmp_path / "heads.json", format="headkv", by="kept:retrieval:7")
    assert sum(value for (value,) in json.loads(path.read_text()).values()) == 7


def test_without_a_choice_within_the_tolerance_one_must_be_named(
    planted: Model, scores: str, tmp_path: Path
) -> None:
    how = HOW | {"by": [f"{scores}:-retrieval"], "keep": [0.5], "draws": 1}
    results = hs.cache(planted, LONG, **how)
    assert any("no choice" in said for said in cache_sentences(results))
    with pytest.raises(UserError, match="no tested choice") as caught:
        results.export(tmp_path / "pattern", format="duoattention")
    assert caught.value.hint == "name one all the same: by='kept:\"-retrieval\":4'"
    results.export(tmp_path / "pattern", format="duoattention", by='kept:"-retrieval":4')


def test_sentences_say_what_is_cut_and_what_it_costs(results: Atlas) -> None:
    first, second, best, how = cache_sentences(results)
    start = "with 50.0 % of KV heads cut to the first 1 and the last 8 tokens, by "
    assert first.startswith(f"{start}retrieval: the loss ")
    assert "the recall of needles stays at 1.000" in first
    assert "the recall of needles falls from 1.000 to 0.000 (-1.000; random: " in second
    assert best == (
        "the smallest cache within 0.1 nats of loss and 0.1 of recall: 50.0 % of KV heads, by "
        "retrieval"
    )
    assert how.startswith("loss: 2 texts of 40 tokens; recall: 2 prompts")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"keep": [1]}, "one share below 1 must be given"),
        ({"keep": [1.5]}, "share of KV heads must be 0 to 1"),
        ({"by": []}, "at least one ranking"),
        ({"recent": 40}, "texts of 40 tokens are no longer than what is left of a cut cache, 1"),
        ({"recent": 0}, "number of recent tokens must be 1 or more"),
        ({"by": ["entropy", "entropy"]}, "a ranking is given twice: entropy, entropy"),
        ({"by": "entropie"}, "entropie"),
        ({}, "streaming:distant is not defined for every head"),
    ],
)
def test_bad_input_is_named(planted: Model, options: dict[str, Any], message: str) -> None:
    how = HOW | {"by": "streaming:distant"} | options
    with pytest.raises(UserError, match=message):
        hs.cache(planted, LONG, **how)


def test_too_little_text_and_models_without_a_cache_are_named(planted: Model) -> None:
    with pytest.raises(CorpusError, match="has no two texts of 40 tokens"):
        hs.cache(planted, TEXTS[:6], **(HOW | {"lengths": [50]}))
    with pytest.raises(ModelError, match="a cache of keys and values is kept while a model writes"):
        hs.cache("demo", LONG, **HOW)


def test_texts_are_shortened_to_what_the_model_takes(planted: Model) -> None:
    how = HOW | {"tokens": 4096, "keep": [0.5], "draws": 1, "passages": 2}
    results = hs.cache(planted, LONG * 3, **how, by="entropy:all")
    assert results.provenance["settings"]["tokens"] == 128
    noted = "texts have 128 tokens: the model takes no more"
    assert noted in results.provenance["notes"]
