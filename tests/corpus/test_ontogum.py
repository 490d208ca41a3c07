"""OntoGUM, 108 real documents: its JSON lines and its CoNLL-U must give the same corpus."""

from collections import Counter

import pytest

from headscope import corpus
from written import written


@pytest.fixture(scope="module")
def from_json(shared):
    return list(corpus.read(shared / "data" / "coref" / "ontogum_free.jsonl.gz"))


@pytest.fixture(scope="module")
def from_conllu(shared):
    return list(
        corpus.read(shared / "data" / "coref" / "ontogum_free_conllu.tar.gz", documents=True)
    )


def places(example, *, heads=True):
    return sorted(
        (mention.start, mention.end, mention.entity, *([mention.head] if heads else []))
        for mention in example.mentions
    )


def kinds(example):
    return {
        (mention.start, mention.end, mention.entity): mention.kind for mention in example.mentions
    }


@pytest.mark.shared
def test_the_two_forms_of_ontogum_give_the_same_words_mentions_entities_and_heads(
    from_json, from_conllu
):
    assert [example.id for example in from_json] == [example.id for example in from_conllu]
    assert sum(len(example.mentions) for example in from_json) > 10_000
    for one, two in zip(from_json, from_conllu, strict=True):
        expected = [(word.text, word.sentence) for word in two.words]
        assert [(word.text, word.sentence) for word in one.words] == expected
        assert places(one) == places(two)


@pytest.mark.shared
def test_kinds_differ_only_where_a_proper_penn_tag_is_on_another_word(from_json, from_conllu):
    odd = []
    for one, two in zip(from_json, from_conllu, strict=True):
        other = kinds(two)
        odd += [
            two.words[mention.head]
            for mention in one.mentions
            if mention.kind != other[mention.start, mention.end, mention.entity]
        ]
    assert len(odd) < 20
    assert {(word.upos, word.xpos) for word in odd} == {("ADJ", "NNP"), ("VERB", "NNP")}


@pytest.mark.shared
def test_a_mention_that_is_alone_in_its_entity_is_kept(from_json):
    alone = [
        (example.id, entity)
        for example in from_json
        for entity, count in Counter(mention.entity for mention in example.mentions).items()
        if count == 1
    ]
    expected = [("GUM_interview_cocktail", "24")]
    assert alone == expected  # "cluster": "24" occurs once in its line of the file


def as_conll2012(example):
    """Words and mentions in CoNLL-2012 columns."""
    rows = [f"#begin document ({example.id}); part 000"]
    before = 0
    for place, word in enumerate(example.words):
        rows += [""] * (word.sentence - before)
        before = word.sentence
        opening = [f"({one.entity}" for one in example.mentions if one.start == place < one.end]
        single = [f"({one.entity})" for one in example.mentions if one.start == place == one.end]
        closing = [f"{one.entity})" for one in example.mentions if one.start < place == one.end]
        marks = "|".join([*closing, *single, *opening]) or "-"
        rows.append(f"{example.id} 0 0 {word.text} NN - - - - - - {marks}")
    return "\n".join([*rows, "", "#end document", ""])


@pytest.mark.shared
def test_ontogum_written_as_conll2012_reads_back_with_the_last_word_of_each_mention_as_its_head(
    from_json, tmp_path
):
    some = from_json[:25]
    path = written(
        tmp_path / "ontogum.v4_gold_conll", "\n".join(as_conll2012(example) for example in some)
    )
    again = list(corpus.read(path))
    assert [example.id for example in again] == [f"{example.id}_0" for example in some]
    for one, two in zip(some, again, strict=True):
        expected = [(word.text, word.sentence) for word in two.words]
        assert [(word.text, word.sentence) for word in one.words] == expected
        assert places(one, heads=False) == places(two, heads=False)
        assert all(mention.head == mention.end for mention in two.mentions)
