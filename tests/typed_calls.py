"""Calls as users write them, for mypy: ``make lint`` fails if a wrong one passes or a right one
does not. Nothing here is run.
"""

import headscope as hs
from headscope.progress import Update


def told(done: int, total: int) -> None:
    """Progress, as a user's own function gets it."""


def right() -> hs.Atlas:
    model = hs.load("demo", dtype="bfloat16", head="lm")
    corpus = hs.read("a.tsv", columns=["a", "b"], limit=3)
    hs.compare("demo", model, corpus, measures=["entropy"], progress=told)
    hs.probe("demo", ["senteval"], only=["Tense"], l2=[0.1], progress=True)
    hs.track(["a", "b"], corpus, revisions=["x"], output="track.nc")
    hs.measures.entropy([[[1.0]]], causal=True).mean("head")
    return hs.survey(model, "demo", limit=3, measures="entropy", max_length=64, progress=told)


def wrong() -> None:
    hs.survey("demo", "demo", limt=3)  # type: ignore[call-arg]
    hs.survey("demo", "demo", limit="x")  # type: ignore[arg-type]
    hs.survey("demo", "demo", progress="yes")  # type: ignore[arg-type]
    hs.survey("demo", "demo", long="shorten")  # type: ignore[arg-type]
    hs.survey("demo")  # type: ignore[call-arg]
    hs.measures.entropy([[[1.0]]], causl=True)  # type: ignore[call-arg]
    hs.measures.entropy([[[1.0]]], causal="yes")  # type: ignore[arg-type]
    hs.load("demo", dtype="double")  # type: ignore[arg-type]
    hs.read("a.txt", limit=1.5)  # type: ignore[arg-type]
    hs.probe("demo", "demo", folds="five")  # type: ignore[arg-type]
    hs.compare("a", "b", "demo", adaptr="x")  # type: ignore[call-arg]


_: Update = told
