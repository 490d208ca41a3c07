"""Tables of probes on the page: what they warn of."""

from __future__ import annotations

import numpy as np

from headscope.page.probing import probe_section
from stats.made_probing import changed, made_probing


def test_the_table_of_gains_warns_of_tests_with_few_sentences() -> None:
    results = made_probing(2, 3, ("past_present", "subj_number"))
    assert probe_section(results).tables[0].note == ""
    few = changed(results, "probe", test_size=lambda _: np.array([99.0, 100.0]))
    assert probe_section(few).tables[0].note == (
        "Small tests: Tense (99 sentences). A gain of a few points there is one or two sentences."
    )
