"""What can be wrong with the measures of a survey, found before anything is run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from headscope.errors import UserError
from headscope.measures.base import Measure
from headscope.results.schema import EXAMPLES, NULL, TRACK


def check_lengths(measures: Iterable[Measure], max_length: int) -> None:
    """Refuse lengths at which the whole maps that a measure needs would fill the memory."""
    for measure in measures:
        if not measure.in_blocks and max_length > measure.longest:
            raise UserError(
                f"the measure {measure.name!r} needs whole attention maps, which is possible up to "
                f"{measure.longest} tokens, got a maximum length of {max_length} instead",
                hint=f"give max_length={measure.longest}, or measure it in a run of its own",
                command=f"give --max-length {measure.longest}, or measure it in a run of its own",
            )


def check_names(measures: Sequence[Measure], examples: int) -> None:
    """Refuse a measure whose results would be kept under the name of something else."""
    taken = next((one.name for one in measures if one.name in (NULL, TRACK)), None)
    if taken is not None:
        raise UserError(
            f"a measure cannot be called {taken!r}: results keep "
            f"{'null models' if taken == NULL else 'checkpoints'} under that name",
            hint="give the class another name",
        )
    if examples and any(measure.name == EXAMPLES for measure in measures):
        raise UserError(
            f"a measure cannot be called {EXAMPLES!r}: results keep the examples of all heads "
            "under that name",
            hint="give the class another name, or keep none with examples=0",
            command="give the class another name, or keep none with --examples 0",
        )
