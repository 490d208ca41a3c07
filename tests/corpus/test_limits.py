"""Limits on what readers take: a small or hostile file must not fill the memory or hang."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import re
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from headscope import corpus
from headscope.corpus.treebank import Tree, _check_cycles
from headscope.corpus.vectors import read_vectors
from headscope.errors import CorpusError, UserError
from headscope.limits import ALL, open_tar, parse_json
from headscope.tasks.senteval import read_senteval
from refusals import refusal
from written import written

MB = 1_000_000
ROW = "{}\tw\t_\tX\t_\t_\t{}\tdep\t_\t_"
PART = "#begin document (d); part 000\n{}#end document\n"


def told(path: Path, **options: object) -> CorpusError:
    """The error that reading a file to its end raises."""
    return refusal(CorpusError, lambda: list(corpus.read(path, **options)))


@pytest.fixture
def line_limit(monkeypatch):
    monkeypatch.setenv("HEADSCOPE_MAX_LINE", "2kB")


LONG = "word " * 1000
LONG_LINES = {
    "text": ("a.txt", LONG),
    "tsv": ("a.tsv", f"text\tlabel\n{LONG}\t1\n"),
    "csv": ("a.csv", f"text,label\n{LONG},1\n"),
    "jsonl": ("a.jsonl", json.dumps({"text": LONG})),
    "conll": ("a.conllu", ROW.format(1, 0) + "|" * 3000),
    "brackets": ("a.mrg", f"(S {'(N a) ' * 1000})"),
    "coref-jsonl": ("a.jsonl", json.dumps({"sentences": [["a"] * 1000], "mentions": []})),
    "coref-conllu": ("a.conllu", ROW.format(1, 0) + "|" * 3000),
    "conll2012": ("a.conll", PART.format("x " * 3000)),
    "frames-jsonl": ("a.jsonl", json.dumps({"sentence": LONG, "target": [0, 4], "links": []})),
}


@pytest.mark.parametrize("kind", LONG_LINES)
@pytest.mark.parametrize("packed", [False, True])
def test_a_long_line_is_refused_in_every_format(tmp_path, line_limit, kind, packed):
    name, text = LONG_LINES[kind]
    path = written(tmp_path / (name + ".gz" * packed), text)
    error = told(path, format=kind)
    assert ": the line is longer than 2.0 kB, which is the limit" in error.message
    assert error.hint == (
        "if the file is as it should be, raise the limit: set the environment variable "
        "HEADSCOPE_MAX_LINE=64MB"
    )


WORD = "d 0 0 w NN * - - - - * -\n"
LONG_EXAMPLES = {
    "text": ("a.txt", "one\n\n" + "word\n" * 1000, "line 3: the paragraph"),
    "csv": ("a.csv", 'text,label\n"' + "word\n" * 1000 + '",1\n', "line 2: the row"),
    "conll": (
        "a.conllu",
        "\n".join(ROW.format(number, 0) for number in range(1, 1000)),
        ": the sentence",
    ),
    "brackets": ("a.mrg", "(S\n" + "(N a)\n" * 1000 + ")", "line 1: the tree"),
    "coref-conllu": (
        "a.conllu",
        "# newdoc id = d\n" + (ROW.format(1, 0) + "\n\n") * 1000,
        "line 2: the document 'd'",
    ),
    "conll2012": ("a.conll", PART.format(WORD * 1000), "line 1: the document 'd_0'"),
}


@pytest.mark.parametrize("kind", LONG_EXAMPLES)
def test_short_lines_that_make_up_a_long_example_are_refused(tmp_path, line_limit, kind):
    name, text, what = LONG_EXAMPLES[kind]
    path = written(tmp_path / name, text)
    assert f"{what} is longer than 2.0 kB, which is the limit" in told(path, format=kind).message


@pytest.mark.parametrize("kind", LONG_EXAMPLES)
def test_the_same_examples_are_read_where_the_limit_is_not_lowered(tmp_path, kind):
    name, text, _ = LONG_EXAMPLES[kind]
    (tmp_path / name).write_text(text)
    options = {"pairs": False} if kind == "text" else {}
    examples = list(corpus.read(tmp_path / name, format=kind, **options))
    assert max(len(text) for example in examples for text in example.texts) > 1900


def test_many_sentences_of_a_normal_length_are_no_long_example(tmp_path, line_limit):
    (tmp_path / "a.conllu").write_text((ROW.format(1, 0) + "\n\n") * 1000)
    (tmp_path / "a.txt").write_text("word\n\n" * 1000)
    (tmp_path / "a.mrg").write_text("(S (N a))\n" * 1000)
    (tmp_path / "a.csv").write_text("text,label\n" + "word,1\n" * 1000)
    sizes = [len(list(corpus.read(path))) for path in sorted(tmp_path.iterdir())]
    assert sizes == [1000, 1000, 1000, 500]


def test_word_vectors_and_probing_tasks_have_the_same_limit(tmp_path, line_limit):
    vectors, task = tmp_path / "v.txt.gz", tmp_path / "t.txt"
    vectors.write_bytes(gzip.compress(b"a" + b" 0.5" * 1000))
    task.write_text(f"tr\t1\t{LONG}\n")
    for read, path in ((read_vectors, vectors), (read_senteval, task)):
        with pytest.raises(UserError, match=r"line 1: the line is longer than 2\.0 kB"):
            read(path)


def test_a_file_that_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADSCOPE_MAX_UNPACKED", "1MB")
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(b"word\n\n" * MB))
    error = told(path)
    assert error.message == f"{path} unpacks to more than 1.0 MB, which is the limit"
    assert "HEADSCOPE_MAX_UNPACKED=1TB" in error.hint


# The real thing: one line of 1 GB, packed into 1 MB. It is read in a process that may not use more
# than 400 MB above what it uses after its imports.
BOMB = """
import resource, sys
from headscope import corpus
from headscope.errors import CorpusError
pages = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (pages + 400_000_000,) * 2)
try:
    list(corpus.read(sys.argv[1]))
