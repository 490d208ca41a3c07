"""Read, write and check the trees and marked-up texts of the built-in corpus."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from headscope.corpus.builtin import MarkedSpan, MarkupError, read_markup

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "src" / "headscope" / "corpus" / "builtin"
LABELS = frozenset(
    "root acl acomp advcl advmod agent amod appos attr aux auxpass case cc ccomp compound conj "
    "csubj csubjpass dative dep det dobj expl intj mark meta neg nmod npadvmod nsubj nsubjpass "
    "nummod oprd parataxis pcomp pobj poss preconj predet prep prt punct quantmod relcl "
    "xcomp".split()
)
"""The relations of spaCy's English models."""


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
