"""Release that the servers of the tests emulate: the newest, or the one in `ORCHTW_TEST_EMULATED_VERSION`."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Final, TypeVar
from unittest import skipIf

from orchtw.config import Config
from orchtw.config.releases import NEWEST, Release, release_of
from orchtw.plugins.entry_points import NO_PLUGINS, Plugins

T = TypeVar("T", bound=Callable[..., Any])

VERSION: Final = os.environ.get("ORCHTW_TEST_EMULATED_VERSION") or NEWEST
RELEASE: Final = release_of(VERSION)


def since(release: Release) -> Callable[[T], T]:
    """Skip tests about the additions of a release while an earlier one is emulated."""
    about = f"about release {release[0]}.{release[1]}, while {VERSION} is emulated: not run"
    return skipIf(RELEASE < release, about)


def emulate() -> None:
    """Make it the default in this process, and so of servers that tests start in it or fork."""
    if VERSION == NEWEST:
        return
    made = Config.of

    def of(plugins: Plugins = NO_PLUGINS, **settings: Any) -> Config:
        return made(plugins, **{"emulated_version": VERSION, **settings})

    Config.of = of  # type: ignore[method-assign]