except CorpusError as error:
    print(error.message)
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux")
def test_a_bomb_of_one_gigabyte_takes_little_memory(tmp_path):
    path = tmp_path / "bomb.txt.gz"
    path.write_bytes(100 * gzip.compress(b"x" * (10 * MB)))  # one gzip file after the other is one
    assert path.stat().st_size < 1.5 * MB
    done = subprocess.run(
        [sys.executable, "-c", BOMB, path], capture_output=True, text=True, check=True
    )
    assert "line 1: the line is longer than 16.0 MB" in done.stdout


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "tar": bytes,
}


def header(kind: bytes, size: int, name: str = "long") -> bytes:
    """The first block of a file in an archive."""
    member = tarfile.TarInfo(name)
    member.type, member.size = kind, size
    return member.tobuf(tarfile.GNU_FORMAT)


def test_an_archive_that_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "a.tar.gz"
    data = ((ROW.format(1, 0) + "\n\n").encode() * 100_000).ljust(5 * MB)
    path.write_bytes(gzip.compress(header(tarfile.REGTYPE, len(data), "a.conllu") + data))
    monkeypatch.setenv("HEADSCOPE_MAX_UNPACKED", "1MB")
    assert told(path, documents=True).message.endswith(
        "unpacks to more than 1.0 MB, which is the limit"
    )


def test_headers_without_end_are_our_own_error(tmp_path):
    name = b"x" * 65_000
    nested = (header(tarfile.GNUTYPE_LONGNAME, 65_000) + name.ljust(65_024, b"\0")) * 3000
    (tmp_path / "nested.tar.gz").write_bytes(gzip.compress(nested))
    assert (
        "(too many headers for one file)"
        in told(tmp_path / "nested.tar.gz", documents=True).message
    )


@pytest.mark.parametrize("packer", PACKERS)
def test_archives_are_read_however_they_are_packed(tmp_path, packer):
    member = header(tarfile.REGTYPE, 8, "there/a.txt") + b"A dog.\n\n".ljust(512, b"\0")
    path = tmp_path / f"a.tar.{packer}"
    path.write_bytes(PACKERS[packer](member) + PACKERS[packer](bytes(1024)))  # two streams
    with open_tar(path) as archive:
        assert [(one.name, archive.extractfile(one).read()) for one in archive] == [  # type: ignore[union-attr]
            ("there/a.txt", b"A dog.\n\n")
        ]


@pytest.mark.parametrize("packer", ["gz", "bz2", "xz"])
def test_an_archive_without_its_end_is_damaged(tmp_path, packer):
    noise = np.random.default_rng(0).bytes(200_000)
    member = header(tarfile.REGTYPE, len(noise), "a.txt") + noise
    path = tmp_path / f"a.tar.{packer}"
    path.write_bytes(PACKERS[packer](member)[:-30_000])
    with pytest.raises(EOFError), open_tar(path) as archive:
        archive.extractfile(next(iter(archive))).read()  # type: ignore[union-attr]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
