"""Rules of ObjectMeta on create and on update (reference OBJ-1).

The rules check canonical metadata after the server's own fields have been filled in, return all causes at once (of
very many, a few more than are shown) and change nothing; `drop_unstored` runs before them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec
import orjson

from orchtw.errors import MAX_CAUSES, MAX_NAME_CHARACTERS, Cause
from orchtw.naming.naming import Naming
from orchtw.schema.codec.mismatch import shortened
from orchtw.schema.validation.problems import IMMUTABLE
from orchtw.values import names, utf8
from orchtw.values.causes import NOT_NEGATIVE, forbidden, go_time, go_value, invalid, required, too_long
from orchtw.values.field_managers import entry_causes
from orchtw.values.go_literals import OWNER, OWNERS, shown

Meta = Mapping[str, Any]

ANNOTATIONS_LIMIT_BYTES: Final = 262144
ORPHAN: Final = "orphan"
FOREGROUND: Final = "foregroundDeletion"

_SHOWN_OWNERS: Final = 32  # in a cause, which shows only some hundred characters
_SHOWN_UIDS: Final = 20  # in a warning, which is cut at some hundred characters
_SHOWN_UID: Final = 64
_IMMUTABLE: Final = (
    "name",
    "namespace",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)
_TIMES: Final = frozenset({"creationTimestamp", "deletionTimestamp"})

_VALID_KEYS: Final[set[str]] = set()
_MOST_VALID_KEYS: Final = 4096
_MOST_KEPT_OF_ONE: Final = 256  # keys of one object

_CLUSTER_NAME: Final = (
    "metadata.clusterName was specified. This field is not preserved and will be removed from the schema in 1.25"
)
_REPEATED_OWNERS: Final = ".metadata.ownerReferences contains duplicate entries"
_ADMITTED: Final = " after mutating admission happens"
_REPEATED_OWNERS_TAIL: Final = (
    "; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your "
    "requests; duplicate UID(s) observed: "
)


def drop_unstored(meta: dict[str, Any], *, admitted: bool = False) -> list[str]:
    """Remove from `meta` what is not stored, a clusterName and repeated owners; return a warning for each.

    `admitted`: the warning mentions mutating admission, which is over (reference ERR-53).
    """
    warnings = [_CLUSTER_NAME] if meta.pop("clusterName", None) else []
    return warnings + drop_repeated_owners(meta, admitted=admitted)


def drop_repeated_owners(meta: dict[str, Any], *, admitted: bool) -> list[str]:
    """Remove repeated owners from `meta`; return the warning."""
    owners = meta.get("ownerReferences")
    if not owners or len(owners) < 2:
        return []
    kept, repeated = _without_repeated(owners)
    if not repeated:
        return []
    meta["ownerReferences"] = kept
    shown = [uid[:_SHOWN_UID] for uid in sorted(repeated)[:_SHOWN_UIDS]]
    return [_REPEATED_OWNERS + (_ADMITTED if admitted else "") + _REPEATED_OWNERS_TAIL + ", ".join(shown)]


def _without_repeated(owners: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], set[str]]:
    """Return each different owner, and the uids of those that come more than once."""
    first: dict[frozenset[tuple[str, Any]], dict[str, Any]] = {}
    repeated = set()
    for owner in owners:
        identity = frozenset(owner.items())
        if identity in first:
            repeated.add(owner.get("uid", ""))
        else:
            first[identity] = owner
    return list(first.values()), repeated


class MetadataRules(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters of the metadata rules of a kind.

    `free_finalizers`: finalizers without a domain may have any name, not only the standard ones.
    """

    namespaced: bool
    name_form: names.NameForm
    free_finalizers: bool
    naming: Naming


def validate_create(meta: Meta, rules: MetadataRules) -> list[Cause]:
    """Return every reason why an object with `meta` may not be created."""
    causes: list[Cause] = []
    if prefix := meta.get("generateName"):
        errors = rules.name_form.prefix(prefix)
        causes += [invalid("metadata.generateName", prefix, text) for text in errors]
    name = meta.get("name")
    if not name:
        causes.append(required("metadata.name", "name or generateName is required"))
    elif (errors := rules.name_form.check(name)) or (errors := names.path_segment(name)):
        causes += [invalid("metadata.name", name, text) for text in errors]
    causes += _common(meta, rules)
    return causes


def validate_update(new: Meta, old: Meta, rules: MetadataRules) -> list[Cause]:
    """Return every reason why `old` may not become `new`; the kind's form of the name is not checked again."""
    causes: list[Cause] = []
    name = new.get("name")
    if not name:
        causes.append(required("metadata.name", "name or generateName is required"))
    elif errors := names.path_segment(name):
        causes += [invalid("metadata.name", name, text) for text in errors]
    causes += _common(new, rules)
    if old.get("deletionTimestamp"):
        causes += _no_new_finalizers(new, old)
    generation = new.get("generation", 0)
    if generation < old.get("generation", 0):
        causes.append(invalid("metadata.generation", generation, "must not be decremented"))
    for key in _IMMUTABLE:
        if (value := new.get(key)) != old.get(key):
            shown = go_time(value) if key in _TIMES and value else value
            causes.append(invalid(f"metadata.{key}", shown, IMMUTABLE))
    return causes


def _no_new_finalizers(new: Meta, old: Meta) -> list[Cause]:
    added = sorted(set(new.get("finalizers") or ()).difference(old.get("finalizers") or ()))
    if not added:
        return []
    why = "no new finalizers can be added if the object is being deleted, found new finalizers "
    return [forbidden("metadata.finalizers", why + go_value(added))]


