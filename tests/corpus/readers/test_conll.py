"""CoNLL-U and CoNLL-X: what is read, by hand and against the conllu library."""

import gzip

import conllu
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headscope import corpus
from headscope.corpus import ROOT, Word

VAMONOS = """\
# newdoc id = d1
# sent_id = es-1
# text = vámonos al mar = sí
# a comment without value
#tabbed\tcomment
1-2\tvámonos\t_\t_\t_\t_\t_\t_\t_\t_
1\tvamos\tir\tVERB\tV\tMood=Imp\t0\troot\t0:root\t_
2\tnos\tnosotros\tPRON\t_\t_\t1\tobj\t_\t_
3-4\tal\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
3\ta\ta\tADP\t_\t_\t5\tcase\t_\t_
4\tel\tel\tDET\t_\t_\t5\tdet\t_\t_
4.1\tgran\tgrande\tADJ\t_\t_\t_\t_\t5:amod\t_
5\tmar\tmar\tNOUN\t_\t_\t1\tobl\t_\t_

"""
DOG = "1\tDogs\t_\tN\tNNS\t_\t2\tnsubj\t_\t_\n2\tbark\t_\tV\tVBP\t_\t0\troot\t_\t_\n"


def read(tmp_path, text, name="a.conllu", **options):
    file = tmp_path / name
    file.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return list(corpus.read(file, **options))


def test_multi_word_tokens_and_empty_nodes_are_skipped_and_comments_keep_equals_signs(
    tmp_path,
):
    (example,) = read(tmp_path, VAMONOS)
    assert (example.id, example.texts, example.source) == (
        "es-1",
        ("vamos nos a el mar",),
        f"{tmp_path / 'a.conllu'}, line 7",
    )
    assert example.words == (
        Word("vamos", 0, 0, ROOT, "root", "VERB", "V", "ir", "Mood=Imp"),
        Word("nos", 0, 0, 0, "obj", "PRON", "", "nosotros"),
        Word("a", 0, 0, 4, "case", "ADP", "", "a"),
        Word("el", 0, 0, 4, "det", "DET", "", "el"),
        Word("mar", 0, 0, 0, "obl", "NOUN", "", "mar"),
    )


@pytest.mark.parametrize("name", ["a.conllu", "a.conllx", "a.conll", "a.conllu.gz", "a.conllx.gz"])
@pytest.mark.parametrize(
    "text",
    [
        VAMONOS + DOG,
        (VAMONOS + DOG + "\n").replace("\n", "\r\n"),
        "\ufeff\n\n" + VAMONOS + "\n\n# x\n\n" + DOG + "\n\n",
    ],
)
def test_blank_lines_line_ends_endings_and_gzip_change_nothing(tmp_path, name, text):
    found = read(tmp_path, text, name)
    assert [example.id for example in found] == ["es-1", "2"]
    assert found[1].words == (
        Word("Dogs", 0, 0, 1, "nsubj", "N", "NNS"),
        Word("bark", 0, 0, ROOT, "root", "V", "VBP"),
    )


def test_heads_that_are_not_given_are_none_and_offer_no_tree(tmp_path):
    text = "1\tDogs\t_\tN\t_\t_\t_\t_\t_\t_\n2\tbark\t_\tV\t_\t_\t_\t_\t_\t_\n"
    (example,) = read(tmp_path, text)
    assert [word.head for word in example.words] == [None, None]
    assert example.annotations == {"words", "tags"}


def test_a_zero_written_differently_is_still_the_root(tmp_path):
    assert read(tmp_path, DOG.replace("\t0\t", "\t00\t"))[0].words[1].head == ROOT


def test_a_word_may_contain_a_space_and_be_a_hash_or_an_underscore(tmp_path):
    text = "".join(
        f"{number}\t{form}\t_\tX\t_\t_\t{number - 1}\tdep\t_\t_\n"
        for number, form in enumerate(["10 000", "#", "_"], 1)
    )
    assert [word.text for word in read(tmp_path, text)[0].words] == ["10 000", "#", "_"]


