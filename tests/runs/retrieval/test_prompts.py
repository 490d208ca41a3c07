"""Prompts: the answer's tokens are where the answer is, whatever the tokenizer; and needles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from transformers import AutoModelForCausalLM

import headscope as hs
from encode.test_template import CHATML
from headscope.errors import CorpusError, ModelError, UserError
from headscope.heads import Head
from headscope.models import Model, Shape, wrap
from headscope.runs.retrieval import RetrievalOptions, choose_needles, read_needles
from headscope.runs.retrieval.asking import choose_heads, retrieval_scores, unigram_recall
from headscope.runs.retrieval.prompts import Prompts
from tiny import SENTENCES, tiny_model, tiny_network, tiny_tokenizer

NEEDLE = hs.Needle(
    "She kept in the old tree a dog, a mat and 10 tokens.",
    "what is in the old tree?",
    "a dog, a mat and 10 tokens",
)
TEXTS = list(SENTENCES) * 6
ASKING = CHATML + "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"


def language_model(kind: str, *, positions: int = 512, template: str = "") -> Model:
    changes = {"n_positions" if kind == "gpt" else "max_position_embeddings": positions}
    network = tiny_network(kind, auto=AutoModelForCausalLM, **changes)
    tokenizer = tiny_tokenizer(kind)
    tokenizer.chat_template = template or None
    return wrap(network, tokenizer, name=f"tiny-{kind}")


def prompts_of(model: Model, **changes: Any) -> Prompts:
    settings = {"lengths": (300,), "needles": (NEEDLE,)} | changes
    return Prompts(model, hs.read(TEXTS), RetrievalOptions(**settings))


@pytest.mark.parametrize("template", ["", ASKING], ids=["plain", "chat"])
@pytest.mark.parametrize("kind", ["llama", "gpt2"])
def test_the_span_holds_the_answer_and_the_prompt_the_needle_once(kind, template):
    model = language_model(kind, template=template)
    prompts = prompts_of(model, every_depth=True)
    assert len(prompts.places) == 5
    whole = []
    for number in range(5):
        prompt = prompts.make(number)
        text = model.tokenizer.decode(prompt.ids)
        first, last = prompt.span
        assert model.tokenizer.decode(prompt.ids[first:last]).strip() == NEEDLE.answer
        assert text.count(NEEDLE.text) == 1
        assert "what is in the old tree" in text.split("uestion:")[1]  # no Q in the vocabulary
        assert 250 < len(prompt.ids) <= 300
        end = "<|im_start|>assistant\n" if template else "\nAnswer:"
        assert text.endswith(end) or kind == "llama"  # unigram pieces have no newlines
        whole.append(first / len(prompt.ids))
    assert whole == sorted(whole)
    assert whole[0] < 0.35
    assert whole[-1] > 0.6


def test_the_same_seed_gives_the_same_prompts_and_another_seed_other_text():
    model = language_model("gpt2")
    one, again, other = (prompts_of(model, seed=seed).make(0).ids for seed in (1, 1, 2))
    assert one.tolist() == again.tolist()
    assert one.tolist() != other.tolist()


def test_depths_are_taken_in_turn_over_needles_and_lengths():
    model = language_model("gpt2")
    places = prompts_of(model, lengths=(200, 300), needles=(NEEDLE,) * 3, depths=(0, 0.5, 1)).places
    assert [place.depth for place in places] == [0, 0.5, 1, 0.5, 1, 0]
    assert [place.length for place in places] == [200] * 3 + [300] * 3


def test_contexts_are_shortened_to_what_the_model_takes_with_an_answer():
    prompts = prompts_of(language_model("llama", positions=256), lengths=(512, 1024))
    assert prompts.lengths == (206,)
    assert prompts.notes[0].startswith("contexts were shortened to 206 tokens")


def test_there_are_more_than_twenty_needles_with_short_answers_that_stand_in_them():
    needles = choose_needles()
    assert len(needles) >= 20
    assert len({needle.question for needle in needles}) == len(needles)
    for needle in needles:
        assert 3 <= len(needle.answer.split()) <= 10
        assert needle.text[needle.place :].startswith(needle.answer)
        assert needle.answer not in needle.question


def test_needles_are_read_from_a_file(tmp_path):
    path = tmp_path / "mine.jsonl"
    path.write_text('{"text": "It is red.", "question": "What?", "answer": "red"}\n\n')
    assert read_needles(path) == (hs.Needle("It is red.", "What?", "red"),)
    path.write_text('{"text": "It is red."}\n')
    with pytest.raises(CorpusError, match=r"mine.jsonl, line 1: not a needle"):
        choose_needles(path)
    path.write_text('{"text": "It is red.", "question": "What?", "answer": "blue"}\n')
    with pytest.raises(CorpusError, match="must be part of the needle"):
        choose_needles(str(path))
    with pytest.raises(CorpusError, match="needles cannot be read from"):
        choose_needles(tmp_path / "none.jsonl")


@pytest.mark.parametrize("needles", [0, 25, [], ["a text"]])
def test_needles_that_do_not_exist_are_refused(needles):
    with pytest.raises(UserError, match="needles must be"):
        choose_needles(needles)


def test_each_token_of_an_answer_counts_once_and_only_when_it_is_written():
    """By hand: tokens 11, 12, 11 of the answer are at places 3, 4 and 5."""
    prompt = np.array([1, 12, 2, 11, 12, 11, 3])
    steps = [  # token, and the place that each of five heads looks at
        (11, [3, 3, 5, 1, 7]),
        (12, [4, 3, 4, 1, 8]),
        (11, [5, 3, 5, 3, 3]),
    ]
    top_keys = np.array([[places] for _, places in steps])
    written = np.array([token for token, _ in steps])
    scores = retrieval_scores(top_keys, written, prompt, (3, 6))
    assert scores[0] == pytest.approx([1, 1 / 3, 2 / 3, 1 / 3, 1 / 3])


def test_recall_counts_each_word_as_often_as_it_stands_in_the_answer():
    assert unigram_recall("the cat and the dog", "The cat!") == pytest.approx(2 / 5)
    assert unigram_recall("the cat and the dog", "the, the; the") == pytest.approx(2 / 5)
    assert unigram_recall("red owl", "") == 0


def test_heads_are_disabled_that_other_needles_chose_and_random_ones_are_others():
    """Needles 0 and 2 score head 1-2; needles 1 and 3 score heads 2-1 and, less, 2-2."""
    scores = np.zeros((4, 2, 2), np.float32)
    scores[[0, 2], 0, 1] = 1.0
    scores[[1, 3], 1, 0], scores[[1, 3], 1, 1] = 0.8, 0.4
    how: dict[str, Any] = {
        "shape": Shape(2, 2, 8, (0, 3)),  # a hybrid model: attention in layers 1 and 4
        "counts": (1, 2),
        "draws": 2,
        "seed": 0,
    }
    needles = np.arange(4)
    everything = np.ones(4, np.bool_)
    even = choose_heads(scores, needles, everything, 0, **how)
    odd = choose_heads(scores, needles, everything, 1, **how)
    assert even is not None
    assert odd is not None
    assert even[:2] == [(), (Head(3, 0),)]
    assert even[4] == (Head(3, 0), Head(3, 1))
    assert odd[1] == odd[4] == (Head(0, 1),)  # no other head scored anything
    for found, top in ((even, {Head(3, 0), Head(3, 1)}), (odd, {Head(0, 1)})):
        assert [len(one) for one in found[2:4]] == [1, 1]
        assert all(not top & set(one) for one in (*found[2:4], *found[5:]))
    nothing = choose_heads(scores, needles, needles % 2 == 0, 0, **how)
    assert nothing is None  # no needle of the other half was recovered


def test_models_that_write_no_answers_are_refused():
    refused = {
        "is not a decoder-only language model": tiny_model("bert"),
        "was loaded without a language-model head": tiny_model("llama"),
        "keeps no cache of keys and values": language_model("gpt"),
    }
    for message, model in refused.items():
        with pytest.raises(ModelError, match=message):
            hs.retrieval(model, TEXTS)
    with pytest.raises(ModelError, match="retrieval heads copy an answer"):
        hs.retrieval(tiny_model("t5"), TEXTS)


def test_contexts_and_texts_that_are_too_short_are_refused():
    model = language_model("gpt2")
    with pytest.raises(UserError, match="leaves no room for 16 tokens of other text"):
        hs.retrieval(model, TEXTS, lengths=[40], needles=[NEEDLE])
    with pytest.raises(UserError, match="takes 64, with 50 for the answer"):
        hs.retrieval(language_model("llama", positions=64), TEXTS)
    with pytest.raises(CorpusError, match="and the longest context needs"):
        hs.retrieval(model, TEXTS[:2], lengths=[400], needles=[NEEDLE])
    with pytest.raises(ModelError, match="has no chat template"):
        hs.retrieval(model, TEXTS, lengths=[300], chat=True)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"lengths": []}, "at least one length must be given"),
        ({"lengths": [0]}, "the length in tokens must be 1 or more, got 0"),
        ({"depths": [1.5]}, "the depth must be 0 to 1, got 1.5"),
        ({"masked": [0]}, "the number of disabled heads must be 1 or more, got 0"),
        ({"draws": 0}, "the number of draws must be 1 or more, got 0"),
        ({"way": "mean"}, "the way to disable a head must be one of uniform, zero"),
    ],
)
def test_options_without_sense_are_refused_before_a_model_is_loaded(option, message):
    with pytest.raises(UserError, match=message):
        hs.retrieval("no such model", **option)
