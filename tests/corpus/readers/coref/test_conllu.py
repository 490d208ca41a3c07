"""Coreference in CoNLL-U with Entity=, in files, folders and archives."""

import tarfile

import pytest

from corpus.readers.coref.documents import complaint, spans, write
from headscope import corpus
from headscope.corpus import ROOT

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
    SAW,
    "Entity=(1)",
    "SpaceAfter=No|Entity=(2",
    "_",
    "Entity=(3)2)",
    comments=["newdoc id = d1", "global.Entity = GRP"],
) + sentence(WAS, "Entity=(2)", "_", "Entity=(1)")


def test_conllu_with_documents_gives_one_example_per_document_with_trees_and_mentions(
    tmp_path,
):
    path = write(
        tmp_path / "a.conllu.gz",
        TWO + sentence(WAS, "Entity=(1)", comments=["newdoc"]) + sentence(WAS),
    )
    read = corpus.read(path, documents=True)
    first, second = read
    assert (read.format, read.notes, read.annotations) == (
        "coref-conllu",
        (),
        {"words", "tree", "tags", "mentions"},
    )
    assert (first.id, first.texts, first.source) == (
        "d1",
        ("Ann saw the dog of Bo . It was hers",),
        f"{path}, line 3",
    )
    assert [(word.sentence, word.head) for word in first.words] == [
        (0, 1),
        (0, ROOT),
        (0, 3),
        (0, 1),
        (0, 5),
        (0, 3),
        (0, 1),
        (1, 9),
        (1, 9),
        (1, ROOT),
    ]
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
    path = write(tmp_path / "a.conllu", TWO)
    assert (
        corpus.read(path).format,
        [(example.id, example.mentions) for example in corpus.read(path)],
    ) == ("conll", [("1", ()), ("2", ())])


@pytest.mark.parametrize("pack", ["folder", "a.tar.gz", "a.tgz", "a.tar"])
def test_a_folder_or_an_archive_of_conllu_files_is_one_corpus(tmp_path, pack):
    folder = tmp_path / "folder"
    (folder / "in").mkdir(parents=True)
    for name in ("a", "b"):
        write(folder / "in" / f"{name}.conllu", TWO.replace("= d1", f"= {name}"))
    write(folder / "in" / "notes.txt", "not a treebank")
    write(folder / "in" / "._a.conllu", "not a treebank")
    if pack != "folder":
        with tarfile.open(tmp_path / pack, "w:" if pack.endswith(".tar") else "w:gz") as archive:
            for name in ("a.conllu", "b.conllu", "notes.txt", "._a.conllu"):
                archive.add(folder / "in" / name, f"in/{name}")
    read = corpus.read(tmp_path / pack, documents=True)
    assert [(example.id, len(example.mentions), example.source) for example in read] == [
        (name, 5, f"{tmp_path / pack}/in/{name}.conllu, line 3") for name in ("a", "b")
    ]
    before = read.checksum
    write(folder / "in" / "notes.txt", "changed")
    assert corpus.read(tmp_path / pack, format="coref-conllu").checksum == before
    if pack == "folder":
        write(folder / "in" / "b.conllu", TWO)
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
    text = sentence(
        SAW,
        "_",
        f"Entity={opening}",
        "_",
        f"Entity={closing}",
        comments=[f"global.Entity = {header}"] if header else [],
    )
    (example,) = corpus.read(write(tmp_path / "ann.y.conllu", text), documents=True)
    assert (example.id, spans(example)[0][:4]) == (
        "ann",
        (2, 5, head, "a-b" if header == "GRP" else "2"),
    )


def test_a_header_holds_across_documents_until_the_next_one(tmp_path):
    parts = [
        sentence(WAS, "Entity=(x-7)", comments=comments)
        for comments in (
            ["newdoc", "global.Entity = etype-eid"],
            ["newdoc"],
            ["newdoc", "global.Entity = eid-etype"],
        )
    ]
    assert [
        example.mentions[0].entity
        for example in corpus.read(write(tmp_path / "a.conllu", "".join(parts)), documents=True)
    ] == ["7", "7", "x"]


def test_mentions_may_nest_in_their_own_entity_close_in_any_order_and_cross_other_entities(
    tmp_path,
):
    text = sentence(SAW, "Entity=(1(2", "Entity=(1(3", "Entity=1)2)", "Entity=(4)1)3)")
    assert [
        (start, end, entity)
        for start, end, _, entity, _ in spans(
            next(iter(corpus.read(write(tmp_path / "a.conllu", text), documents=True)))
        )
    ] == [
        (0, 5, "1"),
        (0, 3, "2"),
        (2, 5, "3"),
        (2, 3, "1"),
        (5, 5, "4"),
    ]


