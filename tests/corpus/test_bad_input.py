"""Errors in files: what is wrong, where, and what to do next."""

import gzip
import os

import pytest

from headscope import corpus
from headscope.corpus import Example
from headscope.corpus.reading import ENDINGS as FORMATS
from headscope.corpus.reading import FORMATS as KINDS
from headscope.errors import CorpusError, UserError

ROW = "{0}\t{1}\t_\tX\t_\t_\t{2}\tdep\t_\t_"
HEAD = "column 7 is the head: 0 for the root, or a word id"
TABS = "each line needs the same columns, separated by tabs"
QUOTES = 'write the text in quotes, or name other keys, e.g. columns=["text"]'
OBJECT = 'write e.g. {"text": "A dog barks."} or {"a": "Who?", "b": "The dog."}'
ENDINGS = f"{', '.join(FORMATS)}, and .gz of each"


def tree(*heads, first=1):
    return "\n".join(
        ROW.format(number, f"w{number}", head) for number, head in enumerate(heads, first)
    )


def complaint(path, **options):
    """The whole message of the error that reading a file to its end raises."""
    with pytest.raises(UserError) as caught:
        list(corpus.read(path, **options))
    return str(caught.value)


CONTENTS = {
    "empty file": (
        "a.txt",
        "",
        "{path} is empty: it has no examples",
        "give at least one text",
    ),
    "blank lines only": (
        "a.txt",
        " \n\n\t\n",
        "{path} is empty: it has no examples",
        "give at least one text",
    ),
    "empty gzip": (
        "a.jsonl.gz",
        "",
        "{path} is empty: it has no examples",
        "give at least one text",
    ),
    "blank treebank": (
        "a.conllu",
        "\n# text = x\n\n",
        "{path} is empty: it has no examples",
        "give at least one text",
    ),
    "header alone": (
        "a.tsv",
        "sentence\tlabel\n",
        "{path} is empty: it has no examples",
        "give at least one text",
    ),
    "not JSON": (
        "a.jsonl",
        '{"a": "x"}\n\n{"a": }\n',
        "{path}, line 3: not JSON (Expecting value: line 1 column 7 (char 6))",
        "every line must be one JSON object; use .txt for plain text",
    ),
    "a JSON list": (
        "a.jsonl",
        '["x"]\n',
        "{path}, line 1: expected a JSON object, got list",
        OBJECT,
    ),
    "a JSON string": (
        "a.jsonl",
        '{"a": "x"}\n"x"\n',
        "{path}, line 2: expected a JSON object, got str",
        OBJECT,
    ),
    "a text that is a number": (
        "a.jsonl",
        '{"a": "x", "b": "y"}\n{"a": "x", "b": 3}\n',
        "{path}, line 2: 'b' must be a string, got int",
        QUOTES,
    ),
    "a text that is null": (
        "a.jsonl",
        '{"text": null}\n',
        "{path}, line 1: 'text' must be a string, got NoneType",
        QUOTES,
    ),
    "JSON without text": (
        "a.jsonl",
        '{"a": "x"}\n{"c": "x", "d": 1}\n',
        "{path}, line 2: none of the columns is known to hold text; the columns are c, d",
        "name one or two of them, e.g. columns=['c']",
    ),
    "TSV row too short": (
        "a.tsv",
        "sentence1\tsentence2\tlabel\nA\tB\t1\nA\tB\n",
        "{path}, line 3: 2 columns, expected 3",
        TABS,
    ),
    "TSV row too long": (
        "a.tsv",
        "sentence1\tsentence2\nA\tB\tC\n",
        "{path}, line 2: 3 columns, expected 2",
        TABS,
    ),
    "TSV without header, row too short": (
        "a.tsv",
        "A\tB\n\nA\n",
        "{path}, line 3: 1 columns, expected 2",
        TABS,
    ),
    "CoNLL columns": (
        "a.conllu",
        "# x\n1\tDog\t_\n",
        "{path}, line 2: 3 columns, expected 10 separated by tabs",
        "if this is not CoNLL-U or CoNLL-X, give format=",
    ),
    "CoNLL with spaces": (
        "a.conll.gz",
        tree(0) + "\n\n" + tree(0).replace("\t", " "),
        "{path}, line 3: 1 columns, expected 10 separated by tabs",
        "if this is not CoNLL-U or CoNLL-X, give format=",
    ),
    "a cycle": (
        "a.conllu",
        tree(0) + "\n\n" + tree(0, 3, 4, 2),
        "{path}, line 4: the heads form a cycle (2 -> 3 -> 4 -> 2)",
        "correct column 7, or remove the sentence",
    ),
    "a cycle with a tail": (
        "a.conllu",
        tree(2, 3, 2, 0),
        "{path}, line 2: the heads form a cycle (2 -> 3 -> 2)",
        "correct column 7, or remove the sentence",
    ),
    "its own head": (
        "a.conllu",
        "# a\n" + tree(0, 2),
        "{path}, line 3: the heads form a cycle (2 -> 2)",
        "correct column 7, or remove the sentence",
    ),
    "head out of range": (
        "a.conllu",
        tree(0, 3),
        "{path}, line 2: head 3 is out of range, the sentence has 2 words",
        "correct column 7",
    ),
    "head not a number": (
        "a.conllu",
        tree(0, "x"),
        "{path}, line 2: head 'x' is not a number",
        HEAD,
    ),
    "head negative": ("a.conllu", tree("-1"), "{path}, line 1: head '-1' is not a number", HEAD),
    "head empty": ("a.conllu", tree(0, ""), "{path}, line 2: head '' is not a number", HEAD),
    "ids from 0": (
        "a.conllu",
        tree(0, 0, first=0),
        "{path}, line 1: word id '0', expected 1",
        "a blank line must separate sentences",
    ),
    "an id left out": (
        "a.conllu",
        tree(0) + "\n" + tree(1, first=3),
        "{path}, line 2: word id '3', expected 2",
        "a blank line must separate sentences",
    ),
    "two sentences run together": (
        "a.conllu",
        tree(0) + "\n" + tree(0),
        "{path}, line 2: word id '1', expected 2",
        "a blank line must separate sentences",
    ),
    "an id that is no number": (
        "a.conllu",
        tree(0) + "\n" + ROW.format("x", "w", 0),
        "{path}, line 2: word id 'x', expected 2",
        "a blank line must separate sentences",
    ),
}


