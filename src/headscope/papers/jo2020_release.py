"""What Jo and Myaeng 2020 published: the numbers in the paper, and those that they released.

Table 5 is damaged in the text that these numbers were taken from: its rows have lost their names
and some of their cells. A row's name is certain because its BERT numbers are those of Table 3,
where they are kept. A cell's column is certain where its gain in brackets fits the last layer of
its encoder. Not given here are, for BERT base, the last layer (it is in Table 3) and the gains of
the best layer from Depth on (lost). GPT-2's top heads in Length (lost) and in OddManOut (printed as
"5.5 (1.6)": a digit is missing) are from the table that the authors released; their gains are not
given. Numbers of Table 3 are not repeated.

Their repository has per-head scores in ``results/linear_head_wise_results/MODEL_TASK.json`` (and
``ds_linear_head_wise_results`` for downstream tasks), and a table of layers and top heads in
``examples/embedding_reconstruction.csv``. They are read from a folder or an archive, never unpacked
to disk.
"""

from __future__ import annotations

import csv
import io
import re
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from lzma import LZMAError
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headscope.errors import UserError
from headscope.files import show_size
from headscope.limits import open_tar, parse_json
from headscope.results import Atlas
from headscope.results.moments import wilson
from headscope.tasks.task import TITLES, task_group

Array = NDArray[np.float64]

# --- In the paper ---------------------------------------------------------------------------------

TABLE_1 = {  # encoder: layers, heads of each, parameters as printed
    "GPT": (12, 12, "110M"),
    "GPT2": (12, 12, "117M"),
    "BERT base": (12, 12, "110M"),
    "BERT large": (24, 16, "340M"),
    "ELECTRA small": (12, 4, "14M"),
    "ELECTRA base": (12, 12, "110M"),
    "ELECTRA large": (24, 16, "340M"),
}
TABLE_2 = {  # the name of SentEval's file: classes
    "sentence_length": 6,
    "word_content": 1000,
    "tree_depth": 8,
    "top_constituents": 20,
    "bigram_shift": 2,
    "past_present": 2,
    "subj_number": 2,
    "obj_number": 2,
    "odd_man_out": 2,
    "coordination_inversion": 2,
}
TASK_SIZES = {"train": "100k", "test": "10k"}
"""Sentences of each probing task (Table 2)."""
Scores = tuple[float | None, float | None, float | None]
"""Last layer, best layer, and as many top heads as a layer has; None where the number is lost."""
TABLE_3: dict[str, dict[str, Scores]] = {
    "BERT base": {
        "sentence_length": (58.0, 87.8, 95.0),
        "word_content": (25.2, 25.2, 73.1),
        "tree_depth": (29.8, 31.7, 38.3),
        "top_constituents": (69.8, 74.7, 84.2),
        "bigram_shift": (78.1, 78.1, 88.3),
        "past_present": (86.0, 87.0, 89.0),
        "subj_number": (82.0, 84.7, 88.2),
        "obj_number": (75.4, 75.4, 83.4),
        "odd_man_out": (59.6, 59.6, 65.1),
        "coordination_inversion": (65.5, 65.9, 74.6),
    },
    "BERT large": {
        "sentence_length": (54.8, 94.4, 95.2),
        "word_content": (12.2, 32.2, 79.8),
        "tree_depth": (27.8, 33.3, 39.5),
        "top_constituents": (62.8, 78.2, 85.6),
        "bigram_shift": (77.2, 81.1, 90.9),
        "past_present": (85.6, 86.7, 88.9),
        "subj_number": (80.0, 87.9, 90.5),
        "obj_number": (64.2, 78.0, 84.4),
        "odd_man_out": (55.5, 59.2, 69.0),
        "coordination_inversion": (64.9, 70.9, 78.5),
    },
}
"""Test accuracy in percent, by encoder and task (Table 3)."""

