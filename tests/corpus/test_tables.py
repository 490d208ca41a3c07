"""TSV and JSON lines, as public data sets write them."""

import csv
import gzip
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headscope import corpus
from headscope.corpus import Example
from headscope.errors import CorpusError, UserError
from refusals import refusal
from written import read_written, rows_of, texts_of, written

# --- table ---

GLUE = {
    "MRPC": (
        "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String",
        '1\t7\t8\tHe said " no .\t" No , " he said .',
        ('He said " no .', '" No , " he said .'),
        "1",
    ),
    "QNLI": ("index\tquestion\tsentence\tlabel", "0\tWho?\tMe.\tyes", ("Who?", "Me."), "yes"),
    "RTE": ("index\tsentence1\tsentence2\tlabel", "0\tA.\tB.\tno", ("A.", "B."), "no"),
    "SST-2": ("sentence\tlabel", "a charming journey . \t1", ("a charming journey .",), "1"),
    "STS-B": (
        "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\tsentence2\tscore",
        "0\tmain\tMSRvid\t2012\t1\tnone\tnone\tA plane.\tAn air plane.\t5.000",
        ("A plane.", "An air plane."),
        "5.000",
    ),
    "QQP": (
        "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate",
        "4\t5\t6\tWhy?\tHow come?\t1",
        ("Why?", "How come?"),
        "1",
    ),
    "SNLI": ("gold_label\tsentence1\tsentence2", "neutral\tA.\tB.", ("A.", "B."), "neutral"),
    "premise": ("premise\thypothesis\tlabel", "A man.\tA boy.\t2", ("A man.", "A boy."), "2"),
    "text": ("label\ttext", "pos\tFine.", ("Fine.",), "pos"),
}


def read(tmp_path, text, name="a.tsv", **options):
    return read_written(tmp_path / name, text, **options)


@pytest.mark.parametrize("ending", [".tsv", ".tsv.gz"])
@pytest.mark.parametrize("task", GLUE)
def test_the_columns_of_a_public_task_are_known_by_its_header(tmp_path, task, ending):
    header, row, texts, label = GLUE[task]
    expected = [Example("2", texts, label=label)]
    assert read(tmp_path, f"{header}\n{row}\n", f"{task}{ending}") == expected


@pytest.mark.parametrize("task", GLUE)
def test_the_same_records_as_json_lines_give_the_same_texts_and_labels(tmp_path, task):
    header, row, texts, label = GLUE[task]
    record = dict(zip(header.split("\t"), row.split("\t"), strict=True)) | {"id": 12}
    expected = [Example("12", texts, label=label)]
    assert read(tmp_path, json.dumps(record) + "\n\n", "a.jsonl") == expected


@pytest.mark.parametrize(
    "text",
    [
        "A.\tB.\tyes\tmore\nC.\tD.\tno\n",
        "\nA.\tB.\tyes\r\n\r\nC.\tD.\tno",
        "\ufeffA.\tB.\tyes\n\t\t\nC.\tD.\tno\n",
    ],
)
def test_without_a_header_the_first_two_columns_are_texts_and_the_third_a_label(tmp_path, text):
    assert rows_of(read(tmp_path, text)) == [(("A.", "B."), "yes"), (("C.", "D."), "no")]


def test_without_a_header_one_column_is_a_text_and_two_a_pair_without_label(tmp_path):
    assert rows_of(read(tmp_path, "A.\nC.\n")) == [(("A.",), None), (("C.",), None)]
    assert rows_of(read(tmp_path, "A.\tB.\n")) == [(("A.", "B."), None)]


def test_a_header_may_follow_blank_lines_or_a_byte_order_mark(tmp_path):
    expected = [Example("4", ("Fine.",), label="1")]
    assert read(tmp_path, "\ufeff\n\nlabel\tsentence\n1\tFine.\n") == expected


