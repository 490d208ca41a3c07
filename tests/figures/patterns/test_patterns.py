"""Figures of pattern classes.

Bars add up to one, each head has its leading class, and the maps of one example are pictures.
"""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from headscope.errors import UserError
from headscope.figures import confusion_map, find_figure, gallery, save_chart, task_patterns
from headscope.figures.patterns import CELL, LETTERS, PATTERNS, pattern_grid, shades
from headscope.figures.save import grey_png
from headscope.measures.patterns.network import CLASSES, pictures
from stats.made_patterns import pattern_results, random_patterns

BLOCKS = np.repeat(np.arange(4), 10)


def rows(chart: Any, place: int = 0) -> list[dict[str, Any]]:
    """Return the data of one layer of a chart, as it is drawn."""
    spec = chart.to_dict()
    part = spec["layer"][place]
    name = part.get("data", spec.get("data"))["name"]
    return spec["datasets"][name]


def decoded(file: bytes) -> np.ndarray:
    """Decode a grey PNG by the rules of the standard, checksums included."""
    assert file[:8] == b"\x89PNG\r\n\x1a\n"
    chunks: dict[bytes, bytes] = {}
    place = 8
    while place < len(file):
        size, kind = struct.unpack(">I4s", file[place : place + 8])
        body = file[place + 8 : place + 8 + size]
        expected = zlib.crc32(kind + body)
        assert struct.unpack(">I", file[place + 8 + size : place + 12 + size])[0] == expected
        chunks[kind] = body
        place += 12 + size
    width, height, depth, colour = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    assert (depth, colour) == (8, 0)
    lines = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, width + 1)
    assert not lines[:, 0].any()
    return lines[:, 1:]


def test_the_classes_of_figures_and_network_are_the_same_in_the_same_order():
    assert tuple(PATTERNS) == tuple(LETTERS) == CLASSES
    assert len(set(PATTERNS.values())) == len(set(LETTERS.values())) == 5


def test_the_gallery_has_three_figures_of_pattern_classes():
    results = pattern_results(random_patterns(), BLOCKS)
    expected = ["patterns", "pattern-layers", "pattern-heads"]
    assert [item.name for item in gallery(results)] == expected
    for item in gallery(results):
        assert "NaN" not in repr(item.draw(results).to_dict())


def test_a_stacked_bar_has_the_shares_of_all_maps_and_ends_at_one():
    found = random_patterns()
    results = pattern_results(found, BLOCKS)
    drawn = rows(find_figure("patterns", results).draw(results))
    assert [row["pattern"] for row in drawn] == list(CLASSES)
    expected = pytest.approx([(found == place).mean() for place in range(5)])
    assert [row["end"] - row["start"] for row in drawn] == expected
    assert (drawn[0]["start"], drawn[-1]["end"]) == pytest.approx((0.0, 1.0))


def test_every_layer_has_its_own_bar():
    found = random_patterns()
    results = pattern_results(found, BLOCKS)
    drawn = pd.DataFrame(rows(find_figure("pattern-layers", results).draw(results)))
    for layer in (1, 2):
        part = drawn[drawn["layer"] == layer].set_index("pattern")
        assert part.loc["block", "share"] == pytest.approx((found[:, layer - 1] == 3).mean())
        assert part["end"].max() == pytest.approx(1.0)


def test_tasks_stand_side_by_side_in_the_order_given():
    files = {
        name: pattern_results(random_patterns(seed=seed), BLOCKS)
        for seed, name in enumerate(("qqp", "mrpc"))
    }
    chart = task_patterns(files)
    assert chart.to_dict()["layer"][0]["encoding"]["x"]["sort"] == ["qqp", "mrpc"]
    assert len(rows(chart)) == 10


def test_a_head_is_drawn_in_the_colour_and_letter_of_its_leading_class():
    found = np.array([[[0, 4]], [[0, 3]], [[1, 3]], [[2, 3]]])
    results = pattern_results(found, np.arange(4))
    drawn = rows(find_figure("pattern-heads", results).draw(results))
    expected = [("1-1", "V", 0.5), ("1-2", "B", 0.75)]
    assert [(row["name"], row["letter"], row["share"]) for row in drawn] == expected
    assert [row["of_heterogeneous"] for row in drawn] == [0.0, 0.25]


