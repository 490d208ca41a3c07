"""The options of everything that Headscope does: each is defined, documented and checked once.

A run's options are one frozen dataclass, made of groups such as :class:`Loading`. A field holds the
option's type and default, and an :class:`Option` note where there is more to say; the docstring of
its class describes it. Everything else follows from that: Python's keywords (:func:`takes`), the
command line (``headscope.cli.app``), the checks, the reference pages, a run's identity.

Nothing here imports torch, and the command line's library only meets these classes in
``headscope.cli``.
"""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from functools import wraps
from inspect import Parameter, Signature, cleandoc, getdoc, signature
from operator import index
from os import PathLike
from pathlib import Path
from types import NoneType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Concatenate,
    Generic,
    Literal,
    ParamSpec,
    Protocol,
    Self,
    SupportsIndex,
    TypeVar,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

from headscope.errors import ModelError, UserError, unknown
from headscope.files import check_writable
from headscope.progress import ProgressLike, Reporter, as_reporter

EVERY = 5.0
"""Seconds between two checkpoints."""


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True)
class Option:
    """What a field's type does not say of an option.

    Parameters
    ----------
    name
        What messages call it. Default: the field's name, with spaces.
    least, most
        The smallest and the largest number allowed.
    flag
        What the command line calls it, such as ``--measure`` for ``measures``; ``""`` if only
        Python has it. Default: the field's name, with hyphens.
    short
        A short form, such as ``-o``.
    off
        The command line's word for False, such as ``--single``. Default: ``--no-`` and the name.
    rare
        Whether the command line names it with its group, ``--load.revision``, in a panel of its
        own.
    metavar
        What help shows for its value.
    separator
        What stands between several values where the command line takes them as one word.
    hint
        What to do about a value that is not allowed.
    completes
        What its values are, for completion in a shell: measures, figures, roles, tasks …
    """

    name: str = ""
    least: float | None = None
    most: float | None = None
    flag: str | None = None
    short: str = ""
    off: str = ""
    rare: bool = False
    metavar: str = ""
    separator: str = ""
    hint: str = ""
    completes: str = ""


RARE = Option(rare=True)
PORT = Option(least=0, most=65535, hint="leave port= out to use any free one")
PYTHON = Option(flag="")
"""For options that the command line does not have."""