def _common(meta: Meta, rules: MetadataRules) -> list[Cause]:
    causes: list[Cause] = []
    namespace = meta.get("namespace")
    if rules.namespaced:
        if not namespace:
            causes.append(required("metadata.namespace"))
        elif errors := names.dns_label(namespace):
            causes += [invalid("metadata.namespace", namespace, text) for text in errors]
    elif namespace:
        causes.append(forbidden("metadata.namespace", "not allowed on this type"))
    if (generation := meta.get("generation", 0)) < 0:
        causes.append(invalid("metadata.generation", generation, NOT_NEGATIVE))
    if labels := meta.get("labels"):
        causes += validate_labels(labels, "metadata.labels")
    if annotations := meta.get("annotations"):
        causes += validate_annotations(annotations, "metadata.annotations")
    if owners := meta.get("ownerReferences"):
        causes += _owners(owners)
    if entries := meta.get("managedFields"):
        causes += entry_causes(entries, "metadata.managedFields")
    if finalizers := meta.get("finalizers"):
        causes += _finalizers(finalizers, rules.free_finalizers, rules.naming)
    return causes


def validate_labels(labels: Mapping[str, str], field: str) -> list[Cause]:
    """Return every reason why `labels` at `field` are invalid."""
    causes: list[Cause] = []
    for key, value in labels.items():
        if len(causes) > MAX_CAUSES:
            break
        if errors := names.qualified_name(key):
            causes += [invalid(field, key, text) for text in errors]
        if errors := names.label_value(value):
            causes += [invalid(field, value, text) for text in errors]
    return causes


def validate_annotations(annotations: Mapping[str, str], field: str) -> list[Cause]:
    """Return every reason why `annotations` at `field` are invalid: key form (in lower case) and total size."""
    causes: list[Cause] = []
    if not _VALID_KEYS.issuperset(annotations):
        for key in annotations:
            if len(causes) > MAX_CAUSES:
                break
            if errors := names.qualified_name(key.lower()):
                causes += [invalid(field, key, text) for text in errors]
        if not causes and len(annotations) <= _MOST_KEPT_OF_ONE:
            _remember(annotations)
    if _annotations_beyond(annotations, ANNOTATIONS_LIMIT_BYTES):
        causes.append(too_long(field, ANNOTATIONS_LIMIT_BYTES))
    return causes


def _remember(keys: Iterable[str]) -> None:
    """Note valid keys of annotations, which most objects share: a whole set of them is then known at a glance."""
    if len(_VALID_KEYS) >= _MOST_VALID_KEYS:
        _VALID_KEYS.clear()
    _VALID_KEYS.update(keys)


def _annotations_beyond(annotations: Mapping[str, str], limit_bytes: int) -> bool:
    """Report whether keys and values are larger; their JSON text, which is made faster, never has fewer bytes."""
    try:
        if len(orjson.dumps(annotations)) <= limit_bytes:
            return False
    except orjson.JSONEncodeError:  # half a surrogate pair
        pass
    return sum(utf8.size(key) + utf8.size(value) for key, value in annotations.items()) > limit_bytes


def _owners(owners: Iterable[Meta]) -> list[Cause]:
    field = "metadata.ownerReferences"
    causes: list[Cause] = []
    controller = ""
    owners = list(owners)
    for owner in owners:
        if len(causes) > MAX_CAUSES:
            break
        causes += _owner(owner, field)
        if owner.get("controller"):
            name = shortened(f"{owner.get('kind', '')}/{owner.get('name', '')}", MAX_NAME_CHARACTERS)
            if controller:
                text = 'Only one reference can have Controller set to true. Found "true" in references for '
                causes.append(invalid(field, shown(OWNERS, owners[:_SHOWN_OWNERS]), f"{text}{controller} and {name}"))
            controller = controller or name
    return causes


def _owner(owner: Meta, field: str) -> list[Cause]:
    causes: list[Cause] = []
    group, _, version = owner.get("apiVersion", "").rpartition("/")
    if not version:
        causes.append(invalid(f"{field}.apiVersion", owner.get("apiVersion", ""), "version must not be empty"))
    for key in ("kind", "name", "uid"):
        if not owner.get(key):
            causes.append(invalid(f"{field}.{key}", "", f"{key} must not be empty"))
    if (group, version, owner.get("kind")) == ("", "v1", "Event"):
        causes.append(invalid(field, shown(OWNER, owner), "/v1, Kind=Event is disallowed from being an owner"))
    return causes


def _finalizers(finalizers: Iterable[str], free: bool, naming: Naming) -> list[Cause]:
    field = "metadata.finalizers"
    causes: list[Cause] = []
    standard = (naming.namespace_finalizer, ORPHAN, FOREGROUND)
    finalizers = list(finalizers)
    for index, name in enumerate(finalizers):
        if len(causes) > MAX_CAUSES:
            break
        causes += [invalid(field, name, text) for text in names.qualified_name(name)]
        if not free and "/" not in name and name not in standard:
            text = "name is neither a standard finalizer name nor is it fully qualified"
            causes.append(invalid(f"{field}[{index}]", name, text))
    if ORPHAN in finalizers and FOREGROUND in finalizers:
        causes.append(invalid(field, finalizers, f"finalizer {ORPHAN} and {FOREGROUND} cannot be both set"))
    return causes