TABLE_5: dict[str, dict[str, Scores]] = {
    "GPT": {
        "sentence_length": (52.2, 96.4, 96.2),
        "word_content": (35.3, 35.3, 71.3),
        "tree_depth": (27.2, 30.6, 38.9),
        "top_constituents": (53.0, 65.1, 79.5),
        "bigram_shift": (69.3, 69.3, 80.7),
        "past_present": (88.6, 88.6, 89.0),
        "subj_number": (78.8, 78.8, 84.2),
        "obj_number": (71.2, 71.9, 80.5),
        "odd_man_out": (55.0, 58.2, 63.0),
        "coordination_inversion": (57.7, 60.7, 70.2),
    },
    "GPT2": {
        "sentence_length": (57.8, 88.9, 92.8),
        "word_content": (37.5, 37.5, 71.0),
        "tree_depth": (28.0, 31.0, 40.0),
        "top_constituents": (57.3, 63.1, 82.8),
        "bigram_shift": (68.8, 70.5, 78.8),
        "past_present": (88.2, 88.6, 89.3),
        "subj_number": (83.5, 83.5, 87.7),
        "obj_number": (70.2, 74.1, 82.5),
        "odd_man_out": (54.6, 54.9, 55.5),
        "coordination_inversion": (58.3, 60.0, 67.6),
    },
}
"""Test accuracy in percent of the encoders that Table 3 does not have."""

MEDIAN_GAIN = 19.22
"""Median gain in percent of the top heads over the "best" layer, as Section 4.4 has it. By the
paper's own tables this is the gain over the last layer, over all four encoders; over the best layer
it is about 12 %."""
TABLE_4: dict[str, dict[tuple[str, str], tuple[float, float, float]]] = {
    "BERT base": {
        ("mrpc", "f1"): (88.0, 88.2, 88.9),
        ("mrpc", "accuracy"): (82.4, 83.1, 84.6),
        ("sts-b", "pearson"): (88.2, 74.6, 88.6),
        ("sts-b", "spearman"): (87.9, 73.5, 88.3),
        ("sst-2", "accuracy"): (92.9, 92.4, 93.1),
    },
    "BERT large": {
        ("mrpc", "f1"): (89.3, 88.6, 91.4),
        ("mrpc", "accuracy"): (84.6, 84.1, 87.7),
        ("sts-b", "pearson"): (89.5, 54.8, 89.4),
        ("sts-b", "spearman"): (89.1, 53.6, 88.7),
        ("sst-2", "accuracy"): (94.0, 92.9, 94.5),
    },
}
"""Dev scores in percent, the median of five seeds, fine-tuned from the last layer, the best layer
and the top heads; by task and metric."""
TUNED_GAINS = {"BERT base": 0.82, "BERT large": 1.04}
"""Points by which tuning from the top heads beats the last layer: mean of Table 4 (Section 5.2)."""
STS_LAYERS = (0.25, 0.30)
"""How far up, as a share of all layers, the influential layers of STS-B reach (Section 6.1)."""
FAMILIES = {"bert": "BERT", "electra": "ELECTRA", "gpt2": "GPT2", "openai-gpt": "GPT"}
"""The paper's name of an architecture, by transformers' name of it."""


def published_encoder(kind: str, layers: int, heads: int) -> str:
    """Name the encoder of Table 1 that has a model's family and shape; empty if there is none.

    Examples
    --------
    >>> published_encoder("bert", 24, 16), published_encoder("electra", 12, 4)
    ('BERT large', 'ELECTRA small')
    >>> published_encoder("bert", 6, 12)
    ''
    """
    family = FAMILIES.get(kind, "")
    shapes = {name: (row[0], row[1]) for name, row in TABLE_1.items() if name.split()[0] == family}
    return next((name for name, shape in shapes.items() if shape == (layers, heads)), "")


def encoder_of(provenance: Mapping[str, Any]) -> str:
    """Name the encoder of Table 1 that results are of; empty if the paper has no such encoder."""
    model = provenance["model"]
    return published_encoder(model.get("type", ""), model["layers"], model["heads"])


# --- Released -------------------------------------------------------------------------------------