def test_mentions_in_parts_and_of_empty_nodes_are_skipped_and_counted(
    tmp_path,
):
    first = sentence(
        SAW,
        "Entity=(1[1/2]-1)",
        "Entity=(2-2",
        "_",
        "Entity=(1[2/2]-1)(5-1)",
        comments=["global.Entity = eid-head"],
    ).splitlines()
    node = "\t_" * 7 + "\tEntity={}"
    first.insert(1, "0.1\tshe" + node.format("(3-1)"))  # before the first word
    first.insert(
        6, "4.1\tthat" + node.format("2)(4-2")
    )  # after "dog": ends one mention, begins another
    first.insert(9, "6.1\twho" + node.format("4)"))  # after "Bo"
    read = corpus.read(
        write(
            tmp_path / "a.conllu", "\n\n" + "\n".join(first) + "\n\n" + sentence(WAS, "Entity=(3)")
        ),
        documents=True,
    )
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


CONLLU = {
    "closed, never opened": (
        sentence(SAW, "Entity=(1)", "_", "Entity=2)"),
        4,
        "entity '2' is closed, but not open in this sentence",
    ),
    "closed in the next sentence": (
        sentence(SAW, "Entity=(1") + sentence(WAS, "Entity=1)"),
        1,
        "entity '1' is opened, but not closed in its sentence",
    ),
    "closed twice": (
        sentence(SAW, "Entity=(1)1)"),
        1,
        "entity '1' is closed, but not open in this sentence",
    ),
    "never closed": (
        sentence(SAW, "_", "Entity=(1(2", "_", "Entity=2)"),
        3,
        "entity '1' is opened, but not closed in its sentence",
    ),
    "twice the same": (sentence(SAW, "Entity=(1)(1)"), 1, "entity '1' has this mention twice"),
    "crossing its own": (
        sentence(SAW, "Entity=(1", "Entity=1)(1", "_", "Entity=1)"),
        3,
        "two mentions of entity '1' cross",
    ),
    "a bracket that names nothing": (
        sentence(SAW, "Entity=(1", "_", "Entity=)"),
        4,
        "Entity=) is not made of brackets such as (1, (1) and 1)",
    ),
    "no bracket": (
        sentence(SAW, "Entity=(1)2"),
        1,
        "Entity=(1)2 is not made of brackets such as (1, (1) and 1)",
    ),
    "a header without entity": (
        sentence(SAW, "_", comments=["global.Entity = etype-head"]),
        2,
        "'# global.Entity = etype-head' above must name the entity once, as eid or GRP",
    ),
    "a head outside": (
        sentence(SAW, "Entity=(1-2)", comments=["global.Entity = eid-head"]),
        2,
        "the head '2' of entity '1' is not among its 1 words",
    ),
    "a head of nought": (
        sentence(SAW, "Entity=(1-0)", comments=["global.Entity = eid-head"]),
        2,
        "the head '0' of entity '1' is not among its 1 words",
    ),
    "a head that is no number": (
        sentence(SAW, "Entity=(1-x)", comments=["global.Entity = eid-minspan"]),
        2,
        "the head 'x' of entity '1' is not among its 1 words",
    ),
}


@pytest.mark.parametrize("what", CONLLU)
def test_conllu_brackets_that_do_not_match_are_reported_with_their_line(tmp_path, what):
    text, line, message = CONLLU[what]
    path = write(tmp_path / "a.conllu", text)
    assert complaint(path, documents=True).splitlines()[0] == f"{path}, line {line}: {message}"


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("gone.tar.gz", None, "no such corpus file: {path}"),
        ("a.tar.gz", b"text", "{path} is not a complete tar archive ("),
    ],
)
def test_an_archive_that_cannot_be_read_is_reported(tmp_path, name, data, message):
    path = tmp_path / name
    if data:
        path.write_bytes(data)
    assert complaint(path, documents=True).startswith(message.format(path=path))


def test_an_archive_that_is_cut_off_is_reported(tmp_path):
    write(
        tmp_path / "a.conllu",
        "".join(
            sentence(WAS, f"Entity=({number})", comments=[f"newdoc id = {number}"])
            for number in range(500)
        ),
    )
    path = tmp_path / "a.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        archive.add(tmp_path / "a.conllu", "a.conllu")
    path.write_bytes(path.read_bytes()[:-200])
    assert complaint(path, documents=True).startswith(f"{path} is not a complete tar archive (")


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [("a.txt", "Hi.", "text"), ("a.jsonl", '{"text": "Hi."}', "jsonl"), ("a.tsv", "Hi.\n", "tsv")],
)
def test_formats_without_documents_cannot_be_read_as_documents(tmp_path, name, text, kind):
    path = write(tmp_path / name, text)
    expected = (
        f"{path} has no documents to read: its format is {kind}\n"
        "next: give a corpus in one of the formats conll2012, coref-jsonl, coref-conllu"
    )
    assert complaint(path, documents=True) == expected