@dataclass(frozen=True)
class Described:
    """An option as its definition describes it: see :func:`described`."""

    key: str
    hint: Any
    default: Any
    words: str
    note: Option
    group: type[Options]

    @property
    def title(self) -> str:
        """What messages call it."""
        return self.note.name or self.key.replace("_", " ")

    @property
    def plain_hint(self) -> Any:
        """Its type, without notes."""
        return get_args(self.hint)[0] if get_origin(self.hint) is Annotated else self.hint

    @property
    def kinds(self) -> tuple[Any, ...]:
        """The types that a value may have, None left out."""
        return tuple(kind for kind in alternatives(self.hint) if kind is not NoneType)

    @property
    def choices(self) -> tuple[str, ...]:
        """The words that are allowed, if only some are."""
        kinds = [alternatives(item) for kind in self.kinds for item in items(kind)]
        literals = [kind for group in kinds for kind in group if get_origin(kind) is Literal]
        return tuple(word for literal in literals for word in get_args(literal) if word)

    @property
    def flag(self) -> str:
        """Its name on the command line; empty if it has none there."""
        if self.note.flag is not None:
            return self.note.flag
        name = self.key.replace("_", "-")
        return f"--{self.group.prefix}.{name}" if self.note.rare else f"--{name}"

    @property
    def plain(self) -> frozenset[Any]:
        """The types that a value, or an item of it, may have."""
        held = (item for kind in self.kinds for item in items(kind))
        return frozenset(kind for item in held for kind in alternatives(item))

    @property
    def is_switch(self) -> bool:
        """Whether it is only switched on or off."""
        return self.plain <= {bool, NoneType}

    @property
    def several(self) -> bool:
        """Whether it takes several values."""
        return any(get_origin(kind) is Sequence for kind in self.kinds)

    def parsed(self, words: Any) -> Any:
        """The value that is meant by what was typed on a command line.

        What does not read as a number stays text, so that :meth:`check` says what is wrong.

        >>> described(Pass)["limit"].parsed("12"), described(Pass)["limit"].parsed("twelve")
        (12, 'twelve')
        """
        if isinstance(words, str) and self.note.separator:
            parts = words.split(self.note.separator)
            words = [part.strip() for part in parts if part.strip()]
        if isinstance(words, list):
            return tuple(map(self._parsed_item, words))
        return self._parsed_item(words)

    def _parsed_item(self, word: Any) -> Any:
        number = next((kind for kind in (float, int) if kind in self.plain), None)
        if not isinstance(word, str) or number is None or self.plain & {str, Path}:
            return word
        try:
            return number(word)
        except ValueError:
            return word

    def check(self, value: Any) -> Any:
        """The value, in the type that it stands for.

        Raises
        ------
        UserError
            If it is not allowed.
        """
        if value is None:
            if self.default is None or NoneType in alternatives(self.hint):
                return None
            raise UserError(f"the {self.title} is missing: None is not allowed")
        if not self.several:
            return self._checked_item(value)
        if isinstance(value, Mapping) and any(get_origin(kind) is Mapping for kind in self.kinds):
            return value
        if isinstance(value, str | PathLike) or not isinstance(value, Iterable):
            value = (value,)  # one of them, without brackets
        return tuple(self._checked_item(item) for item in value)

    def _checked_item(self, value: Any) -> Any:
        plain = self.plain
        if self.choices and value not in self.choices and value != self.default:
            raise unknown(self.title, str(value), self.choices)
        if plain <= {int, NoneType}:
            if isinstance(value, bool) or not isinstance(value, SupportsIndex):
                raise self._wrong_type("a whole number", value)
            value = index(value)
        elif plain <= {float, int, NoneType} and not _is_number(value):
            raise self._wrong_type("a number", value)
        elif self.is_switch and not isinstance(value, bool):
            raise UserError(f"{self.key} must be True or False, got {value!r} instead")
        elif Path in plain and isinstance(value, str | PathLike):
            value = str(value) if isinstance(self.default, str) else Path(value)
        elif plain <= WORDS.keys() and not isinstance(value, tuple(plain)):
            kinds = " or ".join(words for kind, words in WORDS.items() if kind in plain)
            raise self._wrong_type(kinds, value)
        return self._in_range(value)

    def _wrong_type(self, kinds: str, value: Any) -> UserError:
        text = f"the {self.title} must be {kinds}, got {value!r} instead"
        return UserError(text, hint=self.note.hint)

    def _in_range(self, value: Any) -> Any:
        least, most = self.note.least, self.note.most
        if least is None and most is None:
            return value
        low = least is not None and not value >= least
        high = most is not None and not value <= most
        if low or high:
            allowed = f"{least} or more" if most is None else f"{least} to {most}"
            raise UserError(
                f"the {self.title} must be {allowed}, got {value} instead", hint=self.note.hint
            )
        return value


WORDS = {Path: "a path", str: "text", int: "a whole number"}
"""What messages call the types of values that are not numbers alone."""


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value


def alternatives(hint: Any) -> tuple[Any, ...]:
    """The types of a union; of another type, that one.

    >>> alternatives(int | None)
    (<class 'int'>, <class 'NoneType'>)
    """
    plain = get_args(hint)[0] if get_origin(hint) is Annotated else hint
    is_union = getattr(get_origin(plain), "__name__", "") in ("Union", "UnionType")
    return get_args(plain) if is_union else (plain,)


def items(kind: Any) -> tuple[Any, ...]:
    """What a sequence is made of; of another type, that one."""
    return get_args(kind)[:1] if get_origin(kind) is Sequence else (kind,)