@pytest.mark.parametrize(("layers", "heads"), [(1, 1), (2, 40)])
def test_models_of_any_shape_can_be_drawn(layers, heads):
    results = pattern_results(random_patterns(6, layers, heads), np.arange(6))
    for item in gallery(results):
        assert item.draw(results).to_dict()["width"] > 0


def test_shades_are_what_the_network_sees_in_its_first_channel():
    attention = (
        np.random.default_rng(0).dirichlet(np.full(32, 0.2), 32).astype(np.float32)
    )  # 32 tokens: nothing is pooled
    np.testing.assert_allclose(
        shades(attention), pictures(torch.from_numpy(attention)[None])[0, 0].numpy(), atol=1e-5
    )


@pytest.mark.parametrize("shape", [(1, 1), (3, 5)])
def test_a_png_can_be_read_back(shape):
    grey = np.random.default_rng(1).integers(0, 256, shape).astype(np.uint8)
    np.testing.assert_array_equal(decoded(grey_png(grey)), grey)


def test_the_grid_shows_every_map_at_its_place_framed_by_its_class():
    maps = np.random.default_rng(2).dirichlet(np.full(7, 0.3), (2, 3, 7))
    found = [["vertical", "block", "diagonal"], ["heterogeneous", "vertical+diagonal", "vertical"]]
    chart = pattern_grid(maps, found, title="Grid", subtitle="the text")
    drawn = {row["name"]: row for row in rows(chart)}
    assert {name: row["pattern"] for name, row in drawn.items()} == {
        f"{layer + 1}-{head + 1}": found[layer][head] for layer in range(2) for head in range(3)
    }
    expected = drawn["2-1"]["y"] + CELL + (drawn["1-2"]["x"] - drawn["1-1"]["x"] - CELL)
    assert drawn["1-1"]["y"] == expected  # layer 1 at the bottom
    for name, row in drawn.items():
        layer, head = (int(part) - 1 for part in name.split("-"))
        picture = decoded(base64.b64decode(row["url"].removeprefix("data:image/png;base64,")))
        step = picture.shape[0] // 7
        assert picture.shape == (7 * step, 7 * step)
        roots = np.sqrt(maps[layer, head])
        wanted = 255 * (1 - np.minimum(roots / np.quantile(roots, 0.99), 1))
        np.testing.assert_allclose(picture[::step, ::step], wanted, atol=0.51)
        np.testing.assert_array_equal(
            picture, picture[::step, ::step].repeat(step, 0).repeat(step, 1)
        )


def test_the_grid_of_wrong_maps_is_refused():
    message = r"must be \(layer, head, query, key\).*got the shape \(2, 3, 4\) instead"
    with pytest.raises(UserError, match=message):
        pattern_grid(np.zeros((2, 3, 4)), [], title="Grid")


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_the_grid_can_be_saved_with_its_pictures(kind, tmp_path):
    maps = np.zeros((1, 2, 4, 4))
    maps[0, 0], maps[0, 1] = np.eye(4), 0.25
    path = save_chart(
        pattern_grid(maps, [["diagonal", "heterogeneous"]], title="Grid"), tmp_path / f"grid.{kind}"
    )
    if kind == "svg":
        assert path.read_text().count("data:image/png;base64,") == 2
    else:
        assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_the_confusion_matrix_is_drawn_square_by_square():
    table = pd.DataFrame(
        np.arange(25).reshape(5, 5),
        index=pd.Index(CLASSES, name="label"),
        columns=pd.Index(CLASSES, name="predicted"),
    )
    drawn = {
        (row["label"], row["predicted"]): row
        for row in rows(confusion_map(table, title="Confusion"))
    }
    assert drawn["block", "diagonal"]["count"] == 16
    assert drawn["block", "diagonal"]["share"] == pytest.approx(16 / (15 + 16 + 17 + 18 + 19))
