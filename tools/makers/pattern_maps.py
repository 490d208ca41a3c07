"""Make the built-in set of labelled maps (Kovaleva et al. 2019, §4.1).

    pattern_maps.py collect FOLDER --models MODELS    collect candidates of several
                                                      models and draw contact sheets
    pattern_maps.py extend FOLDER --models MODELS     collect more block candidates,
                                                      of which there were too few
    pattern_maps.py review FOLDER labels.txt          draw the maps of each class
    pattern_maps.py store FOLDER labels.txt           write the set into the package

MODELS is a folder with minilm-l6-mlm, gpt2-mini and electra-mini. Cheap statistics choose the
candidates, so that rare classes are among them. Labels come only from looking at the sheets, which
show neither the model nor the statistics. docs/howto/patterns.md has the labelling guide.
"""

from __future__ import annotations

import argparse
import copy
import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from contact_sheets import sheets

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
from headscope.models.loading import random_init

SEED, SHORTEST, LONGEST = 7, 8, 64
EXAMPLES = {"train": 90, "test": 70}
"""Number of inputs that each model reads, by split."""
QUOTA = {
    "train": {"both": 95, "block": 120, "diagonal": 80, "column": 85, "rest": 90},
    "test": {"both": 45, "block": 60, "diagonal": 40, "column": 35, "rest": 40},
}
"""Number of candidates of each stratum, by split."""
MORE = 48
"""Number of block candidates in the second round."""
MAPS, TABLE = "candidates.safetensors", "candidates.tsv"


@dataclass(frozen=True)
class Candidate:
    """Where a map comes from.

    Layer and head count from 1. ``second`` is the index of the first token of a pair's second text,
    or 0 for a single text.
    """

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
"""A split, the name of a model, how to make the model, and heads counted from 0."""


# --- Inputs and models ---


def passages(split: str) -> dict[str, list[str]]:
    """The sentences of each passage; every third passage of a style is kept for testing."""
    found: dict[str, list[str]] = {}
    for passage in hs.corpus.read("demo"):
        if (int(passage.id.rpartition("-")[2]) % 3 == 0) == (split != "train"):
            words: dict[int, list[str]] = defaultdict(list)
            for word in passage.words:
                words[word.sentence].append(word.text)
            found[passage.id] = [" ".join(sentence) for sentence in words.values()]
    return found


def inputs(split: str) -> list[Example]:
    """Make the inputs of a split: one or two sentences, alone or in pairs.

    Every third passage of each style belongs to the test split.
    """
    found = []
    for passage, texts in passages(split).items():
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
                        f"{passage}:{name}",
                        tuple(" ".join(texts[low:high]) for low, high in itertools.pairwise(cuts)),
                    )
                )
    return found


def causal(model: Model) -> Model:
    """Give a model a causal mask; the weights stay the same."""
    config = copy.deepcopy(model.config)
    config.is_decoder = True
    network = type(model.network)(config)
    network.load_state_dict(model.network.state_dict())
    return wrap(network, model.tokenizer, name=f"{model.name} (causal)")


def scattered(model: Model, seed: int) -> Model:
    """Draw random weights, large enough in queries, keys and token types to shape attention."""
    made = random_init(model, seed=seed)
    torch.manual_seed(seed)
    for name, weight in made.network.named_parameters():
        if "query.weight" in name or "key.weight" in name or "token_type" in name:
            torch.nn.init.normal_(weight, 0.0, 0.1)
    return made


def apart(model: Model, texts: Sequence[Example], *, steps: int, rate: float, seed: int) -> Model:
    """Fine-tune a model to read each text of a pair as if it were alone, which gives block maps.

    The target of each text's hidden states are those with the other text masked.
    """
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


def held_out_heads() -> set[tuple[int, int]]:
    """Draw four of twelve heads in each layer of the embedded model, counted from 0.

    No map of these heads, nor of the same heads of models made from it, is trained on.
    """
    random = np.random.default_rng(SEED)
    return {(layer, int(head)) for layer in range(6) for head in random.permutation(12)[:4]}


