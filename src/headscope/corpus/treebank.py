"""Treebanks: CoNLL-U, CoNLL-X and Penn-style bracketed trees.

Every mistake is reported with its file and line. The ``conllu`` library reads the columns, but
neither checks trees nor says which line is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from headscope.corpus.example import ROOT, Example, Word, join_words
from headscope.corpus.text import files_in, lines
from headscope.errors import CorpusError, shorten
from headscope.limits import DEEPEST, LINE, too_long

# --- CoNLL-U and CoNLL-X ---

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


# --- bracketed trees ---

BRACKET_FILES = (".mrg", ".psd", ".ptb")
NONE = "-NONE-"
OUTER = frozenset({"", "ROOT", "TOP"})
"""Labels of a bracket that only wraps the tree."""
ESCAPED = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}
_TOKEN = re.compile(r"[()]|[^\s()]+")
_FUNCTION = re.compile(r"(?<=.)[-=|].*")
FORM = (
    "each tree is one pair of brackets, and each word is alone in a bracket with its tag: "
    "(S (NP (NNS Dogs)) (VP (VBP bark)))"
)


@dataclass(slots=True)
class BracketTree:
    """A node of a bracketed tree.

    Parameters
    ----------
    label : str
        The label, without function tags.
    parts : list of BracketTree
        The nodes below; none right above a word.
    word : str
        The word of a node right above it, else empty.
    source : str
        Where the bracket was opened.
    traces : bool
        Whether a trace was removed right below.
    """

    label: str
    parts: list[BracketTree] = field(default_factory=list)
    word: str = ""
    source: str = ""
    traces: bool = False

    @property
    def top(self) -> tuple[str, ...]:
        """The labels right below this node."""
        return tuple(part.label for part in self.parts)

    @property
    def depth(self) -> int:
        """The number of steps down to the deepest word: 1 for a node right above its word."""
        return 1 + max((part.depth for part in self.parts), default=0)

    def leaves(self) -> Iterator[BracketTree]:
        """Yield the nodes right above the words, in order."""
        left = [self]
        while left:
            node = left.pop()
            if node.word:
                yield node
            left += reversed(node.parts)


def is_brackets(path: Path) -> bool:
    """Whether a file is named like one with bracketed trees (``.gz`` too), or a folder has one.

    >>> is_brackets(Path("wsj_0001.mrg.gz")), is_brackets(Path("dev.conllu"))
    (True, False)
    """
    if path.is_dir():
        return any(is_brackets(file) for file in path.rglob("*") if not file.is_dir())
    return path.name.lower().removesuffix(".gz").endswith(BRACKET_FILES)


def read_brackets(path: str | Path) -> Iterator[BracketTree]:
    """Yield the trees of a file, or of all such files in a folder.

    Trees of nothing but traces are skipped.

    Raises
    ------
    CorpusError
        If brackets do not match, or a bracket is not a node with parts or a tag with its word.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.mrg"
    >>> _ = path.write_text("( (S (NP-SBJ (NNS Dogs)) (VP (VBP bark))) )")
    >>> [(tree.label, tree.top, tree.depth) for tree in read_brackets(path)]
    [('S', ('NP', 'VP'), 3)]
    """
    for file in files_in(Path(path), BRACKET_FILES):
        yield from _read_file(file)


def bracket_examples(path: str | Path) -> Iterator[tuple[Example, BracketTree]]:
    """Yield an example for each tree, with words and Penn tags but no heads, and the tree."""
    for index, tree in enumerate(read_brackets(path), 1):
        words = tuple(Word(leaf.word, xpos=leaf.label) for leaf in tree.leaves())
        yield Example(str(index), join_words(words), words, source=tree.source), tree


def read_bracket_examples(path: Path) -> Iterator[Example]:
    """Yield one example per tree, with words and tags."""
    return (example for example, _ in bracket_examples(path))


def _read_file(path: Path) -> Iterator[BracketTree]:
    open_nodes: list[BracketTree] = []
    most, size = LINE.value, 0
    for number, line in lines(path):
        where = f"{path}, line {number}"
        size = size + len(line) if open_nodes else 0
        if size > most:
            raise too_long(open_nodes[0].source, "the tree", error=CorpusError)
        for token in _TOKEN.findall(line):
            if token == "(":
                if len(open_nodes) == DEEPEST:
                    raise CorpusError(
                        f"{where}: {DEEPEST} brackets are open; is one not closed?", hint=FORM
                    )
                open_nodes.append(BracketTree("", source=where))
            elif not open_nodes:
                what = f"{shorten(token)} is outside all brackets"
                if token == ")":
                    what = "a bracket is closed that was never opened"
                raise CorpusError(f"{where}: {what}", hint=FORM)
            elif token == ")":
                node = _closed(open_nodes.pop(), where)
                if not open_nodes and node:
                    yield _unwrapped(node)
                elif open_nodes and node:
                    open_nodes[-1].parts.append(node)
                elif open_nodes:
                    open_nodes[-1].traces = True
            else:
                _fill(open_nodes[-1], token, where)
    if open_nodes:
        raise CorpusError(
            f"{open_nodes[0].source}: the tree that begins here is not closed",
            hint="add the missing brackets, or remove the tree",
        )


def _fill(node: BracketTree, token: str, where: str) -> None:
    """The first string in a bracket is its label, the second its word."""
    if node.word or node.parts or node.traces:
        filled = "a word" if node.word else "parts"
        raise CorpusError(
            f"{where}: {shorten(token)} is in a bracket that already has {filled}", hint=FORM
        )
    if not node.label:
        node.label = token
    else:
        node.word = token


def _closed(node: BracketTree, where: str) -> BracketTree | None:
    """The finished node; None for a trace, or for a node that holds nothing but traces."""
    if node.word and node.parts:
        raise CorpusError(
            f"{where}: {shorten(node.word)} is in a bracket with other brackets", hint=FORM
        )
    if not (node.word or node.parts or node.traces):
        raise CorpusError(
            f"{where}: the bracket {shorten(f'({node.label})')} has neither a word nor parts",
            hint=FORM,
        )
    if node.label == NONE or not (node.word or node.parts):
        return None
    node.label = node.label if node.label.startswith("-") else _FUNCTION.sub("", node.label)
    node.word = ESCAPED.get(node.word, node.word).replace("\\/", "/").replace("\\*", "*")
    return node


def _unwrapped(node: BracketTree) -> BracketTree:
    while node.label in OUTER and len(node.parts) == 1:
        node = node.parts[0]
    return node
