"""Corpora of ordinary Python objects: lists, DataFrames, datasets; anything else is refused."""

import gzip
import os

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from headscope import corpus
from headscope.corpus import Corpus, Example, Word, join_words
from headscope.corpus.reading import ALLOWED
from headscope.corpus.reading import ENDINGS as FORMATS
from headscope.corpus.reading import FORMATS as KINDS
from headscope.errors import CorpusError, UserError
from refusals import refusal
from written import texts_of, written

# --- read objects ---

TEXTS = ["A dog barks.", "A cat sleeps.", "Nobody hears it."]


class Dataset:
    """What a ``datasets.Dataset`` offers, and nothing else."""

    def __init__(self, **columns):
        self.columns = columns
        self.walks = 0

    @property
    def column_names(self):
        return list(self.columns)

    def __len__(self):
        return len(next(iter(self.columns.values())))

    def __iter__(self):
        self.walks += 1
        for cells in zip(*self.columns.values(), strict=True):
            yield dict(zip(self.columns, cells, strict=True))


@pytest.mark.parametrize("texts", [TEXTS, tuple(TEXTS)])
def test_a_list_of_texts_is_a_corpus(texts):
    read = corpus.read(texts)
    assert (read.name, read.format, read.size()) == ("3 texts", "memory", 3)
    assert list(read) == [Example(str(n), (text,)) for n, text in enumerate(TEXTS, 1)]
    assert list(read) == list(read)


@pytest.mark.parametrize("pair", [("Who barks?", "The dog."), ["Who barks?", "The dog."]])
def test_a_list_of_pairs_is_a_corpus(pair):
    read = corpus.read([pair])
    assert (read.name, list(read)) == ("1 pair", [Example("1", ("Who barks?", "The dog."))])


def test_texts_and_pairs_may_be_mixed():
    assert corpus.read(["A dog.", ("Who?", "Me.")]).name == "2 examples"


def test_a_list_of_examples_keeps_their_words_and_groups():
    words = (Word("Dogs", head=1, upos="NOUN"), Word("bark", head=-1, upos="VERB"))
    examples = [Example("x", join_words(words), words, group="d1")]
    read = corpus.read(examples)
    assert (list(read), read.annotations) == (examples, {"words", "tree", "tags"})


def test_a_corpus_is_returned_as_it_is():
    read = corpus.read(TEXTS)
    assert corpus.read(read) is read
    assert corpus.read(read, limit=2).size() == 2
    assert corpus.read(read, name="mine").name == "mine"


def test_a_corpus_does_not_change_with_the_list_it_was_made_of():
    texts = ["A dog barks."]
    read = corpus.read(texts)
    texts.append("A cat sleeps.")
    assert read.size() == 1


def test_the_name_can_be_given():
    assert corpus.read(TEXTS, name="animals").name == "animals"
    assert corpus.read("demo", name="passages", limit=1).name == "passages"


def test_the_checksum_is_of_the_contents():
    def checksum(source, **options):
        return corpus.read(source, **options).checksum

    frame = pd.DataFrame({"text": TEXTS}, index=["1", "2", "3"])
    assert checksum(TEXTS) == checksum(tuple(TEXTS)) == checksum(frame) == checksum(TEXTS, name="x")
    others = [
        TEXTS[:2],
        [*TEXTS[:2], "Nobody hears it"],
        [("A dog barks.", "A cat sleeps."), "Nobody hears it."],
        pd.DataFrame({"text": TEXTS, "label": [1, 0, 1]}),
        pd.DataFrame({"text": TEXTS, "group": ["a", "a", "b"]}),
        [Example("1", ("Dogs",), (Word("Dogs"),))],
        [Example("1", ("Dogs",), (Word("Dogs", upos="NOUN"),))],
    ]
    assert len({checksum(source) for source in (TEXTS, *others)}) == 1 + len(others)


def test_a_data_frame_is_read_by_its_known_columns():
    texts = {"premise": ["A dog barks. ", "A cat."], "hypothesis": ["An animal.", "No."]}
    others = {"label": [0, 1], "doc_id": ["d1", "d2"]}
    frame = pd.DataFrame({"idx": [5, 6], **texts, **others}, index=[10, 20])
    read = corpus.read(frame)
    assert read.name == "DataFrame of 2 rows"
    assert [(one.id, one.texts, one.label, one.group, one.source) for one in read] == [
        ("10", ("A dog barks.", "An animal."), "0", "d1", "DataFrame, row 10"),
        ("20", ("A cat.", "No."), "1", "d2", "DataFrame, row 20"),
    ]


