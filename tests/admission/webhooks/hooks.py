"""Webhooks as configurations describe them, for tests that call none."""

from __future__ import annotations

from typing import Any

from orchtw.admission.webhooks.credentials import Identities
from orchtw.admission.webhooks.hook import Configuration, Hook, configuration_of
from orchtw.wire.objects import Object

URL = "https://hook.example.com/admit"


def rule(*resources: str, operations: tuple[str, ...] = ("*",), **more: Any) -> Object:
    """A rule of all groups and versions, or of those that `more` says."""
    lists = {"apiGroups": ["*"], "apiVersions": ["*"], **more}
    return {"operations": [*operations], "resources": [*resources], **lists}


def webhook(*rules: Object, name: str = "a.b.c", **settings: Any) -> Object:
    """An entry of a configuration."""
    given = {"sideEffects": "None", "admissionReviewVersions": ["v1"], **settings}
    return {"name": name, "clientConfig": {"url": URL}, "rules": [*rules], **given}


def configuration(name: str, *webhooks: Object, identities: Identities | None = None) -> Configuration:
    """A configuration as it is compiled."""
    obj = {"metadata": {"name": name}, "webhooks": [*webhooks]}
    return configuration_of(obj, identities or Identities())


def hook(*rules: Object, **settings: Any) -> Hook:
    """One webhook of a configuration."""
    return configuration("c", webhook(*rules, **settings)).hooks[0]
