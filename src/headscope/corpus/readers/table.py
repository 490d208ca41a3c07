"""Tables of texts: TSV (with or without a header) and JSON lines, one example a line, one text or a pair."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from headscope.corpus.example import Example
from headscope.corpus.files import json_values, lines
from headscope.errors import CorpusError

# Names under which public data sets keep the two texts (GLUE, SNLI, Wikipedia pairs), first text first.
FIRST = ("a", "text", "sentence1", "#1 String", "question1", "question", "premise", "text_a")
SECOND = ("b", "text2", "sentence2", "#2 String", "question2", "hypothesis", "text_b")
ALONE = ("sentence",)
LABEL = ("label", "Quality", "score", "gold_label", "is_duplicate")
GROUP = ("group", "document", "paragraph", "doc_id")
HINT = "name the columns, e.g. --columns sentence1,sentence2"


def text_columns(names: Sequence[str], chosen: Sequence[str] | None, where: str) -> list[str]:
    """Which of the named columns hold the text or texts.

    >>> text_columns(["index", "question", "sentence", "label"], None, "dev.tsv")
    ['question', 'sentence']
    >>> text_columns(["sentence", "label"], None, "dev.tsv")
    ['sentence']
    """
    if chosen:
        missing = [name for name in chosen if name not in names]
        if missing:
            raise CorpusError(
                f"{where}: no column {missing[0]!r}; the columns are {', '.join(names)}", hint=HINT
            )
        if len(chosen) > 2:
            raise CorpusError(
                f"one or two columns may be named, got {len(chosen)} instead: {', '.join(chosen)}",
                hint=HINT,
            )
        return list(chosen)
    first = [name for name in FIRST if name in names][:1]
    second = [name for name in SECOND if name in names][:1]
    alone = [name for name in ALONE if name in names]
    if first and not second:
        second = alone
    found = first + second if first else alone
    if not found:
        raise CorpusError(
            f"{where}: none of the columns {', '.join(names)} is known to hold text", hint=HINT
        )
    return found


def read_tsv(path: Path, *, columns: Sequence[str] | None = None) -> Iterator[Example]:
    """One example a line. A first line with known names (or those in ``columns``) is a header; without one the first two columns are the texts.

    Quotes are ordinary characters: the public files contain bare ones.
    """
    header: list[str] | None = None
    known = {*FIRST, *SECOND, *ALONE, *(columns or ())}
    where: list[int] = []
    label: int | None = None
    group: int | None = None
    for number, line in lines(path):
        if not line.strip():
            continue
        cells = line.split("\t")
        if not where and (known & set(cells) or columns):
            header = cells
            where = [cells.index(name) for name in text_columns(cells, columns, str(path))]
            label = next((cells.index(name) for name in LABEL if name in cells), None)
            names = [name for name in GROUP if name in cells and cells.index(name) not in where]
            group = cells.index(names[0]) if names else None
            continue
        if not where:
            where = list(range(min(len(cells), 2)))
            label = 2 if len(cells) > 2 else None
        width = len(header) if header else max([*where, label or 0]) + 1
        if len(cells) != width if header else len(cells) < width:
            raise CorpusError(
                f"{path}, line {number}: {len(cells)} columns, expected {width}",
                hint="each line needs the same columns, separated by tabs",
            )
        texts = tuple(cells[index].strip() for index in where)
        yield Example(
            str(number),
            texts,
            label=cells[label] if label is not None else None,
            group=cells[group].strip() if group is not None else "",
            source=f"{path}, line {number}",
        )


def read_json_lines(path: Path, *, columns: Sequence[str] | None = None) -> Iterator[Example]:
    """One JSON object a line, with the texts under known names (``a``/``b``, ``text``, ``sentence1``/``sentence2`` …) or those in ``columns``."""
    for number, record in json_values(path):
        where = f"{path}, line {number}"
        if not isinstance(record, dict):
            raise CorpusError(
                f"{where}: expected a JSON object, got {type(record).__name__}",
                hint='write e.g. {"a": "first text", "b": "second text"}',
            )
        names = text_columns(list(record), columns, where)
        wrong = next((name for name in names if not isinstance(record[name], str)), None)
        if wrong is not None:
            raise CorpusError(
                f"{where}: {wrong!r} must be a string, got {type(record[wrong]).__name__}",
                hint=HINT,
            )
        label = next((str(record[name]) for name in LABEL if record.get(name) is not None), None)
        yield Example(
            str(record.get("id", number)),
            tuple(record[name].strip() for name in names),
            label=label,
            group=record_group(record, names),
            source=where,
        )


def record_group(record: Mapping[str, Any], texts: Sequence[str] = ()) -> str:
    """The document or paragraph that a JSON object says it belongs to; empty where it does not say.

    >>> record_group({"text": "A dog barks.", "document": 7})
    '7'
    >>> record_group({"document": "A dog barks."}, texts=["document"])
    ''
    """
    keys = [key for key in GROUP if record.get(key) is not None and key not in texts]
    return str(record[keys[0]]).strip() if keys else ""
