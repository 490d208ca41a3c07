"""The corpora of the recipe of Pande et al. 2021: names that readers know."""

from __future__ import annotations

from headscope.figures.style import short_corpus
from headscope.papers import Pande2021


def test_a_task_of_glue_is_named_by_its_folder_in_results_and_figures(tmp_path):
    paths = []
    for task in ("MRPC", "SST-2"):
        (tmp_path / task).mkdir()
        paths.append(tmp_path / task / "dev.tsv")
        paths[-1].write_text("sentence\tlabel\nA dog barked.\t1\n")
    corpora = Pande2021(corpora=paths).opened
    assert list(corpora) == ["MRPC", "SST-2"]
    assert [one.name for one in corpora.values()] == ["MRPC/dev.tsv", "SST-2/dev.tsv"]
    assert [short_corpus(one.name) for one in corpora.values()] == ["MRPC (dev)", "SST-2 (dev)"]
    again = Pande2021(corpora=list(corpora.values())).opened  # corpora of the caller's own
    assert [one.name for one in again.values()] == ["MRPC/dev.tsv", "SST-2/dev.tsv"]
    [built_in] = Pande2021(corpora=["demo"]).opened.values()
    assert short_corpus(built_in.name) == "the built-in corpus"
