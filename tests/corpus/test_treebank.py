"""CoNLL-U and CoNLL-X: what is read, by hand and against the conllu library."""

import gzip

import conllu
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headscope import corpus
from headscope.corpus import ROOT, Word
from headscope.corpus import read as read_any
from headscope.corpus.treebank import bracket_examples, is_brackets, read_brackets
from headscope.errors import CorpusError
from refusals import refusal
from written import read_written, written

# --- conll ---

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


def test_multi_word_tokens_and_empty_nodes_are_skipped_and_comments_keep_equals_signs(tmp_path):
    (example,) = read_written(tmp_path / "a.conllu", VAMONOS)
    expected = ("es-1", ("vamos nos a el mar",), f"{tmp_path / 'a.conllu'}, line 7")
    assert (example.id, example.texts, example.source) == expected
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
    found = read_written(tmp_path / name, text)
    assert [example.id for example in found] == ["es-1", "2"]
    assert found[1].words == (
        Word("Dogs", 0, 0, 1, "nsubj", "N", "NNS"),
        Word("bark", 0, 0, ROOT, "root", "V", "VBP"),
    )


def test_heads_that_are_not_given_are_none_and_offer_no_tree(tmp_path):
    text = "1\tDogs\t_\tN\t_\t_\t_\t_\t_\t_\n2\tbark\t_\tV\t_\t_\t_\t_\t_\t_\n"
    (example,) = read_written(tmp_path / "a.conllu", text)
    assert [word.head for word in example.words] == [None, None]
    assert example.annotations == {"words", "tags"}


@pytest.mark.parametrize(
    ("forms", "heads"),
    [
        (("10 000", "#", "_"), ("0", "1", "2")),  # a word may have a space, be a hash or underscore
        (("a", "b", "c", "d"), ("3", "4", "0", "0")),  # several roots and crossing arcs
        (("a", "b"), ("00", "1")),
    ],
)
def test_unusual_words_and_trees_are_read(tmp_path, forms, heads):
    text = "".join(
        f"{number}\t{form}\t_\tX\t_\t_\t{head}\tdep\t_\t_\n"
        for number, (form, head) in enumerate(zip(forms, heads, strict=True), 1)
    )
    (example,) = read_written(tmp_path / "a.conllu", text)
    assert [word.text for word in example.words] == list(forms)
    assert [word.head for word in example.words] == [int(head) - 1 for head in heads]
    assert ROOT == -1


CELLS = ("head", "deprel", "upos", "xpos", "lemma")


def as_library_reads(text):
    """Sentences by the conllu library: (sent_id, [(form, head, relation, upos, xpos, lemma)])."""
    found = []
    for number, sentence in enumerate(conllu.parse(text), 1):
        words = [
            (token["form"], *(token[name] for name in CELLS))
            for token in sentence
            if isinstance(token["id"], int)
        ]
        rows = [
            (form, head, *("" if cell in {None, "_"} else cell for cell in rest))
            for form, head, *rest in words
        ]
        found.append((sentence.metadata.get("sent_id", str(number)), rows))
    return found


def as_we_read(examples):
    """The same from our examples, heads counted from 1."""

    def row(word):
        head = None if word.head is None else word.head + 1
        return (word.text, head, word.relation, word.upos, word.xpos, word.lemma)

    return [(example.id, [row(word) for word in example.words]) for example in examples]


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
        forms, tags = [draw(FORM), draw(FORM)], [draw(TAG), draw(TAG)]
        last = [draw(TAG), "_", draw(st.sampled_from(["_", "SpaceAfter=No"]))]
        rows.append("\t".join([str(word), *forms, *tags, "_", str(heads[word]), *last]))
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
    *(f"{name}-ud-dev.conllu" for name in ("de_gsd", "en_ewt", "ja_gsd")),
    "wsj_sample_stanford_dependencies.conllx",
]


@pytest.mark.shared
@pytest.mark.parametrize("name", TREEBANKS)
def test_the_treebanks_read_as_the_conllu_library_reads_them(shared, name):
    path = shared / "data" / "treebank" / f"{name}.gz"
    expected = as_library_reads(gzip.decompress(path.read_bytes()).decode())
    assert len(expected) > 500
    assert as_we_read(corpus.read(path)) == expected


# --- brackets ---

Tree = pytest.importorskip("nltk", reason="nltk is not installed").Tree
PENN = """\
( (S
    (NP-SBJ-1 (DT The) (NN dog))
    (VP (VBD was)
      (VP (VBN seen)
        (NP (-NONE- *-1) )))
    (. .) ))

( (SINV (`` ``)
    (S-TPC=2 (NP-SBJ (PRP I))
      (VP (VBP agree) (PRN (-LRB- -LRB-) (ADVP|PRT (RB 1\\/2)) (-RRB- -RRB-))))
    ('' '') (VP (VBD said) (SBAR (-NONE- 0) (S (-NONE- *T*-2)))) (NP (NNP Ann))) )
"""