def described(kind: type[Any]) -> Mapping[str, Described]:
    """The options of a class, by name, in the order of their definition."""
    if kind not in _DESCRIBED:
        _DESCRIBED[kind] = {option.key: option for option in _describe(kind)}
    return _DESCRIBED[kind]


_DESCRIBED: dict[type[Any], Mapping[str, Described]] = {}


def _describe(kind: type[Any]) -> Iterator[Described]:
    hints = get_type_hints(kind, include_extras=True)
    groups: dict[str, type[Any]] = {}
    words: dict[str, str] = {}
    for group in reversed(kind.__mro__):
        groups |= dict.fromkeys(vars(group).get("__annotations__", ()), group)
        words |= dict(_parameters(group))
    for member in fields(kind):
        hint = hints[member.name]
        notes = getattr(hint, "__metadata__", ())
        note = next((note for note in notes if isinstance(note, Option)), Option())
        default = member.default if member.default_factory is MISSING else member.default_factory()
        default = Parameter.empty if default is MISSING else default
        text = words.get(member.name, "")
        yield Described(member.name, hint, default, text, note, groups[member.name])


NAME = re.compile(r"^(\w+(?:, \w+)*)(?: : .*)?$")


def _parameters(kind: type) -> Iterator[tuple[str, str]]:
    """The names and descriptions in a docstring's section of parameters."""
    section = cleandoc(vars(kind).get("__doc__") or "").partition("Parameters\n----------\n")[2]
    names: list[str] = []
    lines: list[str] = []
    for line in [*section.splitlines(), "end"]:
        if not line.startswith(" ") and line:
            yield from ((name, " ".join(lines)) for name in names)
            start = NAME.match(line)
            if start is None or line == "end":
                return
            names, lines = start[1].split(", "), []
        elif line:
            lines.append(line.strip())
        elif not names:
            return


NOT_RESULTS = (".txt", ".tsv", ".csv", ".json", ".jsonl", ".html", ".md", ".png", ".pdf", ".svg")
"""Endings that promise another kind of file than results."""


def check_results_name(path: Path) -> None:
    """Refuse results a name that promises another kind of file."""
    if path.suffix in NOT_RESULTS:
        raise UserError(
            f"results are written as .nc, got {path.name!r} instead",
            hint=f"give output={path.with_suffix('.nc').name!r}",
        )


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
class Options:
    """Checks every value when the options are made. Classes derived from it are frozen dataclasses,
    all of whose fields are keywords.

    Attributes
    ----------
    prefix
        What the command line puts before the names of rare options.
    panel
        Where help lists the others that are defined in this class; empty for the first panel.
    """

    prefix: ClassVar[str] = ""
    panel: ClassVar[str] = ""
    __dataclass_fields__: ClassVar[dict[str, Any]]

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True, kw_only=True)(cls)

    def __post_init__(self) -> None:
        for name, option in described(type(self)).items():
            object.__setattr__(self, name, option.check(getattr(self, name)))

    def subset(self, kind: type[Options]) -> dict[str, Any]:
        """The values of the options that a group has.

        >>> LoadOptions(dtype="float16").subset(Loading)["dtype"]
        'float16'
        """
        return {name: getattr(self, name) for name in described(kind)}

    def changed(self, kind: type[Options]) -> dict[str, Any]:
        """Those values of a group that are not the defaults."""
        known = described(kind)
        group = self.subset(kind)
        return {name: value for name, value in group.items() if value != known[name].default}

    @classmethod
    def of(cls, options: Options) -> Self:
        """Options of this group, with the values of larger ones."""
        return options if type(options) is cls else cls(**options.subset(cls))


# --- Python's keywords ---

Made = TypeVar("Made", covariant=True)
One = TypeVar("One")
Two = TypeVar("Two")
Three = TypeVar("Three")
Result = TypeVar("Result")
Keywords = ParamSpec("Keywords")


