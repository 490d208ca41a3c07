"""The published numbers of Clark et al. 2019 are those of the paper."""

from __future__ import annotations

import re

import pytest

from headscope.papers.clark2019 import recipe as facts
from papers.printed import printed_table


@pytest.fixture(scope="module")
def paper(shared):
    """The text of the paper, without its bold type."""
    return re.sub(r"</?b>", "", (shared / "papers" / "clark2019.txt").read_text(encoding="utf-8"))


@pytest.mark.shared
def test_table_1_has_every_row_of_the_paper_and_no_other(paper):
    printed = printed_table(paper, "Relation\tHead\tAccuracy\tBaseline", "Table 1:")
    ours = [
        f"{relation.replace('all', 'All')}\t{head}\t{accuracy:.1f}\t{baseline:.1f} ({offset})"
        for relation, (head, accuracy, baseline, offset) in facts.TABLE_1.items()
    ]
    assert ours == printed


@pytest.mark.shared
def test_table_2_has_the_rows_of_the_paper_but_for_the_neural_system(paper):
    printed = printed_table(paper, "Model\tAll\tPronoun\tProper\tNominal", "Table 2:")
    names = {
        "nearest": "Nearest",
        "same head word": "Head match",
        "rules": "Rule-based",
        "head": f"Head {facts.TABLE_2_HEAD}",
    }
    ours = ["\t".join([names[name], *map(str, row)]) for name, row in facts.TABLE_2.items()]
    assert ours == [row for row in printed if not row.startswith("Neural coref")]


@pytest.mark.shared
def test_table_3_has_the_rows_of_the_paper_but_for_the_structural_probe(paper):
    printed = printed_table(paper, "Model\tUAS", "Table 3:")
    names = {
        "right-branching": "Right-branching",
        "words + distances": "Distances + GloVe",
        "attention + words, random encoder": "Random Init Attn + GloVe",
        "attention": "Attn",
        "attention + words": "Attn + GloVe",
    }
    ours = [f"{names[name]}\t{uas}" for name, uas in facts.TABLE_3.items()]
    assert ours == [row for row in printed if not row.startswith("Structural probe")]


@pytest.mark.shared
def test_numbers_in_the_text_are_those_of_the_text(paper):
    def listed(layers: tuple[int, ...]) -> str:
        return ", ".join(map(str, layers[:-1])) + f", and {layers[-1]}"

    assert (
        f"four attention heads (in layers {listed(facts.PREVIOUS_LAYERS)}) on average put >50% "
        "of their attention on the previous token"
    ) in paper
    assert (
        f"five attention heads (in layers {listed(facts.NEXT_LAYERS)}) put >50% "
        "of their attention on the next token"
    ) in paper
    assert f"the last layer has a high entropy from [CLS] of {facts.CLS_ENTROPY_LAST} nats" in paper
