"""A planted model that retrieves by construction, needles in its few words, and a text of them.

Its induction head (2-3) finds where the last word of the prompt, "Answer:", stood before, and
copies what came next, so a needle that holds "Answer:" before its answer is always recovered.
"""

from __future__ import annotations

import headscope as hs
from headscope.models import Model
from planted_induction import Layout, induction_model

FILLER = ("lake", "moss", "fern", "clay", "rain", "wool", "salt", "wind")
ANSWERS = ("red owl sat", "blue fox ran", "old cat hid", "wet dog lay")
NEEDLES = tuple(
    hs.Needle(f"code Answer: {answer} end .", f"Who {at} ?", answer)
    for at, answer in enumerate(ANSWERS)
)
WORDS = (
    *("<s>", "Question:", "Answer:", "Who", "?", "code", "end", ".", "\n"),
    *FILLER,
    *(word for answer in ANSWERS for word in answer.split()),
)
TEXTS = [" ".join((*FILLER[at:], *FILLER[:at], ".")) for at in range(len(FILLER))]
LENGTH = 60


def retrieving_model() -> Model:
    """Two layers of four heads with room for 128 tokens. "." ends a text, as <s> does."""
    model = induction_model(Layout(words=WORDS, positions=128, size=512))
    model.network.generation_config.eos_token_id = [WORDS.index("<s>"), WORDS.index(".")]
    return model