def test_named_columns_override_known_ones_and_keep_their_order(tmp_path):
    text = "sentence1\tsentence2\tnote\tlabel\nA.\tB.\tC.\t1\n"
    assert read(tmp_path, text, columns=["note"])[0].texts == ("C.",)
    assert read(tmp_path, text, columns=["note", "sentence1"])[0].texts == ("C.", "A.")
    assert read(tmp_path, json.dumps({"a": "A.", "note": "C."}), "a.jsonl", columns=["note", "a"])[
        0
    ].texts == ("C.", "A.")


def test_quotes_are_ordinary_characters(tmp_path):
    row = '"A\t"" b "" "\t\'c'
    expected = Example("2", ('"A', '"" b "" "'), label="'c")
    assert read(tmp_path, f"sentence1\tsentence2\tlabel\n{row}\n")[0] == expected


def test_json_keeps_tabs_and_line_breaks_inside_a_text(tmp_path):
    assert read(tmp_path, '{"a": " x\\ty\\nz ", "b": "\\u00e9\\ud83d\\ude42"}', "a.ndjson")[
        0
    ].texts == ("x\ty\nz", "é🙂")


@pytest.mark.parametrize(
    ("value", "label"), [(1, "1"), (0, "0"), ("no", "no"), (2.5, "2.5"), (None, None)]
)
def test_a_json_label_becomes_a_string_and_null_is_none(tmp_path, value, label):
    assert read(tmp_path, json.dumps({"text": "x", "label": value}), "a.jsonl")[0].label == label


def test_json_lines_are_named_by_their_id_or_line(tmp_path):
    found = read(tmp_path, '{"text": "x", "id": "q-1"}\n\n{"text": "y"}', "a.jsonl.gz")
    assert [(example.id, example.source) for example in found] == [
        ("q-1", f"{tmp_path / 'a.jsonl.gz'}, line 1"),
        ("3", f"{tmp_path / 'a.jsonl.gz'}, line 3"),
    ]


def test_an_empty_cell_is_an_empty_text(tmp_path):
    assert read(tmp_path, "sentence1\tsentence2\nA.\t\n\tB.\n")[0].texts == ("A.", "")
    assert read(tmp_path, "sentence1\tsentence2\nA.\t\n\tB.\n")[1].texts == ("", "B.")


@pytest.mark.shared
@pytest.mark.parametrize(
    ("file", "columns", "label"),
    [
        ("MRPC/dev", ("#1 String", "#2 String"), "Quality"),
        ("QNLI/dev", ("question", "sentence"), "label"),
        ("RTE/dev", ("sentence1", "sentence2"), "label"),
        ("SST-2/dev", ("sentence",), "label"),
        ("STS-B/dev", ("sentence1", "sentence2"), "score"),
    ],
)
def test_glue_reads_as_the_csv_module_reads_it_without_quoting(shared, file, columns, label):
    path = shared / "data" / "glue" / f"{file}.tsv.gz"
    with gzip.open(path, "rt", encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle, delimiter="\t", quoting=csv.QUOTE_NONE))
    found = list(corpus.read(path))
    assert len(rows) > 200
    expected = [(tuple(row[column].strip() for column in columns), row[label]) for row in rows]
    assert rows_of(found) == expected


# --- headers ---


@pytest.fixture
def table(tmp_path):
    return lambda text, name="films.tsv": written(tmp_path / name, text)


def complaint(path, kind=CorpusError, **options):
    return refusal(kind, corpus.read, path, **options)


REVIEWS = "review\tstars\nGreat film, really.\t5\nDull.\t1\n"


def test_a_header_of_unknown_names_is_asked_about_and_its_columns_are_listed(table):
    path = table(REVIEWS)
    error = complaint(path)
    assert error.message == (
        f"{path}: the first line looks like a header, but none of its columns is known to hold "
        "text; the columns are review, stars"
    )
    assert error.hint == (
        "name the columns of text, e.g. columns=['review']; "
        "if the first line is data, give header=False"
    )


