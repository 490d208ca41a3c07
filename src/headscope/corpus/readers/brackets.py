"""Penn-style bracketed trees (.mrg, .psd, .ptb): several a file, traces taken out, function tags stripped."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from headscope.corpus.example import Example, Word, join_words
from headscope.corpus.files import lines
from headscope.corpus.readers.coref.columns import files_in
from headscope.errors import CorpusError

ENDINGS = (".mrg", ".psd", ".ptb")
NONE = "-NONE-"
OUTER = frozenset({"", "ROOT", "TOP"})
"""Labels of a bracket that only wraps the tree."""
ESCAPED = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}
_TOKEN = re.compile(r"[()]|[^\s()]+")
_FUNCTION = re.compile(r"(?<=.)[-=|].*")
DEEPEST = 400
"""No sentence nests so deep; Python could not walk down much deeper."""
FORM = "each tree is one pair of brackets, and each word stands alone with its tag: (S (NP (NNS Dogs)) (VP (VBP bark)))"


@dataclass(slots=True)
class Bracketed:
    """A node: its label without function tags, and its parts; a node right above a word has the word and no parts."""

    label: str
    parts: list[Bracketed] = field(default_factory=list)
    word: str = ""
    source: str = ""
    traces: bool = False
    """Whether a trace was taken out right below."""

    @property
    def top(self) -> tuple[str, ...]:
        """The labels right below this node."""
        return tuple(part.label for part in self.parts)

    @property
    def depth(self) -> int:
        """The longest path to a word, counted in steps down: 1 for a node right above its word."""
        return 1 + max((part.depth for part in self.parts), default=0)

    def leaves(self) -> Iterator[Bracketed]:
        """The nodes right above the words, in order."""
        if self.word:
            yield self
        for part in self.parts:
            yield from part.leaves()


def is_brackets(path: Path) -> bool:
    """Whether a file is named like a file of bracketed trees (.gz too), or a folder has such files."""
    if path.is_dir():
        return any(is_brackets(file) for file in path.rglob("*") if not file.is_dir())
    return path.name.lower().removesuffix(".gz").endswith(ENDINGS)


def read_brackets(path: str | Path) -> Iterator[Bracketed]:
    """Yield the trees of a file, or of all such files in a folder. A tree that is nothing but traces is left out."""
    for file in files_in(Path(path), ENDINGS):
        yield from _read_file(file)


def _read_file(path: Path) -> Iterator[Bracketed]:
    open_nodes: list[Bracketed] = []
    for number, line in lines(path):
        for token in _TOKEN.findall(line):
            if token == "(":
                if len(open_nodes) == DEEPEST:
                    raise CorpusError(
                        f"{path}, line {number}: {DEEPEST} brackets are open; is one not closed?",
                        hint=FORM,
                    )
                open_nodes.append(Bracketed("", source=f"{path}, line {number}"))
            elif not open_nodes:
                what = (
                    "a bracket is closed that was never opened"
                    if token == ")"
                    else f"{token!r} stands outside all brackets"
                )
                raise CorpusError(f"{path}, line {number}: {what}", hint=FORM)
            elif token == ")":
                node = _closed(open_nodes.pop(), path, number)
                if not open_nodes and node:
                    yield _unwrapped(node)
                elif open_nodes and node:
                    open_nodes[-1].parts.append(node)
                elif open_nodes:
                    open_nodes[-1].traces = True
            else:
                _fill(open_nodes[-1], token, path, number)
    if open_nodes:
        raise CorpusError(
            f"{open_nodes[0].source}: the tree that begins here is not closed",
            hint="add the missing brackets, or drop the tree",
        )


def _fill(node: Bracketed, token: str, path: Path, number: int) -> None:
    """The first string in a bracket is its label, the second its word."""
    if node.word or node.parts or node.traces:
        raise CorpusError(
            f"{path}, line {number}: {token!r} is in a bracket that already has {'a word' if node.word else 'parts'}",
            hint=FORM,
        )
    if not node.label:
        node.label = token
    else:
        node.word = token


def _closed(node: Bracketed, path: Path, number: int) -> Bracketed | None:
    """The finished node; None for a trace, or for a node that holds nothing but traces."""
    if node.word and node.parts:
        raise CorpusError(
            f"{path}, line {number}: {node.word!r} is in a bracket with other brackets", hint=FORM
        )
    if not (node.word or node.parts or node.traces):
        raise CorpusError(
            f"{path}, line {number}: the bracket {f'({node.label})'!r} has neither word nor parts",
            hint=FORM,
        )
    if node.label == NONE or not (node.word or node.parts):
        return None
    node.label = node.label if node.label.startswith("-") else _FUNCTION.sub("", node.label)
    node.word = ESCAPED.get(node.word, node.word).replace("\\/", "/").replace("\\*", "*")
    return node


def _unwrapped(node: Bracketed) -> Bracketed:
    while node.label in OUTER and len(node.parts) == 1:
        node = node.parts[0]
    return node


def bracket_examples(path: str | Path) -> Iterator[tuple[Example, Bracketed]]:
    """One example a tree, with the words and their Penn tags but no heads; and its tree."""
    for index, tree in enumerate(read_brackets(path), 1):
        words = tuple(Word(leaf.word, xpos=leaf.label) for leaf in tree.leaves())
        yield Example(str(index), join_words(words), words, source=tree.source), tree


def read_bracket_examples(path: Path) -> Iterator[Example]:
    """Yield one example per tree, with words and tags."""
    return (example for example, _ in bracket_examples(path))
