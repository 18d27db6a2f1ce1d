"""Annotations of pods and templates with a meaning for the server or the node (reference KIND-38)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import msgspec

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.naming.naming import Naming
from orchtw.registry.groups.core.scheduling_terms import check_toleration
from orchtw.registry.groups.core.seccomp import (
    agreement_causes,
    annotation_for,
    field_of,
    profile_causes,
    set_field,
)
from orchtw.schema.validation.metadata import validate_annotations, validate_labels
from orchtw.schema.validation.problems import within
from orchtw.schema.validation.validators import Check
from orchtw.values.causes import forbidden, go_quote, invalid
from orchtw.wire.json_values import loads
from orchtw.wire.objects import Object

CONTAINER_LISTS: Final = ("initContainers", "containers", "ephemeralContainers")
_CORE = "orch.io.api.core.v1."
_NONE: Final[Mapping[str, str]] = {}
_INT32: Final = 1 << 31
_LONGEST_COST: Final = len("-2147483648")


class AnnotationKeys(msgspec.Struct, frozen=True, kw_only=True):
    """Keys of the annotations in one vocabulary; the last two are prefixes of a container's name."""

    mirror: str
    tolerations: str
    deletion_cost: str
    seccomp: str
    container_seccomp: str
    container_apparmor: str

    def may_be_in(self, annotations: Mapping[str, str]) -> bool:
        """Report whether a key of these may be in `annotations`; False is certain, and quickly found."""
        text = "\n".join(annotations)
        whole = self.mirror in text or self.tolerations in text or self.deletion_cost in text
        return whole or self.seccomp in text or self.container_seccomp in text or self.container_apparmor in text


@lru_cache
def keys_in(vocabulary: str) -> AnnotationKeys:
    """Return the keys of the annotations in a vocabulary."""
    translate = Naming.of(vocabulary).translate
    return AnnotationKeys(
        mirror=translate("orch.io/config.mirror"),
        tolerations=translate("scheduler.alpha.orch.io/tolerations"),
        deletion_cost=translate("controller.orch.io/pod-deletion-cost"),
        seccomp=translate("seccomp.security.alpha.orch.io/pod"),
        container_seccomp=translate("container.seccomp.security.alpha.orch.io/"),
        container_apparmor=translate("container.apparmor.security.beta.orch.io/"),
    )


def annotations_of(holder: Object | None) -> Mapping[str, str]:
    """Return the annotations of a pod or template; of None none."""
    meta: Object = {} if holder is None else holder.get("metadata") or {}
    return meta.get("annotations") or _NONE


def containers_of(spec: Object) -> Iterator[tuple[str, Object]]:
    """Yield every container with its path in the spec."""
    for key in CONTAINER_LISTS:
        for index, container in enumerate(spec.get(key) or ()):
            yield f"{key}[{index}]", container


def annotation_causes(new: Object, old: Object | None, place: str, keys: AnnotationKeys) -> list[Cause]:
    """Return the causes that reject annotations of a pod or template that the server or the node reads."""
    annotations, spec = annotations_of(new), new.get("spec") or {}
    causes: list[Cause] = []
    if not keys.may_be_in(annotations):
        return causes
    for key, value in annotations.items():
        if len(causes) > MAX_CAUSES:
            break
        at = f"{place}[{key}]"
        if key == keys.mirror:
            if not spec.get("nodeName"):
                causes.append(invalid(at, value, "must set spec.nodeName if mirror pod annotation is set"))
        elif key == keys.tolerations:
            causes += within(at, _tolerations(value)) if value else ()
        elif key == keys.deletion_cost:
            if not _is_cost(value) and _is_cost(annotations_of(old).get(key, "0")):
                causes.append(invalid(at, value, "must be a 32bit integer"))
        elif key == keys.seccomp or key.startswith(keys.container_seccomp):
            causes += profile_causes(value, at)
    if any(key.startswith(keys.container_apparmor) for key in annotations):
        causes += _apparmor(annotations, spec, place, keys.container_apparmor)
    return causes


def _tolerations(text: str) -> list[Cause]:
    try:
        tolerations = loads(text)
    except ValueError as error:
        return [invalid("", text, str(error))]
    if tolerations is None:
        return []
    if not isinstance(tolerations, list) or not all(map(_is_toleration, tolerations)):
        return [invalid("", text, "is not a list of tolerations")]
    causes: list[Cause] = []
    for index, toleration in enumerate(tolerations):
        if len(causes) > MAX_CAUSES:
            break
        given = {key: value for key, value in toleration.items() if value is not None}
        causes += within(f"[{index}]", check_toleration(given, None))
    return causes