class Taker(Protocol, Generic[Keywords, Made]):
    """A decorator of functions whose last parameter holds all options."""

    @overload
    def __call__(
        self, function: Callable[[One, Made], Result]
    ) -> Callable[Concatenate[One, Keywords], Result]: ...
    @overload
    def __call__(
        self, function: Callable[[One, Two, Made], Result]
    ) -> Callable[Concatenate[One, Two, Keywords], Result]: ...
    @overload
    def __call__(
        self, function: Callable[[One, Two, Three, Made], Result]
    ) -> Callable[Concatenate[One, Two, Three, Keywords], Result]: ...


def takes(kind: Callable[Keywords, Made]) -> Taker[Keywords, Made]:
    """Let a function take the options of a class as keywords.

    The function's last parameter is an object of the class. Its docstring describes the other
    parameters; the descriptions of the options are added to them. What may be given without its
    name is a field of the class with ``kw_only=False``.
    """

    def wrap(function: Any) -> Any:
        own = [*signature(function).parameters.values()][:-1]
        names = [parameter.name for parameter in own]
        last = [*signature(function).parameters][-1]
        make: Any = kind
        options = described(make)
        nameless = [member.name for member in fields(make) if not member.kw_only]
        kinds = {True: Parameter.POSITIONAL_OR_KEYWORD, False: Parameter.KEYWORD_ONLY}
        keywords = [
            Parameter(
                name, kinds[name in nameless], default=option.default, annotation=option.plain_hint
            )
            for name, option in options.items()
        ]
        keywords.sort(key=lambda keyword: keyword.kind)

        @wraps(function)
        def call(*given: Any, **named: Any) -> Any:
            given, others = given[: len(names)], given[len(names) :]
            own_named = {name: named.pop(name) for name in names if name in named}
            unfit = [name for name in named if name not in options]
            if unfit:
                raise TypeError(unexpected(function.__name__, unfit[0], [*names, *options]))
            bound = signature(function).bind_partial(*given, **own_named)
            return function(*bound.args, **bound.kwargs, **{last: make(*others, **named)})

        call.__signature__ = Signature([*own, *keywords])  # type: ignore[attr-defined]
        call.__doc__ = documented(getdoc(function) or "", options.values())
        call.options = kind  # type: ignore[attr-defined]
        return call

    return wrap


def unexpected(function: str, name: str, known: Sequence[str]) -> str:
    """What to say of a keyword that does not exist, as Python says it, with the nearest ones."""
    from difflib import get_close_matches

    near = get_close_matches(name, known, n=1)
    guess = f". Did you mean {near[0]!r}?" if near else ""
    return f"{function}() got an unexpected keyword argument {name!r}{guess}"


def documented(docstring: str, options: Any) -> str:
    """A docstring with the descriptions of options after those of its own parameters."""
    texts = "\n".join(f"{option.key}\n    {option.words}" for option in options)
    head, section, rest = docstring.partition("Parameters\n----------\n")
    if not section:  # before all other sections
        first = re.search(r"^[A-Z][\w ]+\n---", docstring, re.MULTILINE)
        start = first.start() if first else len(docstring)
        head, rest = docstring[:start], docstring[start:]
        return f"{head.rstrip()}\n\nParameters\n----------\n{texts}\n\n{rest}".rstrip() + "\n"
    own, gap, after = rest.partition("\n\n")
    return f"{head}{section}{own.rstrip()}\n{texts}\n{gap}{after}"


# --- groups that several runs share ---

DEVICE_MAPS = ("auto", "balanced", "balanced_low_0", "sequential")
DEVICE = re.compile(r"(cpu|cuda|mps|xpu|npu|hpu)(:\d+)?")
DeviceMap = str | Mapping[str, int | str]
AnyPath = str | Path
"""What may be given as a path. Options keep a :class:`Path`, or a text where the default is one."""


