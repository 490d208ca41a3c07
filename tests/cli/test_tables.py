"""Every table of results, as it is printed and written: the same titles, units and digits."""

from __future__ import annotations

import json
import re
from functools import cache
from html import unescape
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest

import headscope as hs
from headscope.cli.console import PrintedTable
from headscope.cli.tables import TABLES
from headscope.results import Atlas
from headscope.results.export import escape
from planted_track import planted_checkpoint
from runs.retrieval.planted import LENGTH, NEEDLES, TEXTS, retrieving_model
from stats.made_ablation import planted
from stats.made_patterns import pattern_results, random_patterns
from stats.tables.test_ablation import scored
from stats.tables.test_cache import made as cut_cache
from stats.tables.test_probe_tables import repeated
from tiny import tiny_model

DEMO = ("statistics", "relations", "coreference", "roles", "frames", "nulls", "thresholds")
MAIN = ("activity", "work", "spread", "position")
SINKS = [hs.Sink(length=16), hs.SinkPlaces(length=16)]
MADE = {
    **dict.fromkeys(
        DEMO,
        lambda: hs.survey(
            "demo",
            "demo",
            measures=[*MAIN, "dependency", "coreference", "role", "frame"],
            limit=24,
            null="shuffled-words",
        ),
    ),
    "patterns": lambda: pattern_results(random_patterns(seed=0), np.repeat(np.arange(4), 10)),
    "probes": repeated,
    "ablation": lambda: scored(planted(sets=1), resamples=100),
    **dict.fromkeys(
        ("similarity", "matches"),
        lambda: hs.compare(
            tiny_model("bert"),
            tiny_model("bert", seed=1),
            ["the cat sat"] * 3,
            measures="position",
            match="layer",
            max_length=24,
        ),
    ),
    "emergence": lambda: hs.track(
        [planted_checkpoint(0), planted_checkpoint(1)],
        ["the old dog ."] * 3,
        measures="position",
        max_length=24,
    ),
    **dict.fromkeys(
        ("copying", "composition", "vocabulary"), lambda: hs.circuits(tiny_model("gpt2"))
    ),
    "retrieval": lambda: hs.retrieval(
        retrieving_model(), TEXTS, needles=NEEDLES[:2], lengths=[LENGTH], draws=2
    ),
    "cache": lambda: cut_cache(0.1),
    "sinks": lambda: hs.survey("demo", "demo", measures=SINKS, limit=8),
}
"""What makes results with each table."""
BY = {"emergence": ("--by", "position:previous", "--threshold", "0.1")}
"""What a table must be asked for besides."""


@cache
def _opened(make):
    """Results as they are opened: that takes seconds, and is done once for all their tables."""
    with TemporaryDirectory() as folder:
        return hs.open(make().save(Path(folder) / "results.nc"))


def test_there_are_results_for_every_table():
    assert MADE.keys() == TABLES.keys()


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow) if name in DEMO else name for name in TABLES],
)
def test_a_table_is_the_same_on_the_screen_in_latex_and_in_html(run, tmp_path, name, monkeypatch):
    atlas, path = _opened(MADE[name]), tmp_path / "results.nc"
    path.touch()
    monkeypatch.setattr(Atlas, "open", lambda _path: atlas)
    words = ("table", path, name, *BY.get(name, ()))
    rows = json.loads(run(*words, "--json").out)
    paged = TABLES[name]().page(atlas) is not None  # as HTML a page of its own, tested elsewhere
    endings = [".csv", ".tex", *([] if paged else [".html"])]
    files = {ending: tmp_path / f"{name}{ending}" for ending in endings}
    seen: list[PrintedTable] = []
    whole = PrintedTable.for_people

    def noted(self: PrintedTable, **how: bool) -> pd.DataFrame:
        seen.append(self)
        return whole(self, **how)

    monkeypatch.setattr(PrintedTable, "for_people", noted)
    for file in files.values():
        assert run(*words, "-o", file).code == 0
    assert run(*words).code == 0
    assert list(pd.read_csv(files[".csv"])) == list(rows[0])  # all of it, with plain names
    people = whole(seen[0])
    tex = files[".tex"].read_text().splitlines()
    header = tex[tex.index(r"\toprule") + 1]
    assert header == " & ".join(map(escape, whole(seen[0], paper=True))) + r" \\"
    assert rf"\label{{tab:{name}}}" in tex
    if not paged:
        html = files[".html"].read_text()
        assert [
            unescape(title) for title in re.findall(r"<th(?: class=\"number\")?>(.*?)</th>", html)
        ] == list(people)
    for one in seen:  # what people read has words for names, and one cell for an interval
        names = list(whole(one))
        assert not [title for title in names if "_" in title]
        assert not {"low", "high"} & set(names)


@pytest.mark.parametrize("second", ["other", "runs/patterns"])
def test_rows_of_several_files_are_told_apart_by_their_files(run, tmp_path, second):
    """The corpus may be the same, and so may be the name of a file in another folder."""
    files = [tmp_path / "patterns.nc", tmp_path / f"{second}.nc"]
    for seed, file in enumerate(files):
        pattern_results(random_patterns(4, seed=seed), np.arange(4)).save(file)
    rows = json.loads(run("table", files[0], "patterns", "--beside", files[1], "--json").out)
    names = list(dict.fromkeys(row["file"] for row in rows))
    assert names == (["patterns", "other"] if second == "other" else list(map(str, files)))


def test_the_last_row_of_antecedents_counts_mentions_and_others_are_shares():
    frame = pd.DataFrame({"system": ["rules", "mentions"], "all": [1.0, 3.0], "low": [0.5, None]})
    shown = PrintedTable("", frame.assign(high=[1.0, None]), "ANTECEDENTS").for_people()
    assert shown.to_dict("list") == {
        "system": ["rules", "mentions"],
        "all": ["1.000", "3"],
        "95 % interval": ["[0.500, 1.000]", "–"],
    }
