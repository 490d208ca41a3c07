"""One pass with all attention statistics against a bare SDPA forward pass: 12 layers, 12 heads, 768 wide, 128 tokens, batch 16."""

from __future__ import annotations

import numpy as np
import torch
from transformers import BertConfig, BertModel

from benchmarks.timing import best_times
from headscope.corpus import Example
from headscope.encode import Encoded, collate
from headscope.engine.forward import Pass
from headscope.measures import Setting, available
from headscope.observe import wrap

LENGTH, BATCH = 128, 16


class _Tokenizer:
    model_max_length = 512
    pad_token_id = 0


def random_item(generator: np.random.Generator) -> Encoded:
    """A pair of 128 tokens with [CLS] and two [SEP]s, full stops here and there."""
    kind, segment = np.zeros(LENGTH, np.int8), np.where(np.arange(LENGTH) < 60, 0, 1).astype(np.int8)
    kind[0], kind[60], kind[-1] = 1, 2, 2
    segment[kind > 0] = -1
    stop = generator.random(LENGTH) < 0.08
    ids = generator.integers(5, 1000, LENGTH)
    return Encoded(Example("random", ("",)), ids, (np.arange(LENGTH) > 60).astype(np.int64), kind, segment, np.full(LENGTH, -1), stop, ("",) * LENGTH)


def run() -> list[dict[str, object]]:
    """Rows of the benchmark table."""
    torch.manual_seed(0)
    generator = np.random.default_rng(0)
    bare = BertModel(BertConfig(vocab_size=1000), add_pooling_layer=False).eval()
    bare.set_attn_implementation("sdpa")
    watched = BertModel(BertConfig(vocab_size=1000), add_pooling_layer=False)
    watched.load_state_dict(bare.state_dict())
    model = wrap(watched, _Tokenizer(), name="random")
    batch = collate([random_item(generator) for _ in range(BATCH)])
    setting = Setting(model.shape("encoder"))
    measures = [measure(setting) for measure in available().values() if not measure.needs]
    forward = Pass(model, measures, "encoder")
    inputs = {"input_ids": torch.from_numpy(batch.ids), "attention_mask": torch.from_numpy(batch.mask).long(), "token_type_ids": torch.from_numpy(batch.types)}

    def plain() -> None:
        with torch.inference_mode():
            bare(**inputs)

    base, seen = best_times(plain, lambda: forward.run(batch))
    names = ", ".join(measure.name for measure in measures)
    return [{"benchmark": f"survey ({names}) ÷ bare SDPA forward", "bare": f"{base:.2f} s", "ours": f"{seen:.2f} s", "ratio": round(seen / base, 3), "bar": "≤ 1.3", "ok": seen / base <= 1.3}]
