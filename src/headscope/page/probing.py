"""Probes on a page: layers, top heads, and the best heads of each task (Jo and Myaeng 2020)."""

from __future__ import annotations

from headscope.page.document import Row, Section, Table, records
from headscope.results import Atlas
from headscope.results.columns import PROBED_HEADS, PROBES, SPLITS, for_people
from headscope.stats.tables.probing import EMBEDDINGS as STORED
from headscope.stats.tables.probing import (
    TOP,
    best_of_tasks,
    probing_remarks,
    small_test_text,
    small_tests,
    split_table,
    split_text,
    top_table,
)

SHOWN = 5
"""How many heads of each task are shown."""
EMBEDDINGS = (
    "Embeddings only: a classifier on the mean over tokens of what the first layer reads (words, "
    "and positions where the model adds them), which shows what a text gives before any head."
)
SELECTIVITY = (
    "Difference: the score minus that of a classifier trained on shuffled labels. Heads are in "
    "the order of their validation scores."
)


def probe_section(results: Atlas) -> Section:
    """Return what probing found, in two tables.

    Parameters
    ----------
    results : Atlas
        Results of a probe.

    Returns
    -------
    Section
    """
    text = (
        "Test scores in percent with 95 % intervals in parentheses, and gains over the last layer. "
        "Layers, heads and the strength of L2 are chosen on validation data. The best layer's "
        "number is in square brackets."
    )
    remarks = [EMBEDDINGS] if STORED in results.measures else []
    remarks += [*probing_remarks(results), small_test_text(small_tests(results))]
    layers = Table(
        records(for_people(top_table(results), PROBES)),
        title="Layers and top heads",
        note=" ".join(filter(None, remarks)),
    )
    heads = Table(
        best_head_rows(results),
        title="Best heads",
        sortable=True,
        id="probe-heads",
        note=SELECTIVITY,
    )
    return Section("probes", "Probes", text, [layers, *split_tables(results), heads])


def split_tables(results: Atlas) -> list[Table]:
    """Return the table of repeated splits, if there are any.

    Parameters
    ----------
    results : Atlas
        Results of a probe.

    Returns
    -------
    list of Table
        One table or none.
    """
    if TOP not in results.measures:
        return []
    rows = records(for_people(split_table(results), SPLITS))
    return [Table(rows, title="Repeated splits", note=split_text(results))]


def best_head_rows(results: Atlas, count: int = SHOWN) -> list[Row]:
    """Return the best heads of every task.

    Parameters
    ----------
    results : Atlas
        Results of a probe.
    count : int
        How many heads of each task.

    Returns
    -------
    list of dict
        Scores in percent.
    """
    return records(for_people(best_of_tasks(results, count=count), PROBED_HEADS))
