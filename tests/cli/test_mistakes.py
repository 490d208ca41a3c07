"""A user's mistake ends with code 2 and two lines: what is wrong, and what to do next. Never a
traceback, and nothing half written.
"""

from __future__ import annotations

import gzip
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cli.conftest import Outcome
from page.samples import made_results
from processes import python


def mistake(done: Outcome) -> tuple[str, str]:
    """The message and the hint of a command that must have failed as a mistake does."""
    assert done.code == 2, done.err
    assert done.out == ""
    assert "Traceback" not in done.err
    error, after = done.told
    assert error.startswith("error: ")
    assert after.startswith("next:  ")
    assert sum(line.startswith("error: ") for line in done.err.splitlines()) == 1
    return error.removeprefix("error: "), after.removeprefix("next:  ")


@pytest.fixture
def survey(run, tmp_path, tiny_folder, text):
    """A small survey with one thing changed; it must leave no file behind."""

    def survey(
        *options: object, model: object = tiny_folder, corpus: object = text
    ) -> tuple[str, str]:
        before = sorted(tmp_path.iterdir())
        output = () if "-o" in options else ("-o", tmp_path / "x.nc")
        length = () if "--max-length" in options else ("--max-length", "32")
        told = mistake(run("survey", model, corpus, "--quiet", *output, *length, *options))
        assert sorted(tmp_path.iterdir()) == before
        return told

    return survey


HELP = "see headscope survey --help"
NAMES = "give a hub id, a folder saved with save_pretrained, a .gguf file, 'demo' or 'demo-llm'"
OPTIONS = {
    "--measure entrpy": ("unknown measure 'entrpy'; did you mean 'entropy'?", ""),
    **{
        f"--survey.shard={shard}": (
            f"the shard must be i/n with 1 ≤ i ≤ n, got {shard!r} instead",
            "e.g. --survey.shard 1/4",
        )
        for shard in ("0/2", "a/b")
    },
    "--max-length 65": ("the maximum length must be at most 64 for ", "give --max-length 64"),
    "--max-length 4": (
        "the maximum length must leave room for text besides 3 special tokens; ",
        "",
    ),
    "--long shorten": ("the treatment of long examples must be one of drop, split, trunc", HELP),
    "--limit 0": ("the limit must be 1 or more, got 0 instead", HELP),
    "--batch-size -3": ("the batch size must be 1 or more, got -3 instead", HELP),
    "--device quantum": ("the device 'quantum' cannot be used: ", "give --device cpu"),
    "--dtype double": ("the dtype must be one of bfloat16, float16, float32; got 'double'", HELP),
    "-o results.txt": (
        "results are written as .nc, got 'results.txt' instead",
        "give --output results.nc",
    ),
}


@pytest.mark.parametrize("options", OPTIONS)
def test_an_option_that_cannot_be(survey, options):
    told = survey(*options.split())
    for text, start in zip(told, OPTIONS[options], strict=True):
        assert text.startswith(start)
    assert len(told[0]) < 300
    assert told[1]


def test_a_model_that_is_none(survey, tmp_path):
    error, after = survey(model="no-such-model-anywhere")
    assert error.startswith("'no-such-model-anywhere' is neither a folder nor a model that can be")
    assert after.startswith("check the spelling and the connection, give a folder, or use 'demo'")
    (tmp_path / "empty").mkdir()
    expected = (f"{tmp_path / 'empty'} is not a model folder: it has no config.json", NAMES)
    assert survey(model=tmp_path / "empty") == expected


def rows(*heads):
    """A sentence of a treebank, by the heads of its words."""
    words = (
        f"{number}\tword\tword\tNOUN\tNN\t_\t{head}\tdep\t_\t_\n"
        for number, head in enumerate(heads, 1)
    )
    return "".join(words) + "\n"


EMPTY = ("{} is empty: it has no examples", "give at least one text")
CORPORA = {  # what is in a file, and what is told of it
    "empty.txt": ("\n\n", *EMPTY),
    "empty.conllu": ("\n\n", *EMPTY),
    "empty.tsv": ("\n\n", *EMPTY),
    "empty.jsonl": ("\n\n", *EMPTY),
    "corpus.xyz": (
        "words",
        "the ending '.xyz' of {} does not say what its format is; known are .txt, ",
        "give --read.format, one of text, tsv, csv, jsonl",
    ),
    "c.jsonl": (
        '{"text": "fine"}\nnot json\n',
        "{}, line 2: not JSON (",
        "every line must be one JSON object; use .txt for plain text",
    ),
    "trees.conllu": (  # the second sentence begins on line 4
        rows(2, 0) + rows(0, 3, 2),
        "{}, line 5: the heads form a cycle (2 -> 3 -> 2)",
        "correct column 7, or remove the sentence",
    ),
    "latin.txt": (
        "fine\n\nK\xf6ln liegt am Rhein\n".encode("latin1"),
        "{}, line 3: not valid UTF-8 (byte 2 of the line)",
        "",
    ),
    "cut.txt.gz": (
        gzip.compress(b"The cat sat on the mat.\n\n" * 50)[:-12],
        "{} is not a complete gzip file (",
        "copy or download it again",
    ),
    "deep.jsonl": ("[" * 100_000, "{}, line 1: nested more deeply than 400 levels", ""),
    "nan.jsonl": (
        '{"text": "x", "label": NaN}',
        "{}, line 1: not JSON (NaN is not a JSON value)",
        "",
    ),
    "head.conllu": (rows("9" * 5000), "{}, line 1: head '9999", ""),
    "bomb.txt.gz": (
        10 * gzip.compress(b"x" * 10_000_000),
        "{}, line 1: the line is longer than 16.0 MB, which is the limit",
        "",
    ),
    "bytes.tsv": (b"text\tlabel\nx\t\xff\n", "{}, line 2: not valid UTF-8", ""),
}


