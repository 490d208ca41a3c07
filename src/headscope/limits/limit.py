"""The limits, and the environment variables that change them."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from headscope.errors import UserError, shorten

_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,6})?) ?([kMGT]?)B?", re.IGNORECASE)
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}


@dataclass(frozen=True)
class Limit:
    """A limit that an environment variable can change.

    Parameters
    ----------
    variable
        The name of the environment variable.
    default
        The limit where the variable is not set.
    example
        A larger value, for the advice of errors.

    Examples
    --------
    >>> Limit("HEADSCOPE_MAX_LINE_OF_EXAMPLE", 1000, "2kB").value
    1000
    """

    variable: str
    default: int
    example: str

    @property
    def value(self) -> int:
        """The limit that is in force now.

        Raises
        ------
        UserError
            If the variable is not a positive number.
        """
        given = os.environ.get(self.variable, "").strip()
        if not given:
            return self.default
        match = _SIZE.fullmatch(given)
        size = int(float(match[1]) * _UNITS[match[2].lower()]) if match else 0
        if size < 1:
            raise UserError(
                f"{self.variable} must be a positive number such as {self.example}; "
                f"got {shorten(given)} instead",
                hint=f"set it to e.g. {self.example}, or unset it",
            )
        return size

    @property
    def advice(self) -> str:
        """What to do if a file is above the limit."""
        return (
            f"if the file is as it should be, raise the limit: set the environment variable "
            f"{self.variable}={self.example}"
        )


LINE = Limit("HEADSCOPE_MAX_LINE", 16_000_000, "64MB")
"""Bytes of one line, or of the lines that make up one example."""
NESTING = Limit("HEADSCOPE_MAX_NESTING", 400, "600")
"""How deeply JSON values and bracketed trees may be nested. Python can recurse to about 900."""
UNPACKED = Limit("HEADSCOPE_MAX_UNPACKED", 100 * 10**9, "1TB")
"""Bytes of a compressed file once it is unpacked."""
RATIO = Limit("HEADSCOPE_MAX_RATIO", 200, "1000")
"""Unpacked bytes per compressed byte, counted after the first :data:`FREE` of them."""
MEMBER = Limit("HEADSCOPE_MAX_MEMBER", 10**9, "4GB")
"""Bytes of one file in an archive, which is held in memory while it is read."""
RECORD = Limit("HEADSCOPE_MAX_RECORD", 64_000_000, "256MB")
"""Bytes of a small file that is read whole: JSON records and tables of labels."""
RESULTS = Limit("HEADSCOPE_MAX_RESULTS", 16 * 10**9, "64GB")
"""Bytes of a results file once it is unpacked: it is held in memory."""
ALL = (LINE, NESTING, UNPACKED, RATIO, MEMBER, RECORD, RESULTS)
FREE = 10_000_000
"""Unpacked bytes for which the ratio is not checked."""
