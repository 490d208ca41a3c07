"""A corpus as a whole: limits, checksums, names and annotations."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter

import pytest

from headscope import corpus
from headscope.corpus import (
    ROOT,
    Corpus,
    Example,
    FrameLink,
    Mention,
    Word,
    bucket_of,
    from_examples,
    read,
)
from headscope.corpus.corpus import shuffled_words
from headscope.errors import CorpusError
from headscope.runs.examples import sentences
from headscope.tasks.make import make_tasks
from refusals import refusal
from written import texts_of, written

# --- corpus ---

MENTION, LINK = Mention(0, 0, 0, "1"), FrameLink("Noise", "Source", (1, 1), (0, 0))
WORDS = (Word("Dogs", head=1, upos="NOUN"), Word("bark", head=-1, upos="VERB"))


@pytest.fixture
def five(tmp_path):
    path = written(tmp_path / "five.tsv", "".join(f"text {number}\n" for number in range(1, 6)))
    return path


@pytest.mark.parametrize(("limit", "count"), [(1, 1), (3, 3), (5, 5), (9, 5), (None, 5)])
def test_a_limit_cuts_a_corpus_to_its_first_examples(five, limit, count):
    for cut in (corpus.read(five, limit=limit), corpus.read(five).first(limit)):
        for _ in range(2):  # it can be walked over again and again
            assert texts_of(cut) == [(f"text {number}",) for number in range(1, count + 1)]


def test_the_first_examples_of_a_limited_corpus_stay_within_its_limit(five):
    cut = corpus.read(five, limit=2)
    assert [len(list(cut.first(count))) for count in (1, 2, 4, None)] == [1, 2, 2, 2]


def test_a_limit_reads_no_further_than_it_needs(tmp_path):
    path = written(tmp_path / "a.jsonl", '{"text": "x"}\nnot JSON\n')
    assert len(list(corpus.read(path, limit=1))) == 1


def test_a_given_format_overrides_the_ending(tmp_path):
    path = written(tmp_path / "a.txt", "One.\tTwo.\n\nThree.\tFour.\n")
    plain, table = corpus.read(path), corpus.read(path, format="tsv")
    assert (plain.format, texts_of(plain)) == ("text", [("One.\tTwo.", "Three.\tFour.")])
    assert (table.format, texts_of(table)) == ("tsv", [("One.", "Two."), ("Three.", "Four.")])


def test_the_checksum_is_that_of_the_files_bytes(five, tmp_path):
    read = corpus.read(five, limit=1)
    assert read.checksum == corpus.read(str(five)).checksum
    assert read.checksum == hashlib.sha256(five.read_bytes()).hexdigest()
    assert read.name == str(five)
    path = tmp_path / "long.txt"  # longer than one read
    path.write_bytes(b"word " * math.ceil(2.5 * (1 << 20) / 5))
    assert corpus.read(path).checksum == hashlib.sha256(path.read_bytes()).hexdigest()


def test_texts_in_memory_are_numbered_and_pairs_stay_pairs():
    read = corpus.from_texts(["A dog.", ("Who?", "Me."), ["So", "what"]], name="mine")
    assert (read.name, list(read)) == (
        "mine",
        [Example("1", ("A dog.",)), Example("2", ("Who?", "Me.")), Example("3", ("So", "what"))],
    )


@pytest.mark.parametrize(
    ("example", "offered"),
    [
        (Example("1", ("a",)), set()),
        (Example("1", ("a", "b")), {"pair"}),
        (Example("1", ("Dogs",), (Word("Dogs"),)), {"words"}),
        (Example("1", ("Dogs",), (Word("Dogs", head=-1),)), {"words", "tree"}),
        (Example("1", ("Dogs bark",), WORDS), {"words", "tree", "tags"}),
        (Example("1", ("Dogs bark",), WORDS, (MENTION,)), {"words", "tree", "tags", "mentions"}),
        (Example("1", ("Dogs bark",), WORDS, (), (LINK,)), {"words", "tree", "tags", "frames"}),
    ],
)
def test_an_example_offers_what_it_has(example, offered):
    assert example.annotations == offered
    assert corpus.from_examples([Example("0", ("x",)), example]).annotations == offered


def test_examples_are_equal_wherever_they_were_read():
    assert Example("1", ("a",), source="x, line 1") == Example("1", ("a",), source="y, line 2")


# --- preview ---


@pytest.mark.parametrize(
    ("texts", "shown"),
    [
        ([("The dog.", "It is.")] * 1204, 'read 1,204 pairs; first: "The dog." | "It is."'),
        (["A dog."], 'read 1 text; first: "A dog."'),
        ([("a", "b"), "c", "d"], 'read 3 examples (2 texts and 1 pair); first: "a" | "b"'),
        (["word " * 100], f'read 1 text; first: "{"word " * 11}…"'),
        (["x" * 100], f'read 1 text; first: "{"x" * 59}…"'),
    ],
)
def test_texts_and_pairs_are_counted_and_the_first_is_shown_up_to_a_length(texts, shown):
    assert corpus.read(texts).preview() == shown
    assert corpus.read([*texts, "more"], limit=len(texts)).preview() == shown


def test_a_label_is_shown(tmp_path):
    path = written(tmp_path / "a.tsv", "text\tlabel\nFine.\tgood\n")
    assert corpus.read(path).preview() == 'read 1 text; first: "Fine." (label: good)'


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\tb\nc\r", "a\\tb\\nc\\r"),
        ("\x1b[31mred\x07", "\\x1b[31mred\\x07"),
        ("left\u202eright", "left\\u202eright"),
        ("café 🙂", "café 🙂"),
    ],
)
def test_control_characters_are_escaped(text, shown):
    assert corpus.read([text]).preview() == f'read 1 text; first: "{shown}"'


def test_nothing_is_parsed_for_it(tmp_path, monkeypatch):
    monkeypatch.setattr("headscope.corpus.spacy.load_parser", lambda name="": pytest.fail("parsed"))
    read = corpus.read(["A dog barks."], parse=True)
    assert read.preview() == 'read 1 text; first: "A dog barks."'


def test_a_corpus_without_examples_has_a_preview_too():
    assert Corpus("x", "memory", lambda: iter([]), str).preview() == "read nothing"


def test_a_corpus_shows_where_it_comes_from():
    read = Corpus("a.tsv", "tsv", lambda: iter([Example("1", ("a",))]), str)
    assert repr(read) == "Corpus('a.tsv', format='tsv')"
    assert repr(read.first(3)) == "Corpus('a.tsv', format='tsv', limit=3)"


# --- shuffled ---

TEXTS = [
    "the old dog saw the cat , and it ran .",
    ("who saw the dog ?", "nobody but the old cat saw it"),
    "one",
    "",
    "  two  words\there\n",
]


def annotated() -> Corpus:
    words = tuple(
        Word(
            *(text, segment, 0, 6 * segment - 1 + place if place else ROOT),
            *(f"{segment}-{place}", text, text, text, text),
        )
        for segment, sentence in enumerate(("a b c d e f", "u v w x y z"))
        for place, text in enumerate(sentence.split())
    )
    joined = (Mention(0, 0, 0, "e"),), (FrameLink("f", "e", (0, 0), (1, 1)),)
    example = Example("1", ("a b c d e f", "u v w x y z"), words, *joined, group="doc")
    return Corpus("made", "made", lambda: iter([example] * 3), lambda: "0")


def test_every_text_keeps_the_multiset_of_its_words():
    plain = read(TEXTS)
    for old, new in zip(plain, shuffled_words(plain, seed=3), strict=True):
        for before, after in zip(old.texts, new.texts, strict=True):
            assert Counter(before.split()) == Counter(after.split())


def test_white_space_stays_where_it_is():
    last = list(shuffled_words(read(TEXTS), seed=0))[-1].texts[0]
    assert sorted(last.split()) == ["here", "two", "words"]
    assert "".join(" " if one.isspace() else "x" for one in last).startswith("  x")
    assert last.endswith("\n")


def test_the_words_of_a_pair_stay_in_their_text():
    for example in shuffled_words(annotated(), seed=1):
        assert [sorted(text.split()) for text in example.texts] == [[*"abcdef"], [*"uvwxyz"]]
        assert [word.text for word in example.words] == " ".join(example.texts).split()
        assert [word.segment for word in example.words] == [0] * 6 + [1] * 6


def test_what_joins_positions_stays_and_what_belongs_to_a_word_moves_with_it():
    corpus = annotated()
    for old, new in zip(corpus, shuffled_words(corpus, seed=1), strict=True):
        assert new.annotations == old.annotations
        assert (new.mentions, new.links) == (old.mentions, old.links)
        expected = [(word.head, word.relation) for word in old.words]
        assert [(word.head, word.relation) for word in new.words] == expected
        assert [word.text for word in new.words] != [word.text for word in old.words]
        for word in new.words:  # each word was made with its own text as tag, lemma and feature
            assert {word.upos, word.xpos, word.lemma, word.feats} == {word.text}


def test_words_stay_in_their_sentence():
    words = tuple(
        Word(f"{sentence}-{place}", sentence=sentence) for sentence in range(4) for place in "abcde"
    )
    example = Example("1", (" ".join(word.text for word in words),), words)
    (mixed,) = shuffled_words(from_examples([example], name="made"), seed=0)
    assert [word.sentence for word in mixed.words] == [word.sentence for word in words]
    assert [word.text[0] for word in mixed.words] == [word.text[0] for word in words]
    orders = [[word.text[2] for word in mixed.words[begin : begin + 5]] for begin in (0, 5, 10, 15)]
    assert all(sorted(order) == list("abcde") for order in orders)
    assert len({tuple(order) for order in orders}) > 1


def test_the_seed_decides_and_examples_differ():
    def texts(seed):
        return texts_of(shuffled_words(annotated(), seed=seed))

    assert texts(1) == texts(1)
    assert texts(1) != texts(2)
    assert len(set(texts(1))) == 3  # the same words thrice, in three orders


def test_checksum_and_notes_name_the_seed():
    corpus = annotated()
    sums = {corpus.checksum, *(shuffled_words(corpus, seed=seed).checksum for seed in (1, 2))}
    assert len(sums) == 3
    assert shuffled_words(corpus, seed=2).notes[-1].endswith("seed 2")


def test_documents_stay_in_their_buckets():
    for texts in (read(TEXTS), annotated()):
        pairs = zip(texts, shuffled_words(texts, seed=5), strict=True)
        assert all(bucket_of(old) == bucket_of(new) for old, new in pairs)


def test_a_limit_cuts_the_shuffled_corpus_too():
    cut = shuffled_words(read(TEXTS).first(2), seed=0)
    assert texts_of(cut) == texts_of(shuffled_words(read(TEXTS), seed=0))[:2]


# --- group ---

ROW = "1\t{0}\t_\tX\t_\t_\t0\troot\t_\t_\n\n"
COREF = "{doc}\t0\t0\t{0}\tNN\t*\t-\t-\t-\t-\t*\t-\n"


def remainder(text, buckets):
    """SHA-256 of a text as a number, modulo the number of buckets, by hexadecimal digits."""
    return int(hashlib.sha256(text.encode("utf-8")).hexdigest(), 16) % buckets


def groups(path, text, **options):
    path.write_text(text, encoding="utf-8")
    return [example.group for example in corpus.read(path, **options)]


@pytest.mark.parametrize("buckets", [1, 2, 3, 32, 1000])
@pytest.mark.parametrize("group", ["news-1", "Ä/ü 3", "0"])
def test_a_bucket_is_the_sha256_of_the_group_modulo_their_number(group, buckets):
    example = Example("1", ("A dog.",), group=group)
    assert bucket_of(example, buckets) == remainder(group, buckets)


@pytest.mark.parametrize("texts", [("A dog.",), ("Who?", "Élan."), ("",)])
def test_without_a_group_the_bucket_comes_from_the_id_and_the_texts(texts):
    example = Example("7", texts, label="yes", source="a.tsv, line 7")
    assert bucket_of(example) == remainder("\0".join(["7", *texts]), 32)


@pytest.mark.parametrize("buckets", [0, -1])
def test_a_number_of_buckets_below_one_is_refused(buckets):
    message = f"the number of buckets must be 1 or more, got {buckets} instead"
    assert str(refusal(CorpusError, bucket_of, Example("1", ("a",)), buckets)) == message


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("# newdoc id = first\n", "# newdoc id = second\n", ["first", "first", "second"]),
        ("# newdoc\n", "# newdoc\n", ["ewt-1", "ewt-1", "ewt-2"]),
        ("", "", ["", "", ""]),
    ],
)
def test_sentences_of_a_treebank_belong_to_their_document(tmp_path, first, second, expected):
    text = first + ROW.format("A") + ROW.format("B") + second + ROW.format("C")
    path = tmp_path / "ewt.dev.conllu"
    assert groups(path, text) == expected
    if "id" in first:
        assert groups(path, text, documents=True) == ["first", "second"]


def test_documents_with_coreference_are_groups_of_their_own(tmp_path):
    lines = [
        json.dumps({"doc": name, "sentences": [["Ann", "left"]], "mentions": []})
        for name in ("d1", "d2")
    ]
    assert groups(tmp_path / "a.jsonl", "\n".join(lines)) == ["d1", "d2"]


def test_the_parts_of_a_conll_2012_document_share_its_group(tmp_path):
    text = "".join(
        f"#begin document ({name}); part {part}\n{COREF.format('Dogs', doc=name)}\n#end document\n"
        for name, part in (("bn/cnn", "000"), ("bn/cnn", "001"), ("bn/abc", "000"))
    )
    assert groups(tmp_path / "a.v4_gold_conll", text) == ["bn/cnn", "bn/cnn", "bn/abc"]


@pytest.mark.parametrize("name", ["group", "document", "paragraph", "doc_id"])
def test_a_column_of_a_table_names_the_group(tmp_path, name):
    table = f"text\t{name}\nA dog.\t d1 \nA cat.\t\n"
    assert groups(tmp_path / "a.tsv", table) == ["d1", ""]
    lines = [json.dumps({"text": "A dog.", name: 7}), json.dumps({"text": "x", name: None})]
    assert groups(tmp_path / "a.jsonl", "\n".join(lines)) == ["7", ""]


def test_a_column_that_holds_a_text_is_not_the_group(tmp_path):
    assert groups(tmp_path / "a.tsv", "document\nA dog.\n", columns=["document"]) == [""]
    assert groups(tmp_path / "a.jsonl", '{"document": "A dog."}', columns=["document"]) == [""]


def test_frame_links_keep_the_group_of_their_line(tmp_path):
    links = {"target": [16, 24], "links": [{"start": 0, "end": 2}]}
    record = {"sentence": "He was becoming agitated .", "document": "d3"} | links
    assert groups(tmp_path / "a.jsonl", json.dumps(record)) == ["d3"]


def test_plain_text_and_texts_in_memory_have_no_group(tmp_path):
    assert groups(tmp_path / "a.txt", "One.\n\nTwo.\n\nThree.") == ["", ""]
    found = [example.group for example in corpus.from_texts(["One.", ("Two.", "Three.")])]
    assert found == [""] * 2


def test_a_built_in_passage_is_a_group_and_its_sentences_keep_it():
    passages = list(corpus.read("demo", limit=3))
    assert [passage.group for passage in passages] == [passage.id for passage in passages]
    cut = list(sentences(passages))
    assert len(cut) > len(passages)
    assert {example.group for example in cut} == {passage.id for passage in passages}
    assert all(example.id.startswith(f"{example.group}-") for example in cut)


def test_probing_tasks_keep_the_groups_of_their_sentences():
    (task,) = make_tasks(corpus.read("demo"), tasks=["Tense"], size=100)
    examples = [example for split in task.splits.values() for example in split]
    assert len(examples) > 50
    assert all(example.id.rsplit("-", 1)[0] == example.group for example in examples)


def test_parsing_keeps_the_group(tmp_path, monkeypatch):
    pytest.importorskip("spacy")
    monkeypatch.setenv("HEADSCOPE_CACHE", str(tmp_path / "cache"))
    table = "text\tgroup\nA dog barks.\td1\n"
    assert groups(tmp_path / "a.tsv", table, parse=True) == ["d1"]
    assert groups(tmp_path / "a.tsv", table, parse=True) == ["d1"]  # from the cache
