"""``headscope plan``: the commands of a survey in parts, for a shell or for Slurm."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headscope.cli import options as opt
from headscope.cli.commands import load
from headscope.cli.console import Console
from headscope.cli.root import MEASURE, app
from headscope.cli.surveying import check_survey

if TYPE_CHECKING:
    from headscope.corpus import Corpus

ALL_OTHERS = {"ignore_unknown_options": True}
"""Options that this command does not know are those of the survey."""
READ = ("format", "columns", "header", "lines", "single", "parse", "parser", "documents")
RUN = ("limit", "seed", "batch_size", "max_length", "long", "stack")
ENGINE = ("engine", "address")
LOAD = ("device", "dtype", "device_map", "quantization", "adapter", "bos")
SLURM = """\
#!/bin/bash
# A survey in {shards} parts as a job array, and a job that merges them when all parts are done.
# Start it with: bash THIS-FILE [OPTIONS OF SBATCH]    e.g. --partition=gpu --time=2:00:00
# If a part fails, start it again: finished parts are kept, and the others resume.
set -eu

array=$(sbatch --parsable --job-name=headscope-survey --array=1-{shards} "$@" <<'END_OF_JOB'
#!/bin/bash
export OMP_NUM_THREADS="${{SLURM_CPUS_PER_TASK:-1}}"
headscope survey {arguments} --shard {shard} -o {part}
END_OF_JOB
)
sbatch --job-name=headscope-merge --dependency="afterok:${{array%%;*}}" \\
  --kill-on-invalid-dep=yes "$@" <<'END_OF_JOB'
#!/bin/bash
headscope merge {parts} -o {output}
END_OF_JOB
"""


@dataclass(frozen=True)
class Plan:
    """A survey in parts.

    Parameters
    ----------
    arguments
        Of ``headscope survey``, without output and shard.
    output
        The results file of the whole. Those of the parts stand beside it.
    shards
        How many parts there are.
    """

    arguments: Sequence[str]
    output: Path
    shards: int

    def around(self) -> tuple[str, str]:
        """What stands before and after its number in the name of a part's results file."""
        before = self.output.with_name(f"{self.output.stem}-")
        return str(before), f"-of-{self.shards}{self.output.suffix}"

    def commands(self) -> list[str]:
        """A command for each part, and the one that merges them."""
        before, after = self.around()
        survey = ["headscope", "survey", *self.arguments]
        parts = [f"{before}{number}{after}" for number in range(1, self.shards + 1)]
        surveys = [
            [*survey, "--shard", f"{number}/{self.shards}", "-o", part]
            for number, part in enumerate(parts, 1)
        ]
        merge = ["headscope", "merge", *parts, "-o", str(self.output)]
        return [shlex.join(words) for words in (*surveys, merge)]

    def slurm(self) -> str:
        """A script that submits the parts as a job array, and the merge after them."""
        before, after = (shlex.quote(word) for word in self.around())
        task = '"$SLURM_ARRAY_TASK_ID"'
        return SLURM.format(
            shards=self.shards,
            arguments=shlex.join(self.arguments),
            shard=f"{task}/{self.shards}",
            part=f"{before}{task}{after}",
            parts=f"{before}{{1..{self.shards}}}{after}",
            output=shlex.quote(str(self.output)),
        )


@app.command(rich_help_panel=MEASURE, context_settings=ALL_OTHERS)
def plan(
    context: typer.Context,
    arguments: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL CORPUS [OPTIONS]",
            help="What to survey, and any options of 'headscope survey'.",
            show_default=False,
        ),
    ],
    shards: Annotated[
        int,
        typer.Option("--shards", metavar="N", help="The number of parts.", show_default=False),
    ],
    slurm: Annotated[
        bool,
        typer.Option("--slurm", help="Print a script that submits the parts to Slurm."),
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="The results file of the whole (.nc); the parts are written beside it. "
            "Default: MODEL-CORPUS.nc here.",
            show_default=False,
        ),
    ] = None,
    quiet: opt.Quiet = False,
) -> None:
    """Print the commands of a survey in parts that can run on several machines.

    The model is not loaded and nothing is run. Options that are not listed here are passed on to
    'headscope survey'.

    Example: headscope plan bert-base-uncased corpus.txt --shards 8 --slurm > survey.sh
    """
    from headscope.files import slug

    console = Console(quiet=quiet)
    survey = _survey_options(context, arguments)
    corpus = _checked(survey).first(survey["limit"])
    console.say(_division(corpus.size(), survey["batch_size"], shards))
    path = output or Path(f"{slug(survey['model'])}-{slug(survey['corpus'])}.nc")
    planned = Plan(arguments, path, shards)
    console.result(planned.slurm().rstrip() if slurm else "\n".join(planned.commands()))


def _survey_options(context: typer.Context, arguments: Sequence[str]) -> dict[str, Any]:
    """The options of the survey, as its own command reads them."""
    from headscope.errors import UserError

    root = context.find_root()
    whole: Any = typer.main.get_command(load(["survey"]))
    command = whole.get_command(root, "survey")
    found = command.make_context("survey", list(arguments), parent=root).params
    if found["shard"] != "1/1":
        raise UserError(
            f"a plan has all shards, got --shard {found['shard']}",
            hint="leave --shard out; --shards says how many there are",
        )
    return dict(found)


def _checked(survey: Mapping[str, Any]) -> Corpus:
    """Check the options of the survey, and read its corpus."""

    def chosen(names: Sequence[str]) -> dict[str, Any]:
        return {name: survey[name] for name in names}

    return check_survey(
        survey["model"],
        survey["corpus"],
        measures=survey["measure"],
        files=survey["measure_file"] or (),
        sieves=survey["sieve"] or (),
        load=chosen(LOAD),
        read=opt.reading(**chosen(READ)),
        run=chosen(RUN),
        engine=chosen(ENGINE),  # not the number of workers: they are on other machines
    )


def _division(examples: int, batch: int, shards: int) -> str:
    """How the examples are divided, in words. Each shard must have a unit of work."""
    from headscope.encode import UNIT
    from headscope.errors import UserError

    if shards < 1:
        raise UserError(f"the number of shards must be 1 or more, got {shards} instead")
    units = -(-examples // (batch * UNIT))
    unit = f"{UNIT} batches of {batch} each"
    if shards > units:
        raise UserError(
            f"the number of shards must be at most {units}, the number of units of work ({unit}), "
            f"got {shards} instead",
            hint=f"give --shards {units}, or a smaller --batch-size",
        )
    return f"examples: {examples}; units of work ({unit}): {units}; shards: {shards}"
