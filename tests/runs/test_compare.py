"""Two models in lockstep: the likeness of their maps by hand, differences paired by example, and
nothing left waiting when something fails.
"""

from __future__ import annotations

import threading
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import xarray as xr
from scipy import stats
from tokenizers import models

import headscope as hs
from headscope.corpus import Corpus, from_examples, from_texts, read
from headscope.encode import collate
from headscope.errors import Interrupted, ModelError, UserError
from headscope.models import LayerView, Model, wrap
from headscope.runs.forward import Pass
from headscope.runs.survey import compare, survey
from headscope.runs.survey.comparison import Lockstep
from headscope.stats import matched_heads
from planted import HEADS, VOCABULARY, planted_bert, planted_tokenizer
from processes import python
from tiny import WIDTH, maps_of, tiny_model, tiny_network, tiny_tokenizer

TEXTS = [
    "a dog",
    "the cat sat.",
    "who saw it",
    "the old dog, the mat",
    "it barks!",
    "a cat sat on the mat.",
    "who barks",
]
ALIKE = "compare models of one shape and one tokenizer, e.g. before and after fine-tuning"
HOW: dict[str, Any] = {"max_length": 24, "batch_size": 2}


@pytest.fixture(scope="module")
def first():
    return tiny_model("bert", seed=1)


@pytest.fixture(scope="module")
def second():
    return tiny_model("bert", seed=2)


@pytest.fixture(scope="module")
def corpus():
    return from_texts(TEXTS)


def cosines(one: Model, other: Model, corpus: Corpus) -> np.ndarray[Any, Any]:
    """Each example's cosines, (example, layer, head), one by one and with numpy alone."""
    found = []
    encoder = one.encoder(max_length=24, long="truncate", stack=one.main_stack())
    for item in encoder.encode(corpus):
        batch = collate([item], pad=one.pad)
        mine, theirs = (
            np.stack(
                [maps[0].double().numpy() for maps in maps_of(model, batch)[model.main_stack()]]
            )
            for model in (one, other)
        )
        flat, others = mine.reshape(*mine.shape[:2], -1), theirs.reshape(*theirs.shape[:2], -1)
        found.append(
            (flat * others).sum(-1)
            / np.linalg.norm(flat, axis=-1)
            / np.linalg.norm(others, axis=-1)
        )
    return np.stack(found)


@pytest.mark.parametrize("size", [1, 2, 7])
@pytest.mark.parametrize("kind", ["bert", "gpt2", "albert"])
def test_the_change_is_the_mean_cosine_over_examples_computed_one_by_one(kind, size, corpus):
    one, other = tiny_model(kind, seed=1), tiny_model(kind, seed=2)
    data = compare(one, other, corpus, max_length=24, batch_size=size)["change"]
    expected = cosines(one, other, corpus)
    np.testing.assert_allclose(data["mean"].values, expected.mean(0), atol=1e-5)
    np.testing.assert_allclose(data["deviation"].values, expected.std(0, ddof=1), atol=1e-4)
    assert (data["n"] == len(TEXTS)).all()
    assert data["mean"].dims == ("layer", "head")


def test_a_model_is_like_itself(first, corpus):
    results = compare(first, first, corpus, measures=["entropy"], **HOW)
    np.testing.assert_allclose(results["change"]["mean"].values, 1.0, atol=1e-6)
    assert (results["entropy-change"]["mean"] == 0).all()


def test_only_the_head_that_was_changed_is_unlike():
    changed = planted_bert()
    layer, head = HEADS["previous"]
    with torch.no_grad():
        width = 24
        changed.network.encoder.layer[layer - 1].attention.self.query.weight[
            (head - 1) * width : head * width
        ] = 0.0  # attends uniformly now
    found = compare(
        planted_bert(),
        wrap(changed.network, planted_tokenizer(), name="changed"),
        from_texts(["the dog sat"]),
        max_length=24,
    )["change"]["mean"]
    # [CLS] the dog sat [SEP]: four rows of a single 1, and one that was uniform before (the first
    # has no previous token)
    one, other = np.eye(5, k=-1), np.full((5, 5), 1 / 5)
    one[0] = 1 / 5
    expected = (one * other).sum() / np.linalg.norm(one) / np.linalg.norm(other)
    assert found.sel(layer=layer, head=head).item() == pytest.approx(expected, abs=1e-5)
    others = found.where((found["layer"] != layer) | (found["head"] != head))
    np.testing.assert_allclose(others.values[~np.isnan(others.values)], 1.0, atol=1e-5)
    assert int(others.notnull().sum()) == found.size - 1


