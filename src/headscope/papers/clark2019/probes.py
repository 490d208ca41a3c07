"""The probes of Table 3: trained once, and kept in a file beside the page."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from headscope.corpus import Corpus
from headscope.corpus.vectors import WordVectors
from headscope.files import digest_of, sealed, unsealed, write_text
from headscope.models import Model
from headscope.papers.clark2019.parse import parse_probes
from headscope.progress import Reporter
from headscope.runs.run import describe, versions

FORMAT = 1
"""The layout of the file."""


@dataclass(frozen=True)
class ProbeRun:
    """Everything that the probes depend on.

    Parameters
    ----------
    model
        The encoder.
    train, dev
        Treebanks to train and to test on.
    vectors
        Word vectors; None if only the probes that need none are trained.
    seed, epochs
        As in :func:`headscope.papers.clark2019.parse.parse_probes`.
    folder
        Where the word maps and the table are kept.
    reporter
        Shows progress.
    """

    model: Model
    train: Corpus
    dev: Corpus
    vectors: WordVectors | None
    seed: int
    epochs: int
    folder: Path
    reporter: Reporter

    def table(self) -> pd.DataFrame:
        """Train the probes, or read the table of an earlier run that trained the same ones.

        Returns
        -------
        pandas.DataFrame
            What :func:`headscope.papers.clark2019.parse.parse_probes` returns, ``attrs`` included.
        """
        path, identity = self.folder / "probes.json", self.identity()
        found = _read(path, identity)
        if found is not None:
            return found
        table = parse_probes(
            self.model,
            self.train,
            self.dev,
            seed=self.seed,
            vectors=self.vectors,
            epochs=self.epochs,
            cache=self.folder / "word-maps",
            progress=self.reporter,
        )
        kept = {
            "identity": identity,
            "rows": table.to_dict("records"),
            "attrs": {str(name): value for name, value in table.attrs.items()},
        }
        plain = json.loads(json.dumps(kept, default=float))
        write_text(path, json.dumps(sealed(plain), indent=1))
        write_text(self.folder / "probes.csv", table.to_csv(index=False))
        return table

    def identity(self) -> str:
        """A digest of everything that the numbers depend on."""
        vectors = "" if self.vectors is None else json.dumps(self.vectors.vocabulary)
        matrix = b"" if self.vectors is None else self.vectors.matrix.tobytes()
        about = {
            "format": FORMAT,
            "model": self.model.identity(self.model.main_stack()),
            "seed": self.seed,
            "epochs": self.epochs,
            "headscope": versions()["headscope"],
        }
        return digest_of(
            json.dumps(about, sort_keys=True, default=str),
            *(repr(example) for corpus in (self.train, self.dev) for example in corpus),
            vectors,
            matrix,
        )

    def provenance(self, about: Mapping[Any, Any]) -> dict[str, Any]:
        """Say what the probes were trained and tested on, as surveys do.

        Parameters
        ----------
        about
            The ``attrs`` of the table.

        Returns
        -------
        dict
            Model, corpora, counts, settings and versions.
        """
        train, dev = (
            {"name": corpus.name, "sha256": corpus.checksum} for corpus in (self.train, self.dev)
        )
        return {
            "model": describe(self.model, self.model.main_stack()),
            "corpus": dev,
            "train": train,
            "counts": {"seen": about["dev"]["sentences"]},
            "settings": {"seed": self.seed, "epochs": self.epochs},
            "sizes": dict(about),
            "versions": versions(),
        }


def _read(path: Path, identity: str) -> pd.DataFrame | None:
    """The table in a file; None if there is none, it is damaged, or it is of other probes."""
    try:
        kept = unsealed(json.loads(path.read_text(encoding="utf-8")), required=True)
        if kept["identity"] != identity:
            return None
        table = pd.DataFrame(kept["rows"])
        table.attrs.update(kept["attrs"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return table
