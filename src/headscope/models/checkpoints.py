"""The checkpoints of a training: folders, or revisions of a hub model, in their order."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, cast

from headscope.errors import ModelError, UserError
from headscope.models.gguf import is_gguf
from headscope.models.names import EMBEDDED, check_model_name, model_folder, model_label

if TYPE_CHECKING:
    from headscope.models.loading import ModelLike

STEP = re.compile(
    r"(?:checkpoint|ckpt|global[-_]?step|step|iteration|iter|epoch)[-_ ]?(\d+)", re.IGNORECASE
)
LAST = re.compile(r"(\d+)\D*$")
_SEVERAL = {
    "hint": 'e.g. hs.track(["run/checkpoint-100", "run/checkpoint-200"], corpus), or '
    'hs.track("EleutherAI/pythia-70m", corpus, revisions=["step1000", "step2000"])',
    "command": "e.g. headscope track run/checkpoint-100 run/checkpoint-200 CORPUS, or headscope "
    "track EleutherAI/pythia-70m CORPUS --revisions step1000,step2000",
}


@dataclass(frozen=True)
class Checkpoint:
    """One checkpoint.

    Parameters
    ----------
    name
        What it is called in results: the folder's last part, or the revision.
    model
        What is loaded.
    revision
        Of a hub model; "" for anything else.
    """

    name: str
    model: ModelLike
    revision: str = ""


def find_checkpoints(
    models: ModelLike | Sequence[ModelLike], revisions: Sequence[str] = ()
) -> list[Checkpoint]:
    """The checkpoints that are meant, in the order given. Needs no torch where names are given.

    Parameters
    ----------
    models
        Folders, hub ids or models; one hub id with ``revisions``; or one folder that holds a folder
        for each checkpoint, as a Trainer writes them: these are put in the order of their steps.
    revisions
        Branches, tags or commits of one hub model.

    Raises
    ------
    ModelError, UserError
        If a folder holds no model, or there are fewer than two checkpoints.

    Examples
    --------
    >>> [one.name for one in find_checkpoints("pythia", ["step0", "step1000"])]
    ['step0', 'step1000']
    """
    listed = _listed(models)
    if revisions:
        return _revisions(listed, list(revisions))
    if len(listed) == 1 and isinstance(listed[0], str | Path):
        listed = list(_inside(listed[0]) or listed)
    for model in listed:
        if isinstance(model, str | Path):
            check_model_name(model)
    if len(listed) < 2:
        raise UserError(
            f"a track needs two checkpoints or more, got {len(listed)} instead", **_SEVERAL
        )
    return [Checkpoint(name, model) for name, model in zip(_names(listed), listed, strict=True)]


def _listed(models: ModelLike | Sequence[ModelLike]) -> list[ModelLike]:
    """All models as a list: a name is one, and so is a network with its tokenizer."""
    if isinstance(models, str) or not isinstance(models, Sequence):
        return [models]
    pair = isinstance(models, tuple) and not all(isinstance(part, str | Path) for part in models)
    return [cast("ModelLike", models)] if pair else list(models)


def _revisions(models: list[ModelLike], revisions: list[str]) -> list[Checkpoint]:
    """Revisions of one hub model."""
    model = models[0]
    if len(models) > 1 or not isinstance(model, str | Path):
        raise UserError(
            f"revisions are of one hub model given by its name, got {len(models)} models instead"
            if len(models) > 1
            else "revisions are of a hub model given by its name, and this one is loaded already",
            **_SEVERAL,
        )
    check_model_name(model)
    if model_folder(model) is not None:
        raise ModelError(
            f"{model} is a folder, which has no revisions: they belong to models on the hub",
            hint="give the folder of each checkpoint",
        )
    twice = [name for name, count in Counter(revisions).items() if count > 1]
    if twice:
        raise UserError(
            f"the revision {twice[0]!r} is given more than once", hint="give each revision once"
        )
    if len(revisions) < 2:
        raise UserError("a track needs two revisions or more, got 1 instead", **_SEVERAL)
    return [Checkpoint(revision, model, revision) for revision in revisions]


def _inside(folder: str | Path) -> list[Path]:
    """The model folders inside a folder that is no model itself, by their steps."""
    root = model_folder(folder)
    if root is None or not root.is_dir() or (root / "config.json").exists():
        return []
    inside = (config.parent for config in root.glob("*/config.json"))
    return sorted(inside, key=lambda path: (step_of(path.name) or 0, path.name))


def _names(models: Sequence[ModelLike]) -> list[str]:
    """The names of folders without those above them, as far as that tells them apart."""
    names = [_name(model) for model in models]
    if len(set(names)) < len(names):
        names = [
            f"{Path(model).resolve().parent.name}/{name}" if isinstance(model, str | Path) else name
            for model, name in zip(models, names, strict=True)
        ]
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise UserError(
            f"two checkpoints are called {twice!r}, and results are kept by name",
            hint="give each checkpoint once, in a folder of its own name",
        )
    return names


def _name(model: ModelLike) -> str:
    if isinstance(model, str | Path):
        return model_label(model)
    return str(getattr(model, "label", "model"))


def step_of(name: str) -> int | None:
    """The step that a checkpoint's name tells; None if it tells none.

    Examples
    --------
    >>> step_of("checkpoint-500"), step_of("step3000-tokens6B"), step_of("final")
    (500, 3000, None)
    """
    match = STEP.search(name) or LAST.search(name)
    return int(match.group(1)) if match else None


def steps_of(names: Sequence[str]) -> list[int] | None:
    """The steps of all checkpoints; None unless every name tells one and they grow.

    Examples
    --------
    >>> steps_of(["step0", "step10"]), steps_of(["step10", "step0"]), steps_of(["a", "b"])
    ([0, 10], None, None)
    """
    steps = [step_of(name) for name in names]
    known = [step for step in steps if step is not None]
    if len(known) < len(steps) or any(earlier >= later for earlier, later in pairwise(known)):
        return None
    return known


def check_configs(checkpoints: Sequence[Checkpoint], *, trust_remote_code: bool = False) -> None:
    """Read the configuration of every checkpoint, before anything is run.

    Raises
    ------
    ModelError
        If a revision cannot be read, or two checkpoints have different shapes.
    """
    from headscope.models.attach import quiet
    from headscope.models.loading import read_config

    shapes: dict[str, tuple[str, object, object]] = {}
    for checkpoint in checkpoints:
        if (
            not isinstance(checkpoint.model, str | Path)
            or str(checkpoint.model) in EMBEDDED
            or is_gguf(checkpoint.model)
        ):
            continue  # its shape is compared when it is loaded
        options = {"revision": checkpoint.revision or None, "trust_remote_code": trust_remote_code}
        try:
            with quiet():
                config = read_config(str(checkpoint.model), options)
        except ModelError as error:
            raise _no_revision(checkpoint, error) if checkpoint.revision else error from None
        text = config.get_text_config()
        layers, heads = (
            getattr(text, part, None) for part in ("num_hidden_layers", "num_attention_heads")
        )
        shapes[checkpoint.name] = (config.model_type, layers, heads)
    for first, other in pairwise(shapes):
        if shapes[first] != shapes[other]:
            raise different(first, shapes[first], other, shapes[other])


def different(
    first: str, here: tuple[object, ...], second: str, there: tuple[object, ...]
) -> ModelError:
    """The error for two checkpoints whose heads cannot be put side by side."""
    texts = [f"{kind}, {layers} layers of {heads} heads" for kind, layers, heads in (here, there)]
    return ModelError(
        f"the checkpoints have different shapes: {first} ({texts[0]}) and {second} ({texts[1]})",
        hint="give checkpoints of one training",
    )


def _no_revision(wanted: Checkpoint, error: ModelError) -> ModelError:
    return ModelError(
        f"the revision {wanted.revision!r} of {wanted.model} cannot be read: {error.message}",
        hint="check its name among the branches and tags on the hub; without a connection, only "
        "revisions that were downloaded before can be read",
    )
