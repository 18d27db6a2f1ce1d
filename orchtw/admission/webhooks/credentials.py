"""Credentials of the server for webhooks, by WebhookAdmissionConfiguration (reference ADM-13)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from twisted.internet.interfaces import IReactorTime

from orchtw.admission.configuration import Given
from orchtw.naming.naming import Naming
from orchtw.outbound.credentials import Credentials
from orchtw.outbound.kubeconfig import load_users

KINDS: Final = {
    "apiserver.config.orch.io/v1": "WebhookAdmissionConfiguration",
    "apiserver.config.orch.io/v1alpha1": "WebhookAdmission",
}

_PORT: Final = ":443"


class Identities:
    """Credentials by the names of a kubeconfig's users."""

    def __init__(self, users: Mapping[str, Credentials] | None = None) -> None:
        self._users = users or {}

    def of(self, target: str) -> Credentials | None:
        """Return the credentials for `host` or `host:port`; None: the server shows none."""
        return next((self._users[name] for name in _names(target) if name in self._users), None)


def identities_of(given: Given | None, naming: Naming, reactor: IReactorTime) -> Identities:
    """Read the credentials in a plugin's configuration. Raises ConfigError with one line."""
    if given is None:
        return Identities()
    fields = given.fields()
    version, kind = fields.text("apiVersion"), fields.text("kind")
    if KINDS.get(version) != kind:
        text = f"no kind {kind!r} is registered for version {version!r}: use "
        raise fields.wrong("", f"{text}WebhookAdmissionConfiguration of apiserver.config.{naming.api_domain}/v1")
    fields.only("apiVersion", "kind", "kubeConfigFile")
    file = fields.text("kubeConfigFile")
    return Identities(load_users(Path(given.directory, file), naming, reactor)) if file else Identities()


def _names(target: str) -> Iterator[str]:
    """Yield the user names that fit a target, the most specific first."""
    yield from _with_wildcards(target)
    if target.endswith(_PORT):
        yield from _with_wildcards(target.removesuffix(_PORT))
    yield "*"


def _with_wildcards(target: str) -> Iterator[str]:
    yield target
    labels = target.split(".")
    for count in range(1, len(labels)):
        yield ".".join(("*", *labels[count:]))
