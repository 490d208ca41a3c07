"""Special tokens (Clark et al. 2019, §3.2, Fig. 2): attention to [CLS], to all [SEP]s, and to full
stops and commas.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headscope.encode import SEPARATOR, START, Encoded
from headscope.encode.cross import key_item
from headscope.measures.kinds import Columns, mass_weights
from headscope.measures.relation import Linear, Weights


class Special(Linear):
    """Mean attention to [CLS], [SEP], and full stops and commas.

    From all tokens, from [SEP] alone, and from all others alone. [CLS] and [SEP] stand for the
    model's own start and end tokens (BOS, EOS); NaN for a model or text that has none.

    References
    ----------
    Clark et al. 2019, section 3.2 and Figure 2.
    """

    name = "special"
    title = "Attention to special tokens"
    unit = "share of attention"
    source = "Clark et al. 2019, §3.2, Figure 2"
    dims = {"token": ("cls", "sep", "punctuation"), "row": ("all", "sep", "other")}
    cross = True

    def weights(self, item: Encoded) -> Sequence[Weights]:
        """Columns of the map: those of one kind of token, for all rows or some."""
        separator, keys = item.kind == SEPARATOR, key_item(item)
        columns = (keys.kind == START, keys.kind == SEPARATOR, keys.stop)
        rows = (np.ones_like(separator), separator, ~separator)
        return [mass_weights(Columns(column, row)) for column in columns for row in rows]