def test_columns_of_a_data_frame_can_be_chosen():
    frame = pd.DataFrame({"title": ["T"], "review": ["R"], "stars": [4], "film": ["f1"]})
    (one,) = corpus.read(frame, columns=["review", "title"], label="stars", group="film")
    assert (one.texts, one.label, one.group) == (("R", "T"), "4", "f1")
    (one,) = corpus.read(frame, columns=2)
    assert (one.texts, one.label) == (("R",), None)


def test_the_columns_of_a_data_frame_may_be_called_by_numbers():
    frame = pd.DataFrame([["A dog.", "A cat."]])
    assert texts_of(corpus.read(frame, columns=[1])) == [("A cat.",)]
    assert texts_of(corpus.read(frame, columns=[0, 1])) == [("A dog.", "A cat.")]


def test_a_missing_label_or_group_is_none():
    frame = pd.DataFrame(
        {"text": ["a", "b", "c"], "label": ["x", None, np.nan], "group": ["g", pd.NA, None]}
    )
    expected = [("x", "g"), (None, ""), (None, "")]
    assert [(one.label, one.group) for one in corpus.read(frame)] == expected


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_a_row_without_a_text_is_named(missing):
    error = refusal(
        CorpusError, corpus.read, pd.DataFrame({"text": ["a", missing]}, index=["x", "y"])
    )
    assert error.message == "DataFrame, row y: 'text' has no text"
    assert error.hint == "drop such rows first, e.g. data.dropna(subset=[…])"


def test_a_data_frame_without_known_columns_lists_them():
    error = refusal(CorpusError, corpus.read, pd.DataFrame({"review": ["a"], "stars": [3]}))
    assert error.message == (
        "the DataFrame: none of the columns is known to hold text; the columns are review, stars"
    )
    assert error.hint == "name one or two of them, e.g. columns=['review']"


def test_a_dataset_is_read_by_its_known_columns():
    data = Dataset(question=["Who?", "Why?"], sentence=["Me.", "So."], label=[1, -1], idx=[7, 8])
    read = corpus.read(data)
    assert (read.name, read.annotations) == ("dataset of 2 rows", {"pair"})
    assert [(one.id, one.texts, one.label, one.source) for one in read] == [
        ("0", ("Who?", "Me."), "1", "dataset, row 0"),
        ("1", ("Why?", "So."), "-1", "dataset, row 1"),
    ]


def test_a_dataset_is_walked_over_each_time_and_not_held():
    data = Dataset(text=["a", "b"])
    read = corpus.read(data)
    walks = data.walks
    assert list(read) == list(read)
    assert data.walks == walks + 2


def test_only_the_columns_that_are_used_are_taken_from_a_dataset():
    class Selecting(Dataset):
        def select_columns(self, names):
            self.selected = names
            return Dataset(**{name: self.columns[name] for name in names})

    data = Selecting(picture=[object()], text=["a"], label=[1], document=["d"])
    (one,) = corpus.read(data)
    assert data.selected == ["text", "label", "document"]
    assert (one.texts, one.label, one.group) == (("a",), "1", "d")


def test_real_datasets_are_read_as_such_objects_are():
    datasets = pytest.importorskip("datasets")
    table = pa.table({"premise": ["A."], "hypothesis": ["B."], "label": [2]})
    data = datasets.Dataset(datasets.table.InMemoryTable(table), fingerprint="three")
    (one,) = corpus.read(data)
    assert (one.texts, one.label) == (("A.", "B."), "2")
    error = refusal(CorpusError, corpus.read, datasets.DatasetDict(train=data))
    assert error.hint == "choose a split: data['train'] (there are train)"


def test_a_dictionary_of_datasets_asks_for_a_split():
    data = Dataset(text=["a"])
    error = refusal(CorpusError, corpus.read, {"train": data, "test": data})
    assert error.message == f"a corpus must be {ALLOWED}; got dict instead"
    assert error.hint == "choose a split: data['train'] (there are train, test)"


class Stream:
    column_names = None

    def __iter__(self):
        return iter([{"text": "a"}])


class Polars:
    def to_pandas(self):
        return pd.DataFrame({"text": ["a"]})