def test_differences_are_those_of_two_surveys_but_paired(first, second):
    corpus = from_examples(list(read("demo", limit=6)))
    how = {"max_length": 60, "batch_size": 2}
    names = ["feature", "link", "position", "distance"]
    found = compare(first, second, corpus, measures=names, **how)
    before, after = (survey(model, corpus, measures=names, **how) for model in (first, second))
    for name in names:
        xr.testing.assert_allclose(
            found.mean(f"{name}-change"), after.mean(name) - before.mean(name), atol=1e-6
        )
    singles: list[list[float]] = [[], []]
    for model, values in zip((first, second), singles, strict=True):
        for example in corpus:
            alone = survey(model, from_examples([example]), measures=["position"], **how)
            values.append(float(alone.mean("position").sel(layer=1, head=2, offset="next")))
    ends = stats.ttest_rel(singles[1], singles[0]).confidence_interval()
    half = (ends.high - ends.low) / 2 * np.sqrt(6 / 5)  # leaving out one of six documents
    low, high = (sum(ends) / 2 + end for end in (-half, half))
    cell = found["position-change"].sel(layer=1, head=2, offset="next")
    assert (cell["low"].item(), cell["high"].item()) == pytest.approx((low, high), rel=1e-3)


def test_the_first_model_is_never_more_than_two_layers_ahead():
    many = wrap(tiny_network("bert", num_hidden_layers=8), tiny_tokenizer("bert"), name="deep")
    ahead: list[int] = []
    here, threads = threading.current_thread(), threading.active_count()
    seen = {"first": 0, "second": 0}
    lock = threading.Lock()
    forward = many.forward
    calls: list[str] = []

    def spied(batch: Any, *, listeners: Any = (), **options: Any) -> Any:
        with lock:
            name = "second" if threading.current_thread() is here else "first"
            calls.append(name)

        def count(view: LayerView) -> None:
            with lock:
                seen[name] += 1
                ahead.append(seen["first"] - seen["second"])

        return forward(batch, listeners=[count, *listeners], **options)

    many.forward = spied  # type: ignore[method-assign]
    compare(many, many, from_texts(["the cat sat on the mat"]), max_length=24)
    assert sorted(calls) == ["first", "second"]
    assert seen == {"first": 8, "second": 8}
    assert max(ahead) <= 3  # one taken, one in the queue, one waiting to be handed over
    assert threading.active_count() == threads


def broken(word: str) -> Model:
    """A planted model whose embedding of a word is NaN."""
    model = planted_bert()
    with torch.no_grad():
        model.network.embeddings.word_embeddings.weight[VOCABULARY.index(word)] = float("nan")
    return model


def test_an_example_that_breaks_either_model_is_left_out():
    results = compare(broken("who"), broken("cat"), from_texts(TEXTS), measures=["entropy"], **HOW)
    counts = results.provenance["counts"]
    assert (counts["nonfinite"], counts["seen"]) == (4, 3)
    assert (results["change"]["n"] == 3).all()
    assert (results["entropy-change"]["n"] == 3).all()


@pytest.mark.parametrize("which", ["first", "second"])
def test_an_error_in_either_model_is_raised_and_leaves_no_thread_behind(
    which, first, second, corpus, monkeypatch
):
    model, threads = {"first": first, "second": second}[which], threading.active_count()

    def fail(module: Any, inputs: Any) -> None:
        raise RuntimeError(f"the {which} is broken")

    handle = model.network.encoder.layer[1].register_forward_pre_hook(fail)
    try:
        with pytest.raises(RuntimeError, match=f"the {which} is broken"):
            compare(first, second, corpus, **HOW)
    finally:
        handle.remove()
    assert threading.active_count() == threads


