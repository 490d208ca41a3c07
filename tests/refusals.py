"""What a call is refused with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


def refusal(kind: type[Exception], call: Callable[..., Any], *given: Any, **options: Any) -> Any:
    """The error of a kind that a call raises."""
    with pytest.raises(kind) as caught:
        call(*given, **options)
    return caught.value
