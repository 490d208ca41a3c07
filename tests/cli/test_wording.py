"""What the command line says of mistakes that no other test has: whole messages, word for word."""

from __future__ import annotations

import pytest

from page.samples import made_results

HELP = "see headscope survey --help"
TREES = "the measure 'dependency' needs tree, words, which a.txt does not have (it has pair)"
SINGLE = "reading every paragraph alone applies to plain text, not to the built-in corpus"
LINES = (
    "reading every paragraph alone has no effect with lines: every line is already a text of its "
    "own"
)
CASES = {  # what was typed: error and advice
    "survey demo demo --revision main": (
        "headscope survey has no option --revision; did you mean --load.revision?",
        HELP,
    ),
    "survey demo demo --limit many": ("the limit must be a whole number, got 'many' instead", HELP),
    "survey demo demo --max-length 3": (
        "the maximum length must be 4 or more, got 3 instead",
        HELP,
    ),
    "survey demo demo --long shorten": (
        "the treatment of long examples must be one of drop, split, truncate; got 'shorten' "
        "instead.",
        HELP,
    ),
    "survey demo": ("the argument CORPUS is missing", HELP),
    "survey demo demo --limit": ("--limit needs a value", HELP),
    "survey demo demo --limit 2 --limit 3": ("--limit is given twice", HELP),
    "survey demo demo more": ("headscope survey takes fewer arguments: more", HELP),
    "survey demo demo --single": (SINGLE, "leave --single out"),
    "survey demo t.tsv --single": (
        "reading every paragraph alone applies to plain text, not to the format tsv",
        "leave --single out",
    ),
    "survey demo a.txt --lines --single": (LINES, "leave --single out"),
    "survey demo a.txt --measure dependency -o x.nc": (
        TREES,
        "use a treebank (.conllu), or parse plain text with --parse",
    ),
    "explore demo --port 99999999": (
        "the port must be 0 to 65535, got 99999999 instead",
        "leave --port out to use any free one",
    ),
    "table made.nc roles": (
        "made.nc has no table 'roles': it holds no 'role'; it has statistics",
        "see what it holds with: headscope ls made.nc",
    ),
    "figures made.nc --figure head-off": (
        "the figure 'head-off' needs the measure 'head_off', which these results do not have",
        "make results that have it with headscope ablate MODEL",
    ),
}


@pytest.mark.parametrize("words", CASES)
def test_a_mistake_is_told_in_these_words(words, run, here):
    (here / "a.txt").write_text("A dog.\n\nA cat.\n")
    (here / "t.tsv").write_text("sentence1\tsentence2\nA dog.\tA cat.\n")
    made_results().save(here / "made.nc")
    error, advice = CASES[words]
    done = run(*words.split())
    assert (done.code, done.out) == (2, "")
    assert done.told[0].startswith("error: ")
    assert done.told[0].endswith(error)
    assert done.told[1] == f"next:  {advice}"
    assert "Traceback" not in done.err
