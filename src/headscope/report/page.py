"""The HTML report: one self-contained page, made from results only, every text escaped."""

from __future__ import annotations

import json
import math
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd
from markupsafe import Markup

from headscope.figures import gallery
from headscope.results import Results, check_writable, head_name, remarks, summary

WIDE = 600
"""A wider plot gets the whole width of the page; others stand two in a row, shrunk a little if need be."""


def write_report(results: Results, path: Path) -> Path:
    """Write the report of a run, whole or not at all."""
    check_writable(path)
    html = render(results)
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.write_text(html, encoding="utf-8")
    temporary.replace(path)
    return path


def render(results: Results) -> str:
    """The page as a string."""
    environment = jinja2.Environment(loader=jinja2.PackageLoader("headscope.report"), autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    environment.filters["number"] = number
    figures = []
    for item in gallery(results):
        spec = item.draw(results).to_dict()
        figures.append({"id": item.name, "title": item.title, "caption": item.caption, "spec": script_json(spec), "wide": spec["width"] > WIDE})
    provenance = results.provenance
    return environment.get_template("report.html.j2").render(
        provenance=provenance,
        provenance_text=json.dumps(provenance, indent=2, ensure_ascii=False),
        remarks=remarks(results),
        summary=summary(results).to_dict("records"),
        heads=head_table(results),
        figures=figures,
        bundle=vega_bundle(),
    )


def head_table(results: Results) -> dict[str, Any]:
    """One row a head, one column a statistic: the table in which readers look up a head."""
    table = results.table()
    table["column"] = table["measure"] + ": " + table["label"]
    order = list(dict.fromkeys(table["column"]))
    wide = table.pivot(index=["layer", "head"], columns="column", values="mean")[order]
    rows = [
        {"name": head_name(int(layer), int(head)), "order": int(layer) * 1000 + int(head), "cells": [None if pd.isna(value) else float(value) for value in row]}
        for (layer, head), row in zip(wide.index, wide.to_numpy(), strict=True)
    ]
    return {"columns": order, "rows": rows}


def number(value: object) -> str:
    """A number for reading: three decimals, a dash for none.

    >>> number(0.12345), number(float("nan")), number(3)
    ('0.123', '–', '3')
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def script_json(value: Any) -> Markup:
    """JSON that is safe inside a script element, whatever text it holds.

    >>> print(script_json("</script><!--"))
    "\\u003c/script\\u003e\\u003c!--"
    """
    text = json.dumps(value, ensure_ascii=True)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


@cache
def vega_bundle() -> Markup:
    """Vega, Vega-Lite and Vega-Embed, once a page, so that it works without a network."""
    import vl_convert

    bundle: str = vl_convert.javascript_bundle()  # type: ignore[call-arg]
    return Markup(bundle.replace("</script", "<\\/script"))
