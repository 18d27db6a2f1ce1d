"""Webhooks: their address, and the rules of the requests that they review (reference HOOK-3, HOOK-4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.naming.naming import Naming
from orchtw.rules.webhook_clients import client_causes
from orchtw.schema.validation.validators import Check
from orchtw.values.causes import Literal, invalid
from orchtw.values.go_literals import listed, shown
from orchtw.wire.objects import Object

_OPERATIONS = listed("admissionregistration.OperationType")

_ALONE: Final = {"operations": "operations", "apiGroups": "API groups", "apiVersions": "API versions"}


def check_client(new: Object, old: Object | None) -> list[Cause]:
    """Validate that a webhook is at a URL or behind a service."""
    return client_causes(new)


def check_rule(new: Object, old: Object | None) -> list[Cause]:
    """Check that wildcards stand alone."""
    causes = [
        invalid(key, _shown(key, new[key]), f"if '*' is present, must not specify other {what}")
        for key, what in _ALONE.items()
        if len(new.get(key) or ()) > 1 and "*" in new[key]
    ]
    return causes + _resource_causes(new.get("resources") or ())


def _shown(key: str, values: list[str]) -> Literal | list[str]:
    return shown(_OPERATIONS, values) if key == "operations" else values


def _resource_causes(resources: Sequence[str]) -> list[Cause]:
    causes: list[Cause] = []
    whole: set[str] = set()  # resources that stand with all their sub-resources
    everywhere: set[str] = set()  # sub-resources that stand for those of all resources
    plain = False
    for index, each in enumerate(resources):
        if len(causes) > MAX_CAUSES:
            break
        resource, slash, sub = each.partition("/")
        if not slash:
            plain = each != "*" if each else plain  # the last of them counts
            continue
        if resource in whole:
            text = f"if '{resource}/*' is present, must not specify {each}"
            causes.append(invalid(f"resources[{index}]", each, text))
        if sub in everywhere:
            causes.append(invalid(f"resources[{index}]", each, f"if '*/{sub}' is present, must not specify {each}"))
        if sub == "*":
            whole.add(resource)
        if resource == "*":
            everywhere.add(sub)
    if len(resources) > 1 and "*/*" in resources:
        causes.append(invalid("resources", resources, "if '*/*' is present, must not specify other resources"))
    if plain and "*" in resources:
        text = "if '*' is present, must not specify other resources without subresources"
        causes.append(invalid("resources", resources, text))
    return causes


def checks(naming: Naming) -> Mapping[str, Check]:
    """Return the checks by message name."""
    package = "orch.io.api.admissionregistration.v1."
    return {f"{package}WebhookClientConfig": check_client, f"{package}RuleWithOperations": check_rule}
