"""Tables of probes on the page: what they warn of."""

from __future__ import annotations

import numpy as np
import xarray as xr

from headscope.page.probing import probe_section
from headscope.results import Atlas
from stats.made_probing import changed, made_probing


def test_the_table_of_gains_warns_of_tests_with_few_sentences():
    results = made_probing(2, 3, ("past_present", "subj_number"))
    assert probe_section(results).tables[0].note == ""
    few = changed(results, "probe", test_size=lambda _: np.array([99.0, 100.0]))
    assert probe_section(few).tables[0].note == (
        "Small tests: Tense (99 sentences). A gain of a few points there is one or two sentences."
    )


def test_scores_of_the_embeddings_stand_before_those_of_layers():
    results = made_probing(2, 3, ("past_present", "subj_number"))
    columns = [*probe_section(results).tables[0].rows[0]]
    assert "embeddings only" not in columns
    tests = {"test": [0.61, 0.52], "low": [0.5, 0.4], "high": [0.7, 0.6]}
    words = xr.Dataset(
        {name: ("task", values) for name, values in tests.items()},
        {"task": results["probe"]["task"].values},
        {"kind": "probe"},
    )
    more = Atlas.build(
        {**{name: results[name] for name in results}, "probe_embeddings": words}, results.provenance
    )
    table = probe_section(more).tables[0]
    assert [row["embeddings only"] for row in table.rows] == ["61.0 (50–70)", "52.0 (40–60)"]
    assert [*table.rows[0]].index("embeddings only") == 2 == columns.index("last layer")
    assert table.note.startswith("Embeddings only: ")
