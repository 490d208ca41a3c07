"""Plain text: paragraphs and pairs of them."""

import pytest

from headscope import corpus
from written import read_written, texts_of

FOUR = "One.\n\nTwo,\nstill two.\n\n\n\nThree.\n\nFour.\n"


def read(tmp_path, text, name="a.txt", **options):
    return read_written(tmp_path / name, text, **options)


def test_consecutive_paragraphs_pair_up_and_their_lines_are_joined_by_spaces(tmp_path):
    assert texts_of(read(tmp_path, FOUR)) == [("One.", "Two, still two."), ("Three.", "Four.")]


def test_an_odd_last_paragraph_stands_alone(tmp_path):
    assert texts_of(read(tmp_path, "One.\n\nTwo.\n\nThree.")) == [("One.", "Two."), ("Three.",)]


def test_without_pairs_every_paragraph_is_an_example(tmp_path):
    found = read(tmp_path, FOUR, pairs=False)
    assert texts_of(found) == [("One.",), ("Two, still two.",), ("Three.",), ("Four.",)]


def test_an_example_is_named_by_the_line_of_its_first_paragraph(tmp_path):
    expected = [(line, f"{tmp_path / 'a.txt'}, line {line}") for line in ("1", "8")]
    assert [(example.id, example.source) for example in read(tmp_path, FOUR)] == expected


def test_a_paragraph_of_several_lines_is_named_by_its_first(tmp_path):
    assert [example.id for example in read(tmp_path, FOUR, pairs=False)] == ["1", "3", "8", "10"]


@pytest.mark.parametrize("blank", ["", " ", "\t \u3000"])
def test_a_line_of_white_space_separates_paragraphs(tmp_path, blank):
    assert texts_of(read(tmp_path, f"One.\n{blank}\nTwo.\n")) == [("One.", "Two.")]


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
    expected = [("One.", "Two, still two."), ("Three.", "Four.")]
    assert texts_of(read(tmp_path, data, name)) == expected


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
    expected = [("1", ("One.",)), ("2", ("Two,",)), ("5", ("Three.",))]
    assert [(example.id, example.texts) for example in found] == expected
    assert found[2].source == f"{tmp_path / 'a.txt'}, line 5"


SENTENCES = 'A dog barks.\nWho hears it?\n"Nobody!"\nNobody does (yet).\n'


def test_a_file_of_one_sentence_per_line_is_read_by_lines_and_noted(tmp_path):
    assert len(read(tmp_path, SENTENCES)) == 4
    assert notes(tmp_path, SENTENCES) == (
        f"{tmp_path / 'a.txt'}: it has no blank lines and its lines end like sentences, so every "
        "line is read as a text; lines=False (--paragraphs on the command line) joins the lines "
        "between blank lines",
    )
    for asked, count in ((True, 4), (False, 1)):
        assert len(read(tmp_path, SENTENCES, lines=asked)) == count
        assert notes(tmp_path, SENTENCES, lines=asked) == ()


def test_paragraphs_alone_are_paragraphs_and_the_note_says_how_to_read_lines(tmp_path):
    assert len(read(tmp_path, SENTENCES, pairs=False)) == 1
    assert notes(tmp_path, SENTENCES, pairs=False) == (
        f"{tmp_path / 'a.txt'} looks like one sentence per line, but lines without a blank line "
        "between them are read as one paragraph; lines=True (--lines on the command line) reads "
        "every line as a text",
    )


NOVEL = """\
It was on a dreary night of November that I beheld the accomplishment of
my toils. With an anxiety that almost amounted to agony, I collected the
instruments of life around me, that I might infuse a spark of being into
the lifeless thing that lay at my feet. It was already one in the
morning; the rain pattered dismally against the panes, and my candle was
nearly burnt out.
"""
POEM = """\
I wandered lonely as a cloud
That floats on high o'er vales and hills,
When all at once I saw a crowd,
A host, of golden daffodils;
Beside the lake, beneath the trees,
Fluttering and dancing in the breeze.
"""
REVIEWS = """\
hide new secretions from the parental units
contains no wit
that loves its characters and communicates something rather beautiful
remains utterly satisfied to remain the same throughout
on the worst
"""
LONG = "\n".join(f"{'word ' * (40 + 7 * number)}end {number}" for number in range(5)) + "\n"
CHINESE = "今天天气很好。\n我们去公园吧！\n你想去吗？\n"
TOGETHER = SENTENCES + "\n" + SENTENCES


@pytest.mark.parametrize(
    ("text", "texts"),
    [
        (NOVEL, 1),
        (NOVEL.replace("\n", "\r\n"), 1),
        (NOVEL + "\n" + NOVEL, 2),  # paragraphs, as from Project Gutenberg
        (NOVEL + " \t \n" + NOVEL, 2),
        ("\n\n" + NOVEL + "\n\n", 1),
        (NOVEL * 30, 1),
        (NOVEL.replace("\n", " "), 1),  # a novel on one line
        (POEM, 6),
        (POEM + "\n" + POEM, 2),
        (REVIEWS, 5),
        (LONG, 5),
        (SENTENCES, 4),
        (SENTENCES.replace("\n", "\r\n"), 4),
        (SENTENCES.rstrip("\n"), 4),
        ("\n" + SENTENCES + "\n\n", 4),
        (SENTENCES * 20 + "\n" + SENTENCES, 84),  # a stray blank line
        (TOGETHER, 2),  # one sentence per line, a blank line between documents
        (CHINESE, 3),
        ("One sentence alone.\n", 1),
        ("No stop at the end", 1),
        ("A dog barks.\nWho hears it?", 2),
        ("A paragraph that is\nwrapped at a width of\ntwenty or so, and\nends here.\n", 1),
    ],
)
def test_the_layout_of_a_file_decides_what_a_text_is(tmp_path, text, texts):
    assert sum(len(example.texts) for example in read(tmp_path, text)) == texts


def test_a_note_says_that_lines_look_wrapped(tmp_path):
    assert notes(tmp_path, NOVEL) == (
        f"{tmp_path / 'a.txt'}: it has no blank lines and its lines look wrapped at 72 "
        "characters, so lines without a blank line between them are read as one paragraph; "
        "lines=True (--lines on the command line) reads every line as a text",
    )


def test_a_note_says_that_lines_do_not_look_wrapped_or_that_blank_lines_are_few(tmp_path):
    (note,) = notes(tmp_path, REVIEWS)
    assert "it has no blank lines and its lines do not look wrapped, so every line is" in note
    (note,) = notes(tmp_path, SENTENCES * 20 + "\n" + SENTENCES)
    assert "it has few blank lines and its lines end like sentences, so every line is" in note


def test_the_first_thousand_lines_decide(tmp_path):
    wrapped = NOVEL * 170  # 1020 lines
    assert len(read(tmp_path, wrapped + SENTENCES * 300)) == 1


@pytest.mark.parametrize(
    "text",
    [
        FOUR,
        "One.\n\nTwo.\n\nThree.\n\nFour.\n",
        NOVEL + "\n" + NOVEL,
        POEM + "\n" + POEM,
        NOVEL.replace("\n", " "),
        "One sentence alone.\n",
    ],
)
def test_where_nothing_had_to_be_decided_nothing_is_noted(tmp_path, text):
    assert notes(tmp_path, text) == ()


def test_one_sentence_per_line_in_paragraphs_is_noted(tmp_path):
    (note,) = notes(tmp_path, TOGETHER)
    assert "looks like one sentence per line, but lines without a blank line" in note
