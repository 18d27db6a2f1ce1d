"""Conditions of `eventually`: mistakes in them that are told at once, and the errors that mean "not yet"."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Final, TypeGuard

UNMET: Final = (AssertionError, LookupError, TypeError, AttributeError)
"""Exceptions of a condition that mean "not yet": a status that is not there, an assertion in the condition."""

NOT_FOUND: Final = 404


def arranged(
    condition: object,
    predicate: Callable[[Any], object] | float,
    timeout_s: float | None,
    default_s: float,
    *,
    asynchronous: bool,
    selectors: bool,
) -> tuple[Callable[[Any], object], float]:
    """Return predicate and timeout of a wait; a number in the predicate's place is the timeout.

    A function that reads is to be a coroutine function if `asynchronous`, else an ordinary one. Raises TypeError for
    what could never be met, or would be met at once, whatever the objects are.
    """
    __tracebackhide__ = True
    if is_number(predicate):
        if timeout_s is not None:
            raise TypeError("the timeout is given twice: as second argument and as timeout_s")
        timeout_s, predicate = predicate, bool
    if not is_number(timeout := default_s if timeout_s is None else timeout_s):
        raise TypeError(f"timeout_s must be a number of seconds, not {timeout!r}")
    if isinstance(condition, str):
        _check(predicate, "predicate", asynchronous=False)
    else:
        _check(condition, "condition", asynchronous=asynchronous)
        if predicate is not bool or selectors:
            raise TypeError("a function that reads takes neither a predicate nor selectors: only a timeout")
    assert callable(predicate)
    return predicate, timeout


def is_number(value: object) -> TypeGuard[float]:
    """Report whether a value is a number of seconds."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def not_yet(error: Exception) -> bool:
    """Report whether an exception of a condition means "not yet".

    A client library's "not found" does, whose code is in one of three places.
    """
    if isinstance(error, UNMET):
        return True
    codes = (getattr(error, "status", None), getattr(error, "code", None))
    return NOT_FOUND in (*codes, getattr(getattr(error, "response", None), "status_code", None))


def _check(function: object, what: str, *, asynchronous: bool) -> None:
    """Check that a function takes one argument. Raises TypeError."""
    __tracebackhide__ = True
    if not callable(function):
        raise TypeError(f"the {what} must be a function, not {function!r}")
    if inspect.iscoroutinefunction(function) and not asynchronous:
        raise TypeError(f"the {what} must not be a coroutine function: {function!r}")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # of some built-in functions nothing is known
        return
    try:
        signature.bind(None)
    except TypeError as error:
        raise TypeError(f"the {what} must take one argument: {function!r}: {error}") from None