@pytest.mark.parametrize("name", CORPORA)
def test_a_corpus_that_cannot_be_read(survey, tmp_path, name):
    data, *starts = CORPORA[name]
    path = tmp_path / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    told = survey(corpus=path)
    for text, start in zip(told, starts, strict=True):
        assert text.startswith(start.format(path))
    assert len(told[0]) < 300
    assert told[1]


def test_a_model_folder_without_weights(survey, tmp_path, tiny_folder):
    folder = tmp_path / "bare"
    shutil.copytree(tiny_folder, folder, ignore=shutil.ignore_patterns("*.safetensors"))
    assert survey(model=folder) == (
        f"{folder} has no weights: there is no model.safetensors",
        "give a folder saved with save_pretrained",
    )


def test_a_model_folder_with_pickled_weights_only(survey, tmp_path, tiny_folder):
    folder = tmp_path / "pickled"
    shutil.copytree(tiny_folder, folder, ignore=shutil.ignore_patterns("*.safetensors"))
    (folder / "pytorch_model.bin").write_bytes(b"\x80\x04.")
    error, after = survey(model=folder)
    assert (
        error
        == f"{folder} has only pickled weights (pytorch_model.bin), which can run code when opened"
    )
    assert "--load.allow-pickle" in after


def test_an_output_that_cannot_be_written_is_told_before_the_model_is_looked_for(survey, tmp_path):
    (tmp_path / "file").write_text("in the way")
    error, after = survey("-o", tmp_path / "file" / "x.nc", model="no-such-model-anywhere")
    assert error.startswith(f"{tmp_path / 'file' / 'x.nc'} cannot be written: ")
    assert after == "choose another place with -o"


def test_an_output_that_is_a_folder(survey, tmp_path):
    (tmp_path / "folder.nc").mkdir()
    assert survey("-o", tmp_path / "folder.nc") == (
        f"{tmp_path / 'folder.nc'} is a folder; a file is to be written there",
        "give a file name, e.g. -o results.nc",
    )


@pytest.mark.parametrize("command", ["ls", "report", "figures", "export", "merge"])
def test_a_results_file_that_is_nowhere(run, tmp_path, command):
    output = {"export": ["-o", tmp_path / "x.csv"], "merge": ["-o", tmp_path / "x.nc"]}.get(
        command, []
    )
    error, after = mistake(run(command, tmp_path / "nowhere.nc", *output))
    assert error == f"no such results file: {tmp_path / 'nowhere.nc'}"
    assert after == "make one with: headscope survey MODEL CORPUS -o results.nc"


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.95])
def test_a_truncated_results_file(run, made_nc, share):
    whole = made_nc.read_bytes()
    made_nc.write_bytes(whole[: int(len(whole) * share)])
    error, after = mistake(run("ls", made_nc))
    assert error.startswith(f"{made_nc} is ")
    assert "damaged" in error
    assert after == "copy it again, or run the survey again"


def test_a_file_that_is_no_results_file(run, tmp_path):
    (tmp_path / "x.nc").write_text("some text, not netCDF")
    assert mistake(run("report", tmp_path / "x.nc"))[0].startswith(
        f"{tmp_path / 'x.nc'} is not a results file: it does not begin as a netCDF file does"
    )
    assert not (tmp_path / "x.html").exists()


def test_a_report_that_cannot_be_written(run, tmp_path, made_nc):
    (tmp_path / "file").write_text("in the way")
    assert mistake(run("report", made_nc, "-o", tmp_path / "file" / "x.html"))[0].startswith(
        f"{tmp_path / 'file' / 'x.html'} cannot be written: "
    )


def test_an_unknown_figure_gets_a_suggestion(run, made_nc, tmp_path):
    error, after = mistake(run("figures", made_nc, "--figure", "entrpy", "-o", tmp_path / "f"))
    assert error.startswith("unknown figure 'entrpy'; did you mean 'entropy' or 'heat-entropy'?")
    assert after
    assert not (tmp_path / "f").exists()


def test_a_figure_whose_measure_is_not_in_the_results(run, tmp_path):
    only = {name: values for name, values in made_results().sums().items() if name == "entropy"}
    path = type(made_results()).build(only, made_results().provenance).save(tmp_path / "x.nc")
    error, after = mistake(run("figures", path, "--figure", "special", "-o", tmp_path / "f"))
    assert "special" in error
    assert after == (
        "make results that have it with headscope survey MODEL CORPUS --measure special"
    )