@pytest.mark.parametrize("what", CONTENTS)
def test_a_file_that_cannot_be_used_is_reported_with_its_line(tmp_path, what):
    name, text, message, hint = CONTENTS[what]
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    assert complaint(path) == f"{message.format(path=path)}\nnext: {hint}"


@pytest.mark.parametrize("name", ["gone.txt", "gone", "gone.gz", "gone.conllu.gz", "gone.xml"])
def test_a_missing_file_is_reported_whatever_its_ending(tmp_path, name):
    path = tmp_path / name
    assert (
        complaint(path) == f"no such corpus file: {path}\n"
        "next: give the path of a text, TSV, CSV, JSON-lines or CoNLL file, or 'demo'"
    )


def test_a_file_inside_a_file_is_missing(tmp_path):
    (tmp_path / "a.txt").write_text("x")
    path = tmp_path / "a.txt" / "b.txt"
    assert (
        complaint(path) == f"no such corpus file: {path}\n"
        "next: give the path of a text, TSV, CSV, JSON-lines or CoNLL file, or 'demo'"
    )


@pytest.mark.parametrize("name", ["folder", "folder.txt", "folder.tsv.gz"])
def test_a_folder_is_reported_whatever_its_ending(tmp_path, name):
    (tmp_path / name).mkdir()
    assert (
        complaint(tmp_path / name)
        == f"{tmp_path / name} is a folder, not a corpus file\nnext: give one file"
    )


def test_a_file_that_may_not_be_read_is_reported(tmp_path):
    path = tmp_path / "secret.txt"
    path.write_text("x")
    path.chmod(0)
    user = os.geteuid()
    try:
        if user == 0:  # root may read everything: become nobody for a moment
            os.seteuid(65534)
        message = complaint(path)
    finally:
        os.seteuid(user)
    assert (
        message == f"{path} cannot be read: permission denied\n"
        "next: check the path and the file's permissions"
    )


def test_a_path_that_the_system_refuses_is_reported(tmp_path):
    path = tmp_path / ("x" * 300 + ".txt")
    assert (
        complaint(path) == f"{path} cannot be read: file name too long\n"
        "next: check the path and the file's permissions"
    )


@pytest.mark.parametrize(
    ("name", "convert"),
    [
        ("a.txt", "iconv -f latin1 -t utf-8 a.txt > utf8-a.txt"),
        ("a.txt.gz", "zcat a.txt.gz | iconv -f latin1 -t utf-8 | gzip > utf8-a.txt.gz"),
    ],
)
@pytest.mark.parametrize(
    ("data", "line", "byte"),
    [
        (b"One.\n\ncaf\xe9\n", 3, 4),
        (b"\xef\xbb\xbfcaf\xe9\n", 1, 7),
        (b"\xff\xfeO\x00n\x00e\x00", 1, 1),
    ],
)
def test_bytes_that_are_not_utf8_are_reported_with_line_and_byte(
    tmp_path, name, convert, data, line, byte
):
    path = tmp_path / name
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    assert (
        complaint(path) == f"{path}, line {line}: not valid UTF-8 (byte {byte} of the line)\n"
        f"next: convert the file, e.g. {convert}"
    )


