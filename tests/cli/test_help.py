"""What holds for every command, by the definitions of its options: help, and mistakes."""

from __future__ import annotations

import atexit
import gc
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import wraps
from pathlib import Path

import pytest

import headscope.cli
from headscope.cli import app
from headscope.cli.app import Command, load_commands
from headscope.options import Described
from processes import python

COMMANDS = dict(load_commands())
TABLES = {
    f"{command.full_name} {word}": replace(command, words=(word,))
    for command in COMMANDS.values()
    if not isinstance(command.takes, str)
    for word in command.takes
    if word
}
"""Commands with several kinds of options, by the word that chooses one."""
EVERY = COMMANDS | TABLES
HEAVY = (
    *("torch", "transformers", "numpy", "pandas", "xarray", "altair", "spacy", "sklearn", "scipy"),
    *("vl_convert", "joblib", "ray"),
)


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    for name, value in {"COLUMNS": "300", "TERM": "dumb", "NO_COLOR": "1"}.items():
        monkeypatch.setenv(name, value)


def plain(command: Command) -> list[Described]:
    """The options that count: not those of the panel of rare ones."""
    return [option for option in command.options.values() if "." not in option.flag]


def typed(command: str, *more: str) -> list[str]:
    """A command with an argument for each that it needs, and one for the results it may read."""
    name, _, word = command.partition(" ")
    if command in TABLES:
        return [name, "nowhere.nc", word, *more]
    needed = [one for one in EVERY[command].arguments() if one.default is one.empty]
    words = [
        f"nowhere-{number}.nc" for number, one in enumerate(needed) if "VAR" not in one.kind.name
    ]
    return [*command.split(), *words, *more]


def cases(**kinds: object) -> Iterator[tuple[str, str, str]]:
    """Every option that is a number, or one of several words, with something else."""
    for name, command in EVERY.items():
        for option in command.options.values():
            if option.choices and not option.note.separator:
                yield name, option.flag, "no-such-word"
            elif option.plain <= {int, float, type(None)} and option.plain & {int, float}:
                yield name, option.flag, "many"


def test_there_are_no_more_options_than_a_person_can_hold_in_the_head():
    assert len(COMMANDS) - 3 <= 29  # the papers are one
    assert len(plain(COMMANDS["survey"])) <= 25
    keyed = {(option.group, option.key) for one in EVERY.values() for option in plain(one)}
    assert len(keyed) <= 260
    for command in EVERY.values():
        flags = [
            name for option in command.options.values() for name in (option.flag, option.note.short)
        ]
        assert len(set(filter(None, flags))) == len([*filter(None, flags)]), command.full_name


@pytest.mark.parametrize("name", EVERY)
def test_help_explains_every_argument_and_option_and_ends_with_an_example(name, run):
    command = EVERY[name]
    done = run(*name.split(), "--help")
    assert done.code == 0, done.err
    shown = " ".join(done.out.split())
    for argument in command.arguments():
        assert argument.annotation.__metadata__[0].help
    for option in command.options.values():
        assert f"{option.flag} " in shown
        assert option.words, f"{option.flag} is not explained"
    example = done.out.partition("Example:")[2].strip()
    assert example.startswith(f"headscope {command.full_name}")


def test_the_help_lists_every_command_and_begins_with_the_demo(run):
    shown = run("--help").out
    assert all(f"│ {name} " in shown for name in COMMANDS if " " not in name)
    places = [shown.index(f"│ {name} ") for name in ("demo", "survey", "probe", "report")]
    assert places == sorted(places)
    papers = run("paper", "--help").out
    assert all(f"│ {one.name} " in papers for one in COMMANDS.values() if one.parent)


@pytest.mark.parametrize("name", EVERY)
def test_an_option_that_does_not_exist_gets_a_suggestion(name, run):
    done = run(*typed(name, "--quite"))
    assert (done.code, done.out) == (2, "")
    full = EVERY[name].full_name
    assert done.told == [
        f"error: headscope {full} has no option --quite; did you mean --quiet?",
        f"next:  see headscope {full} --help",
    ]


@pytest.mark.parametrize(("name", "flag", "value"), [*cases()])
def test_a_value_that_is_not_allowed_is_told_with_what_is(name, flag, value, run):
    done = run(*typed(name, flag, value))
    assert (done.code, done.out) == (2, "")
    error, after = done.told
    assert value in error
    assert "must be" in error
    assert after.startswith("next:  ")
    assert "Traceback" not in done.err


@pytest.mark.parametrize("name", [name for name in EVERY if typed(name) != name.split()])
def test_an_argument_that_is_missing_is_named(name, run):
    done = run(*name.split()[:1], *(["x.nc"] if name in TABLES else name.split()[1:]))
    assert (done.code, done.out) == (2, "")
    assert done.told[0].startswith("error: the argument ")
    assert done.told[0].endswith(" is missing")


