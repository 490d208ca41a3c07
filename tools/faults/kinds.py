"""Every kind of file that Headscope writes and reads again, with tiny models."""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from faults.damage import Kind, content
from headscope.corpus import from_texts
from headscope.heads import Head
from headscope.labelling.maps import MapId
from headscope.labelling.store import LabelStore
from headscope.measures.patterns.labels import label_maps, read_labelled, write_labelled
from headscope.measures.patterns.network import PatternNet, digest, load_network, save_network
from headscope.models import Model, load
from headscope.results import Atlas
from headscope.runs.probe.vectors import make_head_outputs
from headscope.runs.run import Checkpoint, read_checkpoint, write_checkpoint
from headscope.runs.survey import survey

TEXTS = ["the dog barks", "a cat sleeps on the mat", "it saw a bird", "the bird sang"]


@cache
def model() -> Model:
    """A tiny model with known heads."""
    from planted import planted_bert

    return planted_bert()


def _results(folder: Path) -> None:
    survey(
        model(), TEXTS, measures=["position", "entropy"], max_length=24, output=folder / "run.nc"
    )


def _read_results(folder: Path) -> str:
    atlas = Atlas.open(folder / "run.nc")
    values = [
        (name, str(variable), data.values)
        for name in atlas
        for variable, data in atlas[name].variables.items()
    ]
    return content(atlas.provenance, *(part for value in values for part in value))


def _checkpoint(folder: Path) -> None:
    generator = np.random.default_rng(0)
    arrays = {"sum": generator.random((32, 2, 4)), "count": np.arange(32)}
    write_checkpoint(
        folder / "run.partial",
        Checkpoint({"run": "mine"}, 3, {"seen": 7, "lost": ["a"]}, arrays, [5]),
    )


def _read_checkpoint(folder: Path) -> str:
    found = read_checkpoint(folder / "run.partial", {"run": "mine"})
    assert found is not None
    return found.digest()


def _two_checkpoints(folder: Path) -> None:
    _checkpoint(folder)
    _checkpoint(folder)


def _blocks(folder: Path) -> None:
    make_head_outputs(model(), [(text,) for text in TEXTS], folder, max_length=24)


def _read_blocks(folder: Path) -> str:
    rows = np.arange(len(TEXTS))
    found = make_head_outputs(model(), [(text,) for text in TEXTS], folder, max_length=24)
    layers = range(found.shape.layers)
    parts = [part for at in layers for part in (found.heads(at, rows), found.layer(at, rows))]
    return content(found.state, *parts)


def _labels(folder: Path) -> None:
    generator = np.random.default_rng(0)
    store = LabelStore(folder)
    for number, label in enumerate(("vertical", "block", "diagonal", "heterogeneous")):
        store.add(
            MapId("demo", "mine", f"s{number}", Head(number, 2)),
            generator.dirichlet(np.ones(6), 6).astype(np.float32),
            label,
            0,
        )
    store.skip(MapId("demo", "mine", "s9", Head(1, 1)))


def _read_labels(folder: Path) -> str:
    """What the labelling page shows. Labels that are dropped are asked for again."""
    store = LabelStore(folder)
    if store.damaged:
        assert (folder / "labels.tsv.damaged").is_file()
        whole = folder.parent / "whole"
        first = dict(zip(map(repr, LabelStore(whole).map_ids), _rows(whole), strict=True))
        kept = dict(zip(map(repr, store.map_ids), _rows(folder), strict=True))
        same = all(first.get(name) == row for name, row in kept.items())
        return _read_labels(whole) if same else "other labels"
    return content(*_rows(folder), store.skipped)


def _rows(folder: Path) -> list[str]:
    found = read_labelled(folder)
    parts = zip(found.labels, found.known, found.maps, strict=True)
    return [content(label, sorted(known.items()), one) for label, known, one in parts]


def _training_set(folder: Path) -> None:
    write_labelled(folder, label_maps([np.eye(5), np.full((4, 4), 0.25)], ["diagonal", "block"]))


def _network(folder: Path) -> None:
    import torch

    torch.manual_seed(0)
    save_network(folder / "network.safetensors", PatternNet())


def _read_network(folder: Path) -> str:
    return digest(load_network(folder / "network.safetensors"))