NAMES = {
    "openai-gpt": "GPT",
    "gpt2": "GPT2",
    "bert-base-uncased": "BERT base",
    "bert-large-uncased": "BERT large",
    "electra-small-discriminator": "ELECTRA small",
    "electra-base-discriminator": "ELECTRA base",
    "electra-large-discriminator": "ELECTRA large",
}
"""The released models, by their names in the files, as the paper calls them."""
PROBING = {
    "Length": "sentence_length",
    "WordContent": "word_content",
    "Depth": "tree_depth",
    "TopConstituents": "top_constituents",
    "BigramShift": "bigram_shift",
    "Tense": "past_present",
    "SubjNumber": "subj_number",
    "ObjNumber": "obj_number",
    "OddManOut": "odd_man_out",
    "CoordinationInversion": "coordination_inversion",
}
DOWNSTREAM = {"MRPC": "mrpc", "STSBenchmark": "sts-b", "SST2": "sst-2"}
"""The tasks, by their names in the files."""
TASKS = PROBING | DOWNSTREAM
DOWNSTREAM_TITLES = {"mrpc": "MRPC", "sts-b": "STS-B", "sst-2": "SST-2"}
TEST_SIZE = 10_000
"""Test sentences of a probing task (Table 2)."""
FOLDERS = ("linear_head_wise_results", "ds_linear_head_wise_results")
TABLE = "embedding_reconstruction.csv"
ONE, ALL, MEMBERS = 8 << 20, 256 << 20, 10_000
"""The largest file, the largest archive once unpacked, and the most files of an archive. The
release has 90 files of 11 MB in all, the largest of 0.3 MB."""
EXPECTED = f"{FOLDERS[0]}/MODEL_TASK.json"


def release_files(source: str | Path) -> dict[str, bytes]:
    """Read the released files of a folder or a tar archive.

    Parameters
    ----------
    source
        The authors' repository or any folder that has their results in it, or a tar archive of
        one (``.tar``, ``.tar.gz``, ``.tar.bz2``, ``.tar.xz``).

    Returns
    -------
    dict
        Contents by ``FOLDER/NAME``; the table by its name alone. Other files are ignored.

    Raises
    ------
    UserError
        Nothing of the release is there; or the archive is damaged, too large, or has links or
        paths that lead out of it.
    """
    path = Path(source)
    if not path.exists():
        raise UserError(
            f"the published numbers are not there: {path} does not exist",
            hint="give the folder of the authors' repository, or a tar archive of it",
        )
    files = dict(_folder(path) if path.is_dir() else _archive(path))
    if not any(name != TABLE for name in files):
        raise UserError(
            f"{path} has none of the published results ({EXPECTED})",
            hint="give the folder of the authors' repository "
            "(github.com/heartcored98/transformer_anatomy), or a tar archive of it",
        )
    return files


def _name(path: PurePosixPath | Path) -> str:
    """What a file of the release is called here; empty for any other."""
    if path.name == TABLE:
        return TABLE
    wanted = path.suffix == ".json" and path.parent.name in FOLDERS
    return f"{path.parent.name}/{path.name}" if wanted else ""


def _folder(path: Path) -> Iterator[tuple[str, bytes]]:
    for file in sorted(path.rglob("*")):
        if _name(file) and file.is_file() and not file.is_symlink():
            _check_size(file.name, file.stat().st_size)
            yield _name(file), file.read_bytes()


def _archive(path: Path) -> Iterator[tuple[str, bytes]]:
    """The files of an archive. Sizes are checked in the headers, before anything is unpacked."""
    total = 0
    try:
        with open_tar(path) as archive:
            for number, member in enumerate(archive, 1):
                _check_member(path, member)
                total += member.size
                if number > MEMBERS or total > ALL:
                    raise UserError(
                        f"{path} is too large: more than {MEMBERS:,} files or {show_size(ALL)}",
                        hint="unpack it yourself and give the folder",
                    )
                name = _name(PurePosixPath(member.name)) if member.isfile() else ""
                data = archive.extractfile(member) if name else None
                if data is not None:
                    _check_size(member.name, member.size)
                    yield name, data.read()
    except (tarfile.TarError, OSError, EOFError, zlib.error, LZMAError) as error:
        raise UserError(
            f"{path} is not a complete tar archive ({error})",
            hint="download it again, or unpack it and give the folder",
        ) from None


