"""Treebanks in CoNLL-U and CoNLL-X; every mistake is reported with its file and line.

The ``conllu`` library reads the columns, but neither checks trees nor says which line is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from headscope.corpus.example import ROOT, Example, Word, join_words
from headscope.corpus.files import lines
from headscope.errors import CorpusError, shorten
from headscope.limits import LINE, too_long

COLUMNS = 10
DIGITS = 18
"""No sentence has so many words that their number has more digits."""
SHOWN = 12
"""How many words of a cycle an error names."""
_RANGE = re.compile(r"\d+-\d+")
_EMPTY = re.compile(r"\d+\.\d+")


@dataclass(slots=True)
class Tree:
    """One sentence as it is written in the file.

    Parameters
    ----------
    comments : dict of str to str
        ``# key = value`` lines above the sentence.
    rows : list of list of str
        The ten columns of each word.
    numbers : list of int
        The line number of each word.
    size : int
        How many characters its lines have.
    """

    comments: dict[str, str] = field(default_factory=dict)
    rows: list[list[str]] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    size: int = 0


def read_trees(path: Path) -> Iterator[Tree]:
    """Yield the sentences of a file, with ids and heads checked.

    Lines of multi-word tokens (``3-4``) and empty nodes (``5.1``) are skipped.

    Raises
    ------
    CorpusError
        If a line does not have ten columns, ids are not counted from 1, heads do not form a tree,
        or a sentence is longer than :data:`headscope.limits.LINE` allows.
    """
    tree, most = Tree(), LINE.value
    for number, line in lines(path):
        tree.size += len(line)
        if tree.size > most:
            raise too_long(f"{path}, line {number}", "the sentence", error=CorpusError)
        if not line.strip():
            if tree.rows:
                _check(tree, path)
                yield tree
                tree = Tree()
        elif line.startswith("#"):
            key, _, value = line[1:].partition("=")
            tree.comments[key.strip()] = value.strip()
        else:
            _add_row(tree, line.split("\t"), path, number)
    if tree.rows:
        _check(tree, path)
        yield tree


def _add_row(tree: Tree, cells: list[str], path: Path, number: int) -> None:
    if len(cells) != COLUMNS:
        raise CorpusError(
            f"{path}, line {number}: {len(cells)} columns, expected {COLUMNS} separated by tabs",
            hint="if this is not CoNLL-U or CoNLL-X, give format=",
        )
    if _RANGE.fullmatch(cells[0]) or _EMPTY.fullmatch(cells[0]):
        return
    if cells[0] != str(len(tree.rows) + 1):
        raise CorpusError(
            f"{path}, line {number}: word id {shorten(cells[0])}, expected {len(tree.rows) + 1}",
            hint="a blank line must separate sentences",
        )
    tree.rows.append(cells)
    tree.numbers.append(number)


def _check(tree: Tree, path: Path) -> None:
    """Heads must be numbers within the sentence, and lead to the root."""
    heads: list[int] = []
    for cells, number in zip(tree.rows, tree.numbers, strict=True):
        if not cells[6].isdecimal() and cells[6] != "_":
            raise CorpusError(
                f"{path}, line {number}: head {shorten(cells[6])} is not a number",
                hint="column 7 is the head: 0 for the root, or a word id",
            )
        long = len(cells[6]) > DIGITS  # Python refuses to read numbers of thousands of digits
        head = 0 if cells[6] == "_" or long else int(cells[6])
        if long or head > len(tree.rows):
            shown = shorten(cells[6]) if long else head
            raise CorpusError(
                f"{path}, line {number}: head {shown} is out of range, "
                f"the sentence has {len(tree.rows)} words",
                hint="correct column 7",
            )
        heads.append(head)
    _check_cycles(tree, heads, path)


def _check_cycles(tree: Tree, heads: Sequence[int], path: Path) -> None:
    """Follow the heads of each word to a word that is known to lead to the root.

    Every word is visited once, so that the time grows with the length of the sentence.
    """
    settled: set[int] = {0}
    for start in range(1, len(heads) + 1):
        visited: dict[int, None] = {}  # in order
        at = start
        while at not in settled:
            if at in visited:
                words = [str(word) for word in visited]
                loop = [*words[words.index(str(at)) :], str(at)]
                if len(loop) > SHOWN:
                    loop = [*loop[: SHOWN - 2], "…", loop[-1]]
                raise CorpusError(
                    f"{path}, line {tree.numbers[at - 1]}: the heads form a cycle "
                    f"({' -> '.join(loop)})",
                    hint="correct column 7, or remove the sentence",
                )
            visited[at] = None
            at = heads[at - 1]
        settled.update(visited)


def tree_words(trees: Sequence[Tree], *, segments: Sequence[int] | None = None) -> tuple[Word, ...]:
    """The words of one or more trees, with heads counted over all of them.

    Parameters
    ----------
    trees : sequence of Tree
        The sentences of one example.
    segments : sequence of int, optional
        The text of a pair that each sentence is in; by default all are in the first.

    Examples
    --------
    >>> row = ["1", "Go", "go", "VERB", "_", "_", "0", "root", "_", "_"]
    >>> tree_words([Tree(rows=[row])])[0].relation
    'root'
    """
    words: list[Word] = []
    for index, tree in enumerate(trees):
        offset = len(words)
        for cells in tree.rows:
            number = None if cells[6] == "_" else int(cells[6])
            head = None if number is None else offset + number - 1 if number else ROOT
            blank = ["" if cell == "_" else cell for cell in cells]
            words.append(
                Word(
                    cells[1],
                    segment=segments[index] if segments else 0,
                    sentence=index,
                    head=head,
                    relation=blank[7],
                    upos=blank[3],
                    xpos=blank[4],
                    lemma=blank[2],
                    feats=blank[5] if "=" in blank[5] else "",
                )
            )
    return tuple(words)


def read_conll(path: Path) -> Iterator[Example]:
    """Yield one example per sentence, named by its ``sent_id`` if it has one.

    The group is the document: its ``# newdoc id``, or the file's name and a number if documents
    have no id. Sentences of a file without ``# newdoc`` have no group.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.conllu"
    >>> _ = path.write_text("# newdoc id = d1\\n1\\tGo\\tgo\\tVERB\\t_\\t_\\t0\\troot\\t_\\t_\\n")
    >>> [(example.texts, example.group) for example in read_conll(path)]
    [(('Go',), 'd1')]
    """
    document, documents = "", 0
    for index, tree in enumerate(read_trees(path), 1):
        if tree.comments.keys() & {"newdoc", "newdoc id"}:
            documents += 1
            document = tree.comments.get("newdoc id") or f"{path.name.split('.')[0]}-{documents}"
        words = tree_words([tree])
        yield Example(
            tree.comments.get("sent_id", str(index)),
            join_words(words),
            words,
            group=document,
            source=f"{path}, line {tree.numbers[0]}",
        )
