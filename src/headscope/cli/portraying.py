"""What ``headscope portrait`` and ``headscope demo --llm`` share."""

from __future__ import annotations

from pathlib import Path

from headscope.cli.console import Console


def run_portrait(
    model: str,
    corpus: str,
    console: Console,
    *,
    output: Path | None,
    limit: int | None,
    seed: int,
    batch_size: int,
    max_length: int,
    device: str,
    overwrite: bool = False,
    parts: tuple[str, ...] | list[str] = (),
    top: int = 5,
    draws: int = 10,
    lengths: tuple[int, ...] = (512,),
    needles: int = 12,
) -> None:
    """Check what can be checked without torch, run the portrait, and print where its page is."""
    from headscope.corpus import read
    from headscope.models.names import check_model_name
    from headscope.papers.catalogue import PORTRAIT

    PORTRAIT.choose(parts)
    check_model_name(model)
    texts = read(corpus)
    from headscope.cli.paper.group import run_recipe
    from headscope.papers import Portrait

    run_recipe(
        Portrait(
            model,
            corpus=texts,
            output=output,
            parts=parts,
            top=top,
            draws=draws,
            lengths=lengths,
            needles=needles,
            limit=limit,
            seed=seed,
            batch_size=batch_size,
            max_length=max_length,
            device=device,
            overwrite=overwrite,
            progress=console,
        ),
        console,
    )
