"""Test tools: the API server for any test process, pytest fixtures, webhooks, `kubectl`, an etcd cluster.

They are part of the distribution for the tests of operators and clients; nothing in the server imports them.
`ApiServer` and `AsyncApiServer` need no reactor; the modules that are not named here are for Twisted's trial.
"""

from importlib import import_module as _import_module
from typing import Any as _Any

_LATE = {
    "ApiError": "orchtw.testing.control.answers",
    "ApiServer": "orchtw.testing.api_server",
    "AsyncApiServer": "orchtw.testing.async_api_server",
    "ConditionNotMet": "orchtw.testing.control.failures",
    "NotQuiet": "orchtw.testing.control.failures",
    "ServerDied": "orchtw.testing.server_died",
    "StartFailed": "orchtw.testing.start_failed",
    "UnknownResource": "orchtw.testing.control.resources",
    "absent": "orchtw.testing.control.selectors",
}
"""Modules of the names, each imported at its first use: a test suite that merely loads the plugin pays for none.

`__init__.pyi` has the types.
"""


def __getattr__(name: str) -> _Any:
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(_import_module(_LATE[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATE})
