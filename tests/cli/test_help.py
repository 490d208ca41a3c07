"""What a newcomer sees first: help for every command, quickly, without the heavy libraries."""

from __future__ import annotations

import atexit
import gc
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import headscope.cli
from headscope.cli import commands
from headscope.cli.app import app

GROUP = typer.main.get_command(app)
ALL = {
    name: command for name, command in GROUP.commands.items() if not hasattr(command, "commands")
}
ALL |= {
    f"{group} {name}": command
    for group, parent in GROUP.commands.items()
    if hasattr(parent, "commands")
    for name, command in parent.commands.items()
}
COMMANDS = tuple(ALL)
HEAVY = (
    "torch",
    "transformers",
    "numpy",
    "pandas",
    "xarray",
    "altair",
    "spacy",
    "sklearn",
    "scipy",
    "vl_convert",
)
WIDE = {"COLUMNS": "200", "TERM": "dumb", "NO_COLOR": "1"}


def options_of(command: str) -> set[str]:
    return {
        option
        for parameter in ALL[command].params
        for option in parameter.opts
        if option.startswith("--")
    }


def test_the_commands_that_the_design_promises_are_there() -> None:
    assert {"survey", "demo", "report", "figures", "ls", "export", "merge"} <= set(COMMANDS)


def test_each_command_is_defined_in_the_module_of_its_name() -> None:
    defined = {
        name: (command.callback or next(iter(command.commands.values())).callback).__module__
        for name, command in GROUP.commands.items()
    }
    assert sorted(defined) == sorted(commands.COMMANDS)
    for name, module in defined.items():
        assert f"{module}.".startswith(f"headscope.cli.{name}."), name


def test_a_command_is_imported_alone() -> None:
    script = (
        "import sys\n"
        "sys.argv = ['headscope', 'ls', '--help']\n"
        "from headscope.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "mine = [name for name in sys.modules if name.startswith('headscope.cli.')]\n"
        f"print(*(name for name in {commands.COMMANDS!r} if f'headscope.cli.{{name}}' in mine))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "ls"


def test_commands_that_only_read_results_take_no_model() -> None:
    assert set(COMMANDS) > commands.READING
    for command in commands.READING:
        assert not {"model", "models"} & {parameter.name for parameter in ALL[command].params}


@pytest.mark.parametrize("command", ["ls", "survey"])
def test_unused_objects_are_looked_for_rarely_where_no_model_is_loaded(
    command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed: list[int] = []
    ends: list[object] = []
    monkeypatch.setattr(gc, "set_threshold", changed.append)
    monkeypatch.setattr(atexit, "register", ends.append)
    monkeypatch.setattr(sys, "argv", ["headscope", command, "--help"])
    with pytest.raises(SystemExit):
        headscope.cli.main()
    assert bool(changed) == (gc.freeze in ends) == (command == "ls")
    assert all(number > 100 * gc.get_threshold()[0] for number in changed)


def test_help_begins_with_the_demo_and_measures_begin_with_the_survey() -> None:
    shown = CliRunner().invoke(app, ["--help"], env=WIDE).stdout
    places = [shown.index(f"│ {name} ") for name in ("demo", "head", "survey", "portrait", "probe")]
    assert places == sorted(places)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_every_command_has_an_example_that_names_it(command: str) -> None:
    result = CliRunner().invoke(app, [*command.split(), "--help"], env=WIDE)
    assert result.exit_code == 0
    example = result.stdout.partition("Example:")[2].strip().splitlines()[0]
    assert example.startswith(f"headscope {command}")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_of_a_command_is_explained(command: str) -> None:
    for parameter in ALL[command].params:
        assert parameter.help, f"{parameter.name} of {command} has no help"


@pytest.mark.parametrize("command", ["survey", "demo"])
@pytest.mark.parametrize(
    "option", ["--limit", "--seed", "--batch-size", "--device", "--max-length", "--quiet", "--json"]
)
def test_what_runs_a_model_takes_the_shared_options(command: str, option: str) -> None:
    assert option in options_of(command)
    assert option in CliRunner().invoke(app, [*command.split(), "--help"], env=WIDE).stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_can_be_quiet(command: str) -> None:
    assert "--quiet" in options_of(command)


@pytest.mark.parametrize("command", ["survey", "demo", "figures", "ls", "merge"])
def test_every_command_with_a_table_gives_it_as_json(command: str) -> None:
    assert "--json" in options_of(command)


def test_the_help_lists_every_command() -> None:
    result = CliRunner().invoke(app, ["--help"], env=WIDE)
    assert result.exit_code == 0
    assert "Example:" in result.stdout
    for command in GROUP.commands:
        assert f" {command} " in result.stdout
    papers = CliRunner().invoke(app, ["paper", "--help"], env=WIDE)
    for command in GROUP.commands["paper"].commands:
        assert f" {command} " in papers.stdout


def test_the_version_is_the_package_s() -> None:
    assert CliRunner().invoke(app, ["--version"]).stdout == f"headscope {headscope.__version__}\n"


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["survey", "--help"], ["figures", "--help"], ["--version"]],
    ids=" ".join,
)
def test_help_imports_no_heavy_library(arguments: list[str]) -> None:
    script = (
        "import sys\n"
        f"sys.argv = ['headscope', *{arguments!r}]\n"
        "from headscope.cli import main\n"
        "try:\n    main()\n"
        "except SystemExit as stop:\n    assert stop.code == 0, stop.code\n"
        f"print('heavy:', *(name for name in {HEAVY!r} if name in sys.modules), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "heavy:\n")
    assert "headscope" in done.stdout


@pytest.mark.parametrize(
    "how",
    [["-m", "headscope"], [str(Path(sys.executable).with_name("headscope"))]],
    ids=["python -m", "script"],
)
def test_both_ways_to_start_it_give_help(how: list[str]) -> None:
    command = [sys.executable, *how] if how[0] == "-m" else how
    if how[0] != "-m" and not Path(how[0]).exists():
        pytest.skip("the package is not installed: there is no headscope script")
    done = subprocess.run([*command, "--help"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Example:" in done.stdout
