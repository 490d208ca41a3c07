"""Collect the maps of the labelled set (src/headscope/data/patterns), draw them on contact sheets, and store them with their labels (K1).

    python tools/pattern_maps.py collect FOLDER --models ../models     maps of several models into FOLDER/candidates.*, sheets into FOLDER/sheet_NN.png
    python tools/pattern_maps.py extend FOLDER --models ../models      a second round of candidates for the class that had too few, block
    python tools/pattern_maps.py review FOLDER labels.txt              one set of sheets a class, for the second look
    python tools/pattern_maps.py store FOLDER labels.txt               the labelled set, into the package

``--models`` is a folder with minilm-l6-mlm, gpt2-mini and electra-mini. Cheap statistics choose the candidates, so that rare classes are among them; labels come only
from looking at the sheets, which show neither model nor statistics. docs/tasks/patterns.md is the labelling guide.
"""

from __future__ import annotations

import argparse
import copy
import itertools
import struct
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import torch

import headscope as hs
from headscope.corpus.example import Example
from headscope.encode import Encoded, collate
from headscope.measures.patterns.labels import (
    BUILTIN,
    Labelled,
    pack,
    read_maps,
    write_labelled,
    write_maps,
)
from headscope.measures.patterns.network import CLASSES
from headscope.models import LayerView, Model, wrap
from headscope.models.random import random_init

SEED = 7
SHORTEST, LONGEST = 8, 64
EXAMPLES = {"train": 90, "test": 70}
"""How many inputs each model reads."""
QUOTA = {
    "train": {"both": 95, "block": 120, "diagonal": 80, "column": 85, "rest": 90},
    "test": {"both": 45, "block": 60, "diagonal": 40, "column": 35, "rest": 40},
}
"""How many candidates of each stratum of cheap statistics."""
MORE = 48
"""How many blocks in the second round."""
MAPS, TABLE = "candidates.safetensors", "candidates.tsv"


@dataclass(frozen=True)
class Candidate:
    """Where a map comes from. Layer and head count from 1; ``second`` is where the second text of a pair begins, 0 for a single text."""

    model: str
    layer: int
    head: int
    length: int
    second: int
    example: str
    split: str
    stratum: str


Head = tuple[str, int, int]
Key = tuple[str, int, int, str]
Found = tuple[Candidate, np.ndarray]
Source = tuple[str, str, Callable[[], Model], set[tuple[int, int]]]


def inputs(split: str) -> list[Example]:
    """Single sentences, two sentences in one text, and pairs, of the passages of one split: every third passage of a style is for the test."""
    found = []
    for passage in hs.corpus.read("demo"):
        if (int(passage.id.rpartition("-")[2]) % 3 == 0) != (split == "test"):
            continue
        words: dict[int, list[str]] = defaultdict(list)
        for word in passage.words:
            words[word.sentence].append(word.text)
        texts = [" ".join(sentence) for sentence in words.values()]
        for first in range(len(texts)):
            for sizes in ((1,), (2,), (1, 1), (2, 1), (1, 2), (2, 2)):
                if first + sum(sizes) > len(texts):
                    continue
                cuts = np.cumsum([first, *sizes]).tolist()
                name = "|".join(
                    "+".join(f"s{number + 1}" for number in range(low, high))
                    for low, high in itertools.pairwise(cuts)
                )
                found.append(
                    Example(
                        f"{passage.id}:{name}",
                        tuple(" ".join(texts[low:high]) for low, high in itertools.pairwise(cuts)),
                    )
                )
    return found


def causal(model: Model) -> Model:
    """The same weights with a causal mask."""
    config = copy.deepcopy(model.config)
    config.is_decoder = True
    network = type(model.network)(config)
    network.load_state_dict(model.network.state_dict())
    return wrap(network, model.tokenizer, name=f"{model.name} (causal)")


def scattered(model: Model, seed: int) -> Model:
    """Random weights, with queries, keys and token types so large that attention is not uniform."""
    made = random_init(model, seed=seed)
    torch.manual_seed(seed)
    for name, weight in made.network.named_parameters():
        if "query.weight" in name or "key.weight" in name or "token_type" in name:
            torch.nn.init.normal_(weight, 0.0, 0.1)
    return made