@pytest.mark.parametrize("ending", ["gif", "PNG", "", "png.exe"])
def test_an_unknown_figure_format(run, made_nc, tmp_path, ending):
    error, after = mistake(run("figures", made_nc, "--format", ending, "-o", tmp_path / "f"))
    assert error.startswith("the figure's format must be one of png, svg, pdf, html; got ")
    assert after == "give e.g. --format png"
    assert not (tmp_path / "f").exists()


def test_an_unknown_export_format(run, made_nc, tmp_path):
    assert mistake(run("export", made_nc, "-o", tmp_path / "x.xlsx")) == (
        "a table is written as .csv, .tex, .html or .parquet; got '.xlsx' instead",
        "give -o table.csv, -o table.tex, -o table.html or -o table.parquet",
    )


def test_exporting_a_measure_that_is_not_there(run, made_nc, tmp_path):
    error, _ = mistake(run("export", made_nc, "-o", tmp_path / "x.csv", "--measure", "positon"))
    assert (
        error
        == "the measure must be one of entropy, position, special; got 'positon' instead. Did you "
        "mean 'position'?"
    )


def _shard(path: Path, shard: str, **changes: object) -> Path:
    return made_results(shards=[shard], **changes).save(path)


def test_merging_with_a_shard_missing(run, tmp_path):
    one, three = _shard(tmp_path / "1.nc", "1/3"), _shard(tmp_path / "3.nc", "3/3")
    assert mistake(run("merge", one, three, "-o", tmp_path / "x.nc")) == (
        "1 of 3 shards are missing: 2/3",
        "give all shards, or --partial to merge those there are",
    )
    assert not (tmp_path / "x.nc").exists()
    assert run("merge", one, three, "--partial", "-o", tmp_path / "x.nc").code == 0


def test_merging_a_shard_with_itself(run, tmp_path):
    one = _shard(tmp_path / "1.nc", "1/2")
    expected = ("shard 1/2 is given more than once", "give each shard once")
    assert mistake(run("merge", one, one, "-o", tmp_path / "x.nc")) == expected


def test_merging_shards_of_two_models(run, tmp_path):
    one = _shard(tmp_path / "1.nc", "1/2", model="bert")
    other = made_results(shards=["2/2"], model="bert")
    weights = other.provenance["model"] | {"weights": "f" * 16}
    two = other.described(other.provenance | {"model": weights}).save(tmp_path / "2.nc")
    error, _ = mistake(run("merge", one, two, "-o", tmp_path / "x.nc"))
    assert error == (
        f"these are not shards of one run: they differ in weights: {'0' * 16!r} and {'f' * 16!r}"
    )


def test_a_mistake_in_a_true_process_has_exactly_two_lines():
    done = python("-m", "headscope", "ls", "nowhere.nc")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines() == [
        "error: no such results file: nowhere.nc",
        "next:  make one with: headscope survey MODEL CORPUS -o results.nc",
    ]


def test_a_text_that_is_not_unicode(run, tiny_folder):
    assert mistake(run("attention", tiny_folder, "caf\udce9")) == (
        "the text has half of a surrogate pair (\\ud800 to \\udfff), which is not a character",
        "give the text as UTF-8",
    )


def test_a_config_with_a_word_for_a_number(survey, tmp_path, tiny_folder):
    folder = tmp_path / "odd"
    shutil.copytree(tiny_folder, folder)
    config = (folder / "config.json").read_text()
    (folder / "config.json").write_text(
        re.sub(r'"hidden_size": \d+', '"hidden_size": "many"', config)
    )
    error, after = survey(model=folder)
    assert error.startswith(f"{folder} cannot be loaded: Field 'hidden_size' expected int, got str")
    assert after == "check its config.json"


def test_a_model_of_sound_is_refused_as_such(survey, tmp_path_factory):
    from transformers import WhisperConfig

    folder = tmp_path_factory.mktemp("whisper")
    WhisperConfig().save_pretrained(folder)
    error, after = survey(model=folder)
    assert error == f"{folder} is an audio model (whisper); Headscope reads text"
    assert after == "give a model that reads text, such as bert-base-uncased"


def test_a_misspelt_value_of_a_query_gets_the_nearest_one_first(run, demo_nc):
    error, after = mistake(run("heads", demo_nc, "--where", "entorpy < 2"))
    assert error.startswith("unknown value 'entorpy'; did you mean 'entropy'?")
    assert len(error) < 120
    assert after == "headscope table RESULTS statistics lists what there is"


def test_a_reader_of_the_output_that_has_seen_enough_is_no_error(demo_nc):
    line = f"{sys.executable} -m headscope heads {demo_nc} | head -n 1"
    done = subprocess.run(line, shell=True, capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stderr == ""


def test_merged_results_are_not_written_under_the_name_of_a_text(run, made_nc):
    error, after = mistake(run("merge", made_nc, "-o", made_nc.with_name("whole.txt")))
    assert error == "results are written as .nc, got 'whole.txt' instead"
    assert after == "give --output whole.nc"
    assert not made_nc.with_name("whole.txt").exists()
