"""One pruning run: heads are ranked, removed step by step, and what is left is saved."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
import xarray as xr
from numpy.typing import NDArray

from headscope.corpus import Corpus, from_examples
from headscope.encode import Batch
from headscope.errors import ResultsError, UserError
from headscope.files import FILES, digest_of, folder_damage, seal_folder, temporary_folder, writing
from headscope.heads import Head
from headscope.models import Model, wrap
from headscope.models.loading import own_class
from headscope.models.removal import Removal, reopened, save_network
from headscope.options import Pass
from headscope.progress import Update
from headscope.runs.ablate.objectives import Objective
from headscope.runs.ablate.prune import RECORD, Pruned, PruneOptions, Removing, check_ranking
from headscope.runs.ablate.run import mean_importance, random_halves
from headscope.runs.ablate.work import (
    NOTHING,
    AblationWork,
    Disabled,
    OutputParts,
    disabled_set,
    join_outputs,
    outputs_dataset,
    plan,
)
from headscope.runs.preparing import drawn
from headscope.runs.run import Arrays, Block, Run, describe, remove_checkpoint
from headscope.runs.survey import survey
from headscope.stats.inference.bootstrap import LEAST, Outputs, how_many
from headscope.stats.tables.ablation import pruning_scores
from headscope.tasks.metrics import METRICS

NEAR = 0.005
"""A share such as 0.33 means a third."""
PARTS = 100
"""The parts of a block, for the progress bar."""
SHOWN = ("mean", "low", "high", "difference", "difference_low", "difference_high")
"""What the curve says of each step."""
TIMED = 8
"""How often a forward pass is timed; the fastest counts, which other programs disturb least."""


class PruneRun(Run[Pruned]):
    """The run behind :func:`headscope.prune`. The first block ranks heads, the others are steps.

    Parameters
    ----------
    model, corpus, objective
        The model, the examples and what it is judged by.
    ranking
        The ranking of a results file; None if it is to be computed.
    options
        What is removed.
    """

    def __init__(
        self,
        model: Model,
        corpus: Corpus,
        objective: Objective,
        ranking: xr.DataArray | None,
        options: PruneOptions,
    ) -> None:
        super().__init__(options, "pruning", size=model.size)
        self.model, self.objective, self.ranking = model, objective, ranking
        self.options = replace(options, stack=options.stack or model.main_stack())
        self.stack, self.shape = self.options.stack, model.shape(self.options.stack)
        self.folder, self.corpus = Path(options.output).absolute(), drawn(corpus, options)
        self.values, self.parts = np.zeros(0), OutputParts()
        self.works = AblationWork(model, objective, stack=self.stack, way="zero", seed=options.seed)
        if ranking is not None:
            check_ranking(ranking, model.name, self.shape)

    @cached_property
    def about(self) -> dict[str, Any]:
        """Model, corpus, objective, and what is removed."""
        removing = self.options.subset(Removing)
        if self.ranking is not None:
            values = digest_of(self.ranking.values.tobytes())
            removing["by"] = {"value": str(self.ranking.name), "digest": values}
        return {
            "kind": "prune",
            "model": describe(self.model, self.stack),
            "corpus": self.corpus.about,
            "settings": self.options.subset(Pass),
            "objective": self.objective.about(),
            "pruning": removing,
        }

    # --- the folder ---

    def there(self) -> bool:
        """Whether the folder holds a finished run. Other files are an error."""
        finished = (self.folder / RECORD).exists()
        if not (finished or self.overwrite) and self.folder.exists() and any(self.folder.iterdir()):
            raise UserError(
                f"{self.folder} is not empty, and not the folder of a pruned model",
                hint="choose another folder, or give overwrite=True to write into it",
            )
        return finished

    def open(self) -> tuple[Pruned, Mapping[str, Any]]:
        """The record in the folder."""
        pruned, damage = Pruned.read(self.folder), folder_damage(self.folder)
        if damage:
            raise ResultsError(f"the model in {self.folder} is damaged: {damage}")
        return replace(pruned, again=True), pruned.about

    def clear(self) -> None:
        """Remove what says that the folder is finished, and the weights that belong to it."""
        files = (self.folder / name for name in (RECORD, FILES))
        for path in (*self.folder.glob("model*.safetensors*"), *files):
            path.unlink(missing_ok=True)

    def save(self, result: Pruned) -> None:
        """Write the record, now that all else is on the disk."""
        seal_folder(self.folder)
        result.write()
        if self.state_path is not None:
            remove_checkpoint(self.state_path)

    # --- what is removed ---

    @cached_property
    def removal(self) -> Removal:
        """Removes heads from the weights."""
        return Removal(self.model, self.stack)

    @cached_property
    def cut(self) -> bool:
        """Whether weights are cut out."""
        wanted, shares = self.options.cut, self.removal.shares
        reached = any(share <= self.options.share + NEAR for share in shares)
        names = ", ".join(f"{share:.3g}" for share in shares) or "none"
        if wanted and not reached:
            raise UserError(
                f"the shares of heads whose weights can be cut out of {self.model.name}: {names}; "
                f"got {self.options.share:g}",
                hint="leave cut= out to set output weights to zero"
                + (f", or give share={min(shares):.3g}" if shares else ""),
            )
        if shares and wanted is None:
            zero = "" if reached else "; below that, output weights are set to zero"
            self.say(f"shares of heads whose weights can be cut out: {names}{zero}")
        return reached and wanted is not False

    @cached_property
    def counts(self) -> list[int]:
        """How many units are gone after each step; where weights are cut out, in each layer."""
        if self.cut:
            near = self.options.share + NEAR
            return [count for share, count in self.removal.shares.items() if share <= near]
        every, steps = len(self.units), self.options.steps
        target = min(max(round(self.options.share * every), 1), every - 1)
        return sorted({round(target * step / steps) for step in range(1, steps + 1)} - {0})

    @cached_property
    def units(self) -> list[tuple[Head, ...]]:
        """What can only be removed together."""
        return self.removal.units(cut=self.cut)

    def choices(self, count: int) -> list[tuple[Head, ...]]:
        """The heads that are gone after a step, and random ones of the same layers.

        A random choice of more heads holds all of fewer.
        """
        place_of = self.shape.place
        worth = [sum(self.values[place_of(at), head] for at, head in unit) for unit in self.units]
        layers, ranked = [unit[0].layer for unit in self.units], pd.Series(worth)
        ranks = (
            ranked.groupby(layers).rank(method="first") if self.cut else ranked.rank(method="first")
        )
        chosen = [ranks <= count]
        in_layer = chosen[0].groupby(layers).transform("sum")
        for draw in range(self.options.draws):
            random = np.random.default_rng([self.options.seed, draw]).random(len(layers))
            chosen.append(pd.Series(random).groupby(layers).rank() <= in_layer)
        every = (zip(self.units, gone, strict=True) for gone in chosen)
        return [tuple(head for unit, off in choice if off for head in unit) for choice in every]

    # --- examples and ranking ---

    @cached_property
    def halves(self) -> list[list[Batch]]:
        """The batches that rank heads, and those that judge."""
        how = self.options.subset(Pass)
        encoder = self.model.encoder(
            stack="", **{name: how[name] for name in ("max_length", "long", "token_types")}
        )
        items = list(encoder.encode(self.corpus))
        ranks, judges = random_halves(items, self.options.seed)
        if self.ranking is not None:  # all examples judge
            ranks, judges = [], items
        halves = ranks, judges
        return [list(self.model.batches(half, size=self.options.batch_size)) for half in halves]

    def rank(self) -> NDArray[np.float64]:
        """How useful every head is, (layer, head)."""
        batches, by = self.halves[0], str(self.options.by)
        if self.ranking is not None:
            values = self.ranking.values
        elif by == "importance":
            values = mean_importance(self.model, self.objective, batches, self.stack)
        elif by == "ablation":
            passes = plan(self.shape, layers=False)
            losses = join_outputs(self.works(batch, passes)[0] for batch in batches).losses
            costs = np.nanmean(losses[1:].astype(np.float64) - losses[0], 1)
            values = costs.reshape(self.shape.layers, self.shape.heads)
        else:
            texts = from_examples([item.example for batch in batches for item in batch.items])
            how = {name: getattr(self.options, name) for name in ("max_length", "batch_size")}
            atlas = survey(self.model, texts, measures=by, stack=self.stack, **how)
            values = atlas.mean(by).transpose("layer", "head").values
        return values.astype(np.float64)

    # --- the steps ---

    def begin(self) -> None:
        """Refuse what cannot be done before anything is computed."""
        _ = self.counts, self.halves

    def blocks(self) -> Iterator[Block]:
        """The ranking, then steps until one costs too much."""
        yield Block(0, 0)
        for step, count in enumerate(self.counts, start=1):
            if not self.exceeded:
                yield Block(step, count)

    @property
    def exceeded(self) -> bool:
        """Whether the last step cost more than the tolerance."""
        done, most = self.parts.batches, self.options.tolerance
        return bool(done) and most is not None and self.cost(self.row(max(done))) > most

    def do(self, block: Block, update: Update) -> None:
        """Rank, or judge with some heads removed beside random choices."""
        if block.index == 0:
            self.values = self.rank()
            return
        outputs, passes, (_, batches) = [], self.passes(block.work), self.halves
        for place, batch in enumerate(batches):
            outputs.append(self.works(batch, passes)[0])
            done, total = self.progress()
            update(done + PARTS * (place + 1) // len(batches), total)
        self.parts.add(block.index, join_outputs(outputs))

    def passes(self, count: int) -> list[Disabled]:
        """All heads, without those of a step, and without as many random ones."""
        choices = enumerate(self.choices(count))
        return [
            NOTHING,
            *(disabled_set(self.shape, heads, name=f"choice {at}") for at, heads in choices),
        ]

    def progress(self) -> tuple[int, int]:
        """Parts of blocks."""
        return PARTS * self.next_block, PARTS * (len(self.counts) + 1)

    def so_far(self) -> str:
        """Steps, for the message after Ctrl-C."""
        return f"{len(self.parts.batches)} of {len(self.counts)} steps"

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """The ranking and the outputs of each step."""
        parts, arrays = self.parts.state()
        return {"parts": parts}, {**arrays, "values": self.values}

    def restore(self, state: dict[str, Any], arrays: Arrays) -> None:
        """Take them up."""
        self.values = np.asarray(arrays["values"])
        self.parts.restore(state["parts"], arrays)

    def scores(self, step: int) -> xr.Dataset:
        """The scores with all heads, without those of a step, and without random ones."""
        passes = self.passes(self.counts[step - 1])
        raw = outputs_dataset(passes, self.parts.batches[step], self.objective.about(), "zero")
        return pruning_scores(raw, seed=self.options.seed, resamples=LEAST)

    def row(self, step: int) -> dict[str, float]:
        """A step of the curve; step 0 has all heads."""
        scores = self.scores(max(step, 1))
        own = scores.isel(run=min(step, 1))
        random = scores["mean"].values[2:] if step else own["mean"].values
        return {
            "removed": int(own["off"]),
            **{name: float(own[name]) for name in SHOWN},
            "random": float(random.mean()),
            "random_low": float(random.min()),
            "random_high": float(random.max()),
        }

    def cost(self, row: Mapping[str, float]) -> float:
        """By how much the loss rises, or the score falls."""
        return -METRICS[self.objective.metric].sign * row["difference"]

    # --- the result ---

    def result(self) -> Pruned:
        """Save the model of the last step that costs no more than the tolerance."""
        curve = [self.row(step) for step in (0, *sorted(self.parts.batches))]
        stopped, metric = self.exceeded, self.objective.metric
        step = len(curve) - 1 - stopped
        if not step:
            raise UserError(
                f"the first step, {curve[1]['removed']} heads, already costs "
                f"{self.cost(curve[1]):.4f} of {metric}, and the tolerance is "
                f"{self.options.tolerance:g}; nothing was written",
                hint="give a larger tolerance=, or more steps= of fewer heads",
            )
        heads = sorted(self.choices(self.counts[step - 1])[0])
        with self.reporter.status("saving the model"):
            measured = self._write(heads)
        return Pruned(
            folder=self.folder,
            model=self.model.label,
            by=str(self.options.by if self.ranking is None else self.ranking.name),
            heads=[str(head) for head in heads],
            of=self.shape.layers * self.shape.heads,
            cut=self.cut,
            shares=list(self.removal.shares),
            stopped=stopped,
            metric=metric,
            curve=curve,
            documents=how_many(Outputs.of(self.scores(1)).units),
            about=self.provenance(),
            **measured,
        )

    def _write(self, heads: Sequence[Head]) -> dict[str, Any]:
        """Save the model without some heads, load it as transformers does, and compare."""
        network, folder = self.model.network, temporary_folder(self.folder)
        small = self.removal.without(heads, cut=self.cut)
        before, after = (sum(one.numel() for one in net.parameters()) for net in (network, small))
        try:
            with writing(self.folder):
                save_network(small, self.model.tokenizer, folder)
            loaded = reopened(network, folder)
            if not self.removal.agrees(loaded, heads):
                raise UserError(
                    f"what transformers loads from the pruned folder of {self.model.name} does not "
                    "give the outputs of the model with these heads masked; nothing was written",
                    hint="give cut=False, or open an issue to ask for this architecture",
                )
            size = sum(file.stat().st_size for file in folder.glob("*.safetensors"))
            measured = {
                "auto": own_class(self.model.name, loaded.config).__name__,
                "parameters": {"before": before, "after": after},
                "sizes": {"before": round(size / after * before), "after": size},
                "error": self.removal.error(loaded, heads),
                "speed": self._speed(loaded) if self.cut else None,
            }
            with writing(self.folder):
                self.folder.mkdir(parents=True, exist_ok=True)
                for file in folder.iterdir():
                    file.replace(self.folder / file.name)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        return measured

    def _speed(self, loaded: Any) -> float:
        """How many times as fast a forward pass over the first batch is, both taken in turn."""
        batch, fastest = self.halves[1][0], [np.inf, np.inf]
        with wrap(loaded, self.model.tokenizer) as pruned, torch.inference_mode():
            for _ in range(TIMED):
                for place, model in enumerate((self.model, pruned)):
                    began = time.perf_counter()
                    float(model.forward(batch)[0].sum())  # waits for a GPU, too
                    fastest[place] = min(fastest[place], time.perf_counter() - began)
        return fastest[0] / fastest[1]
