"""Composition on the page, against the whole matrix of pairs."""

from __future__ import annotations

import numpy as np
import pytest

import headscope as hs
from headscope.errors import UserError
from headscope.page.packs.atlas import atlas_content
from headscope.page.packs.columns import TOP
from headscope.results.merge import join_all
from tiny import tiny_model


def surveyed(seed: int = 0) -> hs.Atlas:
    model = tiny_model("gpt2", seed=seed)
    return hs.survey(model, ["the cat sat", "a dog"], measures="position", max_length=16)


def test_every_head_has_its_strongest_earlier_and_later_heads():
    circuits = hs.circuits(tiny_model("gpt2"))
    joined = surveyed().with_circuits(circuits)
    document, arrays = atlas_content(joined)
    data = circuits["composition"]
    assert document["composition"]["baseline"] == pytest.approx(data["baseline"].values)
    assert document["composition"]["notes"] == circuits.provenance["notes"]
    for at, kind in enumerate("QKV"):
        for place in range(8):
            layer, head = divmod(place, 4)
            values = data["excess"].sel(kind=kind).isel(layer=layer, head=head).values.ravel()
            known = [other for other in range(8) if not np.isnan(values[other])]
            best = sorted(known, key=lambda other, of=values: -of[other])[:TOP]
            found = arrays["composition/earlier"][at, place].tolist()
            assert found[: len(best)] == best
            assert set(found[len(best) :]) <= {-1}
            strengths = arrays["composition/earlier/excess"][at, place]
            assert strengths[: len(best)] == pytest.approx(values[best])
    later = arrays["composition/later"]
    assert (later[:, 4:] == -1).all()
    assert {int(one) for one in later[0, 0] if one >= 0} == {4, 5, 6, 7}


def test_statistics_of_circuits_stand_beside_those_of_the_survey():
    document, _ = atlas_content(surveyed().with_circuits(hs.circuits(tiny_model("gpt2"))))
    listed = {one["measure"] for one in document["statistics"] if one["listed"]}
    assert {"position", "copying", "ov_norm", "qk_norm"} <= listed
    assert document["corpus"]["examples"] == 2


def test_results_without_circuits_have_no_composition():
    document, arrays = atlas_content(surveyed())
    assert document["composition"] is None
    assert not [name for name in arrays if name.startswith("composition")]


def test_circuits_go_to_the_results_of_their_own_weights():
    first, second = surveyed(), surveyed(seed=1)
    joined = join_all([first, hs.circuits(tiny_model("gpt2", seed=1)), second])
    assert ["copying" in atlas for atlas in joined] == [False, True]
    with pytest.raises(UserError, match="not of the weights that were surveyed"):
        join_all([first, hs.circuits(tiny_model("gpt2", seed=1))])


def test_a_page_of_circuits_alone_is_titled_without_a_corpus():
    from headscope.page import render

    assert "<title>tiny-gpt2 – Headscope</title>" in render(hs.circuits(tiny_model("gpt2")))