@pytest.mark.parametrize("name", ["a.mrg", "a.psd", "a.PTB", "a.mrg.gz"])
def test_traces_function_tags_and_the_outer_bracket_are_removed(tmp_path, name):
    path = written(tmp_path / name, PENN)
    assert is_brackets(path)
    first, second = read_brackets(path)
    assert (first.label, first.top, first.depth) == ("S", ("NP", "VP", "."), 4)
    expected = [("DT", "The"), ("NN", "dog"), ("VBD", "was"), ("VBN", "seen"), (".", ".")]
    assert [(leaf.label, leaf.word) for leaf in first.leaves()] == expected
    assert (second.label, second.top) == ("SINV", ("``", "S", "''", "VP", "NP"))
    expected = [("-LRB-", "("), ("RB", "1/2"), ("-RRB-", ")")]
    assert [(leaf.label, leaf.word) for leaf in second.leaves()][3:6] == expected


def test_examples_have_words_and_tags_but_no_heads_and_know_their_line(tmp_path):
    path = written(tmp_path / "a.mrg", PENN)
    (example, tree), _ = bracket_examples(path)
    assert example.texts == ("The dog was seen .",)
    expected = [("DT", "", None), ("NN", "", None)]
    assert [(word.xpos, word.upos, word.head) for word in example.words][:2] == expected
    assert (example.source, tree.top) == (f"{path}, line 1", ("NP", "VP", "."))
    assert [found.id for found in read_any(path)] == ["1", "2"]


def test_a_folder_of_files_is_read_by_name(tmp_path):
    written(tmp_path / "00/b.mrg", "(S (NN b))")
    written(tmp_path / "00/a.psd.gz", "(S (NN a))")
    written(tmp_path / "README", "no tree")
    assert is_brackets(tmp_path)
    assert [tree.parts[0].word for tree in read_brackets(tmp_path)] == ["a", "b"]
    assert (
        read_any(tmp_path, format="brackets").checksum
        != read_any(tmp_path / "00" / "b.mrg").checksum
    )


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("(S (NN a)\n(NN b)", 1, "the tree that begins here is not closed"),
        ("(S (NN a))\n(S (NN a)))", 2, "a bracket is closed that was never opened"),
        ("(S (NN a))\n\nword", 3, "'word' is outside all brackets"),
        ("(S (NN a b))", 1, "'b' is in a bracket that already has a word"),
        ("(S (NN a) b)", 1, "'b' is in a bracket that already has parts"),
        ("(S (-NONE- *) b)", 1, "'b' is in a bracket that already has parts"),
        ("(S\n(NN a (NN b)))", 2, "'a' is in a bracket with other brackets"),
        ("(S (NN))", 1, "the bracket '(NN)' has neither a word nor parts"),
        ("(S ())", 1, "the bracket '()' has neither a word nor parts"),
        ("(S " * 401, 1, "400 brackets are open; is one not closed?"),
    ],
)
def test_bad_brackets_are_reported_with_their_line(tmp_path, text, line, message):
    path = written(tmp_path / "a.mrg", text)
    expected = f"{path}, line {line}: {message}"
    assert refusal(CorpusError, lambda: list(read_brackets(path))).message == expected


def test_a_file_without_trees_is_an_empty_corpus(tmp_path):
    with pytest.raises(CorpusError, match="has no examples"):
        list(read_any(written(tmp_path / "a.mrg", "\n(S (-NONE- *))\n")))


LABELS = st.sampled_from(["S", "NP-SBJ", "VP", "PP=3", "ADVP-TMP-2", "SBAR"])
LEAVES = st.tuples(
    st.sampled_from(["NN", "VBD", ".", "PRP$", "-NONE-"]),
    st.text("abc*.'`", min_size=1, max_size=4),
).map(lambda pair: Tree(pair[0], [pair[1]]))
TREES = st.recursive(
    LEAVES,
    lambda inner: st.tuples(LABELS, st.lists(inner, min_size=1, max_size=4)).map(
        lambda pair: Tree(*pair)
    ),
    max_leaves=20,
)


def without_traces(tree):
    """nltk's tree without traces and empty nodes; None if nothing is left."""
    if isinstance(tree[0], str):
        return None if tree.label() == "-NONE-" else tree
    kept = [part for part in map(without_traces, tree) if part is not None]
    return Tree(tree.label().split("-")[0].split("=")[0], kept) if kept else None


@given(
    st.lists(TREES, min_size=1, max_size=4),
    st.sampled_from(["({})", "(ROOT {})", "(TOP {})", "{}"]),
    st.booleans(),
)
def test_trees_are_those_of_nltk(tmp_path_factory, trees, wrap, wide):
    text = "\n".join(wrap.format(tree.pformat(margin=10**6 if wide else 20)) for tree in trees)
    found = list(read_brackets(written(tmp_path_factory.mktemp("trees") / "a.mrg", text)))
    expected = [tree for tree in map(without_traces, trees) if tree is not None]
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.depth == theirs.height() - 1
        assert [(leaf.word, leaf.label) for leaf in ours.leaves()] == theirs.pos()
        assert ours.label == theirs.label()
        assert ours.top == tuple(part.label() for part in theirs if isinstance(part, Tree))