def test_the_column_that_is_proposed_is_the_one_with_most_words(table):
    path = table("id\tbody\tstars\n1\tA fine film that I liked.\t5\n2\tDull and long.\t1\n")
    assert complaint(path).hint.startswith("name the columns of text, e.g. columns=['body'];")


@pytest.mark.parametrize("columns", ["review", ["review"], ("review",)])
def test_columns_given_by_name_make_the_first_line_a_header(table, columns):
    expected = [Example("2", ("Great film, really.",)), Example("3", ("Dull.",))]
    assert list(corpus.read(table(REVIEWS), columns=columns)) == expected


@pytest.mark.parametrize("number", [1, "1"])
def test_columns_are_given_by_number_too_counted_from_one(table, number):
    found = corpus.read(table(REVIEWS), columns=[number], label="stars")
    assert rows_of(found) == [(("Great film, really.",), "5"), (("Dull.",), "1")]


def test_numbers_alone_do_not_say_whether_the_first_line_is_a_header(table):
    path = table(REVIEWS)
    assert "looks like a header" in complaint(path, columns=[1]).message
    expected = [("Great film, really.",), ("Dull.",)]
    assert texts_of(corpus.read(path, columns=[1], header=True)) == expected
    expected = [("review",), ("Great film, really.",), ("Dull.",)]
    assert texts_of(corpus.read(path, columns=[1], header=False)) == expected


def test_a_column_that_is_called_by_a_number_is_found_by_its_name(table):
    path = table("2\ttext\nno\tyes\n")
    assert next(iter(corpus.read(path, columns="2", header=True))).texts == ("no",)
    assert next(iter(corpus.read(path, columns=2, header=True))).texts == ("yes",)


@pytest.mark.parametrize(
    "text",
    [
        "review\tverdict\nA fine film.\tgood\n",
        "Review text\tStar rating\nFine.\t4.5\nDull.\t2\n",
        "Satz\tUrteil\nEin guter Film.\tgut\n",
        "review\nA fine film.\nA dull one.\n",
        "id\treview\n17\tFine.\n18\tDull.\n",
    ],
)
def test_what_looks_like_a_header_is_never_read_as_a_text(table, text):
    assert "looks like a header" in complaint(table(text)).message


@pytest.mark.parametrize(
    "text",
    [
        "Who barks?\tThe dog.\nWho sleeps now?\tThe cat does.\n",
        "Hello\nHow are you today?\n",  # one capitalised word: as likely a text
        "A.\tB.\nC.\tD.\n",
        "dog\tcat\nhouse\ttree\n",
        "The dog\tThe cat\nA dog barks.\tA cat sleeps.\n",
        "yes\tyes\nA dog barks.\tA cat sleeps.\n",  # columns have different names
    ],
)
def test_lines_without_a_header_are_all_read(table, text):
    expected = [tuple(line.split("\t")) for line in text.splitlines()]
    assert texts_of(corpus.read(table(text))) == expected


def test_a_known_name_of_a_label_is_a_header_whose_text_must_be_named(table):
    path = table("review\tlabel\nFine.\tgood\n")
    error = complaint(path)
    message = f"{path}: none of the columns is known to hold text; the columns are review, label"
    assert error.message == message
    assert error.hint == "name one or two of them, e.g. columns=['review']"
    assert next(iter(corpus.read(path, columns="review"))).label == "good"


@pytest.mark.parametrize("name", ["Text", "SENTENCE", " text "])
def test_known_names_are_known_in_capitals_and_between_spaces(table, name):
    assert texts_of(corpus.read(table(f"{name}\tLabel\nx y\t1\n"))) == [("x y",)]


def test_a_sentence_that_is_a_known_name_is_not_a_header(table):
    text = "text\tThe word of the day is 'text', as I said.\nquestion\tThe word of the next day.\n"
    assert corpus.read(table(text)).size() == 2


