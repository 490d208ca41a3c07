"""Add to the built-in labelled maps: natural blocks, longer inputs, faint diagonals, even greys.

    long_pattern_maps.py collect FOLDER --mpnet MODEL --tuned MODEL --small MODELS
                                    collect candidates and draw contact sheets
    long_pattern_maps.py blocks FOLDER --mpnet MODEL --tuned MODEL
                                    collect more candidates for natural blocks
    long_pattern_maps.py again FOLDER labels.txt
                                    draw forty labelled maps under new numbers
    long_pattern_maps.py store FOLDER labels.txt
                                    add the labelled maps to the package

MODEL are the folders of all-mpnet-base-v2 and of the embedded model as fine-tuned by others; MODELS
is a folder with gpt2-mini and electra-mini, whose maps are for testing and are stored in FOLDER
only. Cheap statistics choose candidates so that rare classes are among them; labels come only from
looking at the sheets, which show a number and where special tokens are.
"""

from __future__ import annotations

import argparse
import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from pattern_maps import (
    Candidate,
    Found,
    Head,
    Key,
    draw,
    draw_sheets,
    held_out_heads,
    labelled,
    maps_of,
    passages,
    read_labels,
    read_table,
    sentence_keys,
    stratum,
    write,
)

import headscope as hs
from headscope.corpus.example import Example
from headscope.encode import Encoded
from headscope.measures.patterns.labels import (
    BUILTIN,
    Labelled,
    pack,
    read_labelled,
    write_labelled,
)
from headscope.models import Model

SEED = 20
LENGTHS = {
    "train": {(24, 64): 18, (65, 112): 42},
    "test": {(24, 64): 15, (65, 96): 18, (97, 112): 9, (113, 128): 18},
}
"""Number of inputs that each model reads, by split and length. Nothing above 112 tokens is trained
on, so that the test has lengths that were never seen.
"""
KINDS = ("block", "faint", "both", "grey", "diagonal", "column", "rest")
QUOTA = {
    ("train", "demo"): (25, 14, 8, 10, 8, 8, 12),
    ("train", "minilm-sre"): (18, 12, 6, 8, 8, 6, 10),
    ("train", "demo-llm"): (20, 10, 12, 4, 16, 10, 12),
    ("test", "mpnet-base"): (40, 20, 15, 12, 15, 15, 20),
    ("test", "demo"): (12, 8, 5, 5, 5, 5, 6),
    ("test", "minilm-sre"): (12, 8, 5, 5, 6, 5, 6),
    ("apart", "gpt2-mini"): (8, 4, 4, 2, 4, 2, 4),
    ("apart", "electra-mini"): (4, 2, 2, 4, 2, 4, 4),
}
"""Number of candidates of each kind, by split and model. Maps of the split ``apart`` are test maps
that are not shipped.
"""
BLOCKS = {
    ("train", "demo"): 24,
    ("train", "minilm-sre"): 20,
    ("train", "demo-llm"): 24,
    ("test", "mpnet-base"): 48,
    ("test", "demo"): 12,
    ("test", "minilm-sre"): 12,
}
"""Number of further candidates whose attention mostly stays in its own text."""
INSIDE, LINE = 1.8, 0.3
"""Attention inside a text over attention across texts, as a power of two; the largest diagonal."""
EVEN = 0.93
"""Rows with more than this share of the largest entropy make an even grey map."""
AGAIN = 40
"""How many maps are read twice."""
ROUND = "2"
"""Marks the maps that this tool added, in the column ``round``."""


def inputs(
    split: str, random: np.random.Generator, shares: Sequence[float] = (0.2, 0.4, 0.4)
) -> Iterator[Example]:
    """Draw runs of sentences without end: alone, or in pairs from one passage or from two."""
    texts = passages(split)
    names = list(texts)
    while True:
        first, other = (names[index] for index in random.choice(len(names), 2, replace=False))
        ways = random.choice(3, p=shares)
        if ways == 2:
            parts = [(name, *_run(len(texts[name]), random)) for name in (first, other)]
        else:
            low, high = _run(len(texts[first]), random, at_least=int(ways) + 1)
            cuts = [low, int(random.integers(low + 1, high)), high] if ways else [low, high]
            parts = [(first, *ends) for ends in itertools.pairwise(cuts)]
        label = "|".join(
            (f"{name}:" if place == 0 or name != parts[0][0] else "")
            + "+".join(f"s{number + 1}" for number in range(low, high))
            for place, (name, low, high) in enumerate(parts)
        )
        yield Example(label, tuple(" ".join(texts[name][low:high]) for name, low, high in parts))


