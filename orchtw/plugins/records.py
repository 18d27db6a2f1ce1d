"""Records that describe plugins of other packages: a class for each group of entry points (reference EXT-2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from orchtw.flags.flag import Flag


class Plugin(msgspec.Struct, frozen=True, kw_only=True):
    """Base of the records below.

    `make` is the factory; it raises ConfigError for invalid settings. `flags` are the plugin's own; the factory gets
    the values of all plugins' flags as `values`, by flag name.
    """

    make: Callable[..., Any]
    flags: tuple[Flag, ...] = ()


class AdmissionPlugin(Plugin, frozen=True, kw_only=True):
    """An admission plugin: `make(host, values, given)` returns an `orchtw.admission.chain.Plugin`.

    It runs directly before or after the plugin that `before` or `after` names, else before MutatingAdmissionWebhook.
    It is enabled if `default` is True or `--enable-admission-plugins` names it. If `needs_configuration` is True,
    `given` is never None.
    """

    before: str = ""
    after: str = ""
    default: bool = False
    needs_configuration: bool = False


class AuthenticationPlugin(Plugin, frozen=True, kw_only=True):
    """An authentication method: `make(host, values)` returns an `orchtw.authn.method.Authenticator`.

    With `tokens` it returns a source of bearer tokens instead, an `orchtw.authn.method.TokenMethod`. Returning None
    disables it. It is tried after the built-in methods (or sources), or directly before the one that `before` names.
    """

    tokens: bool = False
    before: str = ""


class AuthorizationPlugin(Plugin, frozen=True, kw_only=True):
    """A mode of `--authorization-mode`: `make(host, values)` returns an `orchtw.authz.decision.Authorizer`."""


class ControllerPlugin(Plugin, frozen=True, kw_only=True):
    """A controller: `make(host, values)` returns an `orchtw.controllers.controller.Controller`.

    `*` in `--controllers` includes it unless `by_name_only` is True.
    """

    by_name_only: bool = False


class EncryptionPlugin(Plugin, frozen=True, kw_only=True):
    """An encryption provider: `make(fields)` returns an `orchtw.storage.encryption.provider.Provider`.

    `fields` (`orchtw.outbound.fields.Fields`) is what the encryption configuration has under the plugin's name.
    """


class StoragePlugin(Plugin, frozen=True, kw_only=True):
    """A storage backend for `--storage-backend`: `make(host, values)` returns an `orchtw.storage.store.Store`."""


RECORDS: Final[Mapping[str, type[Plugin]]] = {
    "orchtw.admission": AdmissionPlugin,
    "orchtw.authentication": AuthenticationPlugin,
    "orchtw.authorization": AuthorizationPlugin,
    "orchtw.controllers": ControllerPlugin,
    "orchtw.encryption": EncryptionPlugin,
    "orchtw.storage": StoragePlugin,
}
"""Type of record that the entry points of each group must name."""