class Source(Options):
    """Where a model given by its name comes from, and where it is run.

    Parameters
    ----------
    device
        Where to run, as torch names it: cpu, cuda, cuda:1, mps.
    revision
        A hub model's branch, tag or commit. Default: its main branch.
    allow_pickle
        Open pickled weights where there are no safetensors. Opening them can run code.
    trust_remote_code
        Run code that comes with a model.
    """

    prefix: ClassVar[str] = "load"
    panel: ClassVar[str] = "The model"

    device: str = "cpu"
    revision: Annotated[str, RARE] = ""
    allow_pickle: Annotated[bool, RARE] = False
    trust_remote_code: Annotated[bool, RARE] = False


class Loading(Source):
    """How a model given by its name is loaded.

    Parameters
    ----------
    dtype
        Precision of the weights. Maps are float32 and sums float64 in any case.
    device_map
        Spread the layers over devices and memory with accelerate: auto, balanced, sequential, one
        device, or (in Python) a dictionary with the device of each part of the network. Excludes
        device.
    quantization
        Quantise the weights with bitsandbytes: 8bit or 4bit.
    adapter
        Put a PEFT adapter (LoRA and the like) on the model: its folder or hub id. Only safetensors
        are read.
    bos
        The beginning-of-sequence token before each text: add, keep (as the tokenizer has it) or
        none.
    chat
        Make each text the user's turn of a chat, with the tokenizer's chat template; the second
        text of a pair becomes the assistant's turn.
    """

    prefix: ClassVar[str] = "load"
    panel: ClassVar[str] = "The model"

    dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    device_map: Annotated[DeviceMap, RARE] = ""
    quantization: Annotated[Literal["", "8bit", "4bit"], RARE] = ""
    adapter: Annotated[AnyPath, Option(metavar="PATH")] = ""
    bos: Annotated[
        Literal["add", "keep", "none"],
        Option(rare=True, name="treatment of the beginning-of-sequence token"),
    ] = "keep"
    chat: Annotated[bool, RARE] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.device_map:
            self._check_device_map()
        if self.adapter:
            _need("peft", "an adapter", "pip install 'headscope[adapters]'")
        if self.quantization:
            for package in ("bitsandbytes", "accelerate"):
                _need(package, "quantised weights", "pip install bitsandbytes accelerate")

    def _check_device_map(self) -> None:
        if isinstance(self.device_map, str):
            if self.device_map not in DEVICE_MAPS and not DEVICE.fullmatch(self.device_map):
                raise unknown("device map", self.device_map, (*DEVICE_MAPS, "cpu", "cuda:0"))
        elif not isinstance(self.device_map, Mapping):
            raise UserError(
                "the device map must be a name or a dictionary of devices; got "
                f"{type(self.device_map).__name__} instead",
                hint="give e.g. device_map='auto'",
            )
        if self.device != "cpu":
            raise UserError(
                f"a device and a device map exclude each other; got {self.device!r} and "
                f"{self.device_map!r}",
                hint="leave device= or device_map= out",
            )
        _need("accelerate", "a device map", "pip install accelerate")


def _need(package: str, what: str, install: str) -> None:
    if importlib.util.find_spec(package) is None:
        raise ModelError(f"{what} cannot be used without {package}", hint=install)


class LoadOptions(Loading):
    """How :func:`headscope.load` loads a model.

    Parameters
    ----------
    head
        "lm" loads the masked or causal language-model head, too; "own" whatever the checkpoint was
        saved with: a language-model head, a classifier of texts, or neither. A transformers auto
        class, such as AutoModelForSequenceClassification, loads that kind of model. Default: the
        base model.
    seed
        Seed of weights that the checkpoint lacks and attention does not depend on (a pooler, a new
        classifier), so that they are the same every time.
    """

    head: Annotated[Any | None, PYTHON] = None
    seed: int = 0


Columns = str | int | Sequence[str | int]
COLUMNS = Option(metavar="A,B", separator=",", hint='give e.g. columns=["review"] or columns=[2]')


