"""A model at a glance, as text and as HTML for notebooks."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headscope.models.model import Model

HEADS = {
    "ForSequenceClassification": "a class of the text",
    "ForTokenClassification": "a class of each token",
    "ForQuestionAnswering": "where an answer begins and ends",
}
"""What models predict besides tokens, by how the name of their class ends."""


def model_facts(model: Model) -> dict[str, str]:
    """What a reader wants to know of a model first.

    Parameters
    ----------
    model
        Any model.

    Returns
    -------
    dict of str
        Facts in words, by what they are about.

    Examples
    --------
    >>> import headscope as hs
    >>> facts = model_facts(hs.load("demo"))
    >>> facts["heads"], facts["predicts"]
    ('6 layers × 12 heads', 'nothing: loaded without a head')
    """
    weights = list(model.network.parameters())
    dtype = str(model.network.dtype).removeprefix("torch.")
    shapes = [
        f"{shape.layers} layers × {shape.heads} heads"
        + (f" ({stack})" if len(model.shapes) > 1 else "")
        for stack, shape in model.shapes.items()
    ]
    longest = "no limit" if model.longest is None else f"{model.longest:,} tokens"
    return {
        "architecture": str(getattr(model.config, "model_type", "")),
        "heads": ", ".join(shapes),
        "parameters": f"{sum(value.numel() for value in weights):,}",
        "weights": f"{model.quantization or dtype} on {model.device}",
        "longest text": longest,
        "predicts": predicted(model),
        **({"adapter": model.adapter} if model.adapter else {}),
        **({"notes": " ".join(model.notes)} if model.notes else {}),
    }


def predicted(model: Model) -> str:
    """What a model predicts, in words."""
    if "lm" in model.capabilities:
        return "the next token" if model.causal(model.main_stack()) else "masked tokens"
    name = type(model.network).__name__
    found = [words for ending, words in HEADS.items() if name.endswith(ending)]
    return found[0] if found else "nothing: loaded without a head"


def model_text(model: Model) -> str:
    """A model in one line.

    Examples
    --------
    >>> import headscope as hs
    >>> model_text(hs.load("demo"))
    'Model demo: bert, 6 layers × 12 heads, 22,713,216 parameters, float32 on cpu'
    """
    facts = model_facts(model)
    return (
        f"Model {model.name}: {facts['architecture']}, {facts['heads']}, "
        f"{facts['parameters']} parameters, {facts['weights']}"
    )


def model_html(model: Model) -> str:
    """A model as a small table, with every text escaped."""
    rows = "".join(
        f'<tr><th style="text-align:left;font-weight:normal">{escape(name)}</th>'
        f'<td style="text-align:left">{escape(value)}</td></tr>'
        for name, value in model_facts(model).items()
    )
    return (
        f'<div style="font:13px/20px sans-serif"><b>{escape(model.name)}</b>'
        f'<table style="margin-top:4px">{rows}</table></div>'
    )