def models(folder: Path, texts: dict[str, list[Example]]) -> Iterator[Source]:
    """Give (split, name, how to make the model, heads counted from 0) for each model.

    Test heads differ from training heads: they are other heads of the embedded model and its
    variants, and heads of other models.
    """
    demo = hs.load("demo")
    held_out = held_out_heads()
    training = {(layer, head) for layer in range(6) for head in range(12)} - held_out
    names = (f"{layer + 1}-{head + 1}" for layer, head in sorted(held_out))
    print("held-out heads:", ", ".join(names))
    small = {(layer, head) for layer in range(4) for head in range(4)}
    masked = cache(lambda: hs.load(str(folder / "minilm-l6-mlm")))
    decoder = cache(lambda: causal(demo))
    yield "train", "demo", lambda: demo, training
    yield "test", "demo", lambda: demo, held_out
    yield "train", "demo-causal", decoder, training
    yield "test", "demo-causal", decoder, held_out
    yield (
        "train",
        "demo-apart",
        lambda: apart(demo, texts["train"], steps=120, rate=1e-3, seed=SEED),
        training,
    )
    yield (
        "test",
        "minilm-l6-mlm-apart",
        lambda: apart(masked(), texts["test"], steps=100, rate=1.5e-3, seed=SEED + 1),
        held_out,
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


# --- Candidates ---


def maps_of(model: Model, item: Encoded) -> np.ndarray:
    """Compute all maps of one input, (layer, head, query, key)."""
    layers: list[torch.Tensor] = []

    def listen(view: LayerView) -> None:
        layers.append(view.attention[0])

    with torch.no_grad():
        model.forward(collate([item], pad=model.pad), listeners=[listen], stack=model.main_stack())
    return torch.stack(layers).numpy()


def stratum(attention: np.ndarray, segment: np.ndarray) -> str:
    """Guess the class of a map roughly from three statistics.

    They are the largest column, the strongest diagonal, and the ratio of attention within a text to
    attention across texts.
    """
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
    """Choose candidates up to the quota of each stratum.

    Heads take turns, and no head is taken twice with the same sentence.
    """
    texts = {split: inputs(split) for split in EXAMPLES}
    random = np.random.default_rng(SEED)
    pools = _pools(texts, models(source, texts), random)
    used: set[Key] = set()
    taken: list[Found] = []
    for split, quota in QUOTA.items():
        for kind, wanted in quota.items():
            taken += draw(pools[split, kind], wanted, used, random)
    write(folder, [taken[index] for index in random.permutation(len(taken))])


def extend(folder: Path, source: Path) -> None:
    """Choose more block candidates for the test split, from the model tuned to have them."""
    texts = {split: inputs(split) for split in EXAMPLES}
    random = np.random.default_rng(SEED + 2)
    pools = _pools(
        texts,
        (row for row in models(source, texts) if row[:2] == ("test", "minilm-l6-mlm-apart")),
        random,
    )
    table = read_table(folder)
    used = {
        key
        for row in table.itertuples()
        for key in sentence_keys((row.model, row.layer - 1, row.head - 1), row.example)
    }
    write(folder, draw(pools["test", "block"], MORE, used, random))


def _pools(
    texts: dict[str, list[Example]], sources: Iterable[Source], random: np.random.Generator
) -> dict[tuple[str, str], dict[Head, list[Found]]]:
    """Compute the maps of all models on random inputs, by split and stratum, then by head."""
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


def sentence_keys(head: Head, example: str) -> set[Key]:
    """Combine a head with each sentence of an input, of one passage or of two."""
    found: set[Key] = set()
    passage = ""
    for part in example.split("|"):
        before, colon, names = part.rpartition(":")
        passage = before if colon else passage
        found |= {(*head, f"{passage}:{name}") for name in names.split("+")}
    return found


def draw(
    pool: dict[Head, list[Found]], wanted: int, used: set[Key], random: np.random.Generator
) -> list[Found]:
    """Draw candidates from a pool, one per head in each round, until there are enough."""
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
                keys = sentence_keys(head, one.example)
                if not keys & used:
                    used |= keys
                    found.append((one, packed))
                    break
    return found


def write(folder: Path, taken: list[Found], special: Sequence[Sequence[int]] = ()) -> None:
    """Append candidates to those in a folder, and draw the new ones on sheets."""
    folder.mkdir(parents=True, exist_ok=True)
    table = pd.DataFrame([asdict(one) for one, _ in taken])
    if special:
        table["special"] = [",".join(map(str, places)) for places in special]
    print(len(taken), Counter(zip(table["split"], table["model"], table["stratum"], strict=True)))
    maps, first = [packed for _, packed in taken], 0
    if (folder / TABLE).is_file():
        before = read_table(folder)
        first = len(before)
        table = pd.concat([before, table], ignore_index=True)
        maps = [*read_maps(folder / MAPS), *maps]
    write_maps(folder / MAPS, maps)
    table.to_csv(folder / TABLE, sep="\t", index_label="index")
    new = range(first, len(maps))
    draw_sheets(folder, f"sheet_{first}", new, new)


def read_table(folder: Path) -> pd.DataFrame:
    """The candidates in a folder."""
    return pd.read_csv(folder / TABLE, sep="\t", index_col="index", dtype={"special": str})


def draw_sheets(folder: Path, name: str, chosen: Sequence[int], numbers: Sequence[int]) -> None:
    """Draw some candidates on sheets, with numbers above them."""
    maps, table = read_maps(folder / MAPS), read_table(folder)
    special = table.get("special", pd.Series("", table.index)).fillna("").str.split(",")
    sheets(
        folder,
        name,
        [maps[index] for index in chosen],
        [int(table["second"][index]) for index in chosen],
        numbers,
        specials=[[int(at) for at in special[index] if at.isdigit()] for index in chosen],
    )


def read_labels(path: Path) -> dict[int, str]:
    """Read lines of a number and a class; lines with any other word (undecided) are ignored."""
    rows = [line.split() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return {int(index): label for index, label in rows if label in CLASSES}


def review(folder: Path, labels: dict[int, str]) -> None:
    """Draw the maps of each class on sheets of their own, for a second look."""
    for name in CLASSES:
        chosen = [index for index in sorted(labels) if labels[index] == name]
        draw_sheets(folder, f"review_{name}", chosen, chosen)


def labelled(folder: Path, labels: dict[int, str], indices: Sequence[int], **more: str) -> Labelled:
    """Some of the labelled candidates, as they are stored."""
    maps, table = read_maps(folder / MAPS), read_table(folder)
    keys = ("model", "layer", "head", "length", "second", "example", "split")
    return Labelled(
        tuple(maps[index] for index in indices),
        tuple(labels[index] for index in indices),
        tuple({key: str(table[key][index]) for key in keys} | more for index in indices),
    )


def store(folder: Path, labels: dict[int, str]) -> None:
    """Write the labelled set into the package."""
    stored = labelled(folder, labels, sorted(labels))
    write_labelled(BUILTIN, stored)
    splits = Counter(zip((row["split"] for row in stored.known), stored.labels, strict=True))
    print(len(labels), "stored,", len(read_table(folder)) - len(labels), "not used;", splits)


def main() -> None:
    """Read the command line."""
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
