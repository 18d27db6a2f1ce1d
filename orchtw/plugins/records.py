"""The records by which packages describe their plugins: a class for each group of entry points (reference EXT-2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import attrs

from orchtw.flags.flag import Flag


@attrs.frozen(slots=True, kw_only=True)
class Plugin:
    """Base of the records below.

    `make` is the factory; it raises ConfigError for settings that cannot be used. `flags` are the plugin's own: their
    values are in `config.plugin_flags`, by the flag's name.
    """

    make: Callable[..., Any]
    flags: tuple[Flag, ...] = ()


@attrs.frozen(slots=True, kw_only=True)
class AdmissionPlugin(Plugin):
    """An admission plugin: `make(host, config, given)` returns an `orchtw.admission.chain.Plugin`.

    It is asked directly before or after the plugin that is named, else before MutatingAdmissionWebhook. It runs if
    `default` is True or `--enable-admission-plugins` names it. With `needs_configuration`, `given` is never None.
    """

    before: str = ""
    after: str = ""
    default: bool = False
    needs_configuration: bool = False


@attrs.frozen(slots=True, kw_only=True)
class AuthenticationPlugin(Plugin):
    """An authentication method: `make(host, config)` returns an `orchtw.authn.method.Authenticator`.

    With `tokens` it returns a source of bearer tokens instead, an `orchtw.authn.method.TokenMethod`. None switches it
    off. It is asked after the built-in methods, or sources, or directly before the one that `before` names.
    """

    tokens: bool = False
    before: str = ""


@attrs.frozen(slots=True, kw_only=True)
class AuthorizationPlugin(Plugin):
    """A mode of `--authorization-mode`: `make(host, config)` returns an `orchtw.authz.decision.Authorizer`."""


@attrs.frozen(slots=True, kw_only=True)
class ControllerPlugin(Plugin):
    """A controller: `make(host, config)` returns an `orchtw.controllers.controller.Controller`.

    `*` in `--controllers` includes it unless `by_name_only` is True.
    """

    by_name_only: bool = False


@attrs.frozen(slots=True, kw_only=True)
class EncryptionPlugin(Plugin):
    """An encryption provider: `make(fields)` returns an `orchtw.storage.encryption.provider.Provider`.

    `fields` (`orchtw.outbound.fields.Fields`) is what the encryption configuration has under the plugin's name.
    """


@attrs.frozen(slots=True, kw_only=True)
class StoragePlugin(Plugin):
    """A choice of `--storage-backend`: `make(host, config)` returns an `orchtw.storage.interface.Store`."""


RECORDS: Final[Mapping[str, type[Plugin]]] = {
    "orchtw.admission": AdmissionPlugin,
    "orchtw.authentication": AuthenticationPlugin,
    "orchtw.authorization": AuthorizationPlugin,
    "orchtw.controllers": ControllerPlugin,
    "orchtw.encryption": EncryptionPlugin,
    "orchtw.storage": StoragePlugin,
}
"""The record that entry points of each group name."""
