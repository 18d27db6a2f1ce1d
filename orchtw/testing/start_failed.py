"""Error of a server in a child process that did not start."""

from __future__ import annotations

LAST_LINES = 20
"""Lines of standard error that the error's text has: the reason comes last."""


class StartFailed(Exception):
    """Error: the server exited before it served. `status` is its exit status, `errors` its standard error."""

    def __init__(self, status: int, output: str, errors: str, what: str = "") -> None:
        last_words = "\n".join(errors.splitlines()[-LAST_LINES:])
        super().__init__(f"{what or f'exit status {status}'}: {last_words}")
        self.status = status
        self.output = output
        self.errors = errors
