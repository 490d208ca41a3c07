"""How a corpus is run through a model: the options that survey, compare and ablate share."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from headscope.errors import UserError, unknown

Long = Literal["truncate", "split", "drop"]
"""What to do with examples that are too long."""
MOST = 1024
"""Examples that are kept for every head."""
NAMES = {"long": "treatment of long examples"}
"""What some settings are called in messages."""


class RunSettings(BaseModel):
    """Options of a pass over a corpus. All of them are part of a run's identity."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_length: Annotated[int, Field(ge=4)] = 128
    long: Long = "truncate"
    batch_size: Annotated[int, Field(ge=1)] = 16
    stack: str = ""
    token_types: bool = True
    limit: Annotated[int, Field(ge=1)] | None = None
    seed: int = 0


def make_settings(**values: object) -> RunSettings:
    """Settings, or an error in plain words. None stands for the default.

    >>> make_settings(batch_size=0)
    Traceback (most recent call last):
    headscope.errors.UserError: the batch size must be 1 or more, got 0 instead
    """
    given = {key: value for key, value in values.items() if value is not None}
    try:
        return RunSettings.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        field, context = str(first["loc"][0]), first.get("ctx", {})
        if first["type"] == "extra_forbidden":
            raise unknown("setting", field, RunSettings.model_fields) from None
        if "ge" in context:
            rule = f"be {context['ge']} or more"
        elif "expected" in context:
            rule = f"be {context['expected']}"
        else:
            rule = first["msg"].removeprefix("Input should ").split(",")[0]
        name = NAMES.get(field, field.replace("_", " "))
        raise UserError(f"the {name} must {rule}, got {first['input']!r} instead") from None


def check_shard(shard: tuple[int, int] | str) -> tuple[int, int]:
    """Part i of n of a run, both from 1, given as ``(i, n)`` or ``"i/n"``.

    >>> check_shard("2/4")
    (2, 4)
    """
    parts = shard.split("/") if isinstance(shard, str) else [str(part) for part in shard]
    if len(parts) == 2 and all(part.isdecimal() and len(part) < 7 for part in parts):
        number, total = (int(part) for part in parts)
        if 1 <= number <= total:
            return number, total
    raise UserError(
        f"the shard must be i/n with 1 ≤ i ≤ n, got {shard!r} instead",
        hint="e.g. shard='1/4'",
        command="e.g. --shard 1/4",
    )


def check_examples(examples: object) -> int:
    """How many examples a survey keeps for every head.

    >>> check_examples(-1)
    Traceback (most recent call last):
    headscope.errors.UserError: the number of examples to keep must be 0 to 1024, got -1 instead
    next: e.g. examples=32, or 0 to keep none
    """
    if isinstance(examples, int) and not isinstance(examples, bool) and 0 <= examples <= MOST:
        return examples
    raise UserError(
        f"the number of examples to keep must be 0 to {MOST}, got {examples!r} instead",
        hint="e.g. examples=32, or 0 to keep none",
        command="e.g. --examples 32, or 0 to keep none",
    )
