"""Warnings about accepted pods and templates: deprecated and odd fields (reference ERR-54)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, islice
from typing import Final

import msgspec

from orchtw.naming.naming import Naming
from orchtw.registry.groups.core.pod_annotations import annotations_of, containers_of, keys_in
from orchtw.registry.groups.core.seccomp import field_of
from orchtw.values.causes import go_quote
from orchtw.wire.objects import Object

_LABELS: Final = {
    "beta.orch.io/arch": ("1.14", "orch.io/arch"),
    "beta.orch.io/os": ("1.14", "orch.io/os"),
    "failure-domain.beta.orch.io/region": ("1.17", "topology.orch.io/region"),
    "failure-domain.beta.orch.io/zone": ("1.17", "topology.orch.io/zone"),
    "beta.orch.io/instance-type": ("1.17", "node.orch.io/instance-type"),
}
_ANNOTATIONS: Final = {
    "scheduler.alpha.orch.io/critical-pod": ("1.16", "priorityClassName"),
    "security.alpha.orch.io/sysctls": ("1.11", "sysctls"),
    "security.alpha.orch.io/unsafe-sysctls": ("1.11", "sysctls"),
}
_PLANNED = "deprecated in v1.22, support removal is planned in v1.26"
_VOLUMES: Final = {
    "photonPersistentDisk": ("photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    "gitRepo": ("gitRepo", "deprecated in v1.11"),
    "scaleIO": ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    "flocker": ("flocker", _PLANNED),
    "storageos": ("storageOS", _PLANNED),
    "quobyte": ("quobyte", _PLANNED),
}
_REQUIRED, _PREFERRED = (
    f"{when}DuringSchedulingIgnoredDuringExecution" for when in ("required", "preferred")
)
_FRACTIONS: Final = ("m", "u", "n")  # units that canonical amounts have only where they are not whole numbers
MAX_WARNINGS: Final = 100
"""Warnings about one object: a header holds fewer."""


class _Words(msgspec.Struct, frozen=True):
    """Names of deprecated fields in one vocabulary."""

    labels: Mapping[str, str]
    annotations: Mapping[str, str]


@lru_cache
def _words_in(vocabulary: str) -> _Words:
    translate = Naming.of(vocabulary).translate
    labels = {
        translate(old): f"deprecated since v{since}; use {go_quote(translate(new))} instead"
        for old, (since, new) in _LABELS.items()
    }
    annotations = {
        translate(key): f"non-functional in v{since}+; use the {go_quote(field)} field instead"
        for key, (since, field) in _ANNOTATIONS.items()
    }
    return _Words(labels, annotations)


def warn_of_pod(new: Object, old: Object | None, naming: Naming) -> list[str]:
    """Return warnings about a new pod; updates are many, by programs, and change no field with a warning."""
    return warnings_of(new, "", naming) if old is None else []


def warn_of_template(new: Object, old: Object | None, naming: Naming) -> list[str]:
    """Return warnings about a PodTemplate, if its template changes."""
    template = new.get("template") or {}
    return [] if old is not None and old.get("template") == template else warnings_of(template, "template", naming)


def warnings_of(holder: Object, place: str, naming: Naming) -> list[str]:
    """Return warnings about a pod (`place` is "") or the template at `place`, such as `spec.template`."""
    words = _words_in(naming.vocabulary)
    spec, prefix = holder.get("spec") or {}, f"{place}." if place else ""
    found = chain(_spec_warnings(spec, words), _of_annotations(holder, spec, words, naming))
    return [prefix + text for text in islice(found, MAX_WARNINGS)]


def _of_annotations(holder: Object, spec: Object, words: _Words, naming: Naming) -> Iterator[str]:
    annotations = annotations_of(holder)
    if not annotations:
        return
    for key, text in words.annotations.items():
        if key in annotations:
            yield f"metadata.annotations[{key}]: {text}"
    keys = keys_in(naming.vocabulary)
    without_field = [keys.seccomp] if field_of(spec) is None else []
    for _, container in containers_of(spec):
        if field_of(container) is None:
            without_field.append(keys.container_seccomp + container.get("name", ""))
    for key in without_field:
        if key in annotations:
            yield f'metadata.annotations[{key}]: deprecated since v1.19; use the "seccompProfile" field instead'


def _spec_warnings(spec: Object, words: _Words) -> Iterator[str]:
    get = spec.get
    for key in get("nodeSelector") or ():
        if key in words.labels:
            yield f"spec.nodeSelector[{key}]: {words.labels[key]}"
    if nodes := (get("affinity") or {}).get("nodeAffinity"):
        yield from _of_terms(nodes, words.labels)
    for index, constraint in enumerate(get("topologySpreadConstraints") or ()):
        if (key := constraint.get("topologyKey")) in words.labels:
            yield f"spec.topologySpreadConstraints[{index}].topologyKey: {key} is {words.labels[key]}"
    for index, volume in enumerate(get("volumes") or ()):
        for source in volume:
            if source in _VOLUMES:
                shown, text = _VOLUMES[source]
                yield f"spec.volumes[{index}].{shown}: {text}"
    if aliases := get("hostAliases"):
        yield from _repeated(aliases, "hostAliases", "ip")
    if secrets := get("imagePullSecrets"):
        yield from _repeated(secrets, "imagePullSecrets", "name")
        for index, secret in enumerate(secrets):
            if not secret.get("name"):
                yield f'spec.imagePullSecrets[{index}].name: invalid empty name ""'
    if overhead := get("overhead"):
        yield from fractional_bytes(overhead, "spec.overhead")
    for place, container in containers_of(spec):
        variables = container.get("env") or ()
        if len({variable.get("name") for variable in variables}) < len(variables):
            yield from _repeated(variables, f"{place}.env", "name")
        for key, amounts in (container.get("resources") or {}).items():
            yield from fractional_bytes(amounts, f"spec.{place}.resources.{key}")


def _of_terms(nodes: Object, labels: Mapping[str, str]) -> Iterator[str]:
    place = f"spec.affinity.nodeAffinity.{_REQUIRED}.nodeSelectorTerms"
    required = (nodes.get(_REQUIRED) or {}).get("nodeSelectorTerms") or ()
    preferred = (each.get("preference") or {} for each in nodes.get(_PREFERRED) or ())
    yield from _of_term(required, f"{place}[{{}}]", labels)
    yield from _of_term(preferred, f"spec.affinity.nodeAffinity.{_PREFERRED}[{{}}].preference", labels)


def _of_term(terms: Iterable[Object], place: str, labels: Mapping[str, str]) -> Iterator[str]:
    for number, term in enumerate(terms):
        for index, expression in enumerate(term.get("matchExpressions") or ()):
            if (key := expression.get("key")) in labels:
                yield f"{place.format(number)}.matchExpressions[{index}].key: {key} is {labels[key]}"


def _repeated(items: Sequence[Object], place: str, key: str) -> Iterator[str]:
    seen: set[str] = set()
    for index, item in enumerate(items):
        if (value := item.get(key, "")) in seen:
            yield f"spec.{place}[{index}].{key}: duplicate {key} {go_quote(value)}"
        seen.add(value)


def fractional_bytes(amounts: Mapping[str, str], place: str) -> Iterator[str]:
    """Yield warnings about amounts of memory and storage that are not whole bytes."""
    for key in ("memory", "ephemeral-storage"):
        amount = amounts.get(key, "")
        if amount.endswith(_FRACTIONS) or "e-" in amount:
            yield f"{place}[{key}]: fractional byte value {go_quote(amount)} is invalid, must be an integer"
