"""Corpora of ordinary Python objects: lists, DataFrames, datasets; anything else is refused."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import headscope as hs
from headscope import corpus
from headscope.corpus import Corpus, Example, Word, join_words
from headscope.corpus.reading import ALLOWED
from headscope.errors import CorpusError

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


def complaint(source, **options):
    with pytest.raises(CorpusError) as caught:
        corpus.read(source, **options)
    return caught.value


def test_read_is_public():
    assert hs.read is corpus.read


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
    frame = pd.DataFrame(
        {
            "idx": [5, 6],
            "premise": ["A dog barks. ", "A cat."],
            "hypothesis": ["An animal.", "No."],
            "label": [0, 1],
            "doc_id": ["d1", "d2"],
        },
        index=[10, 20],
    )
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
    assert [one.texts for one in corpus.read(frame, columns=[1])] == [("A cat.",)]
    assert [one.texts for one in corpus.read(frame, columns=[0, 1])] == [("A dog.", "A cat.")]


def test_a_missing_label_or_group_is_none():
    frame = pd.DataFrame(
        {"text": ["a", "b", "c"], "label": ["x", None, np.nan], "group": ["g", pd.NA, None]}
    )
    assert [(one.label, one.group) for one in corpus.read(frame)] == [
        ("x", "g"),
        (None, ""),
        (None, ""),
    ]


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_a_row_without_a_text_is_named(missing):
    error = complaint(pd.DataFrame({"text": ["a", missing]}, index=["x", "y"]))
    assert error.message == "DataFrame, row y: 'text' has no text"
    assert error.hint == "drop such rows first, e.g. data.dropna(subset=[…])"


def test_a_text_that_is_a_number_is_named():
    error = complaint(pd.DataFrame({"text": [3]}))
    assert error.message == "DataFrame, row 0: 'text' must be a string, got int instead"


def test_a_data_frame_without_known_columns_lists_them():
    error = complaint(pd.DataFrame({"review": ["a"], "stars": [3]}))
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
    error = complaint(datasets.DatasetDict(train=data))
    assert error.hint == "choose a split: data['train'] (there are train)"


def test_a_dictionary_of_datasets_asks_for_a_split():
    data = Dataset(text=["a"])
    error = complaint({"train": data, "test": data})
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
    error = complaint(source)
    assert error.message == f"a corpus must be {ALLOWED}; got {name} instead"
    assert error.hint == hint


def test_a_bare_string_is_not_a_list_of_letters():
    with pytest.raises(CorpusError) as caught:
        corpus.from_texts("The dog")
    assert str(caught.value) == (
        "the texts must be a list, got one str instead\nnext: put it into a list: ['The dog']"
    )


@pytest.mark.parametrize("text", ["The dog barks at night.", "The dog\nbarks", "Who barks"])
def test_a_sentence_in_place_of_a_path_is_advised_to_be_put_into_a_list(text):
    error = complaint(text)
    assert error.message == f"no such corpus file: {text}"
    assert error.hint == "to read the text itself, put it into a list: hs.read([text])"


def test_a_missing_file_with_spaces_in_its_name_is_a_missing_file():
    assert complaint("my long file.tsv").hint == (
        "give the path of a text, TSV, CSV, JSON-lines or CoNLL file, or 'demo'"
    )


@pytest.mark.parametrize("source", [[], ()])
def test_an_empty_list_is_refused(source):
    assert complaint(source).message == "the list is empty: it has no texts"


def test_a_data_frame_without_rows_is_refused():
    assert complaint(pd.DataFrame({"text": []})).message == (
        "DataFrame of 0 rows is empty: it has no examples"
    )


def test_an_empty_path_is_refused():
    assert complaint("").message == "the path of the corpus is empty"


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
    error = complaint(items)
    assert error.message == (
        f"item 2 of the list must be a text or a pair of texts, got {given} instead"
    )


def test_half_a_surrogate_pair_is_refused():
    assert complaint(["a", "b\ud800"]).message == (
        "item 2 of the list has half of a surrogate pair (\\ud800 to \\udfff), "
        "which is not a character"
    )


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
    assert complaint(source, **options).message == f"{where}, not to {what}"


def test_objects_are_parsed_too(tmp_path, monkeypatch):
    pytest.importorskip("spacy")
    monkeypatch.setenv("HEADSCOPE_CACHE", str(tmp_path))
    read = corpus.read(["A dog barks."], parse=True)
    assert (read.format, read.annotations) == ("memory+spacy", {"words", "tree", "tags"})