class Reading(Options):
    """How a corpus given as a path is read.

    Parameters
    ----------
    format
        text, tsv, csv, jsonl, conll, brackets, coref-jsonl, coref-conllu, conll2012 or
        frames-jsonl. Default: by the file's ending (.gz after it is allowed); JSON lines with
        sentences and mentions are coref-jsonl, those with a target and links frames-jsonl.
    columns
        The columns of a table that hold the text, or the two texts, by name or by number (from 1).
        Default: the names that public data sets use, such as text, sentence1 and sentence2, or
        premise and hypothesis.
    header
        TSV and CSV: whether the first line names the columns. Default: if it has known names, or
        those in columns; if it only looks like a header, that is an error.
    lines
        Plain text: every line is a text of its own, or lines are joined to the paragraphs between
        blank lines. Default: without blank lines, lines are texts unless they look wrapped.
    pairs
        Plain text: two consecutive paragraphs are a pair; if not, every paragraph is one example.
    parse
        Parse what has no words with spaCy's small English model.
    parser
        Parse with this spaCy pipeline (name or folder).
    documents
        CoNLL-U: one example per document, with its coreference, instead of one per sentence. A
        folder or .tar.gz of files is read too.
    """

    prefix: ClassVar[str] = "read"
    panel: ClassVar[str] = "The corpus"

    format: Annotated[str | None, RARE] = None
    columns: Annotated[Columns | None, COLUMNS] = None
    header: Annotated[bool | None, RARE] = None
    lines: Annotated[bool | None, Option(off="--paragraphs")] = None
    pairs: Annotated[bool, Option(off="--single", flag="--pairs")] = True
    parse: bool = False
    parser: Annotated[str, Option(rare=True, metavar="NAME")] = ""
    documents: bool = False


class ReadOptions(Reading):
    """How :func:`headscope.read` reads a corpus.

    Parameters
    ----------
    label
        The column that holds the label; by default label, score or the like, if there is one.
    group
        The column that names the document or paragraph a row belongs to; by default group,
        document, paragraph or doc_id, if there is one.
    limit
        Read only so many examples.
    name
        The name of the corpus; by default the path, or what it was made from.
    """

    label: str | int | None = None
    group: str | int | None = None
    limit: Annotated[int | None, Option(least=1, hint="leave it out to read everything")] = None
    name: str | None = None


class Pass(Options):
    """How a corpus is run through a model. All of it is part of a run's identity.

    Parameters
    ----------
    max_length
        The largest number of tokens of an example, special tokens included.
    long
        What to do with longer examples: truncate, split into parts, or drop.
    batch_size
        Examples per forward pass.
    stack
        encoder, decoder or cross (surveys only), for models that have an encoder and a decoder.
        Default: encoder. For cross attention, the encoder reads the first text of a pair and the
        decoder the second; a single text goes to both.
    token_types
        Tell the two texts of a pair apart by token types, where the model has them.
    limit
        Use only the first N examples.
    sample
        Use N examples, drawn at random with the seed.
    seed
        The seed of everything random; stored in the results.
    """

    prefix: ClassVar[str] = "pass"
    panel: ClassVar[str] = "The pass"

    max_length: Annotated[int, Option(least=4, name="maximum length")] = 128
    long: Annotated[
        Literal["truncate", "split", "drop"], Option(name="treatment of long examples")
    ] = "truncate"
    batch_size: Annotated[int, Option(least=1)] = 16
    stack: Annotated[str, RARE] = ""
    token_types: Annotated[bool, RARE] = True
    limit: Annotated[int | None, Option(least=1, metavar="N")] = None
    sample: Annotated[int | None, Option(least=1, metavar="N")] = None
    seed: int = 0


