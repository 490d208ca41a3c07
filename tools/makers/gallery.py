"""Draw the gallery of figures in the docs.

    python tools/makers/gallery.py runs FOLDER [--models MODELS]   make the results (some minutes)
    python tools/makers/gallery.py draw FOLDER                     draw docs/images/gallery/*.png
    python tools/makers/gallery.py page                            write docs/reference/gallery.md

The results are of the embedded model on the built-in corpus. MODELS is a folder with minilm-l6-mlm,
the embedded model with a language-model head: gradients, ablation and the comparison of two models
need it. Results that are in FOLDER already are not made again. Those of checkpoints are made if
FOLDER/training is there (python tools/makers/train_small.py FOLDER/training).
"""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from headscope.figures import FIGURES, all_figures, save_chart
from headscope.figures.gallery import Figure
from headscope.results import Atlas

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reference" / "gallery.md"
PICTURES = ROOT / "docs" / "images" / "gallery"
SCALE = 1.1
MEASURES = ["position", "special", "entropy", "dependency", "coreference", "distance"]
BESIDE = ["position", "entropy", "repetition"]
INTRODUCTION = """\
# Gallery of figures

Every figure that Headscope draws by name. All pictures show the embedded model on the built-in
corpus unless the section says otherwise. Each section begins with the command and the line of
Python that make its results; those below a picture draw it. `headscope figures FILE` draws every
figure that a results file allows. [Figures](../howto/figures.md) says how to add your own.

<!-- Written by tools/makers/gallery.py; a caption is the docstring of the figure's function. -->
"""


@dataclass(frozen=True)
class Run:
    """Some results, and the figures drawn from them.

    Parameters
    ----------
    file
        The name of the results file.
    title
        The heading of its section.
    command, python
        How it is made; empty if an earlier section makes it.
    figures
        The names of its figures.
    text
        What a reader should know besides.
    """

    file: str
    title: str
    command: str
    python: str
    figures: tuple[str, ...]
    text: str = ""


def _group(*names: str, prefix: str = "") -> tuple[str, ...]:
    """Return the names given, and all names of the catalogue with a prefix."""
    return (*names, *(name for name in FIGURES if prefix and name.startswith(prefix)))


RUNS = (
    Run(
        "demo.nc",
        "A survey",
        "headscope survey demo demo -o demo.nc",
        'atlas = hs.survey("demo", "demo")',
        _group(
            "main-roles",
            "position",
            "special",
            "from-sep",
            "entropy",
            "dependencies",
            "frames",
            "features",
            "links",
            "from-cls",
            prefix="heat-",
        ),
    ),
    Run(
        "demo.nc",
        "Roles",
        "",
        "",
        _group(prefix="role-"),
        "The survey above measures roles too. A head has a role if its mean sieve bias is above "
        "τ = 3 (Pande et al. 2021).",
    ),
    Run(
        "distance.nc",
        "Distances between heads",
        "headscope survey demo demo "
        + " ".join(f"--measure {name}" for name in MEASURES)
        + " --limit 40 -o distance.nc",
        f'atlas = hs.survey("demo", "demo", measures={MEASURES}, limit=40)'.replace("'", '"'),
        ("heads-by-layer", "heads-by-behaviour"),
    ),
    Run(
        "patterns.nc",
        "Pattern classes",
        "headscope survey demo demo --measure pattern --examples 0 --limit 1000 -o patterns.nc",
        'atlas = hs.survey("demo", "demo", measures="pattern", examples=0, limit=1000)',
        _group("patterns", prefix="pattern-"),
    ),
    Run(
        "compare.nc",
        "Two models",
        "headscope compare demo minilm-l6-mlm demo --measure feature --measure link -o compare.nc",
        'atlas = hs.compare("demo", "minilm-l6-mlm", "demo", measures=["feature", "link"])',
        ("change", "features-change", "links-change"),
        "The second model is the embedded one whose layers 5 and 6 were trained further as a "
        "language model. Layers 1 to 4 are the same in both.",
    ),
    Run(
        "gradient.nc",
        "Gradients",
        "headscope survey minilm-l6-mlm demo --measure gradient --limit 60 -o gradient.nc",
        'atlas = hs.survey("minilm-l6-mlm", "demo", measures="gradient", limit=60)',
        ("gradient",),
        "The measure needs a model with a language-model head.",
    ),
    Run(
        "ablation.nc",
        "Disabled heads",
        "headscope ablate minilm-l6-mlm --corpus demo --importance --prune "
        "--limit 32 --max-length 64 -o ablation.nc",
        'atlas = hs.ablate("minilm-l6-mlm", corpus="demo", importance=True, prune=True, limit=32, '
        "max_length=64)",
        ("head-off", "layer-off", "importance", "importance-agreement", "pruning"),
        "Here the score is the language-model loss: lower is better. A tuned classifier is scored "
        "by its task's metric. The pruning curve was drawn with `prune_points=10` and "
        "`prune_candidates=1` to save time.",
    ),
    Run(
        "cache.nc",
        "A cut cache",
        "headscope retrieval demo-llm --length 512 --needles 12 --no-masking -o retrieval.nc\n"
        "headscope cache demo-llm --by retrieval.nc:retrieval --by streaming:distant --passages 2 "
        "--length 512 --draws 2 -o cache.nc",
        'atlas = hs.cache("demo-llm", by=["retrieval.nc:retrieval", "streaming:distant"], '
        "passages=2, lengths=[512], draws=2)",
        ("cache",),
        "The model is the embedded language model: see [Cut a KV cache](../howto/cache.md).",
    ),
    Run(
        "probe.nc",
        "Probes",
        "headscope probe demo demo -o probe.nc",
        'atlas = hs.probe("demo", "demo")',
        _group("probe", "top-n", "syntactic-semantic", prefix="probe-"),
        "The probing tasks are made from the built-in corpus. It is small, so the intervals are "
        "wide.",
    ),
    Run(
        "null.nc",
        "Null models",
        "headscope survey demo demo "
        + " ".join(f"--measure {name}" for name in BESIDE)
        + " --null random-weights --null shuffled-words -o null.nc",
        f'atlas = hs.survey("demo", "demo", measures={BESIDE}, '.replace("'", '"')
        + 'null=["random-weights", "shuffled-words"])',
        ("null",),
        "Random weights are drawn by the model's own rule, embeddings included.",
    ),
    Run(
        "track.nc",
        "Checkpoints",
        "headscope track training training/texts.txt --lines --max-length 129 -o track.nc",
        'atlas = hs.track("training", hs.read("training/texts.txt", lines=True), max_length=129)',
        ("emergence",),
        "The checkpoints are those of a small model that "
        "`python tools/makers/train_small.py training` trains in minutes: see "
        "[When induction heads appear](../findings/emergence.md).",
    ),
)


