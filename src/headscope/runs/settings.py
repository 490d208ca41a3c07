"""The settings of a run, checked once."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from headscope.errors import UserError, unknown
from headscope.measures import BLOCKS

NAMES = {
    "long": "way with long examples",
    "subtypes": "way with subtypes",
    "direction": "direction of dependency roles",
    "keep": "number of sequences to keep scores of",
}
"""What some settings are called in messages."""


class Settings(BaseModel):
    """How a corpus is run through a model. Everything here that changes numbers is part of a run's identity."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_length: Annotated[int, Field(ge=4)] = 128
    long: Literal["truncate", "split", "drop"] = "truncate"
    batch_size: Annotated[int, Field(ge=1)] = 16
    stack: str = ""
    token_types: bool = True
    subtypes: Literal["keep", "fold"] = "keep"
    roles: tuple[str, ...] = ()
    direction: Literal["to head", "from head", "both"] = "to head"
    keep: Annotated[int, Field(ge=0)] = 5000
    """The value of each of about this many examples is kept, for measures whose distribution is asked for; 0 keeps only the moments."""
    limit: Annotated[int, Field(ge=1)] | None = None
    seed: int = 0


def make_settings(**values: object) -> Settings:
    """Settings, or an error in our words.

    >>> make_settings(batch_size=0)
    Traceback (most recent call last):
    headscope.errors.UserError: the batch size must be 1 or more, got 0 instead
    next: see headscope survey --help
    """
    try:
        return Settings.model_validate(
            {key: value for key, value in values.items() if value is not None}
        )
    except ValidationError as error:
        first = error.errors()[0]
        name, context = (
            NAMES.get(str(first["loc"][0]), str(first["loc"][0]).replace("_", " ")),
            first.get("ctx", {}),
        )
        if first["type"] == "extra_forbidden":
            raise unknown("setting", str(first["loc"][0]), Settings.model_fields) from None
        if "ge" in context:
            rule = f"be {context['ge']} or more"
        elif "expected" in context:
            rule = f"be {context['expected']}"
        else:
            rule = first["msg"].removeprefix("Input should ").split(",")[0]
        raise UserError(
            f"the {name} must {rule}, got {first['input']!r} instead",
            hint="see headscope survey --help",
        ) from None


def parse_shard(text: str) -> tuple[int, int]:
    """Shard i of n, both from 1.

    >>> parse_shard("2/4")
    (2, 4)
    """
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    number, total = (int(group) for group in match.groups()) if match else (0, 0)
    if not 1 <= number <= total <= BLOCKS:
        raise UserError(
            f"the shard must be i/n with 1 ≤ i ≤ n ≤ {BLOCKS}, got {text!r} instead",
            hint="give e.g. --shard 1/4",
        )
    return number, total