def test_a_truncated_gzip_file_is_reported(tmp_path):
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(b"One.\n\nTwo.\n" * 100)[:-9])
    assert (
        complaint(path)
        == f"{path} is not a complete gzip file (Compressed file ended before the end-of-stream "
        "marker was reached)\nnext: copy or download it again"
    )


def test_a_file_that_is_called_gz_but_is_not_is_reported(tmp_path):
    path = tmp_path / "a.txt.gz"
    path.write_bytes(b"One.\n")
    assert (
        complaint(path) == f"{path} is not a complete gzip file (Not a gzipped file (b'On'))\n"
        "next: copy or download it again"
    )


def test_a_gzip_file_with_a_damaged_middle_is_reported(tmp_path):
    path = tmp_path / "a.txt.gz"
    whole = bytearray(gzip.compress(bytes(range(32, 127)) * 50))
    whole[20:40] = b"\xff" * 20
    path.write_bytes(whole)
    message, hint = complaint(path).splitlines()
    assert message.startswith(f"{path} is not a complete gzip file (")
    assert hint == "next: copy or download it again"


@pytest.mark.parametrize(
    ("name", "ending"),
    [("a.xml", ".xml"), ("a", ""), ("a.gz", ""), ("a.XML.gz", ".xml"), ("a.txt.bak", ".bak")],
)
def test_an_unknown_ending_is_reported_with_those_that_are_known(tmp_path, name, ending):
    path = tmp_path / name
    path.write_bytes(gzip.compress(b"One.") if name.endswith(".gz") else b"One.")
    with pytest.raises(CorpusError) as caught:
        corpus.read(path)
    names = f"{', '.join([*KINDS][:-1])} or {[*KINDS][-1]}"
    assert caught.value.message == (
        f"the ending '{ending}' of {path} does not say what its format is; known are {ENDINGS}"
    )
    assert caught.value.hint == f"give format=, one of {names}"


def test_an_unknown_format_is_reported_with_the_nearest(tmp_path):
    (tmp_path / "a.txt").write_text("One.")
    assert (
        complaint(tmp_path / "a.txt", format="txet")
        == f"the format must be one of {', '.join(sorted(KINDS))}; got 'txet' instead. Did you "
        "mean 'text'?"
    )


@pytest.mark.parametrize(
    ("name", "text", "where"),
    [
        ("a.tsv", "sentence1\tlabel\nA\t1\n", "{path}"),
        ("a.jsonl", '{"sentence1": "A", "label": 1}\n', "{path}, line 1"),
    ],
)
def test_an_unknown_column_is_reported_with_those_there_are(tmp_path, name, text, where):
    path = tmp_path / name
    path.write_text(text)
    assert (
        complaint(path, columns=["sentence1", "b"])
        == f"{where.format(path=path)}: no column 'b'; the columns are sentence1, label\n"
        "next: name one or two of them, e.g. columns=['sentence1']"
    )


def test_more_than_two_columns_are_refused(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("a\tb\tc\n1\t2\t3\n")
    assert (
        complaint(path, columns=["a", "b", "c"])
        == "columns must name one or two columns of text, got 3 instead: a, b, c\n"
        'next: give e.g. columns=["sentence1", "sentence2"]'
    )


@pytest.mark.parametrize("limit", [0, -3])
@pytest.mark.parametrize("path", ["demo", "gone.txt"])
def test_a_limit_below_one_is_refused(path, limit):
    assert (
        complaint(path, limit=limit) == f"the limit must be 1 or more, got {limit} instead\n"
        "next: leave it out to read everything"
    )


def test_a_bad_first_line_is_reported_when_the_corpus_is_opened(tmp_path):
    (tmp_path / "a.jsonl").write_text("[]")
    with pytest.raises(CorpusError, match="line 1: expected a JSON object"):
        corpus.read(tmp_path / "a.jsonl")


def test_an_example_of_three_texts_is_refused():
    with pytest.raises(CorpusError) as caught:
        corpus.from_texts(["a", ("a", "b", "c")])
    assert (
        caught.value.message
        == "item 2 of the list must be a text or a pair of texts, got tuple of 3 instead"
    )


def test_an_example_made_by_hand_has_one_text_or_two():
    with pytest.raises(CorpusError) as caught:
        Example("7", ("a", "b", "c"))
    assert str(caught.value) == "example 7: one text or two are allowed, got 3 instead"
