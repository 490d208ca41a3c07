"""Charts to files: PNG, SVG, PDF, or an HTML page that works without a network."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from markupsafe import Markup

from headscope.errors import UserError
from headscope.files import check_writable

FORMATS = ("png", "svg", "pdf", "html")
_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Headscope figure</title></head><body><div id="chart"></div>
<script type="application/json" id="spec">{spec}</script>
<script type="module">{bundle}
vegaEmbed("#chart", JSON.parse(document.getElementById("spec").textContent), {{ renderer: "svg" }});
</script></body></html>
"""


def save_chart(chart: Any, path: Path, *, scale: float = 2.0) -> Path:
    """Write a chart in the format of the file's ending; no browser is needed."""
    kind = path.suffix.removeprefix(".")
    if kind not in FORMATS:
        raise UserError(
            f"the figure's ending must be one of {', '.join(FORMATS)}; got {path.suffix!r} instead",
            hint="give e.g. --format png",
        )
    check_writable(path)
    if kind == "html":  # Altair's own page would let a token that reads </script> end the script
        path.write_text(
            _PAGE.format(spec=script_json(chart.to_dict()), bundle=vega_bundle()), encoding="utf-8"
        )
    else:
        chart.save(str(path), format=kind, **({"scale_factor": scale} if kind == "png" else {}))
    return path


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
