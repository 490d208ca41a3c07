"""Relations between words in the weights, against plain loops and heads set by hand."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM

import headscope as hs
from headscope.errors import CorpusError
from headscope.models import Model, wrap
from headscope.runs.relations import choose_relations
from headscope.stats.tables.circuits import vocabulary_heads
from planted_induction import INDUCTION, WORDS, Layout, induction_model
from runs.test_circuits import READ
from tiny import tiny_model, tiny_network, tiny_tokenizer

SAID = ("a", "again", "it", "o", "the", "to", "token", "mat", "we")
PAIRS = [*pairwise(SAID)]


def written(folder: Path, pairs: list[tuple[str, str]], name: str = "next") -> Path:
    path = folder / "pairs.tsv"
    path.write_text("".join(f"{name}\t{one}\t{two}\n" for one, two in pairs))
    return path


def parts(kind: str, network: Any, ids: list[int]) -> tuple[Any, Any, Any]:
    """Embeddings, what the first MLP makes of them, and the unembedding with the last norm."""
    with torch.no_grad():
        plain = network.get_input_embeddings().weight[ids]
        if kind == "llama":
            layer, norm = network.model.layers[0], network.model.norm
            written = layer.mlp(layer.post_attention_layernorm(plain))
        else:
            layer, norm = network.transformer.h[0], network.transformer.ln_f
            written = layer.mlp(layer.ln_2(plain))
        directions = network.get_output_embeddings().weight.double() * norm.weight.double()
    if kind == "gpt2":  # LayerNorm also subtracts the mean
        directions = directions - directions.mean(1, keepdim=True)
    return plain.double().numpy(), written.double().numpy(), directions.numpy()


@pytest.mark.parametrize("kind", READ)
def test_shares_are_those_of_plain_loops_over_sorted_rows(kind: str, tmp_path: Path) -> None:
    network = tiny_network(kind, auto=AutoModelForCausalLM)
    with torch.no_grad():  # gains that matter
        for name, weight in network.named_parameters():
            if "norm" in name or "ln_" in name:
                weight.copy_(torch.rand_like(weight) + 0.5)
    tokenizer = tiny_tokenizer(kind)
    coded = {word: tokenizer(" " + word, add_special_tokens=False)["input_ids"] for word in SAID}
    pairs = [(coded[a][0], coded[b][0]) for a, b in PAIRS if len(coded[a]) == len(coded[b]) == 1]
    assert len(pairs) >= 5
    same = [(one, one) for one in sorted({first for first, _ in pairs})]
    heads = READ[kind](network)
    atlas = hs.circuits(wrap(network, tokenizer), relations=written(tmp_path, PAIRS), within=12)
    data = atlas["vocabulary"]
    assert data["pairs"].values.tolist() == [len(pairs), len(same), len(same)]
    seen = set()
    for relation, asked, sign in (("next", pairs, 1), ("copy", same, 1), ("suppress", same, -1)):
        plain, mlp, directions = parts(kind, network, [first for first, _ in asked])
        for layer, of_layer in enumerate(heads):
            for head, (_, _, value, output) in enumerate(of_layer):
                for embedding, rows in (("plain", plain), ("mlp", mlp)):
                    hits = 0
                    for row, (_, second) in zip(rows, asked, strict=True):
                        scores = sign * (row @ value @ output @ directions.T)
                        hits += second in np.argsort(-scores)[:12]
                    labels = {"relation": relation, "embedding": embedding}
                    share = float(data["mean"][layer, head].sel(labels))
                    if embedding == "mlp" and layer == 0:
                        assert np.isnan(share)
                        continue
                    assert share == pytest.approx(hits / len(asked))
                    seen.add(round(share, 3))
    assert len(seen) > 2  # otherwise the test would prove nothing


def planted(step: int, sign: float = 1.0) -> Model:
    """The planted model, whose head 2-3 now writes the word that is so many words further on."""
    model, plan = induction_model(), Layout()
    rows = model.network.transformer.h[1].attn.c_proj.weight.data[2 * plan.width : 3 * plan.width]
    rows.zero_()
    for word in range(len(WORDS)):
        to = (word + step) % len(WORDS)
        rows[word, to], rows[word, plan.half + to] = sign, -sign
    return model


def test_a_head_whose_weights_map_each_word_to_the_next_has_the_relation_and_no_other_head_does(
    tmp_path: Path,
) -> None:
    pairs = list(pairwise(WORDS[1:]))
    atlas = hs.circuits(planted(1), relations=written(tmp_path, pairs), within=1)
    shares = atlas["vocabulary"]["mean"].sel(relation="next", embedding="plain")
    assert float(shares.sel(layer=2, head=3)) == 1.0
    assert float(shares.where(shares < 1).max()) < 0.7
    assert [str(head) for head in atlas.find("vocabulary:next:plain > 0.9")] == [INDUCTION]
    assert atlas.heads(by="vocabulary:next:plain", top=1)["head"].tolist() == [INDUCTION]
    table = vocabulary_heads(atlas, top=2).set_index(["relation", "embedding"])
    assert table.loc[("next", "plain"), ["pairs", "head", "share"]].tolist() == [6, INDUCTION, 1.0]
    said = "It has weights that map words by 'next' (right for 100 % of 6 words)."
    assert said in str(atlas.head(INDUCTION)).replace("\u202f", " ")
    # The planted MLP writes nothing, and nothing is not a relation.
    assert not atlas["vocabulary"]["mean"].sel(embedding="mlp", layer=2).any()


@pytest.mark.parametrize(("sign", "kind"), [(1.0, "copy"), (-1.0, "suppress")])
def test_a_head_that_writes_a_word_back_copies_it_and_one_that_takes_it_away_suppresses_it(
    sign: float, kind: str, tmp_path: Path
) -> None:
    pairs = list(pairwise(WORDS[1:]))
    model = planted(0, sign)
    atlas = hs.circuits(model, relations=written(tmp_path, pairs), within=1)
    own = atlas["vocabulary"]["mean"].sel(layer=2, head=3, embedding="plain")
    both = {name: float(own.sel(relation=name)) for name in ("copy", "suppress")}
    assert both == {"copy": 0.0, "suppress": 0.0} | {kind: 1.0}


def test_words_that_are_not_single_tokens_are_counted_and_said(tmp_path: Path) -> None:
    model = tiny_model("gpt2", auto=AutoModelForCausalLM)
    rare = [("zyzzyva", "cat"), ("cat", "zyzzyva")]
    atlas = hs.circuits(model, relations=written(tmp_path, PAIRS + rare))
    count = int(atlas["vocabulary"]["pairs"].sel(relation="next"))
    note = "pairs of words that are not single tokens are skipped: next {}; relations with fewer"
    notes = " ".join(atlas.provenance["notes"])
    assert note.format(len(PAIRS) + 2 - count) in notes
    atlas = hs.circuits(model, relations=written(tmp_path, rare))
    assert "vocabulary" not in atlas


def test_a_post_norm_model_has_no_first_mlp_and_says_so(tmp_path: Path) -> None:
    model = tiny_model("bert")
    atlas = hs.circuits(model, relations=written(tmp_path, PAIRS))
    assert atlas["vocabulary"]["embedding"].values.tolist() == ["plain"]
    assert "relations between words start at plain embeddings" in atlas.provenance["notes"][-1]
    assert "vocabulary" not in hs.circuits(model, relations="none")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("days\tMonday\n", "line 1: not a relation and two words"),
        ("a\tb\tc\ncopy\tb\tb\n", "line 2: not a relation and two words"),
        ("\n", "holds no relations"),
    ],
)
def test_files_that_hold_something_else_are_refused(text: str, error: str, tmp_path: Path) -> None:
    path = tmp_path / "wrong.tsv"
    path.write_text(text)
    with pytest.raises(CorpusError, match=error):
        hs.circuits("demo", relations=path)
    with pytest.raises(CorpusError, match="cannot be read from"):
        hs.circuits("demo", relations=tmp_path / "missing.tsv")


def test_built_in_words_stand_once_in_each_relation() -> None:
    for name, pairs in choose_relations(None).items():
        assert len({first for first, _ in pairs}) == len(pairs), name
        assert all(len(pair) == 2 for pair in pairs)