def _is_toleration(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    texts = all(isinstance(value.get(key), str | None) for key in ("key", "operator", "value", "effect"))
    return texts and isinstance(value.get("tolerationSeconds"), int | None)


def _is_cost(text: str) -> bool:
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal()) or len(text) > _LONGEST_COST:
        return False
    if text.startswith("0") and text != "0":
        return False
    return -_INT32 <= int(text) < _INT32


def _apparmor(annotations: Mapping[str, str], spec: Object, place: str, prefix: str) -> list[Cause]:
    names = {container.get("name") for _, container in containers_of(spec)}
    causes: list[Cause] = []
    for key, profile in annotations.items():
        if len(causes) > MAX_CAUSES:
            break
        if not key.startswith(prefix):
            continue
        if (name := key.removeprefix(prefix)) not in names:
            causes.append(invalid(f"{place}[{key}]", name, "container not found"))
        if profile not in ("", "runtime/default", "unconfined") and not profile.startswith("localhost/"):
            text = f"invalid AppArmor profile name: {go_quote(profile)}"
            causes.append(invalid(f"{place}[{key}]", profile, text))
    return causes


def annotation_update_causes(new: Object, old: Object, naming: Naming) -> list[Cause]:
    """Return the causes for forbidden changes of an existing pod's annotations."""
    after, before = annotations_of(new), annotations_of(old)
    if after == before:
        return []
    keys = keys_in(naming.vocabulary)
    causes: list[Cause] = []
    for key in {**before, **after}:
        if after.get(key) == before.get(key) or len(causes) > MAX_CAUSES:
            continue
        if key == keys.mirror:
            what = "mirror pod annotation"
        elif key.startswith(keys.container_apparmor):
            what = "AppArmor annotations"
        else:
            continue
        verb = "remove or update" if key in before else "add"
        causes.append(forbidden(f"metadata.annotations[{key}]", f"may not {verb} {what}"))
    return causes


def seccomp_causes(holder: Object, keys: AnnotationKeys) -> Sequence[Cause]:
    """Return the causes for annotations and spec fields that name different profiles."""
    annotations = annotations_of(holder)
    if not annotations:
        return ()
    spec: Object = holder.get("spec") or {}
    causes = agreement_causes(annotations.get(keys.seccomp), spec, "spec")
    for place, container in containers_of(spec):
        if len(causes) > MAX_CAUSES:
            break
        annotation = annotations.get(keys.container_seccomp + container.get("name", ""))
        causes += agreement_causes(annotation, container, f"spec.{place}")
    return causes


def synchronise_seccomp(pod: Object, naming: Naming) -> None:
    """Copy the profile of the pod or a container between annotation and field, if only one names it."""
    annotations, keys = annotations_of(pod), keys_in(naming.vocabulary)
    spec: Object = pod.get("spec") or {}
    added = _synchronised(spec, keys.seccomp, annotations)
    for _, container in containers_of(spec):
        added |= _synchronised(container, keys.container_seccomp + container.get("name", ""), annotations)
    if added:
        pod["metadata"]["annotations"] = dict(sorted({**annotations, **added}.items()))


def _synchronised(holder: Object, key: str, annotations: Mapping[str, str]) -> dict[str, str]:
    """Return the annotation that a pod spec or container lacks; if the field is missing, set it."""
    field, annotation = field_of(holder), annotations.get(key)
    if field is None:
        if annotation is not None:
            set_field(holder, annotation)
        return {}
    text = annotation_for(field) if annotation is None else ""
    return {key: text} if text else {}


def _template_check(naming: Naming) -> Check:
    keys = keys_in(naming.vocabulary)

    def check_template(new: Object, old: Object | None) -> list[Cause]:
        """Validate labels and annotations; causes name them as if they stood beside the spec."""
        meta = new.get("metadata")
        if not meta:
            return []
        causes = validate_labels(meta.get("labels") or _NONE, "labels")
        if annotations := meta.get("annotations"):
            causes += validate_annotations(annotations, "annotations")
            causes += annotation_causes(new, old, "annotations", keys)
            causes += seccomp_causes(new, keys)
        return causes

    return check_template


def checks(naming: Naming) -> Mapping[str, Check]:
    """Return the checks by message name."""
    return {_CORE + "PodTemplateSpec": _template_check(naming)}
