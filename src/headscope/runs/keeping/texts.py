"""An example as results keep it: its tokens, words and tree within the window."""

from __future__ import annotations

from headscope.corpus import ROOT, surface_words
from headscope.encode import TEXT, Encoded
from headscope.files import digest_of
from headscope.measures.roles import sinks
from headscope.models import Model
from headscope.results.kept import NO_HEAD, KeptText
from headscope.results.stored import PARTS, StoredText
from headscope.runs.text_maps import token_names

LONGEST_WORD = 256
"""Characters that are kept of a word."""


def kept_text(model: Model, item: Encoded, key: int, window: int) -> KeptText:
    """The tokens of an example within the window, with their words and tree.

    Parameters
    ----------
    model
        Names the special tokens.
    item
        The example.
    key
        Its number and part; see :data:`headscope.results.stored.PARTS`.
    window
        How many tokens are kept.
    """
    example, number = item.example, divmod(key, PARTS)
    units = item.unit[:window].tolist()
    kept = sorted({unit for unit in units if unit >= 0})
    place = {unit: new for new, unit in enumerate(kept)}
    surface = surface_words(example, kept[-1] + 1 if kept else 0)
    words = [example.words[unit] for unit in kept] if example.words else []
    heads = [
        NO_HEAD
        if word.head is None
        else ROOT
        if word.head == ROOT
        else place.get(word.head, NO_HEAD)
        for word in words
    ]
    return KeptText(
        number=number[0],
        id=example.id,
        group=example.group,
        tokens=tuple(token_names(model, item)[:window]),
        unit=tuple(place.get(unit, -1) for unit in units),
        words=tuple(surface[unit][:LONGEST_WORD] for unit in kept),
        special=tuple((item.kind[:window] != TEXT).tolist()),
        sink=tuple(sinks(item)[:window].tolist()),
        head=tuple(heads) or (NO_HEAD,) * len(kept),
        relation=tuple(word.relation for word in words) or ("",) * len(kept),
        sentence=tuple(word.sentence for word in words) or (0,) * len(kept),
        length=len(item),
        part=number[1],
    )


def stored_text(model: Model, item: Encoded, key: int, window: int) -> StoredText:
    """The same, ready to be stored."""
    text = kept_text(model, item, key, window)
    return StoredText(len(text.tokens), text.to_json())


def sample_digest(item: Encoded, seed: int, key: int) -> bytes:
    """The digest by which the sample is drawn: of the seed and of what the example is.

    Equal examples have equal digests, wherever they are in a corpus. The parts of an example that
    is split are drawn one by one.
    """
    example = item.example
    parts = (str(seed), str(key % PARTS), example.id, example.group, *example.texts)
    return bytes.fromhex(digest_of(*parts))