@pytest.mark.parametrize(
    ("source", "name", "hint"),
    [
        (None, "None", 'give e.g. "texts.txt" or ["A dog barks.", "A cat sleeps."]'),
        (3, "int", 'give e.g. "texts.txt" or ["A dog barks.", "A cat sleeps."]'),
        (b"A dog", "bytes", 'decode it and put it into a list: [text.decode("utf-8")]'),
        ({"text": ["a"]}, "dict", "give a list of texts, or pandas.DataFrame(data)"),
        (pd.Series(["a"]), "Series", "convert it to a list: data.tolist()"),
        (np.array(["a"]), "ndarray", "convert it to a list: data.tolist()"),
        (
            (text for text in TEXTS),
            "generator",
            "convert it to a list, which can be walked over more than once: list(data)",
        ),
        (Example("1", ("a",)), "Example", "put the example into a list: [example]"),
        (Stream(), "Stream", "take a part of a stream: pandas.DataFrame(data.take(1000))"),
        (Polars(), "Polars", "convert it: data.to_pandas()"),
    ],
)
def test_a_source_of_another_type_is_refused_with_advice(source, name, hint):
    error = refusal(CorpusError, corpus.read, source)
    assert error.message == f"a corpus must be {ALLOWED}; got {name} instead"
    assert error.hint == hint


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ([], "the list is empty: it has no texts"),
        ((), "the list is empty: it has no texts"),
        (pd.DataFrame({"text": []}), "DataFrame of 0 rows is empty: it has no examples"),
        ("", "the path of the corpus is empty"),
        (pd.DataFrame({"text": [3]}), "DataFrame, row 0: 'text' must be a string, got int instead"),
        (
            ["a", "b\ud800"],
            "item 2 of the list has half of a surrogate pair (\\ud800 to \\udfff), "
            "which is not a character",
        ),
    ],
)
def test_an_object_without_usable_texts_is_refused(source, message):
    assert refusal(CorpusError, corpus.read, source).message == message


def test_a_bare_string_is_not_a_list_of_letters():
    message = "the texts must be a list, got one str instead\nnext: put it into a list: ['The dog']"
    assert str(refusal(CorpusError, corpus.from_texts, "The dog")) == message


@pytest.mark.parametrize("text", ["The dog barks at night.", "The dog\nbarks", "Who barks"])
def test_a_sentence_in_place_of_a_path_is_advised_to_be_put_into_a_list(text):
    error = refusal(CorpusError, corpus.read, text)
    assert error.message == f"no such corpus file: {text}"
    assert error.hint == "to read the text itself, put it into a list: hs.read([text])"


@pytest.mark.parametrize(
    ("items", "given"),
    [
        (["a", 3], "int"),
        (["a", None], "NoneType"),
        (["a", {"text": "b"}], "dict"),
        (["a", ("b", "c", "d")], "tuple of 3"),
        (["a", []], "list of 0"),
        (["a", Example("1", ("b",))], "Example"),
    ],
)
def test_an_item_that_is_not_a_text_is_reported(items, given):
    error = refusal(CorpusError, corpus.read, items)
    message = f"item 2 of the list must be a text or a pair of texts, got {given} instead"
    assert error.message == message


@pytest.mark.parametrize(
    ("source", "what"),
    [
        (["a"], "a list"),
        ("demo", "the built-in corpus"),
        (Corpus("x", "memory", lambda: iter([]), str), "a Corpus"),
    ],
)
@pytest.mark.parametrize(
    ("options", "where"),
    [
        ({"columns": "text"}, "columns applies to tables"),
        ({"format": "tsv"}, "format applies to files"),
        ({"lines": True}, "lines applies to plain text"),
        ({"pairs": False}, "reading every paragraph alone applies to plain text"),
        ({"documents": True}, "documents applies to files"),
    ],
)
def test_options_without_effect_are_refused(source, what, options, where):
    assert refusal(CorpusError, corpus.read, source, **options).message == f"{where}, not to {what}"


# --- bad input ---

ROW = "{0}\t{1}\t_\tX\t_\t_\t{2}\tdep\t_\t_"
HEAD = "column 7 is the head: 0 for the root, or a word id"
TABS = "each line needs the same columns, separated by tabs"
QUOTES = 'write the text in quotes, or name other keys, e.g. columns=["text"]'
OBJECT = 'write e.g. {"text": "A dog barks."} or {"a": "Who?", "b": "The dog."}'
ENDINGS = f"{', '.join(FORMATS)}, and .gz of each"


def tree(*heads, first=1):
    return "\n".join(
        ROW.format(first if first == "x" else first + place, f"w{place}", head)
        for place, head in enumerate(heads)
    )


def complaint(path, **options):
    """The whole message of the error that reading a file to its end raises."""
    return str(refusal(UserError, lambda: list(corpus.read(path, **options))))


