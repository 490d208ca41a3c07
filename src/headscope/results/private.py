"""Provenance without folders: they may hold the names of users and machines."""

from __future__ import annotations

import re
from typing import Any

_FOLDERS = re.compile(r"(?<![\w.:/\\])(?:~|[A-Za-z]:)?(?:[/\\][^/\\\s'\",;:]+)+[/\\](?=[^/\\\s])")


def without_folders(value: Any) -> Any:
    """The same value with absolute paths cut to their last part.

    Hub ids and relative paths are unchanged.

    >>> without_folders({"name": "/home/anna/models/bert", "hub": "google/bert"})
    {'name': 'bert', 'hub': 'google/bert'}
    >>> without_folders(["/tmp/a b.txt", "C:\\\\Users\\\\anna\\\\c.txt", "../data/x.tsv", 3])
    ['a b.txt', 'c.txt', '../data/x.tsv', 3]
    """
    if isinstance(value, str):
        return _FOLDERS.sub("", value) if "/" in value or "\\" in value else value
    if isinstance(value, dict):
        return {without_folders(key): without_folders(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [without_folders(item) for item in value]
    return value