def test_several_roots_and_crossing_arcs_are_allowed(tmp_path):
    heads = [3, 4, 0, 0]
    text = "".join(
        f"{number}\tw{number}\t_\tX\t_\t_\t{head}\tdep\t_\t_\n"
        for number, head in enumerate(heads, 1)
    )
    assert [word.head for word in read(tmp_path, text)[0].words] == [2, 3, ROOT, ROOT]


def as_library_reads(text):
    """Sentences by the conllu library: (sent_id, [(form, head, relation, upos, xpos, lemma)])."""
    found = []
    for number, sentence in enumerate(conllu.parse(text), 1):
        words = [token for token in sentence if isinstance(token["id"], int)]
        rows = [
            (token["form"], *(token[name] for name in ("head", "deprel", "upos", "xpos", "lemma")))
            for token in words
        ]
        found.append(
            (
                sentence.metadata.get("sent_id", str(number)),
                [
                    (form, head, *("" if cell in {None, "_"} else cell for cell in rest))
                    for form, head, *rest in rows
                ],
            )
        )
    return found


def as_we_read(examples):
    """The same from our examples, heads counted from 1."""
    found = []
    for example in examples:
        words = [
            (
                word.text,
                None if word.head is None else word.head + 1,
                word.relation,
                word.upos,
                word.xpos,
                word.lemma,
            )
            for word in example.words
        ]
        found.append((example.id, words))
    return found


FORM = st.text("abXé\u0301日本🙂\u200b.,-#=", min_size=1, max_size=6)
TAG = st.sampled_from(["_", "NOUN", "nmod:poss", "PRP$", ",", "``"])


@st.composite
def sentences(draw):
    """A valid sentence: a random tree, with comments, multi-word tokens and empty nodes."""
    order = draw(st.permutations(range(1, draw(st.integers(1, 6)) + 1)))
    heads = {word: draw(st.sampled_from([0, *order[:place]])) for place, word in enumerate(order)}
    comments = draw(
        st.lists(
            st.sampled_from(["# text = a = b", "# sent_id = x-1", "# newpar", "# note = 3 # 4"]),
            max_size=3,
        )
    )
    rows = list(comments)
    for word in sorted(order):
        if draw(st.booleans()) and word < len(order):
            rows.append(f"{word}-{word + 1}\t{draw(FORM)}" + "\t_" * 8)
        cells = [
            str(word),
            draw(FORM),
            draw(FORM),
            draw(TAG),
            draw(TAG),
            "_",
            str(heads[word]),
            draw(TAG),
            "_",
            draw(st.sampled_from(["_", "SpaceAfter=No"])),
        ]
        rows.append("\t".join(cells))
        if draw(st.booleans()):
            rows.append(f"{word}.1\t{draw(FORM)}" + "\t_" * 8)
    return "\n".join(rows)


@settings(deadline=None)
@given(st.lists(sentences(), min_size=1, max_size=4), st.sampled_from(["", "\n", "\n\n"]))
def test_any_valid_file_reads_as_the_conllu_library_reads_it(tmp_path_factory, made, end):
    text = "\n\n".join(made) + end
    file = tmp_path_factory.getbasetemp() / "made.conllu"
    file.write_bytes(text.encode())
    assert as_we_read(corpus.read(file)) == as_library_reads(text)


TREEBANKS = [
    "de_gsd-ud-dev.conllu",
    "en_ewt-ud-dev.conllu",
    "ja_gsd-ud-dev.conllu",
    "wsj_sample_stanford_dependencies.conllx",
]


@pytest.mark.shared
@pytest.mark.parametrize(
    "name", [*TREEBANKS, pytest.param("en_ewt-ud-train.conllu", marks=pytest.mark.slow)]
)
def test_the_treebanks_read_as_the_conllu_library_reads_them(shared, name):
    path = shared / "data" / "treebank" / f"{name}.gz"
    expected = as_library_reads(gzip.decompress(path.read_bytes()).decode())
    assert len(expected) > 500
    assert as_we_read(corpus.read(path)) == expected
