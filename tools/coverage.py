"""How often do the 95 % intervals of a survey cover the truth, when corpora are drawn by documents?

All documents of a treebank are the truth. Corpora of 15, 40 and 150 documents are drawn from them
with replacement; for each, the intervals are computed as a survey stores them, and it is counted
how often they hold the value of the whole treebank. Beside it stands what intervals would cover
that take the texts of a document as independent.

    python tools/coverage.py ../shared/data/treebank/en_ewt-ud-dev.conllu.gz

A minute or two on one core: every document is surveyed once, then everything is arithmetic.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

import headscope as hs
from headscope.corpus.example import BUCKETS
from headscope.results.moments import range_of, ratio

Array = NDArray[np.float64]
STATISTICS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "attention to the previous token": ("position", {"offset": "previous"}),
    "attention to [SEP]": ("special", {"token": "sep", "row": "all"}),
    "entropy": ("entropy", {"row": "all"}),
    "role local": ("role", {"role": "local"}),
    "role delimiter": ("role", {"role": "delimiter"}),
    "role nsubj": ("role", {"role": "nsubj"}),
    "dependency all": ("dependency", {"relation": "all"}),
    "dependency det": ("dependency", {"relation": "det"}),
    "dependency nsubj": ("dependency", {"relation": "nsubj"}),
}
WORDS = {"direction": "dependent to head", "words": "every"}
SIZES = (15, 40, 150)


class Documents:
    """One statistic of every head, by document: sums, squares and counts, (document, head)."""

    def __init__(self, values: str) -> None:
        self.values = values
        self.parts: list[Array] = []

    def add(self, atlas: hs.Atlas, measure: str, labels: Mapping[str, str]) -> None:
        """Add a document's survey; one that lacks the label counts nothing."""
        data = atlas[measure]
        if any(label not in data[dim].values for dim, label in labels.items()):
            self.parts.append(np.zeros((3, int(np.prod(atlas.shape)))))
            return
        one = data[["sum", "square", "count"]].sel(labels).sum("bucket")
        one = one.transpose("layer", "head")
        self.parts.append(np.stack([one[name].values.ravel() for name in one]).astype(float))

    def arrays(self) -> Array:
        """(sum, square or count; document; head)."""
        return np.stack(self.parts, 1)


def surveyed(model: str, treebank: Path) -> dict[str, Documents]:
    """Survey every document of a treebank by itself."""
    groups: dict[str, list[object]] = {}
    for example in hs.read(treebank):
        groups.setdefault(example.group or example.id, []).append(example)
    loaded, found = hs.load(model), dict[str, Documents]()
    measures = ["position", "special", "entropy", hs.Role(keep=0), "dependency"]
    for examples in groups.values():
        atlas = hs.survey(loaded, examples, measures=measures, examples=0)
        for name, (measure, labels) in STATISTICS.items():
            own = {**labels, **(WORDS if measure == "dependency" else {})}
            documents = found.setdefault(name, Documents(range_of(atlas[measure])))
            documents.add(atlas, measure, own)
    return found


def independent(sums: Array, squares: Array, counts: Array) -> tuple[Array, Array]:
    """Student's interval of the mean of values that are taken as independent, by head."""
    total, square, count = sums.sum(0), squares.sum(0), counts.sum(0)
    mean = total / count
    error = np.sqrt((square - total**2 / count) / (count - 1) / count)
    half = special.stdtrit(count - 1, 0.975) * error
    return mean - half, mean + half


def covered(documents: Documents, size: int, corpora: int, seed: int) -> Iterator[list[Array]]:
    """For each corpus that is drawn: by head, whether the intervals hold the truth (ours, and
    those over texts); NaN where there is none.
    """
    sums, squares, counts = documents.arrays()
    truth = sums.sum(0) / counts.sum(0)
    random = np.random.default_rng(seed)
    for _ in range(corpora):
        drawn, buckets = random.integers(len(sums), size=size), random.integers(BUCKETS, size=size)
        parts = []
        for values in (sums, counts):
            by_bucket = np.zeros((BUCKETS, values.shape[1]))
            np.add.at(by_bucket, buckets, values[drawn])
            parts.append(by_bucket.T)
        ends = (
            ratio(*parts).interval(documents.values),
            independent(sums[drawn], squares[drawn], counts[drawn]),
        )
        yield [
            np.where(np.isnan(low), np.nan, (low <= truth) & (truth <= high)) for low, high in ends
        ]


def coverage_table(
    statistics: Mapping[str, Documents], *, corpora: int = 300, seed: int = 0
) -> pd.DataFrame:
    """Mean over heads, and the 5th percentile of heads, by statistic and size."""
    rows = []
    for name, documents in statistics.items():
        row: dict[str, object] = {"statistic": name}
        for size in SIZES:
            with np.errstate(invalid="ignore", divide="ignore"):
                ours, texts = (
                    np.nanmean(np.stack(values), 0)
                    for values in zip(*covered(documents, size, corpora, seed), strict=True)
                )
            row[f"{size} documents"] = np.nanmean(ours)
            row[f"lowest heads, {size}"] = np.nanpercentile(ours, 5)
            row[f"over texts, {size}"] = np.nanmean(texts)
        rows.append(row)
    return pd.DataFrame(rows)


def main() -> None:
    """Print the table as Markdown: the mean over heads, and in brackets their 5th percentile."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("treebank", type=Path)
    parser.add_argument("--model", default="demo")
    parser.add_argument("--corpora", type=int, default=300)
    options = parser.parse_args()
    table = coverage_table(surveyed(options.model, options.treebank), corpora=options.corpora)
    print("| statistic |", " | ".join(f"{size} documents | over texts" for size in SIZES), "|")
    print("|", " | ".join("---" for _ in range(2 * len(SIZES) + 1)), "|")
    for row in table.to_dict("records"):
        cells = [str(row["statistic"])]
        for size in SIZES:
            ours, lowest = row[f"{size} documents"], row[f"lowest heads, {size}"]
            cells += [f"{ours:.2f} ({lowest:.2f})", f"{row[f'over texts, {size}']:.2f}"]
        print("|", " | ".join(cells), "|")


if __name__ == "__main__":
    main()
