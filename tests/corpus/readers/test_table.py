"""TSV and JSON lines, as public data sets write them."""

import csv
import gzip
import json

import pytest

from headscope import corpus
from headscope.corpus import Example

GLUE = {
    "MRPC": (
        "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String",
        '1\t7\t8\tHe said " no .\t" No , " he said .',
        ('He said " no .', '" No , " he said .'),
        "1",
    ),
    "QNLI": (
        "index\tquestion\tsentence\tlabel",
        "0\tWho?\tHe did.\tentailment",
        ("Who?", "He did."),
        "entailment",
    ),
    "RTE": (
        "index\tsentence1\tsentence2\tlabel",
        "0\tA.\tB.\tnot_entailment",
        ("A.", "B."),
        "not_entailment",
    ),
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
    "SNLI": (
        "gold_label\tsentence1\tsentence2",
        "neutral\tA man.\tA boy.",
        ("A man.", "A boy."),
        "neutral",
    ),
    "premise": ("premise\thypothesis\tlabel", "A man.\tA boy.\t2", ("A man.", "A boy."), "2"),
    "text": ("label\ttext", "pos\tFine.", ("Fine.",), "pos"),
}


def read(tmp_path, text, name="a.tsv", **options):
    file = tmp_path / name
    file.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return list(corpus.read(file, **options))


@pytest.mark.parametrize("ending", [".tsv", ".tsv.gz"])
@pytest.mark.parametrize("task", GLUE)
def test_the_columns_of_a_public_task_are_known_by_its_header(tmp_path, task, ending):
    header, row, texts, label = GLUE[task]
    assert read(tmp_path, f"{header}\n{row}\n", f"{task}{ending}") == [
        Example("2", texts, label=label)
    ]


@pytest.mark.parametrize("task", GLUE)
def test_the_same_records_as_json_lines_give_the_same_texts_and_labels(tmp_path, task):
    header, row, texts, label = GLUE[task]
    record = dict(zip(header.split("\t"), row.split("\t"), strict=True)) | {"id": 12}
    assert read(tmp_path, json.dumps(record) + "\n\n", "a.jsonl") == [
        Example("12", texts, label=label)
    ]


@pytest.mark.parametrize(
    "text",
    [
        "A.\tB.\tyes\tmore\nC.\tD.\tno\n",
        "\nA.\tB.\tyes\r\n\r\nC.\tD.\tno",
        "\ufeffA.\tB.\tyes\n\t\t\nC.\tD.\tno\n",
    ],
)
def test_without_a_header_the_first_two_columns_are_texts_and_the_third_a_label(tmp_path, text):
    assert [(example.texts, example.label) for example in read(tmp_path, text)] == [
        (("A.", "B."), "yes"),
        (("C.", "D."), "no"),
    ]


def test_without_a_header_one_column_is_a_text_and_two_a_pair_without_label(tmp_path):
    assert [(example.texts, example.label) for example in read(tmp_path, "A.\nC.\n")] == [
        (("A.",), None),
        (("C.",), None),
    ]
    assert [(example.texts, example.label) for example in read(tmp_path, "A.\tB.\n")] == [
        (("A.", "B."), None)
    ]


def test_a_header_may_follow_blank_lines_or_a_byte_order_mark(tmp_path):
    assert read(tmp_path, "\ufeff\n\nlabel\tsentence\n1\tFine.\n") == [
        Example("4", ("Fine.",), label="1")
    ]


def test_named_columns_override_known_ones_and_keep_their_order(tmp_path):
    text = "sentence1\tsentence2\tnote\tlabel\nA.\tB.\tC.\t1\n"
    assert read(tmp_path, text, columns=["note"])[0].texts == ("C.",)
    assert read(tmp_path, text, columns=["note", "sentence1"])[0].texts == ("C.", "A.")
    assert read(tmp_path, json.dumps({"a": "A.", "note": "C."}), "a.jsonl", columns=["note", "a"])[
        0
    ].texts == ("C.", "A.")


def test_quotes_are_ordinary_characters(tmp_path):
    row = '"A\t"" b "" "\t\'c'
    assert read(tmp_path, f"sentence1\tsentence2\tlabel\n{row}\n")[0] == Example(
        "2", ('"A', '"" b "" "'), label="'c"
    )


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
    assert [(example.texts, example.label) for example in found] == [
        (tuple(row[column].strip() for column in columns), row[label]) for row in rows
    ]
