"""Which texts are kept, what is known of them, and when none are kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from headscope.corpus import ROOT, Example, Word, from_examples, from_texts, read
from headscope.errors import UserError
from headscope.results import Atlas
from headscope.results.kept import NO_HEAD
from headscope.runs.survey import compare, survey
from planted import planted_bert
from runs.test_survey import broken_bert
from tiny import tiny_model

HOW: dict[str, Any] = {"measures": "position", "max_length": 24, "batch_size": 2}
HOSTILE = [
    "<script>alert(1)</script> </script><!--",
    "nul \x00 bell \x07 escape \x1b[31m red",
    "right-to-left \u202e mark, zero\u200bwidth, \ufeff bom",
    "emoji \U0001f600 and \u0301combining",
    "w" * 10_000 + " end",
    "quotes \" ' \\ \n new line \u2028 separator",
]


def words(*given: tuple[str, int, str]) -> tuple[Word, ...]:
    return tuple(Word(text, head=head, relation=relation) for text, head, relation in given)


def test_tokens_words_and_tree_are_kept():
    tree = words(("the", 1, "det"), ("dog", 2, "nsubj"), ("barks", ROOT, "root"), (".", 2, "punct"))
    example = Example("s1", ("the dog barks .",), tree, group="doc")
    (text,) = survey(planted_bert(), from_examples([example]), **HOW).kept.texts
    assert (text.number, text.part, text.id, text.group, text.length) == (1, 0, "s1", "doc", 7)
    assert text.tokens == ("[CLS]", "the", "dog", "bark", "s", ".", "[SEP]")
    assert text.unit == (-1, 0, 1, 2, 2, 3, -1)
    assert text.words == ("the", "dog", "barks", ".")
    assert text.special == (True, False, False, False, False, False, True)
    assert text.sink == (True, False, False, False, False, True, True)
    assert text.head == (1, 2, -1, 2)
    assert text.relation == ("det", "nsubj", "root", "punct")
    assert str(text) == "the dog barks ."


def test_words_without_a_tree_have_no_heads():
    plain, known = (
        survey(planted_bert(), corpus, **HOW).kept.texts[0]
        for corpus in (
            from_texts(["the dog, it barks"]),
            from_examples([Example("1", ("the dog",), (Word("the"), Word("dog")))]),
        )
    )
    assert plain.words == ("the", "dog", ",", "it", "barks")
    assert plain.head == (NO_HEAD,) * 5
    assert plain.relation == ("",) * 5
    assert known.head == (NO_HEAD,) * 2


def test_pieces_of_a_word_share_it_and_print_as_one():
    model = tiny_model("bert")
    (text,) = survey(model, from_texts(["unhappiest players"]), **HOW).kept.texts
    assert len(text.tokens) > 4
    assert sorted(set(text.unit)) == [-1, 0, 1]
    assert str(text) == "unhappiest players"


def test_a_head_beyond_the_window_is_not_known_and_parts_are_numbered():
    count = 30
    tree = words(*((f"{'dog' if i % 2 else 'cat'}", count - 1, "dep") for i in range(count - 1)))
    tree += (Word("sat", head=ROOT, relation="root"),)
    example = Example("long", (" ".join(word.text for word in tree),), tree)
    how = HOW | {"max_length": 12}
    (cut,) = survey(planted_bert(), from_examples([example]), **how).kept.texts
    assert set(cut.head) == {NO_HEAD}
    assert (cut.length, len(cut.words)) == (12, 10)
    parts = survey(planted_bert(), from_examples([example, example]), long="split", **how).kept
    assert [(text.number, text.part) for text in parts.texts] == [
        (number, part) for number in (1, 2) for part in range(3)
    ]
    assert parts.texts[2].head[-1] == ROOT
    assert parts.texts[2].head[:-1] == (9,) * 9
    assert [word for text in parts.texts[:3] for word in text.words] == [one.text for one in tree]


def test_special_tokens_have_the_names_that_the_model_gives_them():
    (text,) = survey(tiny_model("llama"), from_texts(["the cat"]), **HOW).kept.texts
    assert text.tokens[0] == "<s>"
    assert text.special[0]


def test_hostile_text_survives_save_and_open(tmp_path):
    model = tiny_model("gpt2")
    corpus = from_texts(HOSTILE)
    atlas = survey(model, corpus, measures="position", max_length=60)
    opened = Atlas.open(atlas.save(tmp_path / "run.nc"))
    assert opened.kept.texts == atlas.kept.texts
    assert len(opened.kept.texts) == len(HOSTILE)
    shown = {text.number: "".join(text.tokens) for text in opened.kept.texts}
    assert "<script>" in shown[1]
    assert "\x00" in shown[2]
    assert "\u202e" in shown[3]
    assert max(len(word) for text in opened.kept.texts for word in text.words) == 256
    for number in (1, 2, 3, 4):
        table = opened.examples(f"1-{number}")
        assert "\x1b" not in repr(table)
        assert "<script>" not in table._repr_html_()


def test_a_pair_keeps_both_texts():
    corpus = from_texts([("the dog sat", "the cat")])
    (text,) = survey(planted_bert(), corpus, **HOW).kept.texts
    assert text.words == ("the", "dog", "sat", "the", "cat")
    found = [token for token, special in zip(text.tokens, text.special, strict=True) if special]
    assert found == ["[CLS]", "[SEP]", "[SEP]"]


def test_examples_whose_attention_is_not_finite_are_never_kept():
    texts = ["a dog", "who sat", "the cat sat.", "it barks!", "the old dog", "a cat"]
    kept = survey(broken_bert(), from_texts(texts), examples=4, **HOW).kept
    assert {text.id for text in kept.texts} == {"1", "3", "4", "6"}
    alone = survey(
        broken_bert(), from_texts([texts[place] for place in (0, 2, 3, 5)]), examples=4, **HOW
    ).kept
    for layer in (1, 2):
        for head in (1, 2, 3, 4):
            mine, theirs = (one.strongest(f"{layer}-{head}") for one in (kept, alone))
            np.testing.assert_allclose(
                [one.score for one in mine], [one.score for one in theirs], atol=1e-6
            )


def test_a_corpus_that_gives_nothing_keeps_nothing(tmp_path):
    atlas = survey(
        planted_bert(),
        from_texts(["the dog sat on the mat"] * 3),
        long="drop",
        **(HOW | {"max_length": 5}),
    )
    for results in (atlas, Atlas.open(atlas.save(tmp_path / "none.nc"))):
        kept = results.kept
        assert len(kept) == 0
        assert kept.texts == ()
        assert kept.strongest("1-1") == kept.sample("2-2") == []
        assert np.isnan(kept.histogram("1-1")[1]).all()
        assert len(results.examples("1-1")) == 0


def test_fewer_examples_than_are_asked_for_are_all_kept():
    kept = survey(planted_bert(), from_texts(["a dog", "the cat sat"]), **HOW).kept
    assert len(kept.sample("1-1")) == len(kept.strongest("1-1")) == len(kept) == 2


def test_examples_can_be_switched_off_and_the_results_say_so(tmp_path):
    atlas = survey(planted_bert(), from_texts(["my secret"]), examples=0, **HOW)
    assert atlas.provenance["examples"] == {"kept": 0, "why": "switched off"}
    path = atlas.save(tmp_path / "private.nc")
    assert b"secret" not in path.read_bytes()
    for ask in (lambda: atlas.kept, lambda: atlas.examples("1-1")):
        with pytest.raises(UserError, match=r"hold no examples \(switched off\)") as caught:
            ask()
        assert "examples=32" in caught.value.hint
        assert "--examples 32" in caught.value.command
        assert "headscope examples" in caught.value.command


def test_runs_that_keep_none_say_why():
    pair = [("the cat sat", "a dog")]
    cross = survey(tiny_model("t5"), from_texts(pair), stack="cross", max_length=24)
    assert cross.provenance["examples"]["kept"] == 0
    assert "cross attention" in cross.provenance["examples"]["why"]
    compared = compare(planted_bert(), planted_bert(), from_texts(["a dog"]), max_length=24)
    assert compared.provenance["examples"] == {"kept": 0, "why": "two models were compared"}


@pytest.mark.parametrize(
    ("given", "allowed"),
    [
        (-1, "0 to 1024"),
        (1025, "0 to 1024"),
        (3.5, "a whole number"),
        (True, "a whole number"),
        ("many", "a whole number"),
    ],
)
def test_the_number_of_examples_must_be_a_number(given, allowed):
    with pytest.raises(UserError) as caught:
        survey(planted_bert(), from_texts(["a dog"]), examples=given, **HOW)
    assert caught.value.message == (
        f"the number of examples to keep must be {allowed}, got {given!r} instead"
    )
    assert caught.value.hint == "e.g. examples=32, or 0 to keep none"


def test_a_measure_called_examples_is_refused_where_examples_are_kept():
    from headscope.measures import Position

    class Examples(Position):
        name = "examples"

    with pytest.raises(UserError, match="a measure cannot be called 'examples'"):
        survey(planted_bert(), from_texts(["a dog"]), **(HOW | {"measures": [Examples]}))


def test_texts_are_stored_once_for_all_heads():
    kept = survey(tiny_model("bert"), read("demo", limit=20), max_length=60).kept
    numbers = [text.number for text in kept.texts]
    assert numbers == sorted(set(numbers))
    assert len(numbers) <= 20


@pytest.mark.parametrize("kind", ["bert", "llama"])
def test_inputs_of_4096_tokens_keep_their_first_128(kind):
    model = tiny_model(kind, max_position_embeddings=4200)
    corpus = from_texts(["the cat sat on the mat while rain fell " * 600])
    atlas = survey(model, corpus, measures="position", max_length=4096, batch_size=1)
    (text,) = atlas.kept.texts
    assert (text.length, len(text.tokens)) == (4096, 128)
    (found,) = atlas.kept.strongest("1-1")
    assert found.dense().shape == (128, 128)
    # Attention is nearly even, so single heads may have no weight that is kept.
    heads = [f"{layer}-{head}" for layer in (1, 2) for head in range(1, 5)]
    keys = [int(key) for name in heads for one in atlas.kept.strongest(name) for key in one.keys]
    assert keys
    assert max(keys) < 128
