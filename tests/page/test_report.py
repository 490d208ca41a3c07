"""The report as a file: its numbers, its policy, and that no text in it can run."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

from headscope.errors import UserError
from headscope.page import render, write_folder, write_report
from headscope.page.packs import unpack
from headscope.results import Atlas
from page.samples import made_results, made_values

HOSTILE = """<script>alert(1)</script>{{7*7}}"'</script><!-- & <img src=x onerror=alert(2)>"""


class Reader(HTMLParser):
    """Elements and texts as a browser would find them."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[int, str] = {}
        self.inside = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.inside = True

    def handle_endtag(self, tag: str) -> None:
        self.inside = False

    def handle_data(self, data: str) -> None:
        if self.inside:
            place = len(self.elements) - 1
            self.texts[place] = self.texts.get(place, "") + data

    def packs(self) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
        """The data in the page, by name."""
        return {
            str(attributes["data-pack"]): unpack(base64.b64decode(self.texts[place]))
            for place, (_, attributes) in enumerate(self.elements)
            if "data-pack" in attributes
        }


def hostile() -> Atlas:
    plain: dict[str, Any] = made_results().provenance
    poisoned = {
        "settings": plain["settings"] | {"long": HOSTILE, HOSTILE: HOSTILE},
        "notes": [HOSTILE],
        "counts": plain["counts"] | {"nonfinite": 1, "nonfinite_examples": [HOSTILE]},
    }
    results = made_results(model=HOSTILE, corpus=HOSTILE, **poisoned)
    about = results.provenance
    about["model"] |= {"type": HOSTILE, "stack": HOSTILE}
    return Atlas.build(results.sums(), about)


def test_the_page_holds_every_statistic_of_every_head():
    values = made_values(2, 3)
    document, arrays = Reader(render(made_results())).packs()["atlas"]
    ids = [one["id"] for one in document["statistics"]]
    assert ids[:3] == ["position:previous", "position:current", "position:next"]
    assert len(ids) == 3 + 9 + 2  # uniform attention is a line, not a statistic
    for at, one in enumerate(ids[:3]):
        np.testing.assert_allclose(
            arrays["value"][at], values["position"][..., at], rtol=1e-6, err_msg=one
        )
    place = ids.index("special:sep:other")
    np.testing.assert_allclose(arrays["value"][place], values["special"][:, :, 1, 2], rtol=1e-6)
    # Student's t of seven degrees of freedom, times the standard error of eight texts by turns 0.01
    # below and above the mean, which moves by 0.01 / 7 without one; of the logarithm.
    half = 2.364624252 * 0.01 / 7 * 8**0.5
    middle = values["entropy"][..., 0]
    at = ids.index("entropy")
    np.testing.assert_allclose(arrays["high"][at], middle * np.exp(half / middle), rtol=1e-6)
    assert document["statistics"][at]["reference"] == pytest.approx(np.log(20))


def test_what_a_causal_model_cannot_have_is_absent():
    document, _ = Reader(render(made_results(causal=True))).packs()["atlas"]
    ids = {one["id"] for one in document["statistics"]}
    assert "position:previous" in ids
    assert not {"position:next", "special:sep"} & ids


def test_the_policy_allows_this_very_script_and_style_only():
    html = render(made_results())
    reader = Reader(html)
    (policy,) = [
        str(one["content"])
        for tag, one in reader.elements
        if tag == "meta" and one.get("http-equiv") == "content-security-policy"
    ]
    scripts = [
        reader.texts[place]
        for place, (tag, attributes) in enumerate(reader.elements)
        if tag == "script" and not attributes
    ]
    styles = [
        reader.texts[place] for place, (tag, _) in enumerate(reader.elements) if tag == "style"
    ]
    assert len(scripts) == len(styles) == 1
    for name, text in (("script-src", scripts[0]), ("style-src", styles[0])):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{name} 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert "connect-src 'none'" in policy
    assert "unsafe" not in policy


def test_no_name_can_add_an_element_to_the_page():
    plain, attacked = Reader(render(made_results())), Reader(render(hostile()))
    assert [tag for tag, _ in attacked.elements] == [tag for tag, _ in plain.elements]
    # A name stands in what previews show, as the value of an attribute, and nowhere else.
    elements = [dict(one) for _, one in attacked.elements]
    titles = [one.pop("content") for one in elements if one.get("property") == "og:title"]
    assert len(titles) == 1
    assert HOSTILE in titles[0]
    assert "onerror" not in json.dumps(elements)
    document, _ = attacked.packs()["atlas"]
    assert document["model"]["name"] == HOSTILE
    assert document["notes"] == [HOSTILE]


def test_the_page_asks_for_nothing_from_outside():
    for tag, attributes in Reader(render(made_results())).elements:
        if attributes.get("rel") == "icon":
            assert attributes.pop("href").startswith("data:image/svg+xml;base64,")
            tag = "icon"
        assert tag not in ("link", "img", "iframe", "object", "embed", "base")
        assert not attributes.keys() & {"src", "srcset", "href"}


def test_the_same_results_give_the_same_page():
    assert render(made_results()) == render(made_results())


def test_several_results_of_one_model_are_told_apart():
    packs = Reader(render(made_results(), others=[made_results(corpus="b.txt")])).packs()
    names = [packs[name][0]["model"]["name"] for name in ("atlas", "atlas-2")]
    assert names == ["made (some/texts.txt, 1)", "made (b.txt, 2)"]


def test_a_report_replaces_the_old_one_whole_and_leaves_nothing_else(tmp_path):
    path = tmp_path / "x.html"
    path.write_text("old")
    assert write_report(made_results(), path) == path
    assert path.read_text(encoding="utf-8") == render(made_results())
    assert [file.name for file in tmp_path.iterdir()] == ["x.html"]


def test_a_report_that_fails_leaves_the_old_one(tmp_path, monkeypatch):
    path = tmp_path / "x.html"
    path.write_text("old")

    def fail(*_: object, **__: object) -> str:
        raise RuntimeError("in the middle")

    monkeypatch.setattr("headscope.page.report.page_html", fail)
    with pytest.raises(RuntimeError):
        write_report(made_results(), path)
    assert path.read_text() == "old"


def test_a_file_that_cannot_be_written_is_an_error(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UserError, match="cannot be written"):
        write_report(made_results(), tmp_path / "file" / "x.html")
    with pytest.raises(UserError, match="is a file, not a folder"):
        write_folder(made_results(), tmp_path / "file")


def test_a_folder_has_the_page_and_its_data_in_files(tmp_path):
    page = write_folder(made_results(), tmp_path / "site")
    files = sorted(str(file.relative_to(tmp_path / "site")) for file in page.parent.rglob("*.*"))
    assert files == ["card.png", "data/atlas.pack", "index.html"]
    document, _ = unpack((page.parent / "data" / "atlas.pack").read_bytes())
    assert document["model"]["name"] == "made"
    html = page.read_text(encoding="utf-8")
    assert "data-pack" not in re.sub(r"<script>.*?</script>", "", html, flags=re.DOTALL)
    assert "connect-src 'self'" in html


def test_figures_are_drawn_on_request_as_images_that_cannot_run():
    results = made_results(values={"entropy": made_values(2, 3)["entropy"]})
    document, _ = Reader(render(results, figures=True)).packs()["atlas"]
    assert {one["id"] for one in document["figures"]} == {"entropy", "heat-entropy"}
    assert all(one["svg"].startswith("<svg") for one in document["figures"])
    document, _ = Reader(render(results)).packs()["atlas"]
    assert document["figures"] == []
