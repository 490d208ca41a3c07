"""What the page is given is what the schema says, in Python and in TypeScript."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Any,
    Literal,
    NotRequired,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import pytest

from headscope.page import schema
from headscope.page.packs.atlas import atlas_pack
from headscope.page.packs.examples import example_packs
from headscope.page.packs.pack import unpack
from headscope.results import Atlas
from page.samples import demo_file, made_results

ROOT = Path(__file__).resolve().parents[2]


def problems(value: Any, kind: Any, place: str) -> list[str]:
    """Where a value read from JSON is not of a type."""
    origin, args = get_origin(kind), get_args(kind)
    if kind is Any:
        return []
    if origin is NotRequired:
        return problems(value, args[0], place)
    if origin in (Union, UnionType):
        return [] if any(not problems(value, one, place) for one in args) else [place]
    if origin is Literal:
        return [] if value in args else [place]
    if origin is list and isinstance(value, list):
        return [
            one for n, item in enumerate(value) for one in problems(item, args[0], f"{place}[{n}]")
        ]
    if origin is dict and isinstance(value, dict):
        return [
            one for key, item in value.items() for one in problems(item, args[1], f"{place}.{key}")
        ]
    if is_typeddict(kind) and isinstance(value, dict):
        hints = get_type_hints(kind, include_extras=True)
        optional = {name for name, hint in hints.items() if get_origin(hint) is NotRequired}
        wrong = [f"{place}.{name} is missing" for name in hints.keys() - optional - value.keys()]
        wrong += [f"{place}.{name} is unknown" for name in value.keys() - hints.keys()]
        shared = hints.keys() & value.keys()
        return wrong + [
            one for name in shared for one in problems(value[name], hints[name], f"{place}.{name}")
        ]
    plain = {float: (int, float), NoneType: NoneType}.get(kind, kind)
    fits = origin is None and not is_typeddict(kind) and isinstance(value, plain)
    return [] if fits and not (isinstance(value, bool) and kind is not bool) else [place]


@pytest.fixture(scope="module")
def surveyed(tmp_path_factory):
    return Atlas.open(demo_file(tmp_path_factory.getbasetemp()))


def test_the_types_of_typescript_are_written_from_the_schema():
    line = [sys.executable, str(ROOT / "tools" / "page_types.py"), "--check"]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_the_document_of_a_survey_is_as_the_schema_says(surveyed):
    document, _ = unpack(atlas_pack(surveyed, figures=True))
    assert problems(document, schema.AtlasDocument, "atlas") == []
    assert document["statistics"]
    assert document["figures"]


def test_the_document_of_made_results_is_as_the_schema_says():
    document, _ = unpack(atlas_pack(made_results()))
    assert problems(document, schema.AtlasDocument, "atlas") == []


def test_the_packs_of_texts_and_heads_are_as_the_schema_says(surveyed):
    packs = example_packs(surveyed)
    assert problems(unpack(packs["texts"])[0], schema.TextsDocument, "texts") == []
    assert problems(unpack(packs["tokens"])[0], schema.TokensDocument, "tokens") == []
    assert problems(unpack(packs["head/1-1"])[0], schema.HeadDocument, "head") == []


def test_a_document_with_a_field_more_or_less_is_noticed():
    corpus = {"name": "x", "examples": 3}
    assert problems(corpus, schema.Corpus, "corpus") == []
    assert problems(corpus | {"more": 1}, schema.Corpus, "corpus") == ["corpus.more is unknown"]
    assert problems({"name": "x"}, schema.Corpus, "corpus") == ["corpus.examples is missing"]
    assert problems({"name": 3, "examples": 3}, schema.Corpus, "corpus") == ["corpus.name"]