def _run(length: int, random: np.random.Generator, at_least: int = 1) -> tuple[int, int]:
    low = int(random.integers(0, length - at_least + 1))
    return low, int(random.integers(low + at_least, length + 1))


def kind_of(attention: np.ndarray, segment: np.ndarray) -> str:
    """Guess the class of a map roughly, faint diagonals beside columns and even greys apart."""
    visible = attention > 0
    entropy = -(attention * np.log(np.where(visible, attention, 1.0))).sum(1)
    seen = visible.sum(1)
    if (entropy[seen > 1] / np.log(seen[seen > 1])).mean() > EVEN:
        return "grey"
    diagonal = max(float(np.diagonal(attention, offset).mean()) for offset in range(-3, 4))
    if attention.mean(0).max() > 0.12 and 0.06 < diagonal <= 0.2:
        return "faint"
    return stratum(attention, segment)


def inside(attention: np.ndarray, segment: np.ndarray) -> bool:
    """Whether attention mostly stays in its own text, with no strong column or diagonal."""
    texts = (segment[:, None] >= 0) & (segment[None] >= 0) & (attention > 0)
    own = texts & (segment[:, None] == segment[None])
    other = texts & ~own
    if not other.any() or min((segment == 0).sum(), (segment == 1).sum()) < len(segment) / 4:
        return False
    diagonal = max(float(np.diagonal(attention, offset).mean()) for offset in range(-3, 4))
    stays = np.log2((attention[own].mean() + 1e-6) / (attention[other].mean() + 1e-6)) > INSIDE
    return bool(stays and attention.mean(0).max() < 0.4 and diagonal < LINE)


def encoded(model: Model, split: str, drawn: Iterator[Example]) -> list[Encoded]:
    """Inputs of the lengths wanted, each kept where its length is still missing."""
    missing = dict(LENGTHS["train" if split == "train" else "test"])
    encoder = model.encoder(max_length=128, long="drop", stack=model.main_stack())
    found = []
    while any(missing.values()):
        for item in encoder.encode(list(itertools.islice(drawn, 50))):
            for ends in missing:
                if ends[0] <= len(item) <= ends[1] and missing[ends]:
                    missing[ends] -= 1
                    found.append(item)
    return found


def collect(folder: Path, sources: dict[str, str]) -> None:
    """Choose candidates of each model up to its quota; heads take turns."""
    random = np.random.default_rng(SEED)
    taken: list[tuple[Found, list[int]]] = []
    for (split, name), quota in QUOTA.items():
        model = hs.load(sources[name])
        pools: dict[str, dict[Head, list[Found]]] = defaultdict(lambda: defaultdict(list))
        specials: dict[str, list[int]] = {}
        for item in encoded(model, split, inputs(split, random)):
            specials[item.example.id] = np.flatnonzero(item.segment < 0).tolist()
            _sort(pools, model, name, split, item)
        used: set[Key] = set()
        for kind, wanted in zip(KINDS, quota, strict=True):
            found = draw(pools[kind], wanted, used, random)
            taken += [(one, specials[one[0].example]) for one in found]
        print(split, name, {kind: len(pools[kind]) for kind in KINDS}, flush=True)
    shuffled = [taken[index] for index in random.permutation(len(taken))]
    write(folder, [found for found, _ in shuffled], [places for _, places in shuffled])