class Shown(Options):
    """How progress is shown.

    Parameters
    ----------
    progress
        True shows a progress bar; a function is called with (done, total).
    """

    progress: Annotated[ProgressLike, PYTHON] = field(default=False, compare=False, repr=False)

    @property
    def reporter(self) -> Reporter:
        """Where to tell people what happens."""
        return as_reporter(self.progress)


class ModelRun(Loading, Shown):
    """Options of what is done with a model."""


class CorpusRun(ModelRun, Reading, Pass):
    """Options of what is done with a model and a corpus."""


class Saving(Shown):
    """Where results go.

    Parameters
    ----------
    output
        The results file (.nc). If it already holds this very run, it is opened instead; if it
        holds another one, that is an error, which says what differs.
    overwrite
        Replace the results of another run in the output, and its checkpoint; compute this very run
        again if its results are there.
    """

    into_folder: ClassVar[bool] = False
    """Whether the output is a folder."""

    output: Annotated[AnyPath | None, Option(short="-o")] = None
    overwrite: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.path is not None and not self.into_folder:
            check_results_name(self.path)
            check_writable(self.path)

    @property
    def path(self) -> Path | None:
        """The output."""
        return None if self.output is None else Path(self.output)

    @property
    def state_path(self) -> Path | None:
        """Where the state of an unfinished run is kept: beside the output, as OUTPUT.partial."""
        path = self.path
        return None if path is None else path.absolute().with_name(f"{path.name}.partial")


class FolderRun(ModelRun):
    """Options of several runs that write into one folder.

    Parameters
    ----------
    limit
        Use at most N examples of each corpus.
    seed
        Seed of everything random.
    batch_size
        Examples per forward pass.
    max_length
        The largest number of tokens of an example, special tokens included; longer ones are cut.
    output
        The folder for everything that is written.
    overwrite
        Replace results of other runs in the folder, and compute everything again.
    """

    limit: Annotated[int | None, Option(least=1, metavar="N")] = None
    seed: int = 0
    batch_size: Annotated[int, Option(least=1)] = 16
    max_length: Annotated[int, Option(least=4, name="maximum length")] = 128
    output: Annotated[AnyPath | None, Option(short="-o", metavar="FOLDER")] = None
    overwrite: bool = False


class Resuming(Saving):
    """Where the state of an unfinished run is kept.

    Parameters
    ----------
    checkpoint
        Where the state of an unfinished run is kept. Default: OUTPUT.partial.
    every
        Seconds between two checkpoints.
    """

    prefix: ClassVar[str] = "run"

    checkpoint: Annotated[AnyPath | None, RARE] = None
    every: Annotated[float, PYTHON] = EVERY

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.state_path is not None:
            check_writable(self.state_path)

    @property
    def state_path(self) -> Path | None:
        """Where the state of an unfinished run is kept."""
        return super().state_path if self.checkpoint is None else Path(self.checkpoint).absolute()


class Engines(Options):
    """Where a run is done.

    Parameters
    ----------
    engine
        Where the work is done: local (in this process), processes (several on this machine) or ray
        (a Ray cluster). Results are the same bit for bit, if each worker has as many threads as
        this process would have.
    workers
        How many workers there are; each loads the model. Default: one per core, or one per CPU of a
        running Ray cluster but one.
    address
        The address of a running Ray cluster, HOST:PORT or auto. Default: one is started on this
        machine.
    """

    prefix: ClassVar[str] = "workers"
    panel: ClassVar[str] = "Workers"

    engine: Literal["local", "processes", "ray"] = "local"
    workers: Annotated[int | None, Option(least=1, name="number of workers", metavar="N")] = None
    address: Annotated[str, RARE] = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.address and self.engine != "ray":
            raise UserError(
                f"only the engine 'ray' has an address; got the engine {self.engine!r} and "
                f"{self.address!r}",
                hint="give engine='ray'",
            )
        if self.engine == "local" and (self.workers or 1) > 1:
            raise UserError(
                f"the engine 'local' works in this process alone, got {self.workers} workers",
                hint="give engine='processes'",
            )
        if self.engine == "ray" and importlib.util.find_spec("ray") is None:
            raise UserError(
                "the engine 'ray' needs Ray, which is not installed",
                hint="install it: pip install 'headscope[ray]'",
            )
        if self.engine != "local" and not self.address and (self.workers or 1) > cores():
            raise UserError(
                f"there must be at most as many workers as cores, {cores()}, got {self.workers} "
                "instead",
                hint=f"give workers={cores()}",
            )