def test_models_of_different_shapes_are_refused(first, corpus):
    wide = wrap(
        tiny_network("bert", num_attention_heads=2, num_hidden_layers=3),
        tiny_tokenizer("bert"),
        name="wide",
    )
    with pytest.raises(ModelError) as caught:
        compare(first, wide, corpus)
    assert (
        str(caught.value)
        == "the two models have different shapes: tiny-bert has 2 layers of 4 heads, wide 3 of "
        f"2\nnext: {ALIKE}"
    )


def test_models_of_different_stacks_are_refused(first, corpus):
    with pytest.raises(ModelError) as caught:
        compare(first, tiny_model("gpt2"), corpus)
    assert (
        str(caught.value)
        == "tiny-bert has the stack 'encoder', tiny-gpt2 only decoder: their heads cannot be "
        f"compared\nnext: {ALIKE}"
    )


def test_tokenizers_that_cut_an_example_differently_are_refused_with_that_example():
    tokenizer = planted_tokenizer()
    vocabulary = {token: index for index, token in enumerate(VOCABULARY)}
    vocabulary["dogs"] = vocabulary.pop("!")
    tokenizer.backend_tokenizer.model = models.WordPiece(vocabulary, unk_token="[UNK]")
    other = wrap(planted_bert().network, tokenizer, name="other")
    with pytest.raises(UserError) as caught:
        compare(planted_bert(), other, from_texts(["a cat", "the dogs"]), max_length=24)
    what = "of example 2 planted-bert makes [CLS] the dog ##s [SEP], other [CLS] the dogs [SEP]"
    assert str(caught.value) == f"the two models have different tokenizers: {what}\nnext: {ALIKE}"


def test_tokenizers_that_differ_only_in_words_that_the_corpus_does_not_have_are_no_obstacle():
    tokenizer, network = planted_tokenizer(), planted_bert().network
    tokenizer.add_tokens(["unheard"])
    network.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    found = compare(
        planted_bert(), wrap(network, tokenizer, name="other"), from_texts(["a cat"]), max_length=24
    )
    np.testing.assert_allclose(found["change"]["mean"].values, 1.0, atol=1e-6)


def test_the_second_model_must_take_the_length_too(first, corpus):
    short = wrap(
        tiny_network("bert", max_position_embeddings=16), tiny_tokenizer("bert"), name="short"
    )
    message = r"^the maximum length must be at most 16 for short, got 24 instead"
    with pytest.raises(ModelError, match=message):
        compare(first, short, corpus, max_length=24)


def test_a_measure_without_its_annotation_is_refused(first, second, corpus):
    message = r"^the measure 'feature' needs tags, tree, which 7 texts does not have"
    with pytest.raises(UserError, match=message):
        compare(first, second, corpus, measures=["feature"], **HOW)


def test_provenance_names_both_models(first, second, corpus):
    tuned = wrap(second.network, second.tokenizer, name="someone/tuned")
    about = compare(first, tuned, corpus, measures=["entropy"], **HOW).provenance
    known = first.identity("encoder")
    same = {key: known[key] for key in ("class", "device", "config", "ends", "tokenizer")}
    same |= {"adapters": {}, "adapter": "", "revision": "", "type": "bert", "dtype": "float32"}
    same |= {"quantization": "", "bos": "keep", "chat": False, "causal": False, "stack": "encoder"}
    same |= {"tokens": {"start": "[CLS]", "separator": "[SEP]"}, "layers": 2, "heads": 4}
    names = {"name": "tiny-bert and someone/tuned", "first": "tiny-bert", "second": "someone/tuned"}
    weights = f"{first.digest} and {second.digest}"
    assert about["model"] == same | names | {"weights": weights}
    assert about["measures"] == ["change", "entropy-change"]


def test_folders_of_models_stay_out_of_provenance(first, second, corpus):
    one, other = (
        wrap(model.network, model.tokenizer, name=f"/home/ada/models/{name}")
        for model, name in ((first, "plain"), (second, "tuned"))
    )
    about = compare(one, other, corpus, measures=["entropy"], **HOW).provenance
    assert (about["model"]["first"], about["model"]["second"]) == ("plain", "tuned")
    assert "ada/" not in str(about)


