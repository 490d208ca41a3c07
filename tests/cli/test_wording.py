"""What the command line says of mistakes: before its options were defined once (typer, and advice
written twice), and now. No message may have become worse.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.conftest import Run
from page.samples import made_results

HELP = "see headscope survey --help"
DTYPE = (
    "the dtype must be one of bfloat16, float16, float32; got 'bf16' instead. Did you mean "
    "'bfloat16'?"
)
HEADER = (
    "reviews.tsv: the first line looks like a header, but none of its columns is known to hold "
    "text; the columns are review, stars"
)
TREES = "the measure 'dependency' needs tree, words, which a.txt does not have (it has pair)"
SINGLE = "reading every paragraph alone applies to plain text, not to the built-in corpus"
LINES = (
    "reading every paragraph alone has no effect with lines: every line is already a text of its "
    "own"
)
CASES = {  # what was typed: (error and advice before), (error and advice now)
    "survey demo demo --limt 3": (
        ("No such option: --limt (Possible options: --limit, --lines, --quiet)", ""),
        ("headscope survey has no option --limt; did you mean --limit?", HELP),
    ),
    "survey demo demo --revision main": (
        ("(allowed)", ""),
        ("headscope survey has no option --revision; did you mean --load.revision?", HELP),
    ),
    "survey demo demo --limit many": (
        ("Invalid value for '--limit': Input should be a valid integer, unable to parse …", ""),
        ("the limit must be a whole number, got 'many' instead", HELP),
    ),
    "survey demo demo --limit 0": (
        ("the limit must be 1 or more, got 0 instead", HELP),
        ("the limit must be 1 or more, got 0 instead", HELP),
    ),
    "survey demo demo --max-length 3": (
        ("the max length must be 4 or more, got 3 instead", HELP),
        ("the maximum length must be 4 or more, got 3 instead", HELP),
    ),
    "survey demo demo --dtype bf16": ((DTYPE, HELP), (DTYPE, HELP)),
    "survey demo demo --long shorten": (
        (
            "the treatment of long examples must be 'truncate', 'split' or 'drop', got 'shorten' "
            "instead",
            HELP,
        ),
        (
            "the treatment of long examples must be one of drop, split, truncate; got 'shorten' "
            "instead.",
            HELP,
        ),
    ),
    "survey demo": (
        ("Missing argument 'CORPUS'.", ""),
        ("the argument CORPUS is missing", HELP),
    ),
    "survey demo demo --limit": (
        ("Option '--limit' requires an argument.", ""),
        ("--limit needs a value", HELP),
    ),
    "survey demo demo --limit 2 --limit 3": (
        ("(the last one was taken)", ""),
        ("--limit is given twice", HELP),
    ),
    "survey demo demo more": (
        ("Got unexpected extra argument (more)", ""),
        ("headscope survey takes fewer arguments: more", HELP),
    ),
    "survey demo reviews.tsv": (
        (
            HEADER,
            "name the columns of text, e.g. --columns review; if the first line is data, give "
            "--no-header",
        ),
        (
            HEADER,
            "name the columns of text, e.g. --columns review; if the first line is data, give "
            "--no-read.header",
        ),
    ),
    "survey demo demo --single": (
        (SINGLE, "leave --single out"),
        (SINGLE, "leave --single out"),
    ),
    "survey demo a.txt --lines --single": (
        (LINES, "leave --single out"),
        (LINES, "leave --single out"),
    ),
    "survey demo demo --workers 3": (
        (
            "the engine 'local' works in this process alone, got 3 workers",
            "give --engine processes",
        ),
        (
            "the engine 'local' works in this process alone, got 3 workers",
            "give --engine processes",
        ),
    ),
    "survey demo nowhere.txt": (
        (
            "no such corpus file: nowhere.txt",
            "give the path of a text, TSV, CSV, JSON-lines or CoNLL file, or 'demo'",
        ),
        (
            "no such corpus file: nowhere.txt",
            "give the path of a text, TSV, CSV, JSON-lines or CoNLL file, or 'demo'",
        ),
    ),
    "survey demo a.txt --measure dependency -o x.nc": (
        (TREES, "use a treebank (.conllu), or parse plain text with --parse"),
        (TREES, "use a treebank (.conllu), or parse plain text with --parse"),
    ),
    "surveyy": (
        ("No such command 'surveyy'. Did you mean 'survey'?", ""),
        ("check", "see headscope --help"),
    ),
    "probe demo demo --l2 -1": (
        ("L2 values must be numbers above 0, got -1.0 instead", "for example 0.001 and 0.01"),
        ("L2 values must be numbers above 0, got -1.0 instead", "for example 0.001 and 0.01"),
    ),
    "explore demo --port 99999999": (
        (
            "the port must be between 0 and 65535, got 99999999 instead",
            "omit --port to use any free one",
        ),
        (
            "the port must be 0 to 65535, got 99999999 instead",
            "leave --port out to use any free one",
        ),
    ),
    "table made.nc roles": (
        (
            "these results have no roles in them",
            "run: headscope survey MODEL CORPUS --measure role -o roles.nc",
        ),
        (
            "made.nc has no table 'roles': it holds no 'role'; it has statistics",
            "see what it holds with: headscope ls made.nc",
        ),
    ),
    "figures made.nc --figure head-off": (
        (
            "the figure 'head-off' needs the measure 'head_off', which these results do not have",
            "make results that have it with: headscope ablate MODEL",
        ),
        (
            "the figure 'head-off' needs the measure 'head_off', which these results do not have",
            "make results that have it with headscope ablate MODEL",
        ),
    ),
}


@pytest.mark.parametrize("words", CASES)
def test_a_mistake_is_told_as_well_as_before(words: str, run: Run, here: Path) -> None:
    (here / "a.txt").write_text("A dog.\n\nA cat.\n")
    (here / "reviews.tsv").write_text("review\tstars\nGreat film, really.\t5\nDull.\t1\n")
    made_results().save(here / "made.nc")
    _before, (error, advice) = CASES[words]
    done = run(*words.split())
    assert (done.code, done.out) == (2, "")
    assert done.told[0].startswith("error: ")
    assert done.told[0].endswith(error)
    assert done.told[1] == f"next:  {advice}"
    assert "Traceback" not in done.err
