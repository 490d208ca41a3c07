"""The papers and the parts of their recipes, as data: reading this module needs no torch."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from headscope.errors import UserError, unknown


@dataclass(frozen=True)
class Input:
    """Something that a part may need and that has no default.

    Parameters
    ----------
    noun
        What it is.
    given
        How it is given.
    """

    noun: str
    given: str


INPUTS = {
    "tasks": Input("GLUE task", 'tasks=["rte"]'),
    "downstream": Input("downstream task", 'downstream=["mrpc"]'),
    "tuned": Input("fine-tuned model", 'tuned=["FOLDER"]'),
    "controls": Input("request for controls", "controls=True"),
    "published": Input("folder of the authors' own numbers", 'published="FOLDER"'),
}
"""What parts may need, by the name of the recipe's field."""


@dataclass(frozen=True)
class Part:
    """One section of a recipe.

    Parameters
    ----------
    name
        What ``--part`` and ``parts=[...]`` call it.
    title
        Its heading on the page.
    source
        The sections, tables and figures of the paper that it reproduces.
    needs
        The recipe's inputs that have no default and that this part cannot do without: keys of
        ``INPUTS``.
    """

    name: str
    title: str
    source: str
    needs: tuple[str, ...] = ()

    def check(self, given: Collection[str]) -> None:
        """Check that the part has what it needs.

        Parameters
        ----------
        given
            The names of the inputs that the user gave.

        Raises
        ------
        UserError
            An input is missing.

        Examples
        --------
        >>> Part("change", "Change", "Section 4.3", needs=("tasks",)).check(given=[])
        Traceback (most recent call last):
            ...
        headscope.errors.UserError: Change (Section 4.3): no GLUE task was given
        next: give tasks=["rte"]
        """
        for missing in (INPUTS[name] for name in self.needs if name not in given):
            raise UserError(
                f"{self.title} ({self.source}): no {missing.noun} was given",
                hint=f"give {missing.given}",
            )


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
    heads
        Layers and heads of the model that the published numbers are for; None without such a model.
    parts
        The parts of the recipe, in the order of the paper.
    about
        What the recipe does, and an example of its command.
    """

    name: str
    authors: str
    title: str
    heads: tuple[str, str] | None
    parts: tuple[Part, ...]
    about: str = ""

    @property
    def recipe(self) -> str:
        """The name of the recipe in :mod:`headscope.papers`; its options are ``NAMEOptions``."""
        return self.name.capitalize()

    def choose(
        self, names: Sequence[str] | None = None, *, given: Collection[str] = ()
    ) -> tuple[Part, ...]:
        """Choose parts by name.

        Parameters
        ----------
        names
            The parts to run, in any order. None or an empty list: all of them.
        given
            The names of the inputs that the user gave (see ``INPUTS``). A part that is asked for
            by name and lacks one of them is an error.

        Returns
        -------
        tuple of Part
            The parts in the order of the paper.

        Raises
        ------
        UserError
            A name is unknown, or a named part lacks an input.

        Examples
        --------
        >>> [part.name for part in PAPERS["clark2019"].choose(["coreference", "dependencies"])]
        ['dependencies', 'coreference']
        """
        if not names:
            return self.parts
        if isinstance(names, str):
            raise UserError(
                f"the parts must be a list of names, got the string {names!r} instead",
                hint=f"give parts=[{names!r}]",
            )
        known = {part.name: part for part in self.parts}
        for name in names:
            if name not in known:
                raise unknown(f"part of {self.name}", name, known)
            known[name].check(given)
        return tuple(part for part in self.parts if part.name in names)


BASE = ("12 × 12", "in the paper (BERT base)")

PAPERS = {
    paper.name: paper
    for paper in (
        Paper(
            "clark2019",
            "Clark et al. 2019",
            "What Does BERT Look At?",
            BASE,
            (
                Part("surface", "Surface patterns", "Sections 3.1 to 3.3, Figures 1, 2 and 4"),
                Part("gradients", "Gradient importance", "Section 3.2, Figure 3"),
                Part("dependencies", "Dependency syntax", "Section 4.2, Table 1, Figure 5"),
                Part("coreference", "Coreference", "Section 4.3, Table 2"),
                Part("probes", "Probing combinations of heads", "Section 5, Table 3"),
                Part("clusters", "Clusters of heads", "Section 6, Figure 6"),
            ),
            "Surface patterns, gradients, syntax, coreference, probes, clusters.\n\n"
            "Without data files it uses the built-in corpus.\n\n"
            "Example: headscope paper clark2019 --model bert-base-uncased --part dependencies",
        ),
        Paper(
            "jo2020",
            "Jo and Myaeng 2020",
            "Roles and Utilization of Attention Heads",
            ("12 × 12, 24 × 16", "in the paper (BERT base and large)"),
            (
                Part("tasks", "Encoders and tasks", "Sections 4.1 and 4.2, Tables 1 and 2"),
                Part("heads", "Heads, layers and top heads", "Section 4.4, Tables 3 and 5"),
                Part("maps", "Heat maps", "Section 4.3, Figures 3, 6 and 7"),
                Part("scatter", "Syntactic and semantic scores", "Section 6.2, Figure 5"),
                Part("frozen", "Downstream tasks, frozen", "Section 5.1", ("downstream",)),
                Part(
                    "tuning",
                    "Downstream tasks, fine-tuned",
                    "Sections 5.2 and 6.1, Table 4, Figure 4",
                    ("downstream",),
                ),
                Part("controls", "Controls", "Sections 3.2 and 3.3", ("controls",)),
                Part(
                    "published",
                    "The authors' own numbers",
                    "Tables 3 and 5, Figures 3, 5, 6 and 7",
                    ("published",),
                ),
            ),
            "Probing, heat maps, top heads, fine-tuning.\n\n"
            "Without task files, small versions of the ten probing tasks are made from the "
            "built-in corpus. --limit applies to probing, not to fine-tuning.\n\n"
            "Example: headscope paper jo2020 --model bert-base-uncased --tasks senteval/probing",
        ),
        Paper(
            "kovaleva2019",
            "Kovaleva et al. 2019",
            "Revealing the Dark Secrets of BERT",
            BASE,
            (
                Part("tuning", "Fine-tuning", "Section 4.3, Table 1", ("tasks",)),
                Part("patterns", "Pattern classes", "Section 4.1, Figure 2"),
                Part("frames", "Frame relations", "Section 4.2, Figure 3"),
                Part(
                    "change",
                    "What fine-tuning changes",
                    "Sections 4.3 to 4.5, Figures 5 to 7",
                    ("tasks",),
                ),
                Part("disabling", "Disabling heads", "Section 4.6, Figures 8 and 9", ("tasks",)),
            ),
            "Fine-tuning, patterns, frames, change, disabled heads.\n\n"
            "Models are tuned first (batches of 32), unless --tuned has them. --limit applies to "
            "the dev examples, not to training (--train-limit) and not to the sentences with frame "
            "links.\n\n"
            "Example: headscope paper kovaleva2019 --model bert-base-uncased --task mrpc --data "
            "glue",
        ),
        Paper(
            "pande2021",
            "Pande et al. 2021",
            "The heads hypothesis",
            BASE,
            (
                Part("summary", "The paper's numbers and ours", "numbers in the paper's text"),
                Part("sieves", "Sieves", "Figure 1"),
                Part("roles", "Which heads have which role", "Figures 2 and 3"),
                Part("overlap", "Roles overlap", "Figure 4"),
                Part("skills", "Skills by layer", "Figure 5"),
                Part("shift", "Shift by fine-tuning", "Figure 6", ("tuned",)),
            ),
            "Which heads have which role, tested; overlaps, layers, fine-tuning.\n\n"
            "Text without trees is parsed with spaCy, as in the paper. At most 1000 sequences of "
            "each corpus are used.\n\n"
            "Example: headscope paper pande2021 --model bert-base-uncased --corpus MRPC/dev.tsv",
        ),
    )
}
"""The papers, by name."""


PORTRAIT = Paper(
    "portrait",
    "",
    "Heads of a language model",
    None,
    (
        Part("roles", "What the heads do", "the main role of every head on text"),
        Part("sinks", "Sinks", "Gu et al. 2025, section 2"),
        Part("local", "Previous tokens", "Olsson et al. 2022"),
        Part("induction", "Induction", "Olsson et al. 2022; Elhage et al. 2021"),
        Part("duplicate", "Duplicate tokens", "Wang et al. 2023, section 3"),
        Part("copying", "Copying", "Elhage et al. 2021"),
        Part("syntax", "Syntax", "Clark et al. 2019, section 4.2"),
        Part("attribution", "Direct logit attribution", "Elhage et al. 2021"),
        Part("retrieval", "Retrieval", "Wu et al. 2024"),
        Part("disabling", "Disabling heads", "Olsson et al. 2022"),
    ),
)
"""The page that ``headscope portrait`` makes: the parts say whose question each section asks."""


def find_paper(name: str) -> Paper:
    """Find a paper by name.

    Parameters
    ----------
    name
        A key of ``PAPERS``.

    Returns
    -------
    Paper
        The paper.

    Raises
    ------
    UserError
        There is no recipe of that name.

    Examples
    --------
    >>> find_paper("pande2021").title
    'The heads hypothesis'
    """
    if name not in PAPERS:
        raise unknown("paper", name, PAPERS)
    return PAPERS[name]