class Workers(Engines, Resuming):
    """Where a run is done, and where its results and its unfinished state are kept."""


# --- tests of roles, which results, tables and a paper take ---

TAU = 3.0
"""The paper's threshold: three times as much attention as uniform attention gives."""
AUTO = "auto"
"""Stands for a threshold that is found from the data: exploratory, since the same data are tested
against it."""
Threshold = float | str
RESAMPLING = ("bootstrap", "permutation")


class RoleTest(Options):
    """How heads are tested for roles (Pande et al. 2021).

    Parameters
    ----------
    tau
        The threshold of the mean score: a number over 0; auto, the smallest integer above the mean
        of all scores, which is exploratory, since the same scores are then tested against it; or
        ROLE=N for one role; in Python also a mapping of roles to these, with "" for all others.
        Default: 3, as in the paper.
    test
        t (Student's) or z (the paper's, too lenient with few documents), from the moments of all
        sequences; bootstrap or permutation (sign flips), from the sequences whose scores are kept.
    correction
        holm or bh, over all heads and roles together; maxt, for tests by resampling: the largest
        statistic of all heads and roles in each resample; or none, as in the paper: of 100 heads
        without a role, 5 then seem to have it. Roles with the same tokens (cls and the first token
        of BERT) count once.
    alpha
        The level of the test: a head has a role where the corrected p is below this.
    resamples
        Resamples of the bootstrap or permutation test. Default: as many as the correction needs,
        5000 or more.
    clusters
        Count the sequences of one document as one cluster, where the corpus has documents. The
        paper takes all sequences as independent.
    seed
        The seed of resampling.
    """

    prefix: ClassVar[str] = "test"
    panel: ClassVar[str] = "The test"

    tau: Annotated[
        Threshold | Sequence[Threshold] | Mapping[str, Threshold], Option(metavar="N|auto|ROLE=N")
    ] = ()
    test: Literal["t", "z", "bootstrap", "permutation"] = "t"
    correction: Literal["none", "holm", "bh", "maxt"] = "holm"
    alpha: float = 0.05
    resamples: Annotated[int | None, Option(least=1, name="number of resamples")] = None
    clusters: Annotated[bool, Option(off="--independent")] = True
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.thresholds
        if self.correction == "maxt" and self.test not in RESAMPLING:
            raise UserError(
                f"the correction maxt needs a test by resampling, got the {self.test} test instead",
                hint="give test='bootstrap', or correction='holm'",
            )
        if not 0 < self.alpha < 1:
            raise UserError(
                f"alpha must be between 0 and 1, got {self.alpha} instead", hint="0.05 is usual"
            )

    @property
    def thresholds(self) -> Mapping[str, Threshold]:
        """The thresholds by role, with ``""`` for all other roles.

        >>> RoleTest(tau=["3", "block=1.5"]).thresholds
        {'': 3.0, 'block': 1.5}
        """
        if isinstance(self.tau, Mapping):
            return self.tau
        taus: dict[str, Threshold] = {"": TAU}
        for tau in self.tau if isinstance(self.tau, tuple) else (self.tau,):
            role, _, value = str(tau).rpartition("=")
            try:
                taus[role] = value if value == AUTO else float(value)
            except ValueError:
                raise UserError(
                    f"tau must be a number over 0, 'auto', or ROLE=NUMBER; got {tau!r} instead",
                    hint="give tau=3, as in the paper, or tau='block=1.5' for one role",
                ) from None
        return taus
