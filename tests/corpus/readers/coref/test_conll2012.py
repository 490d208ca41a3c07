"""Coreference in CoNLL-2012 columns."""

import pytest

from corpus.readers.coref.documents import complaint, spans, write
from headscope import corpus
from headscope.corpus import Word


def columns(*rows):
    """A sentence of CoNLL-2012 from (form, tag, coreference)."""
    return (
        "".join(
            f"doc 0 {number} {form} {tag} (S* - - - Speaker#1 * (ARG0*) {coref}\n"
            for number, (form, tag, coref) in enumerate(rows)
        )
        + "\n"
    )


def document(*sentences, name="(bc/x); part 003"):
    return f"#begin document {name}\n" + "".join(sentences) + "#end document\n"


GOLD = document(
    columns(
        ("Ann", "NNP", "(1)"),
        ("saw", "VBD", "-"),
        ("the", "DT", "(2|(12"),
        ("dog", "NN", "12)"),
        ("of", "IN", "-"),
        ("Bo", "NNP", "(3)|2)"),
    ),
    "\n",
    columns(("This", "DT", "(2)"), ("was", "-", "(e)"), ("hers", "PRP$", "(1)")).rstrip("\n")
    + "\n",
)


@pytest.mark.parametrize("name", ["a.v4_gold_conll", "a.english.v4_auto_conll.gz", "a.gold_conll"])
@pytest.mark.parametrize("gap", [" ", "   ", "\t"])
def test_conll2012_gives_one_example_per_part_and_the_last_word_heads_a_mention(
    tmp_path, name, gap
):
    second = document("# a comment\n", columns(("10\u00a0000", "CD", "_")), name="nw/y")
    path = write(
        tmp_path / name,
        (GOLD + "\n").replace("NN ", "NN" + gap).replace("- Speaker", f"-{gap}Speaker") + second,
    )
    read = corpus.read(path)
    first, second = read
    assert (read.format, read.notes) == (
        "conll2012",
        (
            "CoNLL-2012 has no dependency trees: the head word of a mention is taken to be its "
            "last word",
        ),
    )
    assert (first.id, first.texts, first.source) == (
        "bc/x_3",
        ("Ann saw the dog of Bo This was hers",),
        f"{path}, line 1",
    )
    assert first.words[5:8] == (
        Word("Bo", xpos="NNP"),
        Word("This", sentence=1, xpos="DT"),
        Word("was", sentence=1),
    )
    assert spans(first) == [
        (0, 0, 0, "1", "proper"),
        (2, 5, 5, "2", "proper"),
        (2, 3, 3, "12", "nominal"),
        (5, 5, 5, "3", "proper"),
        (6, 6, 6, "2", "pronoun"),
        (7, 7, 7, "e", ""),
        (8, 8, 8, "1", "pronoun"),
    ]
    assert (second.id, second.texts, second.mentions) == ("nw/y", ("10\u00a0000",), ())


ROW = columns(("Ann", "NNP", "{}")).replace("\n\n", "\n")
COLUMNS = {
    "too few columns": (document("doc 0 0 Ann NNP (1)\n"), 2, "6 columns, expected 12 or more"),
    "other columns in one sentence": (
        document(ROW.format("-"), ROW.format("- (1)")),
        3,
        "14 columns, expected 13 as in the rest of the sentence",
    ),
    "closed, never opened": (
        document(ROW.format("1)")),
        2,
        "entity '1' is closed, but not open in this sentence",
    ),
    "closed in the next sentence": (
        document(ROW.format("(1"), "\n", ROW.format("1)")),
        2,
        "entity '1' is opened, but not closed in its sentence",
    ),
    "never closed": (
        document(ROW.format("(1|(2)"), "\n"),
        2,
        "entity '1' is opened, but not closed in its sentence",
    ),
    "twice the same": (document(ROW.format("(1)|(1)")), 2, "entity '1' has this mention twice"),
    "no bracket": (
        document(ROW.format("(1)|2")),
        2,
        "the last column '(1)|2' is not made of brackets such as (1, (1) and 1) with | between "
        "them",
    ),
    "run together": (
        document(ROW.format("(1)(2)")),
        2,
        "the last column '(1)(2)' is not made of brackets such as (1, (1) and 1) with | between "
        "them",
    ),
    "no begin": (ROW.format("-"), 1, "this is outside any document"),
    "after the end": (GOLD + ROW.format("-"), 14, "this is outside any document"),
    "two ends": (GOLD + "#end document\n", 14, "this is outside any document"),
    "no end": ("\n" + GOLD.replace("#end document\n", ""), 2, "document 'bc/x_3' does not end"),
    "no end before the next": (
        GOLD.replace("#end document\n", "") + GOLD,
        13,
        "document 'bc/x_3' has not ended",
    ),
    "no words": (document("\n"), 1, "document 'bc/x_3' has no words"),
}


@pytest.mark.parametrize("what", COLUMNS)
def test_conll2012_that_cannot_be_used_is_reported_with_its_line(tmp_path, what):
    text, line, message = COLUMNS[what]
    path = write(tmp_path / "a.gold_conll", text)
    assert complaint(path).splitlines()[0] == f"{path}, line {line}: {message}"


def test_a_folder_of_conll2012_files_is_one_corpus_and_an_empty_one_an_error(tmp_path):
    write(tmp_path / "b.gold_conll", GOLD)
    write(tmp_path / "a.v4_gold_conll.gz", GOLD.replace("bc/x", "bc/w"))
    assert [example.id for example in corpus.read(tmp_path, format="conll2012")] == [
        "bc/w_3",
        "bc/x_3",
    ]
    assert (
        complaint(tmp_path, documents=True) == f"{tmp_path} has no files that end in .conllu\n"
        "next: give the folder or archive that holds them, or one file"
    )