def apart(model: Model, texts: Sequence[Example], *, steps: int, rate: float, seed: int) -> Model:
    """Fine-tuned to read each text of a pair as if it were alone: hidden states of a pair must equal those of each text with the other masked. Gives real block maps."""
    torch.manual_seed(seed)
    random = np.random.default_rng(seed)
    network = copy.deepcopy(model.network)
    student, teacher = (getattr(net, "bert", net) for net in (network, model.network))
    items = list(
        model.encoder(max_length=LONGEST, long="drop", stack="encoder").encode(
            example for example in texts if len(example.texts) == 2
        )
    )
    types = [weight for name, weight in student.named_parameters() if "token_type" in name]
    scores = [
        weight
        for name, weight in student.named_parameters()
        if ".query." in name or ".key." in name
    ]
    optimizer = torch.optim.AdamW(
        [{"params": types, "lr": rate * 10}, {"params": scores, "lr": rate}], weight_decay=0.0
    )
    for _ in range(steps):
        batch = collate(
            [items[index] for index in random.choice(len(items), 8, replace=False)], pad=model.pad
        )
        ids, second, real = (
            torch.from_numpy(array) for array in (batch.ids, batch.types, batch.mask)
        )
        target = torch.zeros(())
        with torch.no_grad():
            for segment in (0, 1):
                own = real & (second == segment)
                seen = own | (torch.arange(ids.shape[1]) == 0)
                alone = teacher(
                    ids,
                    attention_mask=seen.long(),
                    token_type_ids=torch.zeros_like(ids),
                    output_hidden_states=True,
                ).hidden_states
                target = target + torch.stack(alone[1:]) * own[..., None]
        states = torch.stack(
            student(
                ids, attention_mask=real.long(), token_type_ids=second, output_hidden_states=True
            ).hidden_states[1:]
        )
        loss = ((states - target) ** 2 * real[..., None]).sum() / (
            real.sum() * states.shape[-1] * states.shape[0]
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return wrap(network.eval(), model.tokenizer, name=f"{model.name} (apart)")


def models(folder: Path, texts: dict[str, list[Example]]) -> Iterator[Source]:
    """(split, name, how to make the model, heads from 0) in turn. Test heads are never trained on: other heads of each layer of the embedded model and its kin, and other models."""
    demo = hs.load("demo")
    random = np.random.default_rng(SEED)
    held = {(layer, int(head)) for layer in range(6) for head in random.permutation(12)[:4]}
    kept = {(layer, head) for layer in range(6) for head in range(12)} - held
    print("held-out heads:", ", ".join(f"{layer + 1}-{head + 1}" for layer, head in sorted(held)))
    small = {(layer, head) for layer in range(4) for head in range(4)}
    masked = cache(lambda: hs.load(str(folder / "minilm-l6-mlm")))
    decoder = cache(lambda: causal(demo))
    yield "train", "demo", lambda: demo, kept
    yield "test", "demo", lambda: demo, held
    yield "train", "demo-causal", decoder, kept
    yield "test", "demo-causal", decoder, held
    yield (
        "train",
        "demo-apart",
        lambda: apart(demo, texts["train"], steps=120, rate=1e-3, seed=SEED),
        kept,
    )
    yield (
        "test",
        "minilm-l6-mlm-apart",
        lambda: apart(masked(), texts["test"], steps=100, rate=1.5e-3, seed=SEED + 1),
        held,
    )
    yield (
        "train",
        "random",
        lambda: scattered(demo, SEED),
        {(layer, head) for layer in range(6) for head in range(3)},
    )
    yield "train", "electra-mini", lambda: hs.load(str(folder / "electra-mini")), small
    yield "test", "gpt2-mini", lambda: hs.load(str(folder / "gpt2-mini")), small
    yield "test", "minilm-l6-mlm", masked, {(layer, head) for layer in (4, 5) for head in range(12)}


def maps_of(model: Model, item: Encoded) -> np.ndarray:
    """All maps of one input, (layer, head, query, key)."""
    seen: list[torch.Tensor] = []

    def listen(view: LayerView) -> None:
        seen.append(view.attention[0])

    with torch.no_grad():
        model.forward(collate([item], pad=model.pad), listeners=[listen], stack=model.main_stack())
    return torch.stack(seen).numpy()


def stratum(attention: np.ndarray, segment: np.ndarray) -> str:
    """A rough guess by three statistics: the largest column, the strongest diagonal, and how much more goes to the own text."""
    column = attention.mean(0).max()
    diagonal = max(float(np.diagonal(attention, offset).mean()) for offset in range(-3, 4))
    own = (segment[:, None] == segment[None]) & (segment >= 0)[:, None] & (segment >= 0)[None]
    other = (segment[:, None] != segment[None]) & (segment >= 0)[:, None] & (segment >= 0)[None]
    visible = attention > 0
    inside = (
        np.log2(
            (attention[own & visible].mean() + 1e-6) / (attention[other & visible].mean() + 1e-6)
        )
        if (other & visible).any() and (own & visible).any()
        else 0.0
    )
    if column > 0.2 and diagonal > 0.2:
        return "both"
    if inside > 1.3 and column < 0.35 and diagonal < 0.3:
        return "block"
    if diagonal > 0.25:
        return "diagonal"
    return "column" if column > 0.3 else "rest"


def collect(folder: Path, source: Path) -> None:
    """Choose candidates: of each stratum as many as its quota, head after head in turn, no head twice with one sentence."""
    texts = {split: inputs(split) for split in EXAMPLES}
    random = np.random.default_rng(SEED)
    pools = _pools(texts, models(source, texts), random)
    used: set[Key] = set()
    taken: list[Found] = []
    for split, quota in QUOTA.items():
        for kind, wanted in quota.items():
            taken += _draw(pools[split, kind], wanted, used, random)
    _write(folder, [taken[index] for index in random.permutation(len(taken))])


def extend(folder: Path, source: Path) -> None:
    """A second round, for the test had few blocks: more of them, from other sentences and the model that was tuned to have them."""
    texts = {split: inputs(split) for split in EXAMPLES}
    random = np.random.default_rng(SEED + 2)
    pools = _pools(
        texts,
        (row for row in models(source, texts) if row[:2] == ("test", "minilm-l6-mlm-apart")),
        random,
    )
    table = pd.read_csv(folder / TABLE, sep="\t", index_col="index")
    used = {
        key
        for row in table.itertuples()
        for key in _keys((row.model, row.layer - 1, row.head - 1), row.example)
    }
    _write(folder, _draw(pools["test", "block"], MORE, used, random))


def _pools(
    texts: dict[str, list[Example]], sources: Iterable[Source], random: np.random.Generator
) -> dict[tuple[str, str], dict[Head, list[Found]]]:
    """All maps of the models on random inputs, by split and stratum, then by head."""
    pools: dict[tuple[str, str], dict[Head, list[Found]]] = defaultdict(lambda: defaultdict(list))
    for split, name, make, heads in sources:
        model = make()
        chosen = [texts[split][index] for index in random.permutation(len(texts[split]))]
        items = [
            item
            for item in model.encoder(
                max_length=LONGEST, long="drop", stack=model.main_stack()
            ).encode(chosen[: 3 * EXAMPLES[split]])
            if len(item) >= SHORTEST
        ]
        for item in items[: EXAMPLES[split]]:
            maps = maps_of(model, item)
            second = int(np.argmax(item.segment == 1)) if (item.segment == 1).any() else 0
            for layer, head in sorted(heads):
                kind = stratum(maps[layer, head], item.segment)
                found = Candidate(
                    name, layer + 1, head + 1, len(item), second, item.example.id, split, kind
                )
                pools[split, kind][name, layer, head].append((found, pack(maps[layer, head])))
        print(split, name, len(items), flush=True)
    return pools


def _keys(head: Head, example: str) -> set[Key]:
    """A head with each sentence of an input."""
    passage, _, names = example.partition(":")
    return {(*head, f"{passage}:{name}") for name in names.replace("|", "+").split("+")}


def _draw(
    pool: dict[Head, list[Found]], wanted: int, used: set[Key], random: np.random.Generator
) -> list[Found]:
    found: list[Found] = []
    order = {
        head: [held[index] for index in random.permutation(len(held))]
        for head, held in pool.items()
    }
    while len(found) < wanted and any(order.values()):
        for index in random.permutation(len(order)):
            head = list(order)[index]
            while order[head] and len(found) < wanted:
                one, packed = order[head].pop()
                keys = _keys(head, one.example)
                if not keys & used:
                    used |= keys
                    found.append((one, packed))
                    break
    return found


def _write(folder: Path, taken: list[Found]) -> None:
    """Add candidates to a folder, after those that are there, and draw them on sheets of their own."""
    print(
        len(taken),
        Counter((one.split, one.stratum) for one, _ in taken),
        Counter((one.split, one.model) for one, _ in taken),
    )
    table = pd.DataFrame([asdict(one) for one, _ in taken])
    maps = [packed for _, packed in taken]
    first, sheet = 0, 0
    if (folder / TABLE).is_file():
        before = pd.read_csv(folder / TABLE, sep="\t", index_col="index")
        first, sheet = len(before), len(list(folder.glob("sheet_*.png")))
        table, maps = (
            pd.concat([before, table], ignore_index=True),
            [*read_maps(folder / MAPS), *maps],
        )
    write_maps(folder / MAPS, maps)
    table.to_csv(folder / TABLE, sep="\t", index_label="index")
    (folder / "order.txt").write_text("".join(f"{index}\n" for index in range(len(table))))
    sheets(
        folder,
        "sheet",
        maps[first:],
        table["second"].tolist()[first:],
        range(first, len(table)),
        sheet,
    )


DIGITS = (
    "7 5 5 5 7",
    "2 6 2 2 7",
    "7 1 7 4 7",
    "7 1 7 1 7",
    "5 5 7 1 1",
    "7 4 7 1 7",
    "7 4 7 5 7",
    "7 1 1 1 1",
    "7 5 7 5 7",
    "7 5 7 1 7",
)
"""Rows of three bits, from the top."""
PICTURE, GAP, TOP, ACROSS, DOWN = 184, 10, 16, 6, 4


def picture(packed: np.ndarray, second: int) -> np.ndarray:
    """A map as the paper shows it: rows are queries, columns keys, dark is high; roots of weights, clipped at the 99th percentile. Ticks where a second text begins."""
    root = packed.astype(np.float64)
    shade = np.clip(root / max(float(np.quantile(root, 0.99)), 1.0), 0.0, 1.0)
    places = np.arange(PICTURE) * len(packed) // PICTURE
    drawn = np.full((PICTURE + 12, PICTURE + 12), 255, np.uint8)
    drawn[6:-6, 6:-6] = np.round(255 * (1.0 - shade))[places][:, places]
    drawn[5, 5:-5] = drawn[-6, 5:-5] = drawn[5:-5, 5] = drawn[5:-5, -6] = 150
    if second:
        at = 6 + second * PICTURE // len(packed)
        drawn[at, :6] = drawn[at, -6:] = drawn[:6, at] = drawn[-6:, at] = 0
    return drawn


def number(value: int) -> np.ndarray:
    """A number in dots, twice as large as its font."""
    drawn = [
        np.array(
            [
                [255 * (1 - (int(row) >> bit & 1)) for bit in (2, 1, 0)] + [255]
                for row in DIGITS[int(digit)].split()
            ],
            np.uint8,
        )
        for digit in str(value)
    ]
    return np.kron(np.concatenate(drawn, 1), np.ones((2, 2), np.uint8))


def sheets(
    folder: Path,
    name: str,
    maps: Sequence[np.ndarray],
    seconds: Sequence[int],
    numbers: Sequence[int],
    first: int = 0,
) -> None:
    """Write contact sheets of 24 numbered maps each."""
    wide, high = PICTURE + 12 + GAP, PICTURE + 12 + TOP
    for sheet, start in enumerate(range(0, len(maps), ACROSS * DOWN), first):
        page = np.full((DOWN * high + GAP, ACROSS * wide + GAP), 255, np.uint8)
        for place in range(min(ACROSS * DOWN, len(maps) - start)):
            top, left = place // ACROSS * high, GAP + place % ACROSS * wide
            label = number(numbers[start + place])
            page[top + 5 : top + 5 + label.shape[0], left + 6 : left + 6 + label.shape[1]] = label
            page[top + TOP : top + high, left : left + wide - GAP] = picture(
                maps[start + place], seconds[start + place]
            )
        write_png(folder / f"{name}_{sheet:02d}.png", page)


def write_png(path: Path, page: np.ndarray) -> None:
    """An 8-bit grey picture."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return (
            struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        )

    height, width = page.shape
    rows = b"".join(b"\0" + row.tobytes() for row in page)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
        + chunk(b"IDAT", zlib.compress(rows, 9))
        + chunk(b"IEND", b"")
    )


def read_labels(path: Path) -> dict[int, str]:
    """Lines of a number and a class; any other word (undecided) leaves the map out."""
    rows = [line.split() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return {int(index): label for index, label in rows if label in CLASSES}


def review(folder: Path, labels: dict[int, str]) -> None:
    """Sheets of one class each."""
    maps, table = read_maps(folder / MAPS), pd.read_csv(folder / TABLE, sep="\t", index_col="index")
    for name in CLASSES:
        chosen = [index for index in sorted(labels) if labels[index] == name]
        sheets(
            folder,
            f"review_{name}",
            [maps[index] for index in chosen],
            [int(table["second"][index]) for index in chosen],
            chosen,
        )


def store(folder: Path, labels: dict[int, str]) -> None:
    """Write the labelled set into the package."""
    maps, table = read_maps(folder / MAPS), pd.read_csv(folder / TABLE, sep="\t", index_col="index")
    chosen = sorted(labels)
    known = [
        {
            key: str(table[key][index])
            for key in ("model", "layer", "head", "length", "second", "example", "split")
        }
        for index in chosen
    ]
    write_labelled(
        BUILTIN,
        Labelled(
            tuple(maps[index] for index in chosen),
            tuple(labels[index] for index in chosen),
            tuple(known),
        ),
    )
    print(
        len(chosen),
        "stored,",
        len(table) - len(chosen),
        "left out;",
        Counter((row["split"], labels[index]) for row, index in zip(known, chosen, strict=True)),
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("do", choices=("collect", "extend", "review", "store"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("labels", type=Path, nargs="?")
    parser.add_argument("--models", type=Path)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    if chosen.do == "collect":
        collect(chosen.folder, chosen.models)
    elif chosen.do == "extend":
        extend(chosen.folder, chosen.models)
    else:
        {"review": review, "store": store}[chosen.do](chosen.folder, read_labels(chosen.labels))


if __name__ == "__main__":
    main()
