"""The corpora of the recipe, opened and named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from headscope.corpus import Corpus, read
from headscope.errors import UserError

SPLITS = ("train", "dev", "test", "dev_matched")

Given = str | Path | Corpus


def open_corpora(
    given: Sequence[Given] | Mapping[str, Given],
    *,
    parser: str,
    most: int | None = None,
    seed: int | None = None,
) -> dict[str, Corpus]:
    """Open corpora and give each a short name.

    Parameters
    ----------
    given
        Files, ``"demo"`` or corpora; a mapping names them.
    parser
        The spaCy pipeline for text without trees ("" for the small English one).
    most
        Use at most so many examples of each.
    seed
        Draws them at random with this seed; None takes the first ones.

    Returns
    -------
    dict
        Corpora by name.

    Examples
    --------
    >>> list(open_corpora(["demo"], parser=""))
    ['demo']
    """
    if isinstance(given, str | Path | Corpus):
        raise UserError(
            f"the corpora must be a list, got {given!r} instead", hint=f"give corpora=[{given!r}]"
        )
    if not isinstance(given, Mapping):
        labels = [one.name if isinstance(one, Corpus) else str(one) for one in given]
        given = dict(zip(corpus_names(labels), given, strict=True))
    return {name: _open(one, parser, most, seed) for name, one in given.items()}


def _open(given: Given, parser: str, most: int | None, seed: int | None) -> Corpus:
    corpus = given if isinstance(given, Corpus) else read(given)
    corpus = corpus.first(most) if seed is None else corpus.sample(most, seed=seed)
    if isinstance(given, Corpus) or str(given) == "demo":
        return corpus
    path = Path(given)
    corpus = read(corpus, parse=True, parser=parser)  # only what is used is parsed
    if path.name.split(".")[0] in SPLITS and path.parent.name:
        corpus = replace(corpus, name=f"{path.parent.name}/{path.name}")
    return corpus


def corpus_names(paths: Sequence[str]) -> list[str]:
    """Shorten paths to names that differ.

    Parameters
    ----------
    paths
        Corpus files.

    Returns
    -------
    list of str
        The task of a GLUE folder, otherwise the file's own name; repeated names are numbered.

    Examples
    --------
    >>> corpus_names(["glue/MRPC/dev.tsv.gz", "glue/QNLI/dev.tsv.gz"])
    ['MRPC', 'QNLI']
    >>> corpus_names(["a/ewt.conllu.gz", "b/ewt.conllu"])
    ['ewt', 'ewt-2']
    """
    names: list[str] = []
    for path in map(Path, paths):
        name = path.name.split(".")[0]
        name = path.parent.name if name in SPLITS and path.parent.name else name
        same = sum(other == name or other.startswith(f"{name}-") for other in names)
        names.append(f"{name}-{same + 1}" if same else name)
    return names