def test_a_stopped_comparison_goes_on_to_the_same_numbers_and_a_finished_one_is_not_run_again(
    first, second, corpus, tmp_path, monkeypatch
):
    how = {**HOW, "measures": ["entropy"], "output": tmp_path / "c.nc"}
    whole = compare(first, second, corpus, measures=["entropy"], **HOW)
    ran, batches = Lockstep.run, []

    def stop_at_third(self: Lockstep, batch: Any) -> Any:
        batches.append(batch.index)
        if len(batches) == 3:
            raise KeyboardInterrupt
        return ran(self, batch)

    monkeypatch.setattr(Lockstep, "run", stop_at_third)
    with pytest.raises(Interrupted, match="stopped after 4 examples"):
        compare(first, second, corpus, **how)
    again = compare(first, second, corpus, **how)
    assert batches == [0, 1, 2, 2, 3]
    for name in whole:
        xr.testing.assert_identical(again[name], whole[name])
    monkeypatch.setattr(Pass, "run", None)
    assert compare(first, second, corpus, **how)["change"].equals(whole["change"])
    assert not (tmp_path / "c.nc.partial").exists()


PRESSED = """
import signal, sys, time
sys.path.insert(0, sys.argv[1])
import headscope as hs
from headscope.errors import Interrupted
from headscope.runs.survey.comparison import Lockstep, Meeting
from tiny import SENTENCES, tiny_model

presses, take, told = int(sys.argv[2]), Meeting.rows, []

def press(*_):
    told.append(1)
    if len(told) == presses:
        signal.setitimer(signal.ITIMER_REAL, 0)
    raise KeyboardInterrupt

def rows(self, *given):
    if not told:  # the first model is ahead now, and waits
        signal.setitimer(signal.ITIMER_REAL, 0.2, 0.001)
        time.sleep(5)
    return take(self, *given)

Meeting.rows = rows
signal.signal(signal.SIGALRM, press)
try:
    hs.compare(tiny_model("bert"), tiny_model("bert", seed=1), list(SENTENCES), max_length=24)
except (KeyboardInterrupt, Interrupted):
    signal.setitimer(signal.ITIMER_REAL, 0)
    print("stopped", len(told))
"""


@pytest.mark.slow
@pytest.mark.parametrize("presses", [1, 2, 5])
def test_a_comparison_ends_however_often_ctrl_c_is_pressed(presses):
    tests = str(Path(__file__).parents[1])
    done = python("-c", PRESSED, tests, str(presses), timeout=240)
    assert done.stdout.startswith("stopped"), done.stderr
    assert "Exception ignored" not in done.stderr


def test_the_same_in_the_other_order_is_the_same_likeness_and_the_opposite_difference(corpus):
    one, other = tiny_model("gpt2", seed=1), tiny_model("gpt2", seed=2)
    there, back = (
        compare(*models, corpus, measures=["entropy"], **HOW)
        for models in ((one, other), (other, one))
    )
    xr.testing.assert_allclose(there["change"]["mean"], back["change"]["mean"])
    xr.testing.assert_allclose(there.mean("entropy-change"), -back.mean("entropy-change"))


def test_hs_compare_takes_models_or_results_and_says_what_it_needs(first, second, corpus):
    atlas = hs.compare(first, second, corpus, **HOW)
    assert isinstance(atlas, hs.Atlas)
    results = [hs.survey(model, corpus, measures=["entropy"], **HOW) for model in (first, second)]
    found = hs.compare(*results)
    assert found.measures == ("entropy-change",)
    expected = results[1].mean("entropy") - results[0].mean("entropy")
    xr.testing.assert_allclose(found.mean("entropy-change"), expected)
    with pytest.raises(UserError, match=r"^a model and results cannot be compared"):
        hs.compare(first, results[0])
    with pytest.raises(UserError, match=r"^comparing two models needs a corpus to run them on"):
        hs.compare(first, second)


@pytest.mark.shared
def test_the_trained_layers_of_the_small_model_changed_and_the_others_did_not(shared):
    # models/README.md: layers 1-4 are the embedded model's own (stored in half precision), 5 and 6
    # were trained on.
    found = compare(
        hs.load("demo"), hs.load(str(shared / "models" / "minilm-l6-mlm")), read("demo", limit=8)
    )["change"]["mean"]
    assert (found.sel(layer=slice(1, 4)) > 0.9995).all()
    assert (found.sel(layer=slice(5, 6)) < 0.99).all()
    assert found.sel(layer=6).mean() < found.sel(layer=5).mean()


