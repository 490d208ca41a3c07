"""Writing documents with coreference to files, and reading their mentions."""

import json
import tarfile

import pytest

from headscope import corpus
from headscope.corpus import ROOT, Mention, Word
from headscope.errors import CorpusError
from refusals import refusal
from written import read_written, texts_of, written

# --- documents ---


def spans(example):
    return [
        (mention.start, mention.end, mention.head, mention.entity, mention.kind)
        for mention in example.mentions
    ]


def complaint(path, **options):
    return str(refusal(CorpusError, lambda: list(corpus.read(path, **options))))


# --- conll2012 ---


def columns(*rows):
    """A sentence of CoNLL-2012 from (form, tag, coreference)."""
    line = "doc 0 {} {} {} (S* - - - Speaker#1 * (ARG0*) {}\n"
    return "".join(line.format(number, *row) for number, row in enumerate(rows)) + "\n"


def document(*sentences, name="(bc/x); part 003"):
    return f"#begin document {name}\n" + "".join(sentences) + "#end document\n"


GOLD = document(
    columns(
        *(("Ann", "NNP", "(1)"), ("saw", "VBD", "-"), ("the", "DT", "(2|(12")),
        *(("dog", "NN", "12)"), ("of", "IN", "-"), ("Bo", "NNP", "(3)|2)")),
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
    path = written(
        tmp_path / name,
        (GOLD + "\n").replace("NN ", "NN" + gap).replace("- Speaker", f"-{gap}Speaker") + second,
    )
    read = corpus.read(path)
    first, second = read
    assert read.format == "conll2012"
    assert read.notes == (
        "CoNLL-2012 has no dependency trees: the head word of a mention is taken to be its last "
        "word",
    )
    expected = ("bc/x_3", ("Ann saw the dog of Bo This was hers",), f"{path}, line 1")
    assert (first.id, first.texts, first.source) == expected
    wanted = (Word("Bo", xpos="NNP"), Word("This", sentence=1, xpos="DT"), Word("was", sentence=1))
    assert first.words[5:8] == wanted
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
OPEN = "entity '1' is closed, but not open in this sentence"
UNCLOSED = "entity '1' is opened, but not closed in its sentence"
BRACKETS = "is not made of brackets such as (1, (1) and 1) with | between them"
AS_BEFORE = "as in the rest of the sentence"
OUTSIDE = "this is outside any document"
ENDLESS = GOLD.replace("#end document\n", "")
COLUMNS = [  # the text, the line and the message
    (document("doc 0 0 Ann NNP (1)\n"), 2, "6 columns, expected 12 or more"),
    (document(ROW.format("-"), ROW.format("- (1)")), 3, f"14 columns, expected 13 {AS_BEFORE}"),
    (document(ROW.format("1)")), 2, OPEN),
    (document(ROW.format("(1"), "\n", ROW.format("1)")), 2, UNCLOSED),
    (document(ROW.format("(1|(2)"), "\n"), 2, UNCLOSED),
    (document(ROW.format("(1)|(1)")), 2, "entity '1' has this mention twice"),
    (document(ROW.format("(1)|2")), 2, f"the last column '(1)|2' {BRACKETS}"),
    (document(ROW.format("(1)(2)")), 2, f"the last column '(1)(2)' {BRACKETS}"),
    (ROW.format("-"), 1, OUTSIDE),
    (GOLD + ROW.format("-"), 14, OUTSIDE),
    (GOLD + "#end document\n", 14, OUTSIDE),
    ("\n" + ENDLESS, 2, "document 'bc/x_3' does not end"),
    (ENDLESS + GOLD, 13, "document 'bc/x_3' has not ended"),
    (document("\n"), 1, "document 'bc/x_3' has no words"),
]


@pytest.mark.parametrize(("text", "line", "message"), COLUMNS)
def test_conll2012_that_cannot_be_used_is_reported_with_its_line(tmp_path, text, line, message):
    path = written(tmp_path / "a.gold_conll", text)
    assert complaint(path).splitlines()[0] == f"{path}, line {line}: {message}"


def test_a_folder_of_conll2012_files_is_one_corpus_and_an_empty_one_an_error(tmp_path):
    written(tmp_path / "b.gold_conll", GOLD)
    written(tmp_path / "a.v4_gold_conll.gz", GOLD.replace("bc/x", "bc/w"))
    expected = ["bc/w_3", "bc/x_3"]
    assert [example.id for example in corpus.read(tmp_path, format="conll2012")] == expected
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
    path = written(tmp_path / "7_a_tale_brat.conll", TALE)
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
    written(tmp_path / "8_brat.conll", TALE.replace("7_a", "8_a"))
    written(tmp_path / "7_brat.conll", TALE)
    for options in ({"documents": True}, {"format": "conll2012"}):
        read = corpus.read(tmp_path, **options)
        assert [example.group for example in read] == ["7_a_tale_brat", "8_a_tale_brat"]


def test_a_blank_word_is_reported(tmp_path):
    path = written(tmp_path / "a.gold_conll", document(litbank(("", ""))))
    assert complaint(path).splitlines()[0] == f"{path}, line 2: column 4, the word, is blank"


def test_trees_that_end_in_conll_are_still_trees(tmp_path):
    row = "1\tDogs\tdog\tNOUN\tNNS\t_\t0\troot\t_\t_\n"
    assert corpus.read(written(tmp_path / "a.conll", row)).format == "conll"


def looks(kind, known=""):
    return f"its first lines look like {kind}{known}: give format='{kind}'"


TREE = "# newdoc\n1\tDogs\tdog\tNOUN\tNNS\t_\t0\troot\t_\tEntity=(1)\n"


@pytest.mark.parametrize(
    ("name", "text", "options", "hint"),
    [
        ("a.coref", TALE, {}, looks("conll2012")),
        ("a.coref", TALE, {"format": "conll"}, looks("conll2012", ", and it was read as conll")),
        ("a.gold_conll", TREE, {}, looks("coref-conllu", ", and it was read as conll2012")),
        ("a.docs", '{"sentences": [["A"]], "mentions": []}', {}, looks("coref-jsonl")),
        ("a.docs", "plain text may be anything", {}, "give format=, one of text, "),
    ],
)
def test_the_format_is_suggested_by_the_first_lines(tmp_path, name, text, options, hint):
    assert refusal(
        CorpusError, corpus.read, written(tmp_path / name, text), **options
    ).hint.startswith(hint)


def test_a_file_that_is_read_as_a_table_but_looks_like_columns_has_a_note(tmp_path):
    path = written(tmp_path / "tale.conll", TALE)
    for kind in ("text", "tsv"):
        note = f"{path} looks like conll2012, but it was read as {kind}; format conll2012 reads it"
        assert note in corpus.read(path, format=kind).notes
    assert corpus.read(written(tmp_path / "a.txt", "One.\n\nTwo.\n")).notes == ()


def test_documents_are_read_in_the_format_of_their_first_lines(tmp_path):
    for name in ("tale.conll", "tale.txt", "tale"):
        assert corpus.read_documents(written(tmp_path / name, TALE)).format == "conll2012"
    assert corpus.read_documents(tmp_path).format == "conll2012"
    tree = "1\tDogs\tdog\tNOUN\tNNS\t_\t0\troot\t_\tEntity=(1)\n"
    assert corpus.read_documents(written(tmp_path / "a.conllu", tree)).format == "coref-conllu"


# --- conllu ---

HEADED = ["global.Entity = eid-head"]
# form, head, relation, UPOS, MISC of each word
SAW = [
    ("Ann", 2, "nsubj", "PROPN", "{0}"),
    ("saw", 0, "root", "VERB", "_"),
    ("the", 4, "det", "DET", "{1}"),
    ("dog", 2, "obj", "NOUN", "{2}"),
    ("of", 6, "case", "ADP", "_"),
]
SAW += [("Bo", 4, "nmod", "PROPN", "{3}"), (".", 2, "punct", "PUNCT", "_")]
WAS = [
    ("It", 3, "nsubj", "PRON", "{0}"),
    ("was", 3, "cop", "AUX", "{1}"),
    ("hers", 0, "root", "PRON", "{2}"),
]


def sentence(rows, *misc, comments=()):
    """A sentence of CoNLL-U; each MISC that is given is put in its place."""
    lines = [f"# {comment}" for comment in comments]
    for number, (form, head, relation, upos, last) in enumerate(rows, 1):
        filled = last.format(*misc, "_", "_", "_", "_")
        lines.append(f"{number}\t{form}\t_\t{upos}\t_\t_\t{head}\t{relation}\t_\t{filled}")
    return "\n".join(lines) + "\n\n"


TWO = sentence(
    *(SAW, "Entity=(1)", "SpaceAfter=No|Entity=(2", "_", "Entity=(3)2)"),
    comments=["newdoc id = d1", "global.Entity = GRP"],
) + sentence(WAS, "Entity=(2)", "_", "Entity=(1)")


def test_conllu_with_documents_gives_one_example_per_document_with_trees_and_mentions(tmp_path):
    path = written(
        tmp_path / "a.conllu.gz",
        TWO + sentence(WAS, "Entity=(1)", comments=["newdoc"]) + sentence(WAS),
    )
    read = corpus.read(path, documents=True)
    first, second = read
    expected = ("coref-conllu", (), {"words", "tree", "tags", "mentions"})
    assert (read.format, read.notes, read.annotations) == expected
    expected = ("d1", ("Ann saw the dog of Bo . It was hers",), f"{path}, line 3")
    assert (first.id, first.texts, first.source) == expected
    wanted = [(0, 1), (0, ROOT), (0, 3), (0, 1), (0, 5), (0, 3), (0, 1), (1, 9), (1, 9), (1, ROOT)]
    assert [(word.sentence, word.head) for word in first.words] == wanted
    assert spans(first) == [
        (0, 0, 0, "1", "proper"),
        (2, 5, 3, "2", "nominal"),
        (5, 5, 5, "3", "proper"),
        (7, 7, 7, "2", "pronoun"),
        (9, 9, 9, "1", "pronoun"),
    ]
    assert (second.id, len(second.words), spans(second)) == ("a-2", 6, [(0, 0, 0, "1", "pronoun")])
    assert (
        list(corpus.read(path, format="coref-conllu"))
        == list(corpus.read(path, format="conll", documents=True))
        == [first, second]
    )


def test_conllu_without_documents_gives_one_example_per_sentence(tmp_path):
    path = written(tmp_path / "a.conllu", TWO)
    assert (
        corpus.read(path).format,
        [(example.id, example.mentions) for example in corpus.read(path)],
    ) == ("conll", [("1", ()), ("2", ())])


@pytest.mark.parametrize("pack", ["folder", "a.tar.gz", "a.tgz", "a.tar"])
def test_a_folder_or_an_archive_of_conllu_files_is_one_corpus(tmp_path, pack):
    folder = tmp_path / "folder"
    (folder / "in").mkdir(parents=True)
    for name in ("a", "b"):
        written(folder / "in" / f"{name}.conllu", TWO.replace("= d1", f"= {name}"))
    written(folder / "in" / "notes.txt", "not a treebank")
    written(folder / "in" / "._a.conllu", "not a treebank")
    if pack != "folder":
        with tarfile.open(tmp_path / pack, "w:" if pack.endswith(".tar") else "w:gz") as archive:
            for name in ("a.conllu", "b.conllu", "notes.txt", "._a.conllu"):
                archive.add(folder / "in" / name, f"in/{name}")
    read = corpus.read(tmp_path / pack, documents=True)
    expected = [(name, 5, f"{tmp_path / pack}/in/{name}.conllu, line 3") for name in ("a", "b")]
    assert [(example.id, len(example.mentions), example.source) for example in read] == expected
    before = read.checksum
    written(folder / "in" / "notes.txt", "changed")
    assert corpus.read(tmp_path / pack, format="coref-conllu").checksum == before
    if pack == "folder":
        written(folder / "in" / "b.conllu", TWO)
        assert corpus.read(tmp_path / pack, documents=True).checksum != before


@pytest.mark.parametrize(
    ("header", "opening", "closing", "head"),
    [
        ("eid-etype-head-other", "(2-thing-4-a:b-c", "2)", 5),
        ("GRP-etype-infstat-minspan-link", "(2-thing-new-3,4-coref", "2)", 5),
        ("GRP-etype-minspan", "(2-thing-1,2", "2)", 3),
        ("GRP-head-minspan", "(2--3", "2)", 4),
        ("entity-GRP-MIN", "(thing-2-4", "thing-2-4)", 5),
        ("entity-GRP", "(thing-2", "2)", 3),
        ("GRP", "(a-b", "a-b)", 3),
        (None, "(2-thing", "2)", 3),
    ],
)
def test_the_header_says_which_field_is_the_entity_and_which_the_head(
    tmp_path, header, opening, closing, head
):
    comments = [f"global.Entity = {header}"] if header else []
    text = sentence(SAW, "_", f"Entity={opening}", "_", f"Entity={closing}", comments=comments)
    (example,) = corpus.read(written(tmp_path / "ann.y.conllu", text), documents=True)
    expected = ("ann", (2, 5, head, "a-b" if header == "GRP" else "2"))
    assert (example.id, spans(example)[0][:4]) == expected


def test_a_header_holds_across_documents_until_the_next_one(tmp_path):
    headers = (["global.Entity = etype-eid"], [], ["global.Entity = eid-etype"])
    parts = [sentence(WAS, "Entity=(x-7)", comments=["newdoc", *header]) for header in headers]
    assert [
        example.mentions[0].entity
        for example in corpus.read(written(tmp_path / "a.conllu", "".join(parts)), documents=True)
    ] == ["7", "7", "x"]


def test_mentions_may_nest_in_their_own_entity_close_in_any_order_and_cross_other_entities(
    tmp_path,
):
    text = sentence(SAW, "Entity=(1(2", "Entity=(1(3", "Entity=1)2)", "Entity=(4)1)3)")
    (example,) = read_written(tmp_path / "a.conllu", text, documents=True)
    found = [(start, end, entity) for start, end, _, entity, _ in spans(example)]
    assert found == [(0, 5, "1"), (0, 3, "2"), (2, 5, "3"), (2, 3, "1"), (5, 5, "4")]


def test_mentions_in_parts_and_of_empty_nodes_are_skipped_and_counted(tmp_path):
    marks = ("Entity=(1[1/2]-1)", "Entity=(2-2", "_", "Entity=(1[2/2]-1)(5-1)")
    first = sentence(SAW, *marks, comments=HEADED).splitlines()
    node = "\t_" * 7 + "\tEntity={}"
    first.insert(1, "0.1\tshe" + node.format("(3-1)"))  # before the first word
    first.insert(
        6, "4.1\tthat" + node.format("2)(4-2")
    )  # after "dog": ends one mention, begins another
    first.insert(9, "6.1\twho" + node.format("4)"))  # after "Bo"
    text = "\n\n" + "\n".join(first) + "\n\n" + sentence(WAS, "Entity=(3)")
    read = corpus.read(written(tmp_path / "a.conllu", text), documents=True)
    assert spans(next(iter(read))) == [
        (2, 3, 3, "2", "nominal"),
        (4, 5, 4, "4", "nominal"),
        (5, 5, 5, "5", "proper"),
        (7, 7, 7, "3", "pronoun"),
    ]
    assert read.notes == (
        "mentions skipped because they are in parts (discontinuous): 1",
        "mentions skipped because they are of empty nodes alone: 1",
    )


NOT_BRACKETS = "is not made of brackets such as (1, (1) and 1)"
CROSS = "two mentions of entity '1' cross"
NAMELESS = "'# global.Entity = etype-head' above must name the entity once, as eid or GRP"
AMONG = "of entity '1' is not among its 1 words"
CONLLU = [
    (sentence(SAW, "Entity=(2)", "_", "Entity=1)"), 4, OPEN),
    (sentence(SAW, "Entity=(1") + sentence(WAS, "Entity=1)"), 1, UNCLOSED),
    (sentence(SAW, "Entity=(1)1)"), 1, OPEN),
    (sentence(SAW, "_", "Entity=(1(2", "_", "Entity=2)"), 3, UNCLOSED),
    (sentence(SAW, "Entity=(1)(1)"), 1, "entity '1' has this mention twice"),
    (sentence(SAW, "Entity=(1", "Entity=1)(1", "_", "Entity=1)"), 3, CROSS),
    (sentence(SAW, "Entity=(1", "_", "Entity=)"), 4, f"Entity=) {NOT_BRACKETS}"),
    (sentence(SAW, "Entity=(1)2"), 1, f"Entity=(1)2 {NOT_BRACKETS}"),
    (sentence(SAW, "_", comments=["global.Entity = etype-head"]), 2, NAMELESS),
    *(
        (sentence(SAW, f"Entity=(1-{head})", comments=HEADED), 2, f"the head '{head}' {AMONG}")
        for head in ("2", "0", "x")
    ),
]


@pytest.mark.parametrize(("text", "line", "message"), CONLLU)
def test_conllu_brackets_that_do_not_match_are_reported_with_their_line(
    tmp_path, text, line, message
):
    path = written(tmp_path / "a.conllu", text)
    assert complaint(path, documents=True).splitlines()[0] == f"{path}, line {line}: {message}"


def test_an_archive_that_cannot_be_read_is_reported(tmp_path):
    path = tmp_path / "a.tar.gz"
    assert complaint(path, documents=True).startswith(f"no such corpus file: {path}")
    documents = (
        sentence(WAS, f"Entity=({number})", comments=[f"newdoc id = {number}"])
        for number in range(500)
    )
    written(tmp_path / "a.conllu", "".join(documents))
    with tarfile.open(path, "w:gz") as archive:
        archive.add(tmp_path / "a.conllu", "a.conllu")
    for data in (path.read_bytes()[:-200], b"text"):
        path.write_bytes(data)
        assert complaint(path, documents=True).startswith(f"{path} is not a complete tar archive (")


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [("a.txt", "Hi.", "text"), ("a.jsonl", '{"text": "Hi."}', "jsonl"), ("a.tsv", "Hi.\n", "tsv")],
)
def test_formats_without_documents_cannot_be_read_as_documents(tmp_path, name, text, kind):
    path = written(tmp_path / name, text)
    expected = (
        f"{path} has no documents to read: its format is {kind}\n"
        "next: give a corpus in one of the formats conll2012, coref-jsonl, coref-conllu"
    )
    assert complaint(path, documents=True) == expected


# --- json lines ---

ANN = {
    "doc": "d1",
    "genre": "news",
    "sentences": [["Ann", "saw", "the", "dog", "of", "Bo", "."], [], ["It", "was", "hers", "."]],
    "mentions": [
        {"sent": 2, "start": 2, "end": 2, "head": 2, "type": "pronoun", "cluster": "1"},
        {"sent": 2, "start": 0, "end": 0, "head": 0, "cluster": 7},
        {"sent": 0, "start": 5, "end": 5, "head": 5, "type": "proper", "cluster": "bo"},
        {"sent": 0, "start": 2, "end": 5, "head": 3, "type": "nominal", "cluster": 7},
        {"sent": 0, "start": 0, "end": 0, "head": 0, "type": "proper", "cluster": "1"},
        {"sent": 0, "start": 1, "end": 1, "head": 1, "type": "other", "cluster": "e"},
    ],
}


def test_json_lines_give_one_document_per_line_with_words_counted_over_all_sentences(tmp_path):
    path = written(
        tmp_path / "a.jsonl.gz",
        f"\n{json.dumps(ANN)}\n\n" + json.dumps({"sentences": [["Yes"]], "mentions": []}),
    )
    read = corpus.read(path)
    first, second = read
    assert (read.format, read.notes, read.annotations) == ("coref-jsonl", (), {"words", "mentions"})
    expected = ("d1", ("Ann saw the dog of Bo . It was hers .",), f"{path}, line 2")
    assert (first.id, first.texts, first.source) == expected
    found = [(word.text, word.sentence, word.segment, word.head) for word in first.words[5:8]]
    assert found == [("Bo", 0, 0, None), (".", 0, 0, None), ("It", 2, 0, None)]
    assert first.mentions == (
        Mention(0, 0, 0, "1", "proper"),
        Mention(1, 1, 1, "e", "nominal"),
        Mention(2, 5, 3, "7", "nominal"),
        Mention(5, 5, 5, "bo", "proper"),
        Mention(7, 7, 7, "7", "pronoun"),  # "It" has no type: known by a word list
        Mention(9, 9, 9, "1", "pronoun"),
    )
    assert (second.id, second.words, second.mentions) == ("4", (Word("Yes"),), ())


@pytest.mark.parametrize(
    "record", [{"text": "Hi."}, {"text": "Hi.", "sentences": 1}, {"text": "Hi.", "mentions": []}]
)
def test_json_lines_without_sentences_and_mentions_are_still_texts(tmp_path, record):
    path = written(tmp_path / "a.jsonl", json.dumps(record))
    assert (corpus.read(path).format, texts_of(corpus.read(path))) == ("jsonl", [("Hi.",)])


def test_named_columns_or_a_format_override_what_json_lines_look_like(tmp_path):
    path = written(
        tmp_path / "a.jsonl", json.dumps({"text": "Hi.", "sentences": [], "mentions": []})
    )
    for options in ({"columns": ["text"]}, {"format": "jsonl"}):
        assert texts_of(corpus.read(path, **options)) == [("Hi.",)]
    assert complaint(path).startswith(f"{path}, line 1: the document has the unknown key 'text'")
    other = written(tmp_path / "a.txt", json.dumps(ANN))
    assert len(next(iter(corpus.read(other, format="coref-jsonl"))).mentions) == 6


MENTION = ANN["mentions"][0]
BLANK = "'sentences' must be a list of lists of words, none of them blank"
MENTIONS = [  # what is wrong with the mention, and the message
    ([0, 1], "the mention must be a JSON object, got list"),
    (
        {"id": 1},
        "the mention has the unknown key 'id'; known are sent, start, end, head, cluster, type",
    ),
    ({"start": "2"}, "'start' must be a whole number, got '2'"),
    ({"sent": True}, "'sent' must be a whole number, got True"),
    ({"cluster": ""}, "'cluster' must be a string or a whole number, got ''"),
    ({"sent": 3}, "there is no sentence 3, the document has 3"),
    ({"sent": -1}, "there is no sentence -1, the document has 3"),
    ({"end": 4}, "words 2 to 4 are not within sentence 2, which has 4"),
    ({"start": -1}, "words -1 to 2 are not within sentence 2, which has 4"),
    ({"end": 1}, "words 2 to 1 are not within sentence 2, which has 4"),
    ({"head": 3}, "the head 3 is not one of the words 2 to 2"),
    ({"type": ["name"]}, "'type' must be one of pronoun, proper, nominal, other, got ['name']"),
    ({}, "entity '1' has this mention twice"),
]
CROSSING = [
    MENTION | {"sent": 0, "start": start, "end": start + 2, "head": start} for start in (2, 1)
]
HEADLESS = {"sent": 2, "start": 2, "end": 2}
JSON = [
    ('{"sentences"', "not JSON (Expecting ':' delimiter: line 1 column 13 (char 12))"),
    ("[]", "the document must be a JSON object, got list"),
    (ANN | {"mentions": None}, "'mentions' must be a list of objects, got NoneType"),
    ({"doc": "x", "mentions": []}, "the document has no 'sentences'"),
    (
        ANN | {"genra": "x"},
        "the document has the unknown key 'genra'; known are sentences, mentions, doc, genre, "
        "licence_class",
    ),
    (ANN | {"sentences": ["Ann left"]}, BLANK),
    (ANN | {"sentences": [["Ann", " "]]}, BLANK),
    (ANN | {"sentences": [[]], "mentions": []}, "the document has no words"),
    (ANN | {"mentions": [HEADLESS]}, "mentions[0]: the mention has no 'head'"),
    (ANN | {"mentions": CROSSING}, "mentions[0]: two mentions of entity '1' cross"),
    *(
        (ANN | {"mentions": [MENTION, changed]}, f"mentions[1]: {message}")
        for change, message in MENTIONS
        for changed in [MENTION | change if isinstance(change, dict) else change]
    ),
]


@pytest.mark.parametrize(("record", "message"), JSON)
def test_json_lines_that_cannot_be_used_are_reported_with_line_and_mention(
    tmp_path, record, message
):
    line = record if isinstance(record, str) else json.dumps(record)
    path = written(tmp_path / "a.jsonl", json.dumps(ANN) + "\n" + line)
    assert complaint(path).splitlines()[0] == f"{path}, line 2: {message}"


def test_a_mention_without_a_type_that_is_no_pronoun_has_no_kind(tmp_path):
    mention = {"sent": 0, "start": 0, "end": 1, "head": 1, "cluster": 1}
    document = {"sentences": [["The", "dog", "left"]], "mentions": [mention]}
    (example,) = corpus.read(written(tmp_path / "a.jsonl", json.dumps(document)))
    assert [one.kind for one in example.mentions] == [""]
