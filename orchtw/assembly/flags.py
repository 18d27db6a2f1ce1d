"""The flags with what this server has to offer: their choices are the names in the registries and of plugins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from orchtw.admission.order import ORDER, problems
from orchtw.admission.plugins import PLUGINS
from orchtw.authn import METHODS, TOKENS
from orchtw.authz import MODES
from orchtw.config import Config, reading
from orchtw.config.checks import Choices
from orchtw.controllers import CONTROLLERS
from orchtw.errors import ConfigError
from orchtw.flags.flag import Flag
from orchtw.plugins import records
from orchtw.plugins.entry_points import NO_PLUGINS, Plugins, clashes, installed
from orchtw.plugins.order import misplaced_admission, misplaced_authentication
from orchtw.storage import STORES
from orchtw.storage.encryption.configuration import BUILT_IN as PROVIDERS

_BUILT_IN: Final[Mapping[type[records.Plugin], tuple[str, ...]]] = {
    records.AdmissionPlugin: ORDER,
    records.AuthenticationPlugin: (*METHODS, *TOKENS),
    records.AuthorizationPlugin: tuple(MODES),
    records.ControllerPlugin: tuple(CONTROLLERS),
    records.EncryptionPlugin: PROVIDERS,
    records.StoragePlugin: tuple(STORES),
}


def choices(plugins: Plugins) -> Choices:
    """Return the names that flags can pick: what is built in, then plugins."""
    return Choices(
        stores=(*STORES, *plugins.of(records.StoragePlugin)),
        authorization_modes=(*MODES, *plugins.of(records.AuthorizationPlugin)),
        admission_plugins=(*PLUGINS, *plugins.of(records.AdmissionPlugin)),
        controllers=(*CONTROLLERS, *plugins.of(records.ControllerPlugin)),
    )


CHOICES = choices(NO_PLUGINS)

FLAGS = reading.flags_of(CHOICES)
"""The server's own flags. `all_flags` has those of plugins too."""


def all_flags() -> tuple[Flag, ...]:
    """Return every flag of this installation."""
    return reading.flags_of(choices(installed()), installed())


def parse(arguments: Sequence[str], plugins: Plugins | None = None) -> Config:
    """Return the Config of a command line (without the program's name), by default with the plugins that are
    installed.

    Raises ConfigError with every problem.
    """
    found = installed() if plugins is None else plugins
    if wrong := _unusable(found):
        raise ConfigError(*wrong)
    made = reading.parse(arguments, choices(found), found)
    if wrong := problems(made.admission, found, made.generic.gates, made.generic.emulated):
        raise ConfigError(*wrong)
    return made


def _unusable(plugins: Plugins) -> list[str]:
    return [
        *plugins.problems,
        *clashes(plugins, _BUILT_IN, FLAGS),
        *misplaced_admission(ORDER, plugins.of(records.AdmissionPlugin)),
        *misplaced_authentication(tuple(METHODS), tuple(TOKENS), plugins.of(records.AuthenticationPlugin)),
    ]