# --- heads of one model and their partners in another ---


def permuted(orders: list[list[int]], seed: int = 1) -> Model:
    """A copy of a tiny BERT, with the heads of each layer in another order."""
    network = tiny_network("bert", seed=seed)
    with torch.no_grad():
        for layer, order in zip(network.encoder.layer, orders, strict=True):
            one, width = layer.attention.self, WIDTH
            rows = torch.cat([torch.arange(at * width, (at + 1) * width) for at in order])
            for part in (one.query, one.key, one.value):
                part.weight.copy_(part.weight[rows].clone())
                part.bias.copy_(part.bias[rows].clone())
            output = layer.attention.output.dense.weight
            output.copy_(output[:, rows].clone())
    return wrap(network, tiny_tokenizer("bert"))


@pytest.mark.parametrize("match", ["layer", "all"])
def test_heads_in_another_order_are_found_again(match: str, first: Model, corpus: Corpus) -> None:
    orders = [[2, 0, 3, 1], [1, 2, 0, 3]]
    atlas = compare(first, permuted(orders), corpus, match=match, **HOW)
    pairs = matched_heads(atlas).set_index("head")
    for layer, order in enumerate(orders, 1):
        for place, head in enumerate(order, 1):
            row = pairs.loc[f"{layer}-{head + 1}"]
            assert row["partner"] == f"{layer}-{place}"
            assert row["cosine"] == pytest.approx(1.0, abs=1e-5)
            assert row["same place"] < 0.99999 or head + 1 == place


@pytest.mark.parametrize("match", ["layer", "all"])
def test_cosines_of_every_two_heads_and_their_pairing_are_those_of_plain_loops(
    match: str, first: Model, second: Model, corpus: Corpus
) -> None:
    encoder = first.encoder(max_length=24, long="truncate", stack=first.main_stack())
    every = []
    for item in encoder.encode(corpus):
        batch = collate([item], pad=first.pad)
        flat = [
            [
                head.double().numpy().ravel()
                for maps in maps_of(model, batch)["encoder"]
                for head in maps[0]
            ]
            for model in (first, second)
        ]
        norms = [[np.linalg.norm(one) for one in heads] for heads in flat]
        every.append(
            [
                [one @ two / a / b for two, b in zip(flat[1], norms[1], strict=True)]
                for one, a in zip(flat[0], norms[0], strict=True)
            ]
        )
    expected, heads = np.mean(every, 0), 4
    atlas = compare(first, second, corpus, match=match, **HOW)
    found = atlas["match"]["mean"].transpose("layer", "head", "other").values.reshape(2 * heads, -1)
    blocks = [slice(0, 8)] if match == "all" else [slice(0, 4), slice(4, 8)]
    best = 0.0
    for rows in blocks:
        assert found[rows] == pytest.approx(expected[rows, rows], abs=1e-5)
        orders = permutations(range(rows.stop - rows.start))
        part = expected[rows, rows]
        best += max(sum(part[at, to] for at, to in enumerate(order)) for order in orders)
    pairs = matched_heads(atlas)
    assert pairs["cosine"].sum() == pytest.approx(best, abs=1e-4)
    assert sorted(pairs["partner"]) == sorted(pairs["head"])
    assert pairs["same place"].values == pytest.approx(np.diag(expected), abs=1e-5)


def test_partners_are_asked_for_in_several_ways(first: Model, second: Model) -> None:
    texts = TEXTS[:2]
    assert "match" not in compare(first, second, texts, **HOW)
    yes, layer = (compare(first, second, texts, match=one, **HOW) for one in (True, "layer"))
    assert yes["match"].identical(layer["match"])
    with pytest.raises(UserError, match="the match must be one of all, layer, no"):
        compare(first, second, texts, match="some")
    with pytest.raises(UserError, match="needs whole attention maps"):
        compare(first, second, texts, match="all", max_length=4096)
    with pytest.raises(UserError, match="no cosines of every two heads"):
        matched_heads(compare(first, second, texts, **HOW))
    survey_ = survey(first, texts, measures="position", **HOW)
    with pytest.raises(UserError, match="match= has no effect"):
        compare(survey_, survey_, match="layer")