EMPTY = " is empty: it has no examples"
CYCLE = "correct column 7, or remove the sentence"
CONLL = "if this is not CoNLL-U or CoNLL-X, give format="
BLANK = "a blank line must separate sentences"
SPACES = tree(0) + "\n\n" + tree(0).replace("\t", " ")
UNKNOWN = ", line 2: none of the columns is known to hold text; the columns are c, d"
NAME = "name one or two of them, e.g. columns=['c']"
OUT_OF_RANGE = "is out of range, the sentence has 2 words"
LATER = tree(0) + "\n\n" + tree(0, 3, 4, 2)
CONTENTS = [  # the file's name and contents, the message after its path, and the hint
    ("a.txt", "", EMPTY, "give at least one text"),
    ("a.txt", " \n\n\t\n", EMPTY, "give at least one text"),
    ("a.jsonl.gz", "", EMPTY, "give at least one text"),
    ("a.conllu", "\n# text = x\n\n", EMPTY, "give at least one text"),
    ("a.tsv", "sentence\tlabel\n", EMPTY, "give at least one text"),
    (
        "a.jsonl",
        '{"a": "x"}\n\n{"a": }\n',
        ", line 3: not JSON (Expecting value: line 1 column 7 (char 6))",
        "every line must be one JSON object; use .txt for plain text",
    ),
    ("a.jsonl", '["x"]\n', ", line 1: expected a JSON object, got list", OBJECT),
    ("a.jsonl", '{"a": "x"}\n"x"\n', ", line 2: expected a JSON object, got str", OBJECT),
    (
        "a.jsonl",
        '{"a": "x"}\n{"a": "x", "b": 3}',
        ", line 2: 'b' must be a string, got int",
        QUOTES,
    ),
    ("a.jsonl", '{"text": null}', ", line 1: 'text' must be a string, got NoneType", QUOTES),
    ("a.jsonl", '{"a": "x"}\n{"c": "x", "d": 1}\n', UNKNOWN, NAME),
    ("a.tsv", "text\tlabel\nA\t1\nA\n", ", line 3: 1 columns, expected 2", TABS),
    ("a.tsv", "sentence1\tsentence2\nA\tB\tC\n", ", line 2: 3 columns, expected 2", TABS),
    ("a.tsv", "A\tB\n\nA\n", ", line 3: 1 columns, expected 2", TABS),
    ("a.conllu", "# x\n1\tDog\t_\n", ", line 2: 3 columns, expected 10 separated by tabs", CONLL),
    ("a.conll.gz", SPACES, ", line 3: 1 columns, expected 10 separated by tabs", CONLL),
    ("a.conllu", LATER, ", line 4: the heads form a cycle (2 -> 3 -> 4 -> 2)", CYCLE),
    ("a.conllu", tree(2, 3, 2, 0), ", line 2: the heads form a cycle (2 -> 3 -> 2)", CYCLE),
    ("a.conllu", "# a\n" + tree(0, 2), ", line 3: the heads form a cycle (2 -> 2)", CYCLE),
    ("a.conllu", tree(0, 3), f", line 2: head 3 {OUT_OF_RANGE}", "correct column 7"),
    ("a.conllu", tree(0, "x"), ", line 2: head 'x' is not a number", HEAD),
    ("a.conllu", tree("-1"), ", line 1: head '-1' is not a number", HEAD),
    ("a.conllu", tree(0, ""), ", line 2: head '' is not a number", HEAD),
    ("a.conllu", tree(0, 0, first=0), ", line 1: word id '0', expected 1", BLANK),
    ("a.conllu", tree(0) + "\n" + tree(1, first=3), ", line 2: word id '3', expected 2", BLANK),
    ("a.conllu", tree(0) + "\n" + tree(0), ", line 2: word id '1', expected 2", BLANK),
    ("a.conllu", tree(0, first="x"), ", line 1: word id 'x', expected 1", BLANK),
]


@pytest.mark.parametrize(("name", "text", "message", "hint"), CONTENTS)
def test_a_file_that_cannot_be_used_is_reported_with_its_line(tmp_path, name, text, message, hint):
    path = written(tmp_path / name, text)
    assert complaint(path) == f"{path}{message}\nnext: {hint}"
    if message.startswith(", line 1:"):  # the first line is read when the corpus is opened
        with pytest.raises(CorpusError):
            corpus.read(path)


