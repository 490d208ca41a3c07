"""The network of pattern classes: what it sees of a map of any size, what it is made of, and its
file.
"""

from __future__ import annotations

from math import ceil, floor, sqrt

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from headscope.errors import UserError
from headscope.measures.patterns.network import (
    CLASSES,
    SEEN,
    SHIPPED,
    SIZE,
    PatternNet,
    classify,
    digest,
    load_network,
    pictures,
    save_network,
)


def random_maps(count: int, length: int, seed: int) -> torch.Tensor:
    return torch.softmax(
        3 * torch.randn(count, length, length, generator=torch.Generator().manual_seed(seed)), -1
    )


def line_means(cells: list[list[float]], *, causal: bool) -> list[list[list[float]]]:
    """In plain loops: the mean of each cell's column, and of its diagonal."""
    length = len(cells)
    columns, diagonals = ([[0.0] * length for _ in range(length)] for _ in range(2))
    for query in range(length):
        for key in range(length):
            seen = [cells[row][key] for row in range(length) if row >= key or not causal]
            columns[query][key] = sum(seen) / len(seen)
            line = [
                cells[row][row + key - query]
                for row in range(length)
                if 0 <= row + key - query < length
            ]
            diagonals[query][key] = sum(line) / max(len(line), ceil(length / 4))
    return [columns, diagonals]


def layers_of(attention: list[list[float]]) -> list[list[list[float]]]:
    """In plain loops: shades, roots, the mean shade of each cell's column and of its diagonal, and
    the same means of how far a cell is darker than up to three cells on either side.
    """
    length = len(attention)
    roots = [[sqrt(value) for value in row] for row in attention]
    dark = max(
        float(np.quantile(np.array(roots), 0.99 if length <= 64 else 1 - 0.64 / length)), 1e-3
    )
    shades = [[min(value / dark, 1.0) for value in row] for row in roots]
    causal = all(
        attention[query][key] == 0 for query in range(length) for key in range(query + 1, length)
    )
    clear = [[0.0] * length for _ in range(length)]
    for query in range(length):
        for key in range(length):
            around = shades[query][max(key - 3, 0) : key] + shades[query][key + 1 : key + 4]
            beside = sum(around) / max(len(around), 1)
            clear[query][key] = min(max((shades[query][key] - beside) / 0.25, 0.0), 1.0)
    return [shades, roots, *line_means(shades, causal=causal), *line_means(clear, causal=causal)]


@pytest.mark.parametrize("length", [1, 3, 31, 32, 50, 75])
@pytest.mark.parametrize("causal", [False, True])
def test_a_picture_holds_the_mean_of_the_cells_under_each_dot_and_the_darkest_of_the_lines(
    length, causal
):
    attention = random_maps(1, length, length)[0]
    if causal:
        attention = attention.tril()
        attention = attention / attention.sum(1, keepdim=True)
    found = pictures(attention[None])[0]
    layers = layers_of(attention.tolist())
    assert found.shape == (len(layers), SIZE, SIZE) == (SEEN, SIZE, SIZE)
    for row in range(0, SIZE, 5):
        for column in range(0, SIZE, 7):
            rows = range(floor(row * length / SIZE), ceil((row + 1) * length / SIZE))
            columns = range(floor(column * length / SIZE), ceil((column + 1) * length / SIZE))
            for number, layer in enumerate(layers):
                cells = [layer[query][key] for query in rows for key in columns]
                expected = sum(cells) / len(cells) if number < 2 else max(cells)
                assert found[number, row, column].item() == pytest.approx(expected, abs=1e-4)


def test_it_has_eight_convolutional_layers_with_relu_and_fewer_than_150_thousand_weights():
    network = PatternNet()
    assert sum(isinstance(module, nn.Conv2d) for module in network.modules()) == 8
    assert sum(isinstance(module, nn.ReLU) for module in network.modules()) == 8
    assert sum(weight.numel() for weight in network.parameters()) < 150_000
    assert SHIPPED.stat().st_size < 500_000


def test_padding_is_cut_away_whatever_is_in_it():
    network = load_network()
    maps = random_maps(12, 20, 1).reshape(3, 4, 20, 20)
    lengths = [20, 9, 14]
    other = maps.clone()
    for index, length in enumerate(lengths):
        other[index, :, length:] = 0.9
        other[index, :, :, length:] = 0.9
    alone = [
        classify(network, maps[index : index + 1, :, :length, :length], [length])[0]
        for index, length in enumerate(lengths)
    ]
    for given in (maps, other):
        assert torch.equal(classify(network, given, lengths), torch.stack(alone))


def test_a_network_that_was_saved_gives_the_same_scores(tmp_path):
    network = PatternNet().eval()
    save_network(tmp_path / "mine.safetensors", network)
    again = load_network(tmp_path / "mine.safetensors")
    seen = pictures(random_maps(5, 17, 2))
    assert torch.equal(again(seen), network(seen))
    assert digest(again) == digest(network) != digest(load_network())
    assert not again.training
    assert again(seen).shape == (5, len(CLASSES))


def test_a_file_that_is_not_there_or_is_of_something_else_is_an_error_that_says_so(tmp_path):
    with pytest.raises(UserError, match=r"no such file: .*none\.safetensors\n.*save_network"):
        load_network(tmp_path / "none.safetensors")
    save_file({"weight": torch.zeros(3)}, tmp_path / "other.safetensors")
    (tmp_path / "text.safetensors").write_text("not tensors at all")
    for name in ("other", "text"):
        message = rf"{name}\.safetensors does not hold the weights of a pattern network"
        with pytest.raises(UserError, match=message):
            load_network(tmp_path / f"{name}.safetensors")
