"""Records that describe plugins of other packages: a class for each group of entry points (reference EXT-2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import attrs

from orchtw.flags.flag import Flag


@attrs.frozen(slots=True, kw_only=True)
class Plugin:
    """Base of the records below.

    `make` is the factory; it raises ConfigError for invalid settings. `flags` are the plugin's own; the factory gets
    the values of all plugins' flags as `values`, by flag name.
    """

    make: Callable[..., Any]
    flags: tuple[Flag, ...] = ()


@attrs.frozen(slots=True, kw_only=True)
class AdmissionPlugin(Plugin):
    """An admission plugin: `make(host, values, given)` returns an `orchtw.admission.chain.Plugin`.

    It runs directly before or after the plugin that `before` or `after` names, else before MutatingAdmissionWebhook.
    It is enabled if `default` is True or `--enable-admission-plugins` names it. If `needs_configuration` is True,
    `given` is never None.
    """

    before: str = ""
    after: str = ""
    default: bool = False
    needs_configuration: bool = False


@attrs.frozen(slots=True, kw_only=True)
class AuthenticationPlugin(Plugin):
    """An authentication method: `make(host, values)` returns an `orchtw.authn.method.Authenticator`.

    With `tokens` it returns a source of bearer tokens instead, an `orchtw.authn.method.TokenMethod`. Returning None
    disables it. It is tried after the built-in methods (or sources), or directly before the one that `before` names.
    """

    tokens: bool = False
    before: str = ""


@attrs.frozen(slots=True, kw_only=True)
class AuthorizationPlugin(Plugin):
    """A mode of `--authorization-mode`: `make(host, values)` returns an `orchtw.authz.decision.Authorizer`."""


@attrs.frozen(slots=True, kw_only=True)
class ControllerPlugin(Plugin):
    """A controller: `make(host, values)` returns an `orchtw.controllers.controller.Controller`.

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
    """A storage backend for `--storage-backend`: `make(host, values)` returns an `orchtw.storage.interface.Store`."""


RECORDS: Final[Mapping[str, type[Plugin]]] = {
    "orchtw.admission": AdmissionPlugin,
    "orchtw.authentication": AuthenticationPlugin,
    "orchtw.authorization": AuthorizationPlugin,
    "orchtw.controllers": ControllerPlugin,
    "orchtw.encryption": EncryptionPlugin,
    "orchtw.storage": StoragePlugin,
}
"""Type of record that the entry points of each group must name."""