@pytest.mark.parametrize(
    "name", [name for name in EVERY if EVERY[name].full_name in app.READING - {"cite"}]
)
def test_results_that_are_not_there_are_named(name, run, here):
    output = {"export": ["-o", "x.csv"], "merge": ["-o", "x.nc"]}.get(name, [])
    if name == "head":
        output = ["1-1"]
    words = typed(name)
    done = run(words[0], "nowhere.nc", *words[2:3] if name in TABLES else (), *output)
    if name == "table":
        done = run("table", "nowhere.nc", "roles")
    assert done.told == [
        "error: no such results file: nowhere.nc",
        "next:  make one with: headscope survey MODEL CORPUS -o results.nc",
    ]
    assert (done.code, done.out, list(here.iterdir())) == (2, "", [])


@pytest.mark.parametrize("name", COMMANDS)
def test_ctrl_c_ends_every_command_with_one_error(name, run, monkeypatch):
    @wraps(COMMANDS[name].function)
    def stopped(*values: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setitem(app.COMMANDS, name, replace(COMMANDS[name], function=stopped))
    done = run(*typed(name))
    assert (done.code, done.out) == (130, "")
    assert [line[:6] for line in done.err.splitlines()] == ["error:", "next: "]


def test_a_command_that_does_not_exist_gets_a_suggestion(run):
    done = run("surveyy")
    assert done.code == 2
    assert done.told[0].startswith("error: unknown command 'surveyy'; did you mean 'survey'?")
    assert run("paper", "clark2020").told[0].endswith("Did you mean 'clark2019'?")


@pytest.mark.parametrize("command", ["ls", "survey"])
def test_unused_objects_are_looked_for_rarely_where_no_model_is_loaded(command, monkeypatch):
    changed: list[int] = []
    ends: list[object] = []
    monkeypatch.setattr(gc, "set_threshold", changed.append)
    monkeypatch.setattr(atexit, "register", ends.append)
    monkeypatch.setattr(sys, "argv", ["headscope", command, "--help"])
    headscope.cli.main()
    assert bool(changed) == (gc.freeze in ends) == (command == "ls")
    assert all(number > 100 * gc.get_threshold()[0] for number in changed)


def test_commands_that_only_read_results_take_no_model():
    assert set(COMMANDS) > app.READING
    for name in app.READING:
        assert not {"model", "models"} & {one.name for one in COMMANDS[name].arguments()}


def test_the_version_is_the_package_s(run):
    assert run("--version").out == f"headscope {headscope.__version__}\n"


def test_help_imports_no_heavy_library():
    script = (
        "import sys\n"
        "from headscope.cli import main\n"
        "for words in ('', '--help', 'survey --help', 'figures --help', '--version'):\n"
        "    sys.argv = ['headscope', *words.split()]\n"
        "    try:\n        main()\n"
        "    except SystemExit as stop:\n        assert not stop.code, (words, stop.code)\n"
        f"    heavy = [name for name in {HEAVY!r} if name in sys.modules]\n"
        "    assert not heavy, (words, heavy)\n"
    )
    done = python("-c", script)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("headscope") > 5


@pytest.mark.parametrize(
    "how",
    [["-m", "headscope"], [str(Path(sys.executable).with_name("headscope"))]],
    ids=["python -m", "script"],
)
def test_both_ways_to_start_it_give_help(how):
    command = [sys.executable, *how] if how[0] == "-m" else how
    if how[0] != "-m" and not Path(how[0]).exists():
        pytest.skip("the package is not installed: there is no headscope script")
    done = subprocess.run([*command, "--help"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Example:" in done.stdout


@pytest.mark.parametrize(
    ("words", "values"),
    [
        ("survey demo demo --measure", {"entropy", "position"}),
        ("survey demo demo --maps", {"attention", "norm", "both"}),
        ("figures demo.nc --figure", {"position"}),
        ("probe demo demo --task", {"Length", "Tense", "mrpc"}),
        ("ablate demo --task", {"mrpc", "sts-b"}),
        ("head RESULTS", {"1-1", "1-2"}),
        ("examples RESULTS", {"1-1", "1-2"}),
        ("heads RESULTS --by", {"position:previous", "entropy:all"}),
        ("table RESULTS relations --relation", {"nsubj"}),
        ("table RESULTS roles --role", {"nsubj"}),
    ],
)
def test_a_shell_is_told_the_values_of_an_option(words, values, run, demo_nc):
    done = run("__complete", *words.replace("RESULTS", str(demo_nc)).split(), "")
    assert done.code == 0, done.err
    told = {line.partition("\t")[0] for line in done.out.splitlines()[1:]}
    assert values <= told


def test_every_kind_of_values_that_options_name_can_be_completed():
    for command in EVERY.values():
        for option in command.options.values():
            assert not option.note.completes or app.completer(option.note.completes)
