"""Bracketed trees: by hand, and against nltk's reader."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headscope.corpus import read
from headscope.corpus.treebank import bracket_examples, is_brackets, read_brackets
from headscope.errors import CorpusError

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


def write(folder, text, name="a.mrg"):
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


@pytest.mark.parametrize("name", ["a.mrg", "a.psd", "a.PTB", "a.mrg.gz"])
def test_traces_function_tags_and_the_outer_bracket_are_removed(tmp_path, name):
    path = write(tmp_path, PENN, name)
    assert is_brackets(path)
    first, second = read_brackets(path)
    assert (first.label, first.top, first.depth) == ("S", ("NP", "VP", "."), 4)
    assert [(leaf.label, leaf.word) for leaf in first.leaves()] == [
        ("DT", "The"),
        ("NN", "dog"),
        ("VBD", "was"),
        ("VBN", "seen"),
        (".", "."),
    ]
    assert (second.label, second.top) == ("SINV", ("``", "S", "''", "VP", "NP"))
    assert [(leaf.label, leaf.word) for leaf in second.leaves()][3:6] == [
        ("-LRB-", "("),
        ("RB", "1/2"),
        ("-RRB-", ")"),
    ]


def test_examples_have_words_and_tags_but_no_heads_and_know_their_line(tmp_path):
    path = write(tmp_path, PENN)
    (example, tree), _ = bracket_examples(path)
    assert example.texts == ("The dog was seen .",)
    assert [(word.xpos, word.upos, word.head) for word in example.words][:2] == [
        ("DT", "", None),
        ("NN", "", None),
    ]
    assert (example.source, tree.top) == (f"{path}, line 1", ("NP", "VP", "."))
    assert [found.id for found in read(path)] == ["1", "2"]


def test_a_folder_of_files_is_read_by_name(tmp_path):
    (tmp_path / "00").mkdir()
    write(tmp_path / "00", "(S (NN b))", "b.mrg")
    write(tmp_path / "00", "(S (NN a))", "a.psd.gz")
    write(tmp_path, "no tree", "README")
    assert is_brackets(tmp_path)
    assert [tree.parts[0].word for tree in read_brackets(tmp_path)] == ["a", "b"]
    assert read(tmp_path, format="brackets").checksum != read(tmp_path / "00" / "b.mrg").checksum


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
    path = write(tmp_path, text)
    with pytest.raises(CorpusError) as caught:
        list(read_brackets(path))
    assert caught.value.message == f"{path}, line {line}: {message}"


def test_a_file_without_trees_is_an_empty_corpus(tmp_path):
    with pytest.raises(CorpusError, match="has no examples"):
        list(read(write(tmp_path, "\n(S (-NONE- *))\n")))


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
    found = list(read_brackets(write(tmp_path_factory.mktemp("trees"), text)))
    expected = [tree for tree in map(without_traces, trees) if tree is not None]
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.depth == theirs.height() - 1
        assert [(leaf.word, leaf.label) for leaf in ours.leaves()] == theirs.pos()
        assert ours.label == theirs.label()
        assert ours.top == tuple(part.label() for part in theirs if isinstance(part, Tree))