def _check_member(path: Path, member: tarfile.TarInfo) -> None:
    """Refuse links, devices and paths that lead out of the archive."""
    try:
        tarfile.data_filter(member, ".")
    except tarfile.FilterError as error:
        raise UserError(f"{path} is not safe to read: {error}", hint="do not use it") from None
    if member.issym() or member.islnk():
        raise UserError(
            f"{path} is not safe to read: {member.name} is a link",
            hint="unpack it yourself and give the folder",
        )


def _check_size(name: str, size: int) -> None:
    if size > ONE:
        raise UserError(
            f"{name} is too large for published results: {show_size(size)}, "
            f"at most {show_size(ONE)}",
            hint="give the authors' own files",
        )


@dataclass(frozen=True)
class Release:
    """What the authors released.

    Parameters
    ----------
    encoders
        Scores of heads by encoder, as :func:`headscope.probe` writes them: ``probe``, and
        ``probe_layer`` for the downstream tasks that have layers.
    table
        By encoder and task: test accuracy in percent of the last layer, the best layer and the
        top heads, from their table; empty if it is missing.
    ignored
        Files of encoders or tasks that the paper does not have.
    """

    encoders: Mapping[str, Atlas]
    table: Mapping[str, Mapping[str, tuple[float, float, float]]]
    ignored: tuple[str, ...] = ()


def read_release(source: str | Path) -> Release:
    """Read the authors' own numbers.

    Parameters
    ----------
    source
        Their repository, a folder with its results, or a tar archive of one.

    Returns
    -------
    Release
        Scores by encoder, in the order of Table 1, and their table.

    Raises
    ------
    UserError
        The source has none of the files, is not safe to read, or a file is damaged.

    Notes
    -----
    Layers and heads are counted from 0 in the files and from 1 here. Scores of heads that a file
    lacks are NaN.
    """
    files = release_files(source)
    known: dict[str, dict[str, _Grid]] = {}
    ignored = []
    for name in sorted(set(files) - {TABLE}):
        model, _, task = Path(name).stem.rpartition("_")
        if model not in NAMES or task not in TASKS:
            ignored.append(name)
            continue
        encoder = NAMES[model]
        grids = known.setdefault(encoder, {})
        grids[TASKS[task]] = _Grid.read(name, files[name], _shape(encoder), TASKS[task])
    if not known:
        raise UserError(
            f"{source} has results of none of the paper's encoders and tasks",
            hint="give the authors' own files, such as bert-base-uncased_Depth.json",
        )
    atlases = {name: _atlas(name, known[name], str(source)) for name in TABLE_1 if name in known}
    return Release(atlases, _table(files.get(TABLE, b"")), tuple(ignored))


def _shape(encoder: str) -> tuple[int, int]:
    return TABLE_1[encoder][:2]


@dataclass(frozen=True)
class _Grid:
    """Scores of one encoder and task as shares: (layer, head), and (layer,) where known."""

    validation: Array
    test: Array
    layer_validation: Array
    layer_test: Array

    @classmethod
    def read(cls, name: str, data: bytes, shape: tuple[int, int], task: str) -> _Grid:
        arrays = [np.full(size, np.nan) for size in (shape, shape, shape[:1], shape[:1])]
        valid, score, scale = (
            ("devpearson", "pearson", 1.0) if task == "sts-b" else ("devacc", "acc", 0.01)
        )
        try:
            for entry in parse_json(data.decode(), name).values():
                layer, head = int(entry["layer"]), int(entry["head"])
                values = scale * float(entry[valid]), scale * float(entry[score])
                if max(map(abs, values)) > 1 or not 0 <= layer < shape[0] or head >= shape[1]:
                    raise ValueError(f"layer {layer}, head {head}: {values}")
                if entry["location"] == "head":
                    arrays[0][layer, head], arrays[1][layer, head] = values
                elif head == -1:  # a whole layer; GPT on MRPC has another, partial set with head 0
                    arrays[2][layer], arrays[3][layer] = values
        except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
            raise UserError(
                f"{name} is not one of the published results: {error}",
                hint="download the authors' files again",
            ) from None
        return cls(*arrays)


