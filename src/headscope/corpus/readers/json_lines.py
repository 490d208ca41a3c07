"""JSON lines, one object per line, with one text or a pair."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from headscope.corpus.columns import GROUPS, ColumnChoice, find_layout
from headscope.corpus.example import Example
from headscope.corpus.files import json_values
from headscope.errors import CorpusError, shorten


def read_json_lines(path: Path, choice: ColumnChoice | None = None) -> Iterator[Example]:
    """Yield one example per JSON object, with the texts under known keys or those in ``choice``.

    Keys are named like the columns of a table. The id is the value of ``id``, or the line number.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.jsonl"
    >>> _ = path.write_text('{"a": "Who?", "b": "Me.", "group": "d1"}')
    >>> [(example.texts, example.group) for example in read_json_lines(path)]
    [(('Who?', 'Me.'), 'd1')]
    """
    choice = choice or ColumnChoice()
    for number, record in json_values(path):
        where = f"{path}, line {number}"
        if not isinstance(record, dict):
            raise CorpusError(
                f"{where}: expected a JSON object, got {type(record).__name__}",
                hint='write e.g. {"text": "A dog barks."} or {"a": "Who?", "b": "The dog."}',
            )
        names = list(record)
        layout = find_layout(names, choice, where)
        texts = [names[place] for place in layout.texts]
        label = None if layout.label is None else record[names[layout.label]]
        group = None if layout.group is None else record[names[layout.group]]
        yield Example(
            str(record.get("id", number)),
            tuple(_text(record, name, where) for name in texts),
            label=None if label is None else str(label),
            group="" if group is None else str(group).strip(),
            source=where,
        )


def record_group(record: Mapping[str, Any]) -> str:
    """The document or paragraph that a JSON object says it belongs to; empty if it does not say.

    >>> record_group({"sentence": "A dog barks.", "document": 7})
    '7'
    """
    given = [record[key] for key in GROUPS if record.get(key) is not None]
    return str(given[0]).strip() if given else ""


def _text(record: Mapping[str, Any], name: str, where: str) -> str:
    value = record[name]
    if not isinstance(value, str):
        raise CorpusError(
            f"{where}: {shorten(name)} must be a string, got {type(value).__name__}",
            hint='write the text in quotes, or name other keys, e.g. columns=["text"]',
        )
    return value.strip()
