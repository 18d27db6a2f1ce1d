"""The environment of containers: variables, and where their values come from (reference KIND-41)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.registry.groups.core.field_references import field_ref_causes, resource_ref_causes
from orchtw.registry.groups.core.newer_pods import file_key_causes
from orchtw.schema.validation.problems import within
from orchtw.values.causes import invalid, required
from orchtw.values.names import SUBDOMAIN_NAME, config_key, dns_subdomain, environment_variable
from orchtw.wire.objects import Object

FIELDS: Final = frozenset(
    (
        *("metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName"),
        *("status.hostIP", "status.podIP", "status.podIPs"),
    )
)
"""Fields of the pod that a variable may show, beside single labels and annotations."""

FIELDS_WITH_HOST_IPS: Final = FIELDS | {"status.hostIPs"}
"""The same with gate PodHostIPs, since release 1.28."""

_NO_SOURCE: Final = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`"
_TWO_SOURCES: Final = "may not have more than one field specified at a time"
_NO_MAP: Final = "must specify one of: `configMapRef` or `secretRef`"


def variable_causes(variables: Sequence[Object], fields: frozenset[str] = FIELDS) -> list[Cause]:
    """Return the causes that reject `env`: each variable has a name, and one value or source.

    `fields` are those of the pod that a variable may show.
    """
    causes: list[Cause] = []
    for index, variable in enumerate(variables):
        name = variable.get("name")
        if not name:
            causes.append(required(f"env[{index}].name"))
        elif texts := environment_variable(name):
            causes += [invalid(f"env[{index}].name", name, text) for text in texts]
        if "valueFrom" in variable and (found := _source_causes(variable, fields)):
            causes += within(f"env[{index}].valueFrom", found)
        if len(causes) > MAX_CAUSES:
            break
    return causes


def _source_causes(variable: Object, fields: frozenset[str]) -> list[Cause]:
    source = variable["valueFrom"]
    causes: list[Cause] = []
    for key, reference in source.items():
        found = _reference_causes(key, reference, fields)
        if found:
            causes += within(key, found)
    if not source:
        causes.append(invalid("", "", _NO_SOURCE))
    elif variable.get("value"):
        causes.append(invalid("", "", "may not be specified when `value` is not empty"))
    elif len(source) > 1:
        causes.append(invalid("", "", _TWO_SOURCES))
    return causes


def _reference_causes(key: str, reference: Object, fields: frozenset[str]) -> list[Cause]:
    if key == "fieldRef":
        return field_ref_causes(reference, fields)
    if key == "resourceFieldRef":
        return resource_ref_causes(reference, in_volume=False)
    if key == "fileKeyRef":
        return file_key_causes(reference)
    name, entry = reference.get("name", ""), reference.get("key", "")
    causes = [invalid("name", name, text) for text in dns_subdomain(name)]
    if not entry:
        return [*causes, required("key")]
    return causes + [invalid("key", entry, text) for text in config_key(entry)]


def import_causes(imports: Sequence[Object]) -> list[Cause]:
    """Return the causes that reject `envFrom`: all entries of one ConfigMap or Secret each."""
    causes: list[Cause] = []
    for index, each in enumerate(imports):
        if prefix := each.get("prefix"):
            causes += [invalid(f"envFrom[{index}].prefix", prefix, text) for text in environment_variable(prefix)]
        given = 0
        for key in ("configMapRef", "secretRef"):
            if (reference := each.get(key)) is not None:
                given += 1
                causes += _name_causes(f"envFrom[{index}].{key}.name", reference.get("name"))
        if given != 1:
            causes.append(invalid("envFrom", "", _TWO_SOURCES if given else _NO_MAP))
        if len(causes) > MAX_CAUSES:
            break
    return causes


def _name_causes(place: str, name: str | None) -> list[Cause]:
    """Return the causes of an invalid name; as a prefix it may end in a dash."""
    return [invalid(place, name, text) for text in SUBDOMAIN_NAME.prefix(name)] if name else [required(place)]
