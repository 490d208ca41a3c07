"""The papers that have a recipe: what help lists before any recipe is imported."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Paper:
    """A paper with a recipe.

    Parameters
    ----------
    name
        What the command line calls it.
    authors
        Authors and year.
    title
        The title, as the recipe's page shows it.
    about
        What the recipe does, and an example of its command.
    """

    name: str
    authors: str
    title: str
    about: str = ""

    @property
    def recipe(self) -> str:
        """The name of the recipe in :mod:`headscope.papers`."""
        return self.name.capitalize()


PAPERS = {
    paper.name: paper
    for paper in (
        Paper(
            "clark2019",
            "Clark et al. 2019",
            "What Does BERT Look At?",
            "Surface patterns, gradients, syntax, coreference, probes, clusters.\n\n"
            "Without data files it uses the built-in corpus.\n\n"
            "Example: headscope paper clark2019 --model bert-base-uncased --part dependencies",
        ),
        Paper(
            "jo2020",
            "Jo and Myaeng 2020",
            "Roles and Utilization of Attention Heads",
            "Probing, heat maps, top heads, fine-tuning.\n\n"
            "Without task files, a built-in grammar writes the sentences of ten probing tasks and "
            "of two downstream tasks. --limit applies to probing, not to fine-tuning.\n\n"
            "Example: headscope paper jo2020 --model bert-base-uncased --tasks senteval/probing",
        ),
        Paper(
            "kovaleva2019",
            "Kovaleva et al. 2019",
            "Revealing the Dark Secrets of BERT",
            "Fine-tuning, patterns, frames, change, disabled heads.\n\n"
            "Without --task, a built-in grammar writes the sentences of two tasks. Models are "
            "tuned first (batches of 32), unless --tuned has them. --limit applies to "
            "the dev examples, not to training (--train-limit) and not to the sentences with frame "
            "links.\n\n"
            "Example: headscope paper kovaleva2019 --model bert-base-uncased --task mrpc --data "
            "glue",
        ),
        Paper(
            "pande2021",
            "Pande et al. 2021",
            "The heads hypothesis",
            "Which heads have which role, tested; overlaps, layers, fine-tuning.\n\n"
            "Text without trees is parsed with spaCy, as in the paper. At most 1000 sequences of "
            "each corpus are used.\n\n"
            "Example: headscope paper pande2021 --model bert-base-uncased --corpus MRPC/dev.tsv",
        ),
    )
}
"""The papers, by name."""