def test_two_columns_that_could_hold_the_text_are_asked_about(table):
    path = table("text\tquestion\nA dog barks.\tWho?\n")
    assert complaint(path).message == f"{path}: several columns may hold the text (text, question)"


def test_a_name_that_two_columns_share_must_be_given_as_a_number(table):
    path = table("text\treview\treview\nA.\tB.\tC.\n")
    error = complaint(path, columns="review")
    assert error.message == f"{path}: 2 columns are called 'review'"
    assert error.hint == "give the column's number, e.g. columns=[2]"
    assert next(iter(corpus.read(path, columns=3))).texts == ("C.",)


@pytest.mark.parametrize("number", [0, 3, "9"])
def test_a_number_beyond_the_columns_is_refused(table, number):
    path = table(REVIEWS)
    error = complaint(path, columns=number, header=True)
    assert error.message == f"{path}: there is no column {int(number)}; the table has 2"
    assert error.hint == "columns are counted from 1"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (2.5, "the {} must be text or a whole number, got 2.5 instead"),
        (None, "the {} must be text or a whole number, got None instead"),
        (True, "a column must be a name or a number from 1, got True instead"),
    ],
)
def test_a_column_that_is_neither_name_nor_number_is_refused(table, wrong, message):
    error = complaint(table(REVIEWS), UserError, columns=["review", wrong])
    assert error.message == message.format("columns")
    assert error.hint == 'give e.g. columns=["review"] or columns=[2]'
    if wrong is not None:
        assert complaint(table(REVIEWS), UserError, columns=wrong).message == error.message
        other = complaint(table(REVIEWS), UserError, columns="review", label=wrong)
        assert other.message == message.format("label")


@pytest.mark.parametrize(
    ("text", "what", "hint"),
    [
        ("Great film.\t5\nDull.\t1\n", "column 2 seems to hold numbers (5, 1)", "[1], label=2"),
        ("17\tGreat film.\n18\tDull.\n", "column 1 seems to hold numbers (17, 18)", "[2], label=1"),
        (
            "".join(f"Film {n}.\t{'good' if n % 2 else 'bad'}\n" for n in range(8)),
            "column 2 seems to hold labels (bad, good)",
            "[1], label=2",
        ),
    ],
)
def test_without_a_header_columns_that_hold_no_text_are_asked_about(table, text, what, hint):
    path = table(text)
    error = complaint(path)
    assert error.message == (f"{path}: {what}, not texts, and no header says what the columns are")
    assert error.hint == f"give the columns by number, e.g. columns={hint}"


def test_columns_chosen_by_number_need_no_header(table):
    path = table("Great film.\t5\tann\nDull.\t1\tbob\n")
    assert [
        (example.texts, example.label, example.group)
        for example in corpus.read(path, columns=[1], label=2, group=3)
    ] == [(("Great film.",), "5", "ann"), (("Dull.",), "1", "bob")]


def test_a_csv_file_is_read_as_the_csv_module_reads_it(table):
    path = table('text,label\n"Great, ""really"" great",5\nDull,1\n', "films.csv")
    read = corpus.read(path)
    assert (read.format, list(read)) == (
        "csv",
        [Example("2", ('Great, "really" great',), label="5"), Example("3", ("Dull",), label="1")],
    )


def test_a_csv_file_may_be_gzipped_and_break_lines_inside_quotes(table):
    path = table('sentence1,sentence2\r\n"One\r\ntwo",Three\r\n\r\nFour,Five\r\n', "a.CSV.gz")
    expected = [("2", ("One\ntwo", "Three")), ("5", ("Four", "Five"))]
    assert [(example.id, example.texts) for example in corpus.read(path)] == expected


