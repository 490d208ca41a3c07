"""A survey with null models: what each of them is, how it is stored, resumed and merged."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import headscope as hs
from headscope.corpus import ROOT, Corpus, Example, Word, from_examples
from headscope.corpus.corpus import shuffled_words
from headscope.errors import Interrupted, UserError
from headscope.models.loading import random_init
from headscope.results.merge import NULL_WORDS
from planted import place, planted_bert
from tiny import tiny_model

TEXTS = [f"the {a} {b} sat on the {c} mat ." for a in "abc" for b in "defg" for c in "hi"]
MEASURES = ["position", "entropy"]
DETERMINER = {"direction": "dependent to head", "relation": "det", "words": "every"}

NULLS = tuple(NULL_WORDS)


def survey(model: Any, texts: Any = TEXTS, **options: Any) -> hs.Atlas:
    """A survey of few tokens, as tiny models take them."""
    return hs.survey(model, texts, **{"measures": MEASURES, "max_length": 32, **options})


def treebank() -> Corpus:
    """Texts of three words, a subject and its verb among them."""
    words = (Word("the", head=1, relation="det"), Word("cat", head=2, relation="nsubj"))
    words = (*words, Word("sat", head=ROOT, relation="root"))
    examples = [Example(str(number), ("the cat sat",), words) for number in range(6)]
    return from_examples(examples, name="treebank")


def means(atlas: hs.Atlas) -> dict[str, Any]:
    return {name: atlas.mean(name).values for name in atlas}


def assert_same(one: hs.Atlas, two: hs.Atlas) -> None:
    assert one.measures == two.measures
    for name, values in means(one).items():
        np.testing.assert_array_equal(values, two.mean(name).values)


def test_each_null_is_the_survey_of_that_model_or_corpus():
    model = tiny_model("bert")
    atlas = survey(model, seed=4, null=NULLS)
    assert list(atlas.nulls) == list(NULLS)
    assert_same(atlas, survey(model, seed=4))
    random = random_init(model, seed=4, keep_embeddings=False)
    assert_same(atlas.nulls[NULLS[0]], survey(random, seed=4))
    kept = random_init(model, seed=4)
    assert_same(atlas.nulls[NULLS[1]], survey(kept, seed=4))
    shuffled = shuffled_words(hs.read(TEXTS), seed=4)
    assert_same(atlas.nulls[NULLS[2]], survey(model, shuffled, seed=4))
    weights = [one.provenance["model"]["weights"] for one in (atlas, *atlas.nulls.values())]
    assert len(set(weights)) == 3
    assert weights[0] == weights[3]


def test_nulls_are_saved_with_the_survey_and_are_no_measures(tmp_path):
    path = tmp_path / "a.nc"
    made = survey(tiny_model("bert"), null=NULLS[2], output=path)
    opened = hs.Atlas.open(path)
    assert opened.measures == ("position", "entropy")
    assert_same(opened.nulls[NULLS[2]], made.nulls[NULLS[2]])
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a.nc"]


def test_every_measure_is_made_of_every_null_model_without_single_scores():
    asked = ["position", "dependency", hs.Role(["nsubj"])]
    atlas = survey(tiny_model("bert"), treebank(), measures=asked, null=[NULLS[2], NULLS[0]])
    assert list(atlas["role"]["role"].values) == ["nsubj"]
    for null in atlas.nulls.values():
        assert null.measures == atlas.measures
        assert list(null["role"]["role"].values) == ["nsubj"]
        assert "value" not in null["role"]


def test_on_shuffled_words_position_keeps_a_relation_and_content_loses_it():
    """The planted head "next" finds the dog after its determiner by place, "word" by its word."""
    tree = [(1, "det"), (2, "nsubj"), (ROOT, "root"), (2, "obj"), (2, "punct")]
    words = tuple(
        Word(text, head=head, relation=relation)
        for text, (head, relation) in zip(["the", "dog", "saw", "it", "."], tree, strict=True)
    )
    examples = [Example(str(number), ("the dog saw it .",), words) for number in range(40)]
    corpus = from_examples(examples, name="dogs")
    atlas = survey(planted_bert(), corpus, measures="dependency", null=NULLS[2], max_length=24)
    found = {
        name: [
            float(one.mean("dependency").sel(**place(name), **DETERMINER))
            for one in (atlas, atlas.nulls[NULLS[2]])
        ]
        for name in ("next", "word")
    }
    assert found["next"] == [1.0, 1.0]
    assert found["word"][0] == 1.0
    assert found["word"][1] < 0.6  # the dog stays in its place by chance alone


def test_shards_with_nulls_merge_to_the_whole():
    model = tiny_model("gpt2")
    options: dict[str, Any] = {"batch_size": 1, "null": NULLS[1:]}
    shards = [survey(model, shard=(number, 2), **options) for number in (1, 2)]
    merged, whole = hs.merge(shards), survey(model, **options)
    assert list(merged.nulls) == list(NULLS[1:])
    for name in NULLS[1:]:
        assert_same(merged.nulls[name], whole.nulls[name])
    plain = survey(model, batch_size=1, shard=(2, 2))
    with pytest.raises(UserError, match="they differ in nulls: "):
        hs.merge([shards[0], plain])


def test_a_stopped_run_resumes_with_the_null_that_was_in_work(tmp_path):
    model, path = tiny_model("gpt2"), tmp_path / "a.nc"
    options: dict[str, Any] = {"batch_size": 1, "null": NULLS[:1]}
    calls = []

    def stop(done: int, total: int) -> None:
        calls.append(done)
        if len(calls) > len(TEXTS) + 5:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted, match=r"002-random-weights\.nc\.partial"):
        survey(model, output=path, every=0, progress=stop, **options)
    assert (tmp_path / "a.nc.parts" / "001-survey.nc").exists()
    assert not path.exists()
    again: list[int] = []
    resumed = survey(
        model, output=path, every=0, progress=lambda done, _: again.append(done), **options
    )
    assert min(again) > 1  # neither the survey nor the beginning of the null is done again
    assert_same(resumed.nulls[NULLS[0]], survey(model, **options).nulls[NULLS[0]])
    assert not (tmp_path / "a.nc.parts").exists()


def test_a_finished_run_is_opened_and_another_seed_is_another_run(tmp_path):
    model, path = tiny_model("gpt2"), tmp_path / "a.nc"
    calls: list[int] = []

    def run(seed: int, **options: Any) -> int:
        progress = lambda done, _: calls.append(done)  # noqa: E731
        survey(model, seed=seed, null=NULLS[0], output=path, progress=progress, **options)
        return len(calls)

    first = run(0)
    assert run(0) == first
    with pytest.raises(UserError, match="another run: seed: 0 there, 1 here"):
        run(1)
    assert run(1, overwrite=True) == 2 * first
    with pytest.raises(UserError, match="another run: parts"):  # without the null model
        survey(model, seed=1, output=path)


def test_an_unknown_null_model_is_named_with_those_there_are():
    with pytest.raises(UserError, match=r"null model must be one of .*got 'random-weight' instead"):
        hs.survey("demo", TEXTS, null="random-weight")


@pytest.mark.parametrize("name", ["null", "track"])
def test_a_measure_cannot_have_the_name_of_a_group(name):
    made = type("Own", (hs.Entropy,), {"name": name})
    with pytest.raises(UserError, match=f"a measure cannot be called '{name}'"):
        survey(tiny_model("bert"), measures=[made])
