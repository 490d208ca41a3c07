"""The atlas on paper: one square per head, in the colour of its main role's family."""

import headscope as hs
from headscope.measures.roles import FAMILIES
from headscope.stats import main_roles


def test_every_head_has_the_colour_and_the_glyph_of_its_family():
    atlas = hs.survey("demo", "demo", limit=12, measures=["activity", "work", "spread"])
    chart = atlas.figure("main-roles").to_dict()
    (rows,) = chart["datasets"].values()
    table = main_roles(atlas)
    assert [(row["name"], row["family"], row["glyph"]) for row in rows] == [
        (head, FAMILIES[family].title, FAMILIES[family].glyph)
        for head, family in zip(table["head"], table["family"], strict=True)
    ]
    assert {row["glyph"] for row in rows} >= {"", "←"}
    (scale,) = (
        layer["encoding"]["color"]["scale"]
        for layer in chart["layer"]
        if layer["mark"]["type"] == "rect"
    )
    colours = dict(zip(scale["domain"], scale["range"], strict=True))
    assert colours["Previous token"] == FAMILIES["previous"].colours[0]
    excess = {row["name"]: row["excess"] for row in rows}
    assert excess["1-3"] == table.set_index("head").loc["1-3", "excess"]
    assert {row["excess"] for row in rows if not row["glyph"]} == {1.0}  # not pale