@given(
    st.lists(
        st.tuples(
            *[st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\0"))] * 2
        ),
        min_size=1,
        max_size=8,
    )
)
def test_what_the_csv_module_writes_is_read_back(tmp_path_factory, rows):
    rows = [row for row in rows if any(cell.strip() for cell in row)] or [("x", "y")]
    held = io.StringIO()
    csv.writer(held, lineterminator="\n").writerows([("a", "b"), *rows])
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    path.write_bytes(held.getvalue().encode())
    assert texts_of(corpus.read(path)) == [(one.strip(), two.strip()) for one, two in rows]


def test_headers_of_csv_files_are_asked_about_too(table):
    path = table("review,stars\nFine.,5\n", "films.csv")
    assert complaint(path).message == (
        f"{path}: the first line looks like a header, but none of its columns is known to hold "
        "text; the columns are review, stars"
    )


def test_an_open_quote_is_named_with_its_line(table):
    path = table('text,label\nFine,1\n"Dull,0\n', "films.csv")
    message = f"{path}, line 3: not valid CSV (unexpected end of data)"
    assert refusal(CorpusError, lambda: list(corpus.read(path))).message == message


def test_a_row_of_a_csv_file_that_is_too_short_is_named_with_its_line(table):
    path = table("text,label\nFine,1\nDull\n", "films.csv")
    assert str(refusal(CorpusError, lambda: list(corpus.read(path)))) == (
        f"{path}, line 3: 1 columns, expected 2\n"
        "next: each line needs the same columns, separated by commas"
    )


@pytest.mark.parametrize(
    ("name", "text", "by", "kind"),
    [
        ("a.tsv", 'text,label\n"Fine, really",1\n', "commas, not by tabs", "csv"),
        ("a.csv", "text\tlabel\nFine\t1\n", "tabs, not by commas", "tsv"),
    ],
)
def test_a_table_with_the_wrong_separator_is_not_read_as_one_column(table, name, text, by, kind):
    path = table(text, name)
    error = complaint(path)
    expected = (f"{path} is separated by {by}", f"give format='{kind}'")
    assert (error.message, error.hint) == expected
    assert corpus.read(path, format=kind).preview().startswith('read 1 text; first: "Fine')


def test_a_csv_file_with_semicolons_is_left_to_pandas(table):
    path = table("text;label\nFine;1\n", "a.csv")
    error = complaint(path)
    assert error.message == f"{path} is separated by semicolons, not by commas"
    assert "pandas.read_csv" in error.hint


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": "text"}, "columns applies to tables, not to the format text"),
        ({"label": "text"}, "label applies to tables, not to the format text"),
        ({"group": 1}, "group applies to tables, not to the format text"),
        ({"header": False}, "header applies to TSV and CSV files, not to the format text"),
    ],
)
def test_options_of_tables_are_refused_for_plain_text(table, options, message):
    assert complaint(table("One.\n", "a.txt"), **options).message == message


def test_lines_are_refused_for_tables(table):
    error = complaint(table("text\nOne.\n"), lines=True)
    assert error.message == "lines applies to plain text, not to the format tsv"
    assert error.hint == "leave lines= out"


def test_reading_paragraphs_alone_is_refused_for_tables_and_for_lines(table):
    error = complaint(table("text\nOne.\n"), pairs=False)
    message = "reading every paragraph alone applies to plain text, not to the format tsv"
    assert error.message == message
    assert error.hint == "leave pairs=False out"
    error = complaint(table("One.\n", "a.txt"), pairs=False, lines=True)
    assert error.message == (
        "reading every paragraph alone has no effect with lines: "
        "every line is already a text of its own"
    )


def test_advice_names_the_column_with_most_words_in_every_kind_of_table(tmp_path):
    pandas = pytest.importorskip("pandas")
    rows = [{"id": "1", "body": "A dog barks at the cat."}, {"id": "2", "body": "It rained."}]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "a.csv").write_text("id,body,label\n1,A dog barks at the cat.,x\n")
    sources = [tmp_path / "a.jsonl", tmp_path / "a.csv", pandas.DataFrame(rows)]
    for source in sources:
        for columns in (None, "txt"):
            error = refusal(CorpusError, corpus.read, source, columns=columns)
            assert "columns=['body']" in error.hint
