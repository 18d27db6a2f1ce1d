"""Results of test runners that add a note to each failure of a test, of its fixtures and cleanups alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

_FAILURES: Final = ("addError", "addFailure", "addSubTest")


class NotingResult:
    """Result of unittest or reporter of trial, in whose place it stands; `note` gets each failed test's exception.

    It is called before the result is told, once for an exception that comes again.
    """

    def __init__(self, result: Any, note: Callable[[Exception], None]) -> None:
        self._result = result
        self._note = note
        self._noted: list[Exception] = []

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._result, name)
        if name not in _FAILURES:
            return found

        def told(*arguments: Any, **named: Any) -> Any:
            self._tell((*arguments, *named.values())[-1])
            return found(*arguments, **named)

        return told

    def _tell(self, failure: Any) -> None:
        """Note the exception of a triple, as in unittest, or of trial's Failure; None is a sub-test that passed."""
        error = failure[1] if isinstance(failure, tuple) else getattr(failure, "value", None)
        if isinstance(error, Exception) and not any(error is each for each in self._noted):
            self._noted.append(error)
            self._note(error)
