"""The recipe of Pande et al. 2021 on the embedded model, and the command ``roles``."""

from __future__ import annotations

import json
import re

import pytest
from scipy import stats

from cli.test_mistakes import mistake
from headscope.papers import pande2021 as facts
from headscope.results import Atlas
from page.samples import rows_of, said, section_ids

LIMIT = 40
TASKS = ("MRPC", "SST-2")
SIEVE = """
import headscope as hs

@hs.sieve("even", title="Tokens at even places")
def even(tokens):
    return [place % 2 == 0 for place in range(len(tokens))]
"""


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Two small tables, of pairs and of single sentences, in folders as GLUE has them."""
    folder = tmp_path_factory.mktemp("glue")
    lines = [
        ("The old cat slept quietly.", "A small dog saw the red ball."),
        ("Who wrote this long book?", "My sister quickly wrote the book."),
    ] * 20
    for task, header, rows in (
        ("MRPC", "sentence1\tsentence2", [f"{one}\t{two}" for one, two in lines]),
        ("SST-2", "sentence\tlabel", [f"{one}\t1" for one, _ in lines]),
    ):
        (folder / task).mkdir()
        (folder / task / "dev.tsv").write_text("\n".join([header, *rows]) + "\n")
    return [folder / "MRPC" / "dev.tsv", folder / "SST-2" / "dev.tsv"]


@pytest.fixture(scope="module")
def sieves(tmp_path_factory):
    path = tmp_path_factory.mktemp("sieves") / "mine.py"
    path.write_text(SIEVE)
    return path


@pytest.mark.slow
def test_the_whole_paper_from_the_command_line(run, tables, sieves, tmp_path):
    folder = tmp_path / "pande"
    how = ("--tuned demo --limit", LIMIT, "--roles.sieve", sieves, "--correction holm -o", folder)
    done = run("paper", "pande2021", "--corpus", tables[0], "--corpus", tables[1], *how)
    assert (done.code, done.out) == (0, f"{folder / 'pande2021.html'}\n"), done.err
    page = said(folder / "pande2021.html")
    parts = ["summary", "sieves", "roles-all"]
    parts += [f"{part}-{task}" for part in ("roles", "overlap", "skills") for task in TASKS]
    assert section_ids(folder / "pande2021.html") == ["claims", *parts, "shift"]
    assert "SST-2: Absent: block (the corpus has no pair" in page
    assert "MRPC, SST-2: first token and cls are the same tokens here" in page
    rows = rows_of(folder / "pande2021.html")
    summary = next(row for row in rows if row and row[0] == "paper, mean of four tasks")
    assert [cell.strip() for cell in summary[4:9]] == ["2.8", "1.8", "73.4", "9.4", "70.9"]
    over_heads = "Spearman, local and syntactic, over heads"
    published = [row[1].strip() for row in rows if row and row[0] == over_heads]
    assert published == ["0.85", "0.73"]
    assert any(row and row[0] == "even" for row in rows)
    # the same model before and after: nothing shifts
    thirds = ("first", "middle", "last")
    shifted = [row for row in rows if len(row) > 5 and row[2].partition(" ")[0] in thirds]
    assert {row[0] for row in shifted} == set(TASKS)
    assert all(row[5].strip() in ("0.000", "–") for row in shifted)  # the column "shift"
    assert {row[10].strip() for row in shifted} == {"same", "–"}
    names = "sieves cumulative-all p-all heat-MRPC venn-fine-MRPC venn-SST-2 skills-MRPC shift"
    names += " shift-others upset-SST-2 p-MRPC cumulative-MRPC scores-SST-2"
    for name in names.split():
        assert (folder / "figures" / f"role-{name}.png").read_bytes().startswith(b"\x89PNG")
    results = Atlas.open(folder / "MRPC.nc")["role"]
    # our Spearman over heads and sequences is scipy's on the kept scores
    both = (results["value"].sel(role=role).values.ravel() for role in ("local", "syntactic"))
    rho = stats.spearmanr(*both, nan_policy="omit").statistic
    shown = next(row for row in rows if row and row[0] == f"{over_heads} and sequences")
    assert float(shown[2]) == pytest.approx(float(rho), abs=6e-3)


@pytest.mark.slow
def test_roles_by_resampling_with_a_correction_find_heads_or_say_what_is_missing(run, roles_nc):
    options = ("--test", "bootstrap", "--correction", "holm", "--json")
    rows = json.loads(run("table", roles_nc, "roles", *options).out)
    found = {row["role"]: row["heads"] for row in rows}
    assert found["delimiter"] > 40  # of 72; the z test finds about 60
    message, advice = mistake(run("table", roles_nc, "roles", *options, "--resamples", "5000"))
    assert message.startswith(
        "with 5,000 resamples no head can have a role at the level 0.05: the least p is 1/5,001"
    )
    assert advice.endswith(", or --correction maxt")
    fewer = ("--test", "bootstrap", "--correction", "maxt", "--json")
    rows = json.loads(run("table", roles_nc, "roles", *fewer).out)
    assert {row["role"]: row["heads"] for row in rows}["delimiter"] > 40


@pytest.fixture(scope="module")
def roles_nc(tmp_path_factory):
    import headscope as hs

    path = tmp_path_factory.mktemp("roles") / "roles.nc"
    hs.survey(hs.load("demo"), hs.corpus.read("demo", limit=LIMIT), measures=["role"], output=path)
    return path


@pytest.mark.slow
def test_roles_prints_the_heads_of_each_role(run, roles_nc):
    how = "--json --tau 2 --test t --correction bh"
    rows = json.loads(run("table", roles_nc, "roles", how).out)
    data = Atlas.open(roles_nc)["role"]
    by_role = {row["role"]: row for row in rows}
    assert list(by_role) == [str(name) for name in data["role"].values]
    scores = data["value"].sel(role="previous-local", layer=1, head=3).values
    row = by_role["previous-local"]
    assert row["strongest"] == "1-3"
    assert row["mean"] == pytest.approx(scores.mean(), rel=1e-5)
    p = stats.ttest_1samp(scores.astype(float), 2, alternative="greater").pvalue
    assert row["p"] == pytest.approx(p, abs=1e-12)
    effect = (scores.mean() - 2) / scores.std(ddof=1)
    assert row["effect"] == pytest.approx(effect, rel=1e-4)
    printed = run("table", roles_nc, "roles", "--role", "local").out
    assert "Number of heads with each role, by τ" in printed
    assert "delimiter heads" in printed


@pytest.mark.slow
def test_roles_writes_a_page_with_the_shift(run, roles_nc, tmp_path):
    page = tmp_path / "roles.html"
    how = ("--tau 3 --tau block=1.5 --before", roles_nc, "--quiet -o", page)
    done = run("table", roles_nc, "roles", *how)
    assert done.code == 0
    assert done.out.splitlines()[-1] == str(page)
    assert "shift" in section_ids(page)
    assert "1.5 / 3" in said(page)


@pytest.mark.slow
def test_roles_tells_what_is_wrong(run, roles_nc, small_nc, tmp_path):
    for options, error in {
        ("--tau", "0"): "tau must be over 0 (1 is what uniform attention gives), got 0 instead",
        ("--tau", "-1"): "tau must be over 0 (1 is what uniform attention gives), got -1 instead",
        ("--tau", "x"): "tau must be a number over 0, 'auto', or ROLE=NUMBER; got 'x' instead",
        ("--tau", "blok=2"): "unknown role 'blok'; did you mean 'block'? ",
        ("--test", "u"): "the test must be one of bootstrap, permutation, t, z; got 'u' instead.",
        ("--role", "locl"): "unknown role 'locl'; did you mean 'local' or 'block'? ",
        ("--before", small_nc): "the two models have different heads (2 × 3 and 6 × 12)",
    }.items():
        assert mistake(run("table", roles_nc, "roles", *options))[0].startswith(error)
    assert "has no table 'roles': it holds no 'role'" in mistake(run("table", small_nc, "roles"))[0]


def test_a_role_that_the_corpus_does_not_have(run, tiny_folder, tmp_path):
    single = tmp_path / "single.txt"
    single.write_text("The cat sat.\n\nA dog barked.\n")

    def asked(role: str) -> tuple[str, str]:
        how = ("--single --max-length 32 --measure role --roles.only", role)
        return mistake(run("survey", tiny_folder, single, *how, "--quiet -o", tmp_path / "x.nc"))

    assert asked("block") == (
        "the role 'block' needs pair, which this corpus lacks",
        "use paragraphs, or a table with two texts per line",
    )
    assert asked("nsubj") == (
        "the role 'nsubj' needs tree, which this corpus lacks",
        "use a treebank (.conllu), or parse plain text with --parse",
    )
    assert not (tmp_path / "x.nc").exists()


def test_few_sequences_are_warned_of_beside_the_test(run, tiny_folder, text, tmp_path):
    how = ("--max-length 32 --measure role --quiet -o", tmp_path / "few.nc")
    assert run("survey", tiny_folder, text, *how).code == 0
    told = run("table", tmp_path / "few.nc", "roles").err
    assert "Fewer than 30 sequences: local (2)" in told
    assert "Absent: syntactic, nsubj, dobj, amod, advmod (the corpus has no tree: " in told
    assert "--parse, or hs.read(path, parse=True))" in told


def test_the_facts_are_those_of_the_paper(shared):
    paper = re.sub(
        r"\s+",
        " ",
        (shared / "papers" / "pande2021.txt").read_text(encoding="utf-8").replace("*", ""),
    )
    assert f"mean sieve bias score is around {facts.MEAN_SCORE}" in paper
    assert f"on average {100 * facts.SHARES['delimiter heads']:.2f}% across the 4 tasks" in paper
    assert f"avg. {100 * facts.SHARES['heads without a role']:.2f}% across the 4 tasks" in paper
    low, high = (f"{100 * bound:.1f}%" for bound in facts.SYNTACTIC_LOCAL_RANGE)
    mean = 100 * facts.SHARES["syntactic heads that are local too"]
    assert f"{low} to {high} (with a mean of {mean:.1f}%)" in paper
    assert f"only {100 * facts.UNDECIDED:.1f}% of points in the range (0.05, 0.95)" in paper
    listed = ", ".join(f"{facts.SPEARMAN[task]:.2f}" for task in ("QNLI", "QQP", "MRPC", "SST-2"))
    assert f"{listed} scores for QNLI, QQP, MRPC, SST-2 tasks" in paper
    assert f"{facts.SEQUENCES} input sequences" in paper
    assert "nsubj heads have a high overlap with next-loc heads" in paper
    assert "doj-heads have a high overlap with the prev-loc heads" in paper
    assert "higher in the middle layers (layers 5 to 9)" in paper
    assert "the prevalence of syntactic heads is higher in layers 6 to 8" in paper
    assert "there are at least 3 syntactic heads" in paper
    assert "the first layer contains very few (if any) delimiter heads" in paper
    assert "this decrease is mainly due to a lower attention on the [SEP]" in paper
    assert f"the smallest integer larger than this mean, i.e., {facts.TAU}." in paper