@pytest.mark.parametrize("name", ["a.txt", "a.conllu", "a.txt.gz", "a.tar", "a.jsonl"])
def test_a_pipe_is_refused_and_not_waited_for(tmp_path, name):
    os.mkfifo(tmp_path / name)
    error = told(tmp_path / name)
    assert error.message == f"{tmp_path / name} is a pipe or a device, not a file"
    assert error.hint == "write what it holds to a file, and give that file"


def test_json_may_be_nested_as_deeply_as_the_limit_says(tmp_path):
    for depth, fits in ((399, True), (400, False), (100_000, False)):
        path = written(
            tmp_path / f"{depth}.jsonl",
            '{"text": "A dog.", "more": ' + "[" * depth + "]" * depth + "}",
        )
        if fits:
            assert corpus.read(path).size() == 1
        else:
            message = f"{path}, line 1: nested more deeply than 400 levels, which is the limit"
            assert told(path).message == message


def test_brackets_in_strings_do_not_count_as_nesting(tmp_path):
    texts = ["[" * 1000, '"' + "[{" * 500, "\\" + "[" * 1000, "\\\\" + "{" * 1000 + '\\"']
    value = {"text": "A dog.", "more": texts}
    assert parse_json(json.dumps(value), "here") == value


@pytest.mark.parametrize("limit", ALL, ids=lambda limit: limit.variable)
@pytest.mark.parametrize("given", ["many", "0", "-3", "1e9", "5 apples", "9" * 5000, "NaN"])
def test_a_limit_that_is_no_number_is_reported(monkeypatch, limit, given):
    monkeypatch.setenv(limit.variable, given)
    with pytest.raises(UserError, match=f"{limit.variable} must be a positive number such as"):
        _ = limit.value


@pytest.mark.parametrize(
    ("given", "size"),
    [("1", 1), ("64MB", 64 * MB), ("64 mb", 64 * MB), ("1.5G", 1_500_000_000), ("2k", 2000)],
)
def test_limits_are_given_with_or_without_a_unit(monkeypatch, given, size):
    for limit in ALL:
        monkeypatch.setenv(limit.variable, given)
        assert limit.value == size


def test_every_limit_is_documented_with_its_default():
    page = (Path(__file__).parents[2] / "docs/howto/corpora.md").read_text()
    rows = dict(re.findall(r"(?m)^\| `(HEADSCOPE_MAX_\w+)` \| (\w+) \|", page))
    assert set(rows) == {limit.variable for limit in ALL}
    for limit in ALL:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(limit.variable, rows[limit.variable])
            assert limit.value == limit.default


class Counted(int):
    """A number that counts how often numbers like it are compared or looked up."""

    steps: ClassVar[int] = 0

    def __eq__(self, other: object) -> bool:
        Counted.steps += 1
        return int(self) == other

    def __hash__(self) -> int:
        Counted.steps += 1
        return hash(int(self))


def steps(heads: list[int]) -> int:
    Counted.steps = 0
    tree = Tree(numbers=list(range(1, len(heads) + 1)))
    _check_cycles(tree, [Counted(head) for head in heads], Path("a.conllu"))
    return Counted.steps


CHAINS = {
    "the first word is the root": lambda size: list(range(size)),
    "the last word is the root": lambda size: [*range(2, size + 1), 0],
    "all words depend on the middle one": lambda size: [
        0 if word == size // 2 else size // 2 for word in range(1, size + 1)
    ],
    "two chains": lambda size: [max(word - 2, 0) for word in range(1, size + 1)],
}


@pytest.mark.parametrize("shape", CHAINS)
def test_checking_a_tree_takes_steps_in_proportion_to_its_words(shape):
    make = CHAINS[shape]
    few, many = steps(make(1_000)), steps(make(10_000))
    assert few < 10 * 1_000
    assert many < 11 * few


def test_a_cycle_of_many_words_is_reported_in_brief(tmp_path):
    path = tmp_path / "a.conllu"
    size = 10_000
    path.write_text(
        "\n".join(ROW.format(word, word % size + 1) for word in range(1, size + 1)) + "\n"
    )
    assert told(path).message == (
        f"{path}, line 1: the heads form a cycle "
        "(1 -> 2 -> 3 -> 4 -> 5 -> 6 -> 7 -> 8 -> 9 -> 10 -> … -> 1)"
    )
