"""Retrieval scores: a planted model, and a plain twin with whole maps and without a cache."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM

import headscope as hs
from headscope.errors import Interrupted, UserError
from headscope.models import Replacement, wrap
from headscope.page.packs.atlas import atlas_content
from headscope.runs.retrieval import RetrievalOptions
from headscope.runs.retrieval.asking import retrieval_scores
from headscope.runs.retrieval.prompts import Decoder, Place, Prompt, Prompts
from headscope.stats.tables.circuits import (
    retrieval_answers,
    retrieval_heads,
    retrieval_masking,
    retrieval_recovery,
)
from planted_induction import INDUCTION
from runs.in_process import interrupt_at
from runs.retrieval.planted import ANSWERS, LENGTH, NEEDLES, TEXTS, WORDS, retrieving_model
from tiny import HEADS, tiny_network, tiny_tokenizer

HOW: dict[str, Any] = {"lengths": [LENGTH, 78], "needles": NEEDLES, "draws": 2}


@pytest.fixture(scope="module")
def planted():
    return retrieving_model()


@pytest.fixture(scope="module")
def found(planted):
    return hs.retrieval(planted, TEXTS, **HOW)


def test_the_planted_head_copies_every_token_of_every_answer_and_no_other_head_does(found):
    scores = found["retrieval"]["mean"]
    assert float(scores.sel(layer=2, head=3)) == 1.0
    assert float(scores.where(scores < 1).max()) < 0.5
    assert found.heads(by="retrieval", top=1)["head"].tolist() == [INDUCTION]
    assert [str(head) for head in found.find("retrieval > 0.9")] == [INDUCTION]
    answers = retrieval_answers(found)
    assert answers["written"].tolist() == [f"{needle.answer} end ." for needle in NEEDLES] * 2
    assert answers["recall"].tolist() == [1.0] * 8


def test_the_interval_of_a_head_is_over_needles(found):
    data = found["retrieval"]
    by_needle = [data["score"][data["needle"].values == one].mean("prompt") for one in range(1, 5)]
    values = np.stack(by_needle)
    error = values.std(0, ddof=1) / np.sqrt(3)  # as leaving out one of four needles gives
    assert error.max() > 0
    assert data["error"].values == pytest.approx(error, abs=1e-7)
    vary = error > 1e-6
    mean, error = values.mean(0)[vary], error[vary]
    odds = np.log(mean / (1 - mean)) + 3.1824 * error / (mean * (1 - mean))  # t with 3 degrees
    assert data["high"].values[vary] == pytest.approx(1 / (1 + np.exp(-odds)), abs=1e-4)
    assert set(data["n"].values.ravel()) == {8}


def test_answers_are_lost_without_the_planted_head_and_not_without_others(found):
    table = retrieval_masking(found).set_index("disabled")
    assert table.index.tolist() == ["none", "top 1", "random 1"]
    assert table["recall"].tolist() == [1.0, 0.0, 1.0]
    assert table.loc["top 1", "top − random"] == -1.0
    disabled = found.provenance["masking"]
    assert [one["heads"] for one in disabled if one["disabled"] == "top 1"] == [[INDUCTION]] * 2
    assert [one["needles"] for one in disabled] == ["odd numbers"] * 3 + ["even numbers"] * 3
    assert found["retrieval_masking"]["draw_mean"].sel(disabled="random 1").values.tolist() == [
        1,
        1,
    ]


def test_what_was_recovered_is_counted_by_length(found):
    table = retrieval_recovery(found)
    assert table["length"].tolist() == [str(LENGTH), "78", "all"]
    assert table["prompts"].tolist() == table["recovered"].tolist() == [4, 4, 8]
    assert retrieval_heads(found, top=2).columns.tolist()[:3] == ["head", "zero-based", "score"]


def twin(network: Any, ids: list[int], span: tuple[int, int], steps: int) -> Any:
    """Scores and tokens by plain loops: all tokens anew for each step, whole maps, no cache."""
    start, stop = span
    tokens = list(ids)
    seen: dict[tuple[int, int], set[int]] = {}
    for _ in range(steps):
        with torch.no_grad():
            output = network(torch.tensor([tokens]), output_attentions=True, use_cache=False)
        token = int(output.logits[0, -1].argmax())
        attentions = [maps for maps in output.attentions if maps is not None]
        for layer, maps in enumerate(attentions):
            for head in range(HEADS):
                row = maps[0, head, -1].tolist()
                place = row.index(max(row))
                right = start <= place < stop and tokens[place] == token
                seen.setdefault((layer, head), set()).update({place} if right else ())
        tokens.append(token)
    scores = np.zeros((len(attentions), HEADS))
    for place, tokens_found in seen.items():
        scores[place] = len(tokens_found) / (stop - start)
    return scores, tokens[len(ids) :]


@pytest.mark.parametrize("kind", ["llama", "gpt2", "gemma3", "qwen3.5", "jamba", "lfm2"])
def test_scores_are_those_of_a_plain_loop_over_whole_maps_without_a_cache(kind):
    """Gemma 3 caches only the last keys of layers with a sliding window; hybrids cache states."""
    networks = [
        tiny_network(kind, auto=AutoModelForCausalLM, max_position_embeddings=128) for _ in range(2)
    ]
    span, copied = (34, 40), 0.0
    tokenizer = tiny_tokenizer(kind)
    with wrap(networks[0], tokenizer) as model:
        decoder = Decoder(model)
        for seed in range(3):
            ids = np.random.default_rng(seed).integers(5, len(tokenizer), 42)
            written = decoder.write(decoder.read(ids), ids).tokens
            ids[34:40] = np.resize(written, 6)  # what the model is likely to write
            answer = decoder.write(decoder.read(ids), ids)
            scores = retrieval_scores(np.stack(answer.top_keys), np.array(answer.tokens), ids, span)
            expected, tokens = twin(networks[1], ids.tolist(), span, len(answer.tokens))
            assert answer.tokens == tokens
            assert scores == pytest.approx(expected)
            copied = max(copied, float(expected.max()))
    assert copied > 0  # otherwise the test would prove nothing


@pytest.mark.parametrize("kind", ["llama", "gpt2", "gemma3"])
def test_attention_to_the_needle_is_that_of_a_plain_loop_over_eager_maps(kind: str) -> None:
    """Gemma 3 caches only the last keys of layers with a sliding window."""
    networks = [
        tiny_network(kind, auto=AutoModelForCausalLM, max_position_embeddings=128) for _ in range(2)
    ]
    tokenizer = tiny_tokenizer(kind)
    with wrap(networks[0], tokenizer) as model:
        decoder = Decoder(model)
        ids = np.random.default_rng(0).integers(5, len(tokenizer), 42)
        needle, question = (9, 15), (30, 36)
        prompt = Prompt(Place(0, 42, 0.0), ids, (10, 12), needle, question)
        found = decoder.attention_to_needle(prompt)
    with torch.no_grad():
        maps = networks[1](torch.tensor(ids[None]), output_attentions=True).attentions
    for layer, attention in enumerate(maps):
        for head in range(HEADS):
            rows = [
                sum(float(attention[0, head, row, key]) for key in range(*needle))
                for row in range(*question)
            ]
            assert found[layer, head] == pytest.approx(sum(rows) / len(rows), abs=1e-6)
    assert found.min() < 0.5 * found.max()


def test_the_question_is_compared_with_an_empty_one_after_the_same_text(planted):
    prompts = Prompts(planted, hs.read(TEXTS), RetrievalOptions(**HOW | {"text": TEXTS}))
    words = planted.tokenizer.convert_ids_to_tokens
    for number in range(4):
        prompt, empty = prompts.make(number), prompts.make(number, question="lake")
        needle = NEEDLES[prompt.place.needle]
        for one, question in ((prompt, needle.question), (empty, "lake")):
            assert words(one.ids[slice(*one.needle)].tolist()) == needle.text.split()
            assert words(one.ids[slice(*one.span)].tolist()) == needle.answer.split()
            assert one.ids[slice(*one.question)].size == len(question.split())
        assert prompt.ids[: prompt.question[0]].tolist() == empty.ids[: empty.question[0]].tolist()


def test_a_head_that_looks_from_the_question_to_the_needle_is_found_by_that_alone() -> None:
    """Head 2-3 attends where its own word stood after another; one question has the needle's words,
    so that it looks there, and an empty question looks nowhere.
    """
    needles = [hs.Needle(f"code {answer} end .", answer, answer) for answer in ANSWERS]
    with retrieving_model() as model:
        atlas = hs.retrieval(model, TEXTS, lengths=[LENGTH], needles=needles, masking=False)
        data = atlas["query_focus"]
        assert atlas.heads(by="query_focus", top=1)["head"].tolist() == [INDUCTION]
        assert float(data["mean"].sel(layer=2, head=3)) > 0.6
        assert float(data["mean"].where(data["mean"] < 0.6).max()) < 0.3
        assert set(data["n"].values.ravel()) == {4}  # whether they were recovered or not
        table = retrieval_heads(atlas, top=2, by="query_focus")
        assert table.loc[0, "score"] == pytest.approx(float(data["mean"].max()))
        assert [str(head) for head in atlas.find("query_focus > 0.6")] == [INDUCTION]
        how = RetrievalOptions(text=TEXTS, lengths=[LENGTH], needles=needles)
        prompts, both = Prompts(model, hs.read(TEXTS), how), []
        for question in ("", "N/A"):
            prompt = prompts.make(2, question)
            with torch.no_grad():
                ids = torch.tensor(prompt.ids[None])
                maps = model.network(ids, output_attentions=True).attentions
            seen = torch.stack(maps)[:, 0, :, slice(*prompt.question), slice(*prompt.needle)]
            both.append(seen.sum(-1).mean(-1).numpy())
        assert data["score"][2].values == pytest.approx(both[0] - both[1], abs=1e-6)
        assert np.abs(both[1]).max() > 0.05  # otherwise the empty question would not matter


@pytest.mark.parametrize("kind", ["llama", "qwen3-next", "jamba", "lfm2"])
def test_answers_with_heads_disabled_are_the_same_one_at_a_time_and_together(kind):
    network = tiny_network(kind, auto=AutoModelForCausalLM, max_position_embeddings=128)
    first, second = (1, 2) if kind == "llama" else (2, 4)  # layers with attention
    with wrap(network, tiny_tokenizer(kind)) as model:
        decoder, ids = Decoder(model), np.random.default_rng(1).integers(5, 50, 40)
        cache = decoder.read(ids)
        offs = [
            Replacement(heads, way=way, stack="decoder").fit(model)
            for heads, way in (
                ([], "zero"),
                (f"{second}-1", "zero"),
                (f"{first}-*,{second}-*", "uniform"),
            )
        ]
        together = [answer.tokens for answer in decoder.write_each(cache, ids, offs)]
        singly = [decoder.write_each(cache, ids, [off])[0].tokens for off in offs]
        # Of each token two layers of two KV heads keep a key and a value, 8 floats of 4 bytes each.
        assert decoder.together(40) == (2**30 // (2 * 2 * 2 * 8 * 4 * 40) if kind == "llama" else 1)
        assert together == singly
        assert together[0] == decoder.write(cache, ids).tokens
        assert together[0] != together[2]


def test_an_answer_ends_at_a_newline_at_an_end_token_and_at_fifty_tokens(planted):
    decoder = Decoder(planted)
    first, second, third = (WORDS.index(word) for word in ("lake", "moss", "fern"))
    newline = WORDS.index("\n")

    def written(*between: int) -> list[int]:
        ids = np.array([0, first, second, *between, third, first], np.int64)
        return decoder.write(decoder.read(ids), ids).tokens

    assert written(newline) == [second, newline]
    assert written(WORDS.index(".")) == [second, WORDS.index(".")]
    assert len(written()) == 50


def test_a_stopped_run_resumes_to_the_same_results(planted, tmp_path):
    how: dict[str, Any] = {"lengths": [LENGTH], "needles": NEEDLES[:2], "draws": 1}
    undisturbed = hs.retrieval(planted, TEXTS, **how)
    output, counts = tmp_path / "r.nc", []
    with pytest.raises(Interrupted, match="stopped after 3 of 4; the state is kept in"):
        hs.retrieval(planted, TEXTS, output=output, progress=interrupt_at(3), **how)
    again = hs.retrieval(
        planted, TEXTS, output=output, progress=lambda *one: counts.append(one), **how
    )
    for name in ("retrieval", "retrieval_masking"):
        assert again[name].identical(undisturbed[name])
        assert hs.open(output)[name].equals(undisturbed[name])
    written = output.stat().st_mtime_ns
    hs.retrieval(planted, TEXTS, output=output, **how)
    assert output.stat().st_mtime_ns == written
    assert not output.with_name("r.nc.partial").exists()


def test_scores_join_a_survey_of_the_same_weights_and_its_page(planted, found):
    survey = hs.survey(planted, TEXTS, measures="position", max_length=32)
    both = survey.with_retrieval(found)
    assert both.measures == ("position", "retrieval", "query_focus", "retrieval_masking")
    assert "retrieval score" in both.head(INDUCTION).statistics["statistic"].tolist()
    assert both.provenance["retrieval"]["settings"]["seed"] == 0
    alone, joined = (atlas_content(one)[0]["statistics"] for one in (survey, both))
    assert len(joined) == len(alone) + 2
    with pytest.raises(UserError, match="these results are not retrieval scores"):
        survey.with_retrieval(survey)


def test_without_a_recovered_answer_no_head_has_a_score(planted):
    lost = [hs.Needle("code red owl sat .", "Who 1 ?", "red owl sat")]
    atlas = hs.retrieval(planted, TEXTS, lengths=[LENGTH], needles=lost)
    assert atlas["retrieval"]["mean"].isnull().all()
    assert atlas["retrieval"]["n"].values.max() == 0
    assert "retrieval_masking" not in atlas
    assert len(retrieval_heads(atlas)) == len(retrieval_masking(atlas)) == 0
    assert atlas.provenance["notes"][-1].startswith("no answer was recovered")
