"""Penn-style bracketed trees (.mrg, .psd, .ptb), without traces and function tags."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from headscope.corpus.example import Example, Word, join_words
from headscope.corpus.files import lines
from headscope.corpus.folders import files_in
from headscope.errors import CorpusError, shorten
from headscope.limits import DEEPEST, LINE, too_long

ENDINGS = (".mrg", ".psd", ".ptb")
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
    return path.name.lower().removesuffix(".gz").endswith(ENDINGS)


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
    for file in files_in(Path(path), ENDINGS):
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
                        f"{where}: {DEEPEST} brackets are open; is one not closed?",
                        hint=FORM,
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
