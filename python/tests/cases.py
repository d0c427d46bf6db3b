"""What ranks.py runs on all ranks, by its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

WIDE = {
    "agreement",
    "exported",
    "families_whole",
    "hybrids",
    "packed",
    "packed_whole",
}
CASES: dict[str, Callable[[], dict[str, Any]]] = {}


def case(function: Callable[[], dict[str, Any]]) -> Callable[[], dict[str, Any]]:
    CASES[function.__name__] = function
    return function


def said(call: Callable[[], Any]) -> str:
    """The error of a call, by its type and text."""
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "nothing"
