"""One pass with all attention statistics against a bare SDPA forward pass.

The model has 12 layers, 12 heads and 768 dimensions; the batch has 16 examples of 128 tokens.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from transformers import BertConfig, BertModel

from benchmarks.timing import best_times
from headscope.corpus import ROOT, Example, Mention, Word
from headscope.encode import Encoded, collate
from headscope.measures import MEASURES, Context, Measure, Role
from headscope.measures.sieves import PAPER, SYNTACTIC
from headscope.models import Model
from headscope.runs.forward import Pass

LENGTH, BATCH, SPLIT = 128, 16, 60
BESIDE = ("arc", "profile", "arc_offset")
"""What dependency roles are compared with: computed wherever they are."""
SURFACE = ("position", "special", "entropy", "role", *BESIDE)
PAPERS = (*SURFACE, "dependency", "coreference", "frame", "feature", "link")
"""The measures of the papers. Everything that is offered has the same bar as all of these: main
roles and what is asked of language models today have to fit in."""
BARS = (1.10, 1.18, 1.18)
RELATIONS, MENTIONS = 40, 20


class _Tokenizer:
    model_max_length = 512
    pad_token_id = 0
    bos_token_id = None


def random_item(generator: np.random.Generator) -> Encoded:
    """Make a pair of 128 tokens with [CLS], two [SEP]s, some full stops, a tree and mentions."""
    kind = np.zeros(LENGTH, np.int8)
    segment = np.where(np.arange(LENGTH) < SPLIT, 0, 1).astype(np.int8)
    kind[0], kind[SPLIT], kind[-1] = 1, 2, 2
    segment[kind > 0] = -1
    # About one piece in twelve continues a word.
    starts = (generator.random(LENGTH) > 0.08) & (kind == 0)
    starts[1] = True
    word = np.where(kind == 0, np.cumsum(starts) - 1, -1)
    count = int(word.max()) + 1
    labels = [*SYNTACTIC, *(f"r{number}" for number in range(RELATIONS))]
    words = tuple(
        Word(
            f"w{index}",
            head=int(generator.integers(count)) if index else ROOT,
            relation=labels[generator.integers(RELATIONS)],
            upos="NOUN",
            xpos="NN",
        )
        for index in range(count)
    )
    mentions = tuple(
        Mention(place, place, place, str(generator.integers(5)), "nominal")
        for place in sorted(generator.choice(count, MENTIONS, replace=False).tolist())
    )
    example = Example("random", ("", ""), words, mentions)
    return Encoded(
        example,
        generator.integers(5, 1000, LENGTH),
        (np.arange(LENGTH) > SPLIT).astype(np.int64),
        kind,
        segment,
        word,
        generator.random(LENGTH) < 0.08,
        ("",) * LENGTH,
        word,
        np.zeros(LENGTH, np.bool_),
    )


def names(measures: Sequence[Measure]) -> str:
    """Name measures in one string."""
    return ", ".join(measure.name for measure in measures)


def run() -> list[dict[str, object]]:
    """Return the rows of the benchmark table."""
    torch.manual_seed(0)
    generator = np.random.default_rng(0)
    bare = BertModel(BertConfig(vocab_size=1000), add_pooling_layer=False).eval()
    bare.set_attn_implementation("sdpa")
    watched = BertModel(BertConfig(vocab_size=1000), add_pooling_layer=False)
    watched.load_state_dict(bare.state_dict())
    model = Model("random", watched, _Tokenizer())
    batch = collate([random_item(generator) for _ in range(BATCH)])
    context = Context(model.shape("encoder"))
    measures = [
        MEASURES[name]().bind(context, [item.example for item in batch.items])
        for name in MEASURES
        if MEASURES[name].offered or name in BESIDE
    ]
    surface, papers = (
        [measure for measure in measures if measure.name in chosen] for chosen in (SURFACE, PAPERS)
    )
    inputs = {
        "input_ids": torch.from_numpy(batch.ids),
        "attention_mask": torch.from_numpy(batch.mask).long(),
        "token_type_ids": torch.from_numpy(batch.types),
    }

    def plain() -> None:
        with torch.inference_mode():
            bare(**inputs)

    rest = [measure for measure in measures if measure.name != "role"]
    paper = Role(roles=PAPER).bind(context, [item.example for item in batch.items])
    few, many, all_of_them, without, with_roles = (
        Pass(model, chosen, "encoder", context)
        for chosen in (surface, papers, measures, rest, [*rest, paper])
    )
    base, *seen, less, more = best_times(
        plain,
        lambda: few.run(batch),
        lambda: many.run(batch),
        lambda: all_of_them.run(batch),
        lambda: without.run(batch),
        lambda: with_roles.run(batch),
    )
    added: dict[str, object] = {
        "benchmark": f"survey with the {paper.width} roles of Pande et al. ÷ without",
        "base": f"{less:.2f} s",
        "ours": f"{more:.2f} s",
    }
    return [
        added | {"ratio": round(more / less, 3), "bar": "≤ 1.1", "ok": more / less <= 1.1},
        *(
            {
                "benchmark": f"survey ({names(chosen)}) ÷ bare SDPA forward",
                "base": f"{base:.2f} s",
                "ours": f"{one:.2f} s",
                "ratio": round(one / base, 3),
                "bar": f"≤ {bar:.2f}",
                "ok": one / base <= bar,
            }
            for chosen, one, bar in zip((surface, papers, measures), seen, BARS, strict=True)
        ),
    ]