def make(folder: Path, models: Path) -> None:
    """Make the results that are not there yet."""
    import headscope as hs

    masked = str(models / "minilm-l6-mlm")
    makers: dict[str, Callable[[], Atlas]] = {
        "demo.nc": lambda: hs.survey("demo", "demo"),
        "distance.nc": lambda: hs.survey("demo", "demo", measures=MEASURES, limit=40),
        "patterns.nc": lambda: hs.survey(
            "demo", "demo", measures="pattern", examples=0, limit=1000
        ),
        "compare.nc": lambda: hs.compare("demo", masked, "demo", measures=["feature", "link"]),
        "gradient.nc": lambda: hs.survey(masked, "demo", measures="gradient", limit=60),
        "ablation.nc": lambda: hs.ablate(
            masked,
            corpus="demo",
            importance=True,
            prune=True,
            prune_candidates=1,
            prune_points=10,
            limit=32,
            max_length=64,
        ),
        "retrieval.nc": lambda: hs.retrieval("demo-llm", lengths=[512], needles=12, masking=False),
        "cache.nc": lambda: hs.cache(
            "demo-llm",
            by=[f"{folder}/retrieval.nc:retrieval", "streaming:distant"],
            passages=2,
            lengths=[512],
            draws=2,
        ),
        "probe.nc": lambda: hs.probe("demo", "demo", cache=folder / "vectors"),
        "null.nc": lambda: hs.survey(
            "demo", "demo", measures=BESIDE, null=["random-weights", "shuffled-words"]
        ),
    }
    training = folder / "training"
    if training.is_dir():
        texts = hs.read(training / "texts.txt", lines=True)
        makers["track.nc"] = lambda: hs.track(training, texts, max_length=129)
    folder.mkdir(parents=True, exist_ok=True)
    for name, maker in makers.items():
        if not (folder / name).exists():
            print(name, flush=True)
            maker().save(folder / name)


def draw(folder: Path) -> None:
    """Draw every figure whose results are there."""
    known = {item.name: item for item in all_figures()}
    for run in RUNS:
        if not (folder / run.file).exists():
            print(f"skipped: {run.file} is not in {folder}")
            continue
        atlas = Atlas.open(folder / run.file)
        for name in run.figures:
            save_chart(known[name].draw(atlas), PICTURES / f"{name}.png", scale=SCALE)
    size = sum(file.stat().st_size for file in PICTURES.glob("*.png"))
    print(f"{len(list(PICTURES.glob('*.png')))} pictures, {size / 1e6:.2f} MB")


def page() -> str:
    """Return the text of the gallery."""
    known = {item.name: item for item in all_figures()}
    parts = [INTRODUCTION]
    for run in RUNS:
        parts.append(f"## {run.title}\n")
        if run.text:
            parts.append(f"{_wrapped(run.text)}\n")
        if run.command:
            parts.append(f"```sh\n{run.command}\n```\n")
            parts.append(f"In Python: `{run.python}`\n")
        parts += [_entry(known[name], run) for name in run.figures]
    return "\n".join(parts)


def _entry(item: Figure, run: Run) -> str:
    """Return what the gallery says of one figure."""
    command = f"headscope figures {run.file} --figure {item.name}"
    words = item.title.replace("[", "").replace("]", "")  # brackets would end the description
    return f"""\
### `{item.name}`

![{words}](../images/gallery/{item.name}.png)

**{item.title}.** {item.caption}

`{command}` or `atlas.figure("{item.name}")`
"""


def _wrapped(text: str) -> str:
    return "\n".join(textwrap.wrap(text, 100))


def main() -> None:
    """Run the part that was asked for."""
    parser = argparse.ArgumentParser(description="Draw the gallery of figures in the docs.")
    parts = parser.add_subparsers(dest="part", required=True)
    runs = parts.add_parser("runs", help="make the results")
    runs.add_argument("folder", type=Path)
    runs.add_argument("--models", type=Path, default=ROOT.parent / "shared" / "models")
    parts.add_parser("draw", help="draw the pictures").add_argument("folder", type=Path)
    parts.add_parser("page", help="write the page")
    given = parser.parse_args()
    if given.part == "runs":
        make(given.folder, given.models)
    elif given.part == "draw":
        draw(given.folder)
    else:
        PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
