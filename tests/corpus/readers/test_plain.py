"""Plain text: paragraphs and pairs of them."""

import gzip

import pytest

from headscope import corpus

FOUR = "One.\n\nTwo,\nstill two.\n\n\n\nThree.\n\nFour.\n"


def read(tmp_path, text, name="a.txt", **options):
    file = tmp_path / name
    data = text.encode() if isinstance(text, str) else text
    file.write_bytes(gzip.compress(data) if name.lower().endswith(".gz") else data)
    return list(corpus.read(file, **options))


def test_consecutive_paragraphs_pair_up_and_their_lines_are_joined_by_spaces(tmp_path):
    assert [example.texts for example in read(tmp_path, FOUR)] == [
        ("One.", "Two, still two."),
        ("Three.", "Four."),
    ]


def test_an_odd_last_paragraph_stands_alone(tmp_path):
    assert [example.texts for example in read(tmp_path, "One.\n\nTwo.\n\nThree.")] == [
        ("One.", "Two."),
        ("Three.",),
    ]


def test_without_pairs_every_paragraph_is_an_example(tmp_path):
    found = read(tmp_path, FOUR, pairs=False)
    assert [example.texts for example in found] == [
        ("One.",),
        ("Two, still two.",),
        ("Three.",),
        ("Four.",),
    ]


def test_an_example_is_named_by_the_line_of_its_first_paragraph(tmp_path):
    assert [(example.id, example.source) for example in read(tmp_path, FOUR)] == [
        (line, f"{tmp_path / 'a.txt'}, line {line}") for line in ("1", "8")
    ]


def test_a_paragraph_of_several_lines_is_named_by_its_first(tmp_path):
    assert [example.id for example in read(tmp_path, FOUR, pairs=False)] == ["1", "3", "8", "10"]


@pytest.mark.parametrize("blank", ["", " ", "\t \u3000"])
def test_a_line_of_white_space_separates_paragraphs(tmp_path, blank):
    assert [example.texts for example in read(tmp_path, f"One.\n{blank}\nTwo.\n")] == [
        ("One.", "Two.")
    ]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("crlf.txt", FOUR.replace("\n", "\r\n")),
        ("bom.txt", "\ufeff" + FOUR),
        ("no_end.md", FOUR.rstrip("\n")),
        ("SHOUT.TXT", FOUR),
        ("zipped.txt.gz", FOUR),
        ("ZIPPED.TXT.GZ", "\ufeff" + FOUR.replace("\n", "\r\n")),
        ("indented.txt", "\n\n  One.  \n\n  Two,  \n\tstill two.\n\nThree.\n\nFour.\n"),
    ],
)
def test_line_ends_byte_order_marks_indents_and_gzip_change_nothing(tmp_path, name, data):
    assert [example.texts for example in read(tmp_path, data, name)] == [
        ("One.", "Two, still two."),
        ("Three.", "Four."),
    ]


def test_a_byte_order_mark_inside_a_file_is_a_character_like_any_other(tmp_path):
    assert read(tmp_path, "One.\n\n\ufeffTwo.\n")[0].texts == ("One.", "\ufeffTwo.")


def test_unicode_line_separators_do_not_end_a_line(tmp_path):
    assert read(tmp_path, "One\u2028still\u0085one.\n")[0].texts == ("One\u2028still\u0085one.",)


def test_plain_text_offers_pairs_only_where_it_has_them(tmp_path):
    (tmp_path / "a.txt").write_text(FOUR)
    assert corpus.read(tmp_path / "a.txt").annotations == {"pair"}
    assert corpus.read(tmp_path / "a.txt", pairs=False).annotations == set()


def notes(tmp_path, text, **options):
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    return corpus.read(tmp_path / "a.txt", **options).notes


def test_lines_makes_every_line_that_is_not_blank_a_text(tmp_path):
    found = read(tmp_path, "One.\n  Two, \n\n \nThree.", lines=True)
    assert [(example.id, example.texts) for example in found] == [
        ("1", ("One.",)),
        ("2", ("Two,",)),
        ("5", ("Three.",)),
    ]
    assert found[2].source == f"{tmp_path / 'a.txt'}, line 5"


SENTENCES = 'A dog barks.\nWho hears it?\n"Nobody!"\nNobody does (yet).\n'


def test_a_file_of_one_sentence_per_line_is_noted(tmp_path):
    assert notes(tmp_path, SENTENCES) == (
        f"{tmp_path / 'a.txt'} looks like one sentence per line, but lines without a blank line "
        "between them are read as one paragraph; lines=True (--lines on the command line) reads "
        "every line as a text",
    )
    assert notes(tmp_path, SENTENCES, lines=True) == ()


def test_many_lines_without_any_blank_line_are_noted_whatever_they_end_in(tmp_path):
    (note,) = notes(tmp_path, "hide new secretions from the parental units\n" * 20)
    assert note.startswith(f"{tmp_path / 'a.txt'} has no blank lines, but")


@pytest.mark.parametrize(
    "text",
    [
        FOUR,
        "One.\n\nTwo.\n\nThree.\n\nFour.\n",
        "A paragraph that is\nwrapped at a width of\ntwenty or so. It goes\non and ends here.\n",
        "One sentence.\nAnd another one.\n",
        "A list\n\n" + "of words without stops\n" * 30,
    ],
)
def test_paragraphs_are_not_noted(tmp_path, text):
    assert notes(tmp_path, text) == ()
