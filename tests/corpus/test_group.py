"""Groups: which examples belong to one document, and the bucket that keeps them together."""

import hashlib
import json
import subprocess
import sys

import pytest

from headscope import corpus
from headscope.corpus import Example, bucket_of
from headscope.errors import CorpusError
from headscope.runs.examples import sentences
from headscope.tasks.make import make_tasks

ROW = "1\t{0}\t_\tX\t_\t_\t0\troot\t_\t_\n\n"
COREF = "{doc}\t0\t0\t{0}\tNN\t*\t-\t-\t-\t-\t*\t-\n"


def remainder(text, buckets):
    """SHA-256 of a text as a number, modulo the number of buckets, by hexadecimal digits."""
    return int(hashlib.sha256(text.encode("utf-8")).hexdigest(), 16) % buckets


def groups(path, text, **options):
    path.write_text(text, encoding="utf-8")
    return [example.group for example in corpus.read(path, **options)]


@pytest.mark.parametrize("buckets", [1, 2, 3, 32, 1000])
@pytest.mark.parametrize("group", ["news-1", "Ä/ü 3", "0"])
def test_a_bucket_is_the_sha256_of_the_group_modulo_their_number(group, buckets):
    example = Example("1", ("A dog.",), group=group)
    assert bucket_of(example, buckets) == remainder(group, buckets)


@pytest.mark.parametrize("texts", [("A dog.",), ("Who?", "Élan."), ("",)])
def test_without_a_group_the_bucket_comes_from_the_id_and_the_texts(texts):
    example = Example("7", texts, label="yes", source="a.tsv, line 7")
    assert bucket_of(example) == remainder("\0".join(["7", *texts]), 32)


def test_known_buckets_stay_what_they_are():
    # printf news-1 | sha256sum ends in …d933
    assert bucket_of(Example("x", ("y",), group="news-1")) == 0x33 % 32 == 19


def test_a_bucket_is_the_same_in_another_process_with_another_hash_seed():
    code = (
        "from headscope.corpus import Example, bucket_of;"
        "print(bucket_of(Example('1', ('Grüße',))), bucket_of(Example('1', ('a',), group='é')))"
    )
    path = ":".join(sys.path)
    printed = [
        subprocess.check_output(
            [sys.executable, "-X", "utf8", "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": path},
            text=True,
        )
        for seed in ("0", "1")
    ]
    assert printed == [f"{remainder('1' + chr(0) + 'Grüße', 32)} {remainder('é', 32)}\n"] * 2


def test_every_bucket_gets_its_share_of_a_thousand_examples():
    counts = [0] * 32
    for number in range(1000):
        counts[bucket_of(Example(str(number), ("same text",)))] += 1
    assert min(counts) > 10
    assert max(counts) < 60


@pytest.mark.parametrize("buckets", [0, -1])
def test_a_number_of_buckets_below_one_is_refused(buckets):
    with pytest.raises(CorpusError) as caught:
        bucket_of(Example("1", ("a",)), buckets)
    assert str(caught.value) == f"the number of buckets must be 1 or more, got {buckets} instead"


def test_sentences_of_a_treebank_belong_to_their_document(tmp_path):
    text = (
        "# newdoc id = first\n"
        + ROW.format("A")
        + ROW.format("B")
        + "# newdoc id = second\n"
        + ROW.format("C")
    )
    assert groups(tmp_path / "a.conllu", text) == ["first", "first", "second"]


def test_documents_without_an_id_are_numbered(tmp_path):
    text = "# newdoc\n" + ROW.format("A") + ROW.format("B") + "# newdoc\n" + ROW.format("C")
    assert groups(tmp_path / "ewt.dev.conllu", text) == ["ewt-1", "ewt-1", "ewt-2"]


def test_sentences_of_a_treebank_without_documents_stand_alone(tmp_path):
    assert groups(tmp_path / "a.conllu", ROW.format("A") + ROW.format("B")) == ["", ""]


def test_documents_with_coreference_are_groups_of_their_own(tmp_path):
    text = "# newdoc id = first\n" + ROW.format("A") + "# newdoc id = second\n" + ROW.format("C")
    assert groups(tmp_path / "a.conllu", text, documents=True) == ["first", "second"]
    lines = [
        json.dumps({"doc": name, "sentences": [["Ann", "left"]], "mentions": []})
        for name in ("d1", "d2")
    ]
    assert groups(tmp_path / "a.jsonl", "\n".join(lines)) == ["d1", "d2"]


def test_the_parts_of_a_conll_2012_document_share_its_group(tmp_path):
    text = "".join(
        f"#begin document ({name}); part {part}\n{COREF.format('Dogs', doc=name)}\n#end document\n"
        for name, part in (("bn/cnn", "000"), ("bn/cnn", "001"), ("bn/abc", "000"))
    )
    assert groups(tmp_path / "a.v4_gold_conll", text) == ["bn/cnn", "bn/cnn", "bn/abc"]


@pytest.mark.parametrize("name", ["group", "document", "paragraph", "doc_id"])
def test_a_column_of_a_table_names_the_group(tmp_path, name):
    table = f"text\t{name}\nA dog.\t d1 \nA cat.\t\n"
    assert groups(tmp_path / "a.tsv", table) == ["d1", ""]
    lines = [json.dumps({"text": "A dog.", name: 7}), json.dumps({"text": "x", name: None})]
    assert groups(tmp_path / "a.jsonl", "\n".join(lines)) == ["7", ""]


def test_a_column_that_holds_a_text_is_not_the_group(tmp_path):
    assert groups(tmp_path / "a.tsv", "document\nA dog.\n", columns=["document"]) == [""]
    assert groups(tmp_path / "a.jsonl", '{"document": "A dog."}', columns=["document"]) == [""]


def test_frame_links_keep_the_group_of_their_line(tmp_path):
    record = {
        "sentence": "He was becoming agitated .",
        "target": [16, 24],
        "links": [{"start": 0, "end": 2}],
        "document": "d3",
    }
    assert groups(tmp_path / "a.jsonl", json.dumps(record)) == ["d3"]


def test_plain_text_and_texts_in_memory_have_no_group(tmp_path):
    assert groups(tmp_path / "a.txt", "One.\n\nTwo.\n\nThree.") == ["", ""]
    assert [example.group for example in corpus.from_texts(["One.", ("Two.", "Three.")])] == [
        ""
    ] * 2


def test_a_built_in_passage_is_a_group_and_its_sentences_keep_it():
    passages = list(corpus.read("demo", limit=3))
    assert [passage.group for passage in passages] == [passage.id for passage in passages]
    cut = list(sentences(passages))
    assert len(cut) > len(passages)
    assert {example.group for example in cut} == {passage.id for passage in passages}
    assert all(example.id.startswith(f"{example.group}-") for example in cut)


def test_probing_tasks_keep_the_groups_of_their_sentences():
    (task,) = make_tasks(corpus.read("demo"), tasks=["Tense"], size=100)
    examples = [example for split in task.splits.values() for example in split]
    assert len(examples) > 50
    assert all(example.id.rsplit("-", 1)[0] == example.group for example in examples)


def test_parsing_keeps_the_group(tmp_path, monkeypatch):
    pytest.importorskip("spacy")
    monkeypatch.setenv("HEADSCOPE_CACHE", str(tmp_path / "cache"))
    table = "text\tgroup\nA dog barks.\td1\n"
    assert groups(tmp_path / "a.tsv", table, parse=True) == ["d1"]
    assert groups(tmp_path / "a.tsv", table, parse=True) == ["d1"]  # from the cache