def blocks(folder: Path, sources: dict[str, str]) -> None:
    """Choose more candidates for blocks: pairs of texts from two passages."""
    random = np.random.default_rng(SEED + 2)
    table = read_table(folder)
    taken: list[tuple[Found, list[int]]] = []
    for (split, name), wanted in BLOCKS.items():
        model = hs.load(sources[name])
        pools: dict[str, dict[Head, list[Found]]] = defaultdict(lambda: defaultdict(list))
        specials: dict[str, list[int]] = {}
        for item in encoded(model, split, inputs(split, random, (0.0, 0.0, 1.0))):
            specials[item.example.id] = np.flatnonzero(item.segment < 0).tolist()
            _sort(pools, model, name, split, item)
        used = {
            key
            for row in table[table["model"] == name].itertuples()
            for key in sentence_keys((name, row.layer - 1, row.head - 1), row.example)
        }
        found = draw(pools["inside"], wanted, used, random)
        taken += [(one, specials[one[0].example]) for one in found]
        print(split, name, len(pools["inside"]), len(found), flush=True)
    shuffled = [taken[index] for index in random.permutation(len(taken))]
    write(folder, [found for found, _ in shuffled], [places for _, places in shuffled])


def _sort(
    pools: dict[str, dict[Head, list[Found]]], model: Model, name: str, split: str, item: Encoded
) -> None:
    """Put every map of an input into the pool of its kind."""
    maps = maps_of(model, item)
    second = int(np.argmax(item.segment == 1)) if (item.segment == 1).any() else 0
    held_out = (
        held_out_heads() if name.startswith(("demo", "minilm")) and name != "demo-llm" else set()
    )
    for layer, head in itertools.product(range(maps.shape[0]), range(maps.shape[1])):
        if held_out and ((layer, head) in held_out) != (split == "test"):
            continue
        kind = kind_of(maps[layer, head], item.segment)
        found = Candidate(
            name, layer + 1, head + 1, len(item), second, item.example.id, split, kind
        )
        pools[kind][name, layer, head].append((found, pack(maps[layer, head])))
        if inside(maps[layer, head], item.segment):
            pools["inside"][name, layer, head].append((found, pack(maps[layer, head])))


def again(folder: Path, labels: Path) -> None:
    """Draw forty of the maps that were looked at, under new numbers, for a second reading.

    ``again.tsv`` says which they are: not to be opened before they are labelled.
    """
    read = [
        int(line.split()[0])
        for line in labels.read_text(encoding="utf-8").splitlines()
        if line.strip()
    ]
    random = np.random.default_rng(SEED + 1)
    chosen = [read[index] for index in random.choice(len(read), AGAIN, replace=False)]
    numbers = list(range(1000, 1000 + AGAIN))
    pd.DataFrame({"number": numbers, "index": chosen}).to_csv(
        folder / "again.tsv", sep="\t", index=False
    )
    draw_sheets(folder, "again", chosen, numbers)


def store(folder: Path, labels: dict[int, str]) -> None:
    """Add the labelled maps to the set in the package; those of ``apart`` go to FOLDER/apart.

    Maps that an earlier run of this command added are replaced. So are those of electra-mini, which
    is a model for testing only.
    """
    table = read_table(folder)
    apart = [index for index in sorted(labels) if table["split"][index] == "apart"]
    shipped = [index for index in sorted(labels) if table["split"][index] != "apart"]
    before = read_labelled()
    kept = [
        index
        for index, row in enumerate(before.known)
        if row.get("round", "1") != ROUND and row["model"] != "electra-mini"
    ]
    old = before.take(kept)
    first = Labelled(old.maps, old.labels, tuple({**row, "round": "1"} for row in old.known))
    write_labelled(BUILTIN, first + labelled(folder, labels, shipped, round=ROUND))
    write_labelled(folder / "apart", labelled(folder, labels, apart, round=ROUND))
    print(Counter((table["split"][index], labels[index]) for index in sorted(labels)))


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("do", choices=("collect", "blocks", "again", "store"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("labels", type=Path, nargs="?")
    parser.add_argument("--mpnet")
    parser.add_argument("--tuned")
    parser.add_argument("--small")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    sources = {
        "demo": "demo",
        "demo-llm": "demo-llm",
        "minilm-sre": chosen.tuned,
        "mpnet-base": chosen.mpnet,
        "gpt2-mini": f"{chosen.small}/gpt2-mini",
        "electra-mini": f"{chosen.small}/electra-mini",
    }
    if chosen.do == "collect":
        collect(chosen.folder, sources)
    elif chosen.do == "blocks":
        blocks(chosen.folder, sources)
    elif chosen.do == "again":
        again(chosen.folder, chosen.labels)
    else:
        store(chosen.folder, read_labels(chosen.labels))


if __name__ == "__main__":
    main()