@cache
def _tuned(start: str = "pretrained") -> Path:
    """A tuned folder, made once."""
    import tempfile

    from headscope.runs.tune import tune
    from headscope.tasks.task import Task
    from tiny import tiny_network, tiny_tokenizer

    place = Path(tempfile.mkdtemp(prefix="faults-"))
    tiny_network("bert").save_pretrained(place / "base")
    tiny_tokenizer("bert").save_pretrained(place / "base")
    task = Task("animals", "Animals", "classification", ("cat", "dog"), ("accuracy",))
    train, dev = (animals(count) for count in (16, 8))
    tune(
        place / "base",
        task=task,
        train=train,
        dev=dev,
        output=place / "tuned",
        epochs=1,
        max_length=16,
        batch_size=8,
        seed=0,
        start=start,
    )
    return place / "tuned"


def animals(count: int) -> Any:
    """A task that is easily learnt."""
    from dataclasses import replace

    names = ["cat" if number % 3 else "dog" for number in range(count)]
    texts = from_texts([f"the {name} sat {number}" for number, name in enumerate(names)])
    examples = [replace(one, label=name) for one, name in zip(texts, names, strict=True)]
    return replace(texts, source=lambda: iter(examples))


def _tune(folder: Path) -> None:
    shutil.copytree(_tuned(), folder / "tuned")


def _read_tuned(folder: Path) -> str:
    from headscope.runs.tune import load_classifier, read_record

    record = read_record(folder / "tuned")
    loaded, _ = load_classifier(folder / "tuned", record.task)
    about = (record.scores, record.losses, record.settings, record.task, record.seconds)
    tokens = loaded.tokenizer(TEXTS[1])["input_ids"]
    return content(loaded.digest, tokens, about, loaded.config.to_dict())


def _word_maps(folder: Path) -> None:
    from headscope.papers.clark2019.word_maps import make_word_maps

    make_word_maps(model(), _treebank(), folder)


def _read_word_maps(folder: Path) -> str:
    from headscope.papers.clark2019.word_maps import make_word_maps

    found = make_word_maps(model(), _treebank(), folder)
    return content(bytes(found.values), found.counts, found.offsets)


@cache
def _treebank() -> Any:
    from headscope.corpus import ROOT, Example, Word, from_examples

    def tree(name: str, text: str) -> Example:
        words = text.split()
        heads = [ROOT, *range(len(words) - 1)]
        made = tuple(Word(word, head=head) for word, head in zip(words, heads, strict=True))
        return Example(name, (text,), made)

    return from_examples([tree(str(number), text) for number, text in enumerate(TEXTS)])


def _parses(folder: Path) -> None:
    from headscope.corpus.example import Word
    from headscope.corpus.spacy import ParseCache

    cache = ParseCache()
    cache.path = folder / "parses.jsonl.gz"
    for text in TEXTS:
        words = text.split()
        cache.add([text], [Word(word, 0, 0, -1, "dep", "X", "X", word) for word in words])
    cache.save()


def _read_parses(folder: Path) -> str:
    from headscope.corpus.spacy import ParseCache
    from headscope.corpus.spacy import _kept_lines as _lines

    cache = ParseCache()
    cache.path = folder / "parses.jsonl.gz"
    cache._kept = _lines(cache.path)
    for text in TEXTS:
        words = cache.recall([text])
        if words is not None and [word.text for word in words] != text.split():
            return "other words"
        if words is not None and {word.relation for word in words} != {"dep"}:
            return "other relations"
    return "what is there is right, the rest is parsed again"


def _converted(folder: Path) -> None:
    from headscope.files import seal_folder
    from tiny import tiny_network, tiny_tokenizer

    tiny_network("gpt2").save_pretrained(folder / "kept")
    tiny_tokenizer("gpt2").save_pretrained(folder / "kept")
    seal_folder(folder / "kept")


def _read_converted(folder: Path) -> str:
    found = load(folder / "kept")
    return content(found.digest, found.tokenizer(TEXTS[1])["input_ids"], found.config.to_dict())


KINDS = (
    Kind("results", _results, _read_results),
    Kind("checkpoint", _checkpoint, _read_checkpoint),
    Kind("last of two checkpoints", _two_checkpoints, _read_checkpoint),
    Kind("vector blocks", _blocks, _read_blocks, "*.safetensors"),
    Kind("labels", _labels, _read_labels),
    Kind("labelled maps", _training_set, lambda folder: content(*_rows(folder))),
    Kind("pattern network", _network, _read_network),
    Kind("tuned model and record", _tune, _read_tuned),
    Kind("word maps", _word_maps, _read_word_maps),
    Kind("parses", _parses, _read_parses),
    Kind("converted model", _converted, _read_converted),
)
"""All of them. Pages, figures and exports are written for others and never read again."""
