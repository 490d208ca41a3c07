"""Coreference in CoNLL-2012 columns."""

import pytest

from corpus.readers.coref.documents import complaint, spans, write
from headscope import corpus
from headscope.corpus import Word
from headscope.errors import CorpusError


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
    assert corpus.read(tmp_path, documents=True).format == "conll2012"
    empty = tmp_path / "empty"
    empty.mkdir()
    assert (
        complaint(empty, documents=True) == f"{empty} has no files that end in .conllu\n"
        "next: give the folder or archive that holds them, or one file"
    )
    assert (
        complaint(tmp_path) == f"{tmp_path} is a folder, and nothing says which files of it to "
        "read\nnext: give one file, or format='conll2012' to read them all"
    )


def litbank(*rows):
    """A sentence in the layout of LitBank: tabs, no tags, and a blank last cell where nothing is
    annotated.
    """
    lines = [
        "\t".join(["7_a_tale_brat", "0", str(number), form, *["_"] * 8, coref])
        for number, (form, coref) in enumerate(rows)
    ]
    return "\n".join(lines) + "\n\n"


TALE = document(
    litbank(
        ("Mrs.", "(0"), ("Bell", "0)"), ("fed", ""), ("her", "(1|(0)"), ("old", ""), ("dog", "1)")
    ),
    litbank(("It", "(1)"), ("thanked", ""), ("her", "(0)"), (".", "")),
    name="(7_a_tale_brat); part 0",
)


def test_the_layout_of_litbank_is_read(tmp_path):
    assert "\t_\t\n" in TALE  # a blank last cell
    path = write(tmp_path / "7_a_tale_brat.conll", TALE)
    read = corpus.read(path)
    (example,) = read
    assert read.format == "conll2012"  # its first line says so, whatever else .conll may be
    assert (example.id, example.group) == ("7_a_tale_brat_0", "7_a_tale_brat")
    assert example.texts == ("Mrs. Bell fed her old dog It thanked her .",)
    assert spans(example) == [
        (0, 1, 1, "0", ""),  # no tags: only pronouns are known
        (3, 5, 5, "1", ""),
        (3, 3, 3, "0", "pronoun"),
        (6, 6, 6, "1", "pronoun"),
        (8, 8, 8, "0", "pronoun"),
    ]
    assert [word.sentence for word in example.words] == [0] * 6 + [1] * 4


def test_a_folder_in_the_layout_of_litbank_is_read(tmp_path):
    write(tmp_path / "8_brat.conll", TALE.replace("7_a", "8_a"))
    write(tmp_path / "7_brat.conll", TALE)
    for options in ({"documents": True}, {"format": "conll2012"}):
        read = corpus.read(tmp_path, **options)
        assert [example.group for example in read] == ["7_a_tale_brat", "8_a_tale_brat"]


def test_a_blank_word_is_reported(tmp_path):
    path = write(tmp_path / "a.gold_conll", document(litbank(("", ""))))
    assert complaint(path).splitlines()[0] == f"{path}, line 2: column 4, the word, is blank"


def test_trees_that_end_in_conll_are_still_trees(tmp_path):
    row = "1\tDogs\tdog\tNOUN\tNNS\t_\t0\troot\t_\t_\n"
    assert corpus.read(write(tmp_path / "a.conll", row)).format == "conll"


def test_the_format_is_suggested_by_the_first_lines(tmp_path):
    path = write(tmp_path / "tale.coref", TALE)
    with pytest.raises(CorpusError) as caught:
        corpus.read(path)
    assert caught.value.message.startswith(f"the ending '.coref' of {path} does not say")
    assert caught.value.hint == "its first lines look like conll2012: give format='conll2012'"
    with pytest.raises(CorpusError) as caught:
        corpus.read(path, format="conll")
    assert caught.value.hint == (
        "its first lines look like conll2012, and it was read as conll: give format='conll2012'"
    )
    tree = "# newdoc\n1\tDogs\tdog\tNOUN\tNNS\t_\t0\troot\t_\tEntity=(1)\n"
    with pytest.raises(CorpusError) as caught:
        corpus.read(write(tmp_path / "a.gold_conll", tree))
    assert caught.value.hint.endswith("read as conll2012: give format='coref-conllu'")
    with pytest.raises(CorpusError) as caught:
        corpus.read(write(tmp_path / "a.docs", '{"sentences": [["A"]], "mentions": []}'))
    assert caught.value.hint == "its first lines look like coref-jsonl: give format='coref-jsonl'"
    with pytest.raises(CorpusError) as caught:
        corpus.read(write(tmp_path / "a.docs", "plain text may be anything"))
    assert caught.value.hint.startswith("give format=, one of text, ")


def test_a_file_that_is_read_as_a_table_but_looks_like_columns_has_a_note(tmp_path):
    path = write(tmp_path / "tale.conll", TALE)
    for kind in ("text", "tsv"):
        note = f"{path} looks like conll2012, but it was read as {kind}; format conll2012 reads it"
        assert note in corpus.read(path, format=kind).notes
    assert corpus.read(write(tmp_path / "a.txt", "One.\n\nTwo.\n")).notes == ()


def test_documents_are_read_in_the_format_of_their_first_lines(tmp_path):
    for name in ("tale.conll", "tale.txt", "tale"):
        assert corpus.read_documents(write(tmp_path / name, TALE)).format == "conll2012"
    assert corpus.read_documents(tmp_path).format == "conll2012"
    tree = "1\tDogs\tdog\tNOUN\tNNS\t_\t0\troot\t_\tEntity=(1)\n"
    assert corpus.read_documents(write(tmp_path / "a.conllu", tree)).format == "coref-conllu"