@pytest.mark.parametrize(
    "name", ["gone.txt", "gone", "gone.gz", "gone.conllu.gz", "gone.xml", "a.txt/b.txt", "my a.tsv"]
)
def test_a_missing_file_is_reported_whatever_its_ending(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("x")
    assert (
        complaint(name) == f"no such corpus file: {name}\n"
        "next: give the path of a text, TSV, CSV, JSON-lines or CoNLL file, or 'demo'"
    )


@pytest.mark.parametrize("name", ["folder", "folder.txt", "folder.tsv.gz"])
def test_a_folder_is_reported_whatever_its_ending(tmp_path, name):
    (tmp_path / name).mkdir()
    message = f"{tmp_path / name} is a folder, not a corpus file\nnext: give one file"
    assert complaint(tmp_path / name) == message


def test_a_file_that_may_not_be_read_is_reported(tmp_path):
    path = written(tmp_path / "secret.txt", "x")
    path.chmod(0)
    user = os.geteuid()
    try:
        if user == 0:  # root may read everything: become nobody for a moment
            os.seteuid(65534)
        message = complaint(path)
    finally:
        os.seteuid(user)
    hint = "next: check the path and the file's permissions"
    assert message == f"{path} cannot be read: permission denied\n{hint}"
    path = tmp_path / ("x" * 300 + ".txt")
    assert complaint(path) == f"{path} cannot be read: file name too long\n{hint}"


def damaged():
    whole = bytearray(gzip.compress(bytes(range(32, 127)) * 50, mtime=0))
    whole[20:40] = b"\xff" * 20
    return bytes(whole)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (
            gzip.compress(b"One.\n\nTwo.\n" * 100, mtime=0)[:-9],
            "Compressed file ended before the end-of-stream marker was reached)",
        ),
        (b"One.\n", "Not a gzipped file (b'On'))"),
        (damaged(), ""),
    ],
    ids=["cut off", "not gzipped", "damaged"],
)
def test_a_gzip_file_that_is_cut_off_damaged_or_none_is_reported(tmp_path, data, reason):
    path = tmp_path / "a.txt.gz"
    path.write_bytes(data)
    message, hint = complaint(path).splitlines()
    assert message.startswith(f"{path} is not a complete gzip file ({reason}")
    assert hint == "next: copy or download it again"


LIMIT = "the limit must be 1 or more, got {} instead\nnext: leave it out to read everything"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"format": "tvs"},
            f"the format must be one of {', '.join(sorted(KINDS))}; got 'tvs' instead. Did you "
            "mean 'tsv'?",
        ),
        (
            {"columns": ["a", "b", "c"]},
            "columns must name one or two columns of text, got 3 instead: a, b, c\n"
            'next: give e.g. columns=["sentence1", "sentence2"]',
        ),
        *(({"limit": limit}, LIMIT.format(limit)) for limit in (0, -3)),
    ],
)
def test_an_option_that_cannot_be_used_is_refused(tmp_path, options, message):
    path = written(tmp_path / "a.tsv", "a\tb\tc\n1\t2\t3\n")
    assert complaint(path, **options) == message


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
    path = written(tmp_path / name, data)
    assert (
        complaint(path) == f"{path}, line {line}: not valid UTF-8 (byte {byte} of the line)\n"
        f"next: convert the file, e.g. {convert}"
    )


@pytest.mark.parametrize(
    ("name", "ending"),
    [("a.xml", ".xml"), ("a", ""), ("a.gz", ""), ("a.XML.gz", ".xml"), ("a.txt.bak", ".bak")],
)
def test_an_unknown_ending_is_reported_with_those_that_are_known(tmp_path, name, ending):
    path = written(tmp_path / name, b"One.")
    error = refusal(CorpusError, corpus.read, path)
    names = f"{', '.join([*KINDS][:-1])} or {[*KINDS][-1]}"
    assert error.message == (
        f"the ending '{ending}' of {path} does not say what its format is; known are {ENDINGS}"
    )
    assert error.hint == f"give format=, one of {names}"


@pytest.mark.parametrize(
    ("name", "text", "where"),
    [
        ("a.tsv", "sentence1\tlabel\nA\t1\n", "{path}"),
        ("a.jsonl", '{"sentence1": "A", "label": 1}\n', "{path}, line 1"),
    ],
)
def test_an_unknown_column_is_reported_with_those_there_are(tmp_path, name, text, where):
    path = written(tmp_path / name, text)
    assert (
        complaint(path, columns=["sentence1", "b"])
        == f"{where.format(path=path)}: no column 'b'; the columns are sentence1, label\n"
        "next: name one or two of them, e.g. columns=['sentence1']"
    )


def test_an_example_made_by_hand_has_one_text_or_two():
    message = "example 7: one text or two are allowed, got 3 instead"
    assert str(refusal(CorpusError, Example, "7", ("a", "b", "c"))) == message
