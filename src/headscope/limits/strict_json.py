"""JSON as the standard has it, and small files that are read whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Never

from headscope.errors import UserError, cut
from headscope.files import check_regular, show_size
from headscope.limits.limit import NESTING, RECORD


def parse_json(
    text: str,
    where: str,
    *,
    error: type[UserError] = UserError,
    hint: str = "",
    nesting: int | None = None,
) -> Any:
    """Read a JSON value strictly.

    Parameters
    ----------
    text
        The value.
    where
        The file, or the file and line, for errors.
    error, hint
        The class of the error, and what to do if the text is not JSON.
    nesting
        How deeply it may be nested; None takes :data:`NESTING`.

    Raises
    ------
    UserError
        If the text is not JSON: NaN and Infinity are not, and a number may have up to 4300 digits;
        or if it is nested more deeply than :data:`NESTING` allows.

    Examples
    --------
    >>> parse_json('{"a": [1]}', "a.json")
    {'a': [1]}
    >>> parse_json('{"a": NaN}', "a.json")
    Traceback (most recent call last):
        ...
    headscope.errors.UserError: a.json: not JSON (NaN is not a JSON value)
    """
    nesting = NESTING.value if nesting is None else nesting
    try:
        if not _too_deep(text, nesting):
            return _STRICT.decode(text)
    except RecursionError:
        pass
    except MemoryError:
        raise error(f"{where}: there is not enough memory to read this") from None
    except ValueError as problem:
        why = "a number has too many digits" if "digits" in str(problem) else problem
        raise error(f"{where}: not JSON ({cut(str(why), 300)})", hint=hint) from None
    raise error(
        f"{where}: nested more deeply than {nesting} levels, which is the limit",
        hint=NESTING.advice,
    )


def read_json(path: Path, *, error: type[UserError] = UserError, hint: str = "") -> Any:
    """Read a small JSON file; see :func:`parse_json`.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    UserError
        If it cannot be read, is too large, not UTF-8 or not JSON.
    """
    return parse_json(read_text(path, error=error, hint=hint), str(path), error=error, hint=hint)


def read_text(path: Path, *, error: type[UserError] = UserError, hint: str = "") -> str:
    """Read a small UTF-8 file.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    UserError
        If it cannot be read, is larger than :data:`RECORD` allows, or not UTF-8.
    """
    most = RECORD.value
    try:
        check_regular(path, error=error)
        with path.open("rb") as file:
            data = file.read(most + 1)
    except (FileNotFoundError, UserError):
        raise
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise error(f"{path} cannot be read: {reason}", hint=hint) from None
    if len(data) > most:
        raise error(
            f"{path} is larger than {show_size(most)}, which is the limit", hint=RECORD.advice
        )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as problem:
        raise error(f"{path} is not valid UTF-8 (byte {problem.start + 1})", hint=hint) from None


def _refused(name: str) -> Never:
    raise ValueError(f"{name} is not a JSON value")


_STRICT = json.JSONDecoder(parse_constant=_refused)


def _too_deep(text: str, most: int) -> bool:
    """Whether brackets outside strings are nested more deeply than this.

    >>> _too_deep('[["[[["]]', 2), _too_deep('[[["\\\\""]]]', 2)
    (False, True)
    """
    if text.count("[") + text.count("{") <= most:
        return False
    import numpy as np

    # Without escapes, a character is inside a string if an odd number of quotes is before it.
    plain = text.replace("\\\\", "").replace('\\"', "").encode("utf-8", "surrogatepass")
    signs = np.frombuffer(plain, np.uint8)
    steps = np.isin(signs, (91, 123)).astype(np.int8) - np.isin(signs, (93, 125)).astype(np.int8)
    steps[np.logical_xor.accumulate(signs == 34)] = 0
    return int(np.cumsum(steps, dtype=np.int32).max()) > most
