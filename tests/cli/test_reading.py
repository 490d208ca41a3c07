"""How commands read a corpus: columns, headers and lines; what was read is printed."""

from __future__ import annotations

from pathlib import Path

import pytest

import headscope as hs

REVIEWS = "review\tstars\nthe dog sat\t5\nthe cat\t1\n"


@pytest.fixture
def survey(run, tmp_path, tiny_folder):
    def start(name: str, text: str, *options: str):
        (tmp_path / name).write_text(text, encoding="utf-8")
        how = ["--measure", "position", "--max-length", "32", "-o", tmp_path / "x.nc"]
        return run("survey", tiny_folder, tmp_path / name, *how, *options)

    return start


def seen(tmp_path: Path) -> int:
    return int(hs.open(tmp_path / "x.nc").provenance["counts"]["seen"])


def test_an_unknown_header_is_asked_about(survey, tmp_path):
    done = survey("films.tsv", REVIEWS)
    assert done.code == 2
    assert done.told == [
        f"error: {tmp_path / 'films.tsv'}: the first line looks like a header, but none of its "
        "columns is known to hold text; the columns are review, stars",
        "next:  name the columns of text, e.g. --columns review; "
        "if the first line is data, give --no-read.header",
    ]


@pytest.mark.parametrize(
    ("options", "first", "count"),
    [
        (("--columns", "review"), '"the dog sat"', 2),
        (("--columns", "1", "--read.header"), '"the dog sat"', 2),
        (("--columns", "1", "--no-read.header"), '"review"', 3),
        (("--columns", "review,stars"), '"the dog sat" | "5"', 2),
    ],
)
def test_columns_are_chosen_by_name_or_number(survey, tmp_path, options, first, count):
    done = survey("films.tsv", REVIEWS, *options)
    assert done.code == 0
    kind = "pairs" if "|" in first else "texts"
    assert f"read {count} {kind}; first: {first}" in done.err
    assert seen(tmp_path) == count


def test_every_line_is_a_text_with_lines(survey, tmp_path):
    done = survey("a.txt", "the dog sat.\nthe cat.\nthe mat.\n", "--lines")
    assert 'read 3 texts; first: "the dog sat."' in done.err
    assert seen(tmp_path) == 3


def test_one_sentence_per_line_is_read_by_lines_and_said_to_be(survey, tmp_path):
    done = survey("a.txt", "the dog sat.\nthe cat.\nthe mat.\n")
    assert f"note: {tmp_path / 'a.txt'}: it has no blank lines and its lines end like" in done.err
    assert "(--paragraphs on the command line)" in done.err
    assert seen(tmp_path) == 3


def test_lines_are_joined_with_paragraphs(survey, tmp_path):
    done = survey("a.txt", "the dog sat.\nthe cat.\nthe mat.\n", "--paragraphs")
    assert 'read 1 text; first: "the dog sat. the cat. the mat."' in done.err
    assert "note:" not in done.err
    assert seen(tmp_path) == 1


def test_a_csv_file_is_read(survey, tmp_path):
    done = survey("a.csv", 'text,label\n"the dog, sat",1\n')
    assert 'read 1 text; first: "the dog, sat" (label: 1)' in done.err