def _atlas(encoder: str, grids: Mapping[str, _Grid], source: str) -> Atlas:
    """The scores of an encoder's tasks, in the order of the paper."""
    names = [task for task in TASKS.values() if task in grids]
    layers, heads = _shape(encoder)
    places = {"task": names, "layer": np.arange(1, layers + 1), "head": np.arange(1, heads + 1)}
    about = _about(names)
    of_heads = _scores(
        np.stack([grids[name].validation for name in names]),
        np.stack([grids[name].test for name in names]),
        names,
    )
    of_layers = _scores(
        np.stack([grids[name].layer_validation for name in names]),
        np.stack([grids[name].layer_test for name in names]),
        names,
    )
    attributes = {"source": "Jo and Myaeng 2020", "listed": "no", "kind": "probe"}
    dims = ("task", "layer", "head")
    probe = {name: (dims, values) for name, values in of_heads.items()}
    layer = {name: (dims[:2], values) for name, values in of_layers.items()}
    groups = {
        "probe": xr.Dataset({**probe, **about}, places, attributes),
        "probe_layer": xr.Dataset(
            {**layer, **about}, {dim: places[dim] for dim in dims[:2]}, attributes
        ),
    }
    return Atlas.build(
        groups,
        {
            "model": {"name": f"{encoder} (published)", "layers": layers, "heads": heads},
            "corpus": {"name": source, "format": "published results"},
            "position": "last" if encoder.startswith("GPT") else "cls",
        },
    )


def _scores(validation: Array, test: Array, names: list[str]) -> dict[str, Array]:
    """Scores with 95 % intervals for the probing tasks, whose test size the paper gives."""
    low, high = np.full_like(test, np.nan), np.full_like(test, np.nan)
    for place, name in enumerate(names):
        known = np.isfinite(test[place])
        if name in TITLES and known.any():
            right = np.round(np.where(known, test[place], 0) * TEST_SIZE)
            ends = wilson(right, np.full(right.shape, TEST_SIZE))
            low[place], high[place] = (np.where(known, end, np.nan) for end in ends)
    unknown = np.full_like(test, np.nan)
    return {
        "test": test,
        "validation": validation,
        "low": low,
        "high": high,
        "control": unknown,
        "l2": unknown,
    }


def _about(names: list[str]) -> dict[str, Any]:
    """What is known of the tasks.

    SentEval's two classes have equal sizes. Tasks of more classes are balanced only roughly, and
    the share of their largest class is not published.
    """
    classes = TABLE_2 | {"mrpc": 2, "sst-2": 2}
    probing = [name in TITLES for name in names]
    rows = {
        "title": [TITLES.get(name) or DOWNSTREAM_TITLES[name] for name in names],
        "group": [task_group(TITLES.get(name, "")) or "downstream" for name in names],
        "metric": ["pearson" if name == "sts-b" else "accuracy" for name in names],
        "classes": [float(classes.get(name, 0)) for name in names],
        "majority": [
            0.5 if known and classes[name] == 2 else np.nan
            for name, known in zip(names, probing, strict=True)
        ],
        "test_size": [float(TEST_SIZE) if known else np.nan for known in probing],
    }
    return {
        name: ("task", np.array(values, object if name in ("title", "group", "metric") else float))
        for name, values in rows.items()
    }


def _table(data: bytes) -> dict[str, dict[str, tuple[float, float, float]]]:
    """Their table; a cell of the top heads has its gain over the best layer in brackets."""
    table: dict[str, dict[str, tuple[float, float, float]]] = {}
    try:
        for row in csv.DictReader(io.StringIO(data.decode("utf-8"))):
            encoder, task = NAMES.get(row["model_name"]), PROBING.get(row["task"])
            if encoder and task:
                top = re.split(r"[ (]", row["top_n_head"].strip())[0]
                scores = row["last_linear_layer"], row["best_linear_layer"], top
                last, best, chosen = map(float, scores)
                table.setdefault(encoder, {})[task] = (last, best, chosen)
    except (KeyError, ValueError, AttributeError, TypeError) as error:
        raise UserError(
            f"{TABLE} is not the published table: {error}", hint="download the authors' files again"
        ) from None
    return table
