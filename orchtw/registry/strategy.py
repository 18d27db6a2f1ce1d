"""Strategy of a kind: the generic behaviour of writes, and the hooks for particular kinds.

A strategy works on canonical dicts in the storage version, unless a method says otherwise. It does not reject
objects itself: it returns causes.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import orjson

from orchtw.errors import Cause, Conflict
from orchtw.naming.naming import Naming
from orchtw.registry.dormant import Plan, drop_dormant, plan_of
from orchtw.registry.reservations import Reservations
from orchtw.registry.scaling import WORKLOAD, ScaleMapping
from orchtw.registry.traits import GENERIC, Sent, Traits
from orchtw.request import UserInfo
from orchtw.schema.catalogue import ResourceType
from orchtw.schema.codec.body import fit_own
from orchtw.schema.codec.codec import Codec
from orchtw.schema.validation import metadata as metadata_rules
from orchtw.schema.validation.order import in_field_order
from orchtw.schema.validation.problems import within
from orchtw.wire.json_values import loads
from orchtw.wire.objects import Object


class Strategy:
    """Generic write rules of a stored kind (reference WRITE-5, WRITE-11).

    `reservations` is the account of resources that its objects take, or None; `ttl_s` is their lifetime in seconds
    after the last write, 0: unlimited. Both are set by `Targets.configure`.
    """

    reservations: Reservations | None = None
    ttl_s: float = 0.0

    def __init__(self, resource: ResourceType, naming: Naming, codec: Codec, traits: Traits = GENERIC) -> None:
        self.resource = resource
        self.naming = naming
        self.traits = traits
        self._codec = codec
        self._metadata = metadata_rules.MetadataRules(
            namespaced=resource.namespaced,
            name_form=traits.name_form,
            free_finalizers=traits.free_finalizers,
            naming=naming,
        )
        self.has_status = any(sub.name == "status" for sub in resource.subresources)

    def configure(self, gates: Mapping[str, bool]) -> None:
        """Take over what feature gates say; before the first write."""

    def emulate(self, release: tuple[int, int]) -> None:
        """Take over which release is emulated, as (major, minor); before the first write."""

    def work_bytes(self, obj: Object, size_bytes: int) -> int:
        """Return the size that decides if an object of `size_bytes` is processed off the reactor."""
        return size_bytes

    def fold_write_only(self, obj: Object) -> None:
        """Turn write-only fields into those that are stored, in place, before anybody comes to own them.

        `obj` may be an applied configuration that has not been checked yet.
        """

    def set_defaults(self, obj: Object) -> None:
        """Fill what the kind's own rules say of absent fields, beyond the declared defaults; in place.

        `obj` is canonical and stays so. It comes in the version that it was sent in, which its apiVersion says.
        """
        if self.traits.set_defaults is not None:
            self.traits.set_defaults(obj)

    def drop_unwritable(self, new: Object, old: Object | None, version: str) -> None:
        """Drop what cannot be written through a version, in place; before `prepare_for_create` or `…_update`.

        `new` and `old` (None: a create) are in the storage version; `version` is that of the request.
        """

    def drop_dormant(self, new: Object, old: Object | None) -> None:
        """Drop fields whose feature gate is off, in place, unless the old object has them (reference KIND-91)."""
        if self._dormant:
            drop_dormant(new, old, self._dormant)

    @cached_property
    def _dormant(self) -> Plan:
        return plan_of(self._codec.schema) if self.resource.protobuf else {}

    def prepare_for_create(self, obj: Object, user: UserInfo) -> None:
        """Clear what a create may not set, fill in what follows from the user, and start the generation."""
        if self.has_status:
            self.reset_status(obj)
        if self.traits.generation is not None:
            obj["metadata"]["generation"] = 1

    def reset_status(self, obj: Object) -> None:
        """Empty the status of a new object except for its defaults; numbers that are always shown become 0."""
        if "status" in obj:
            obj["status"] = loads(self._no_status)

    @cached_property
    def _no_status(self) -> bytes:
        return orjson.dumps(fit_own(self._codec, {}).get("status", {}))

    def prepare_for_update(self, new: Object, old: Object) -> None:
        """Keep what the main path may not change and raise the generation."""
        if self.has_status:
            _copy(new, old, "status")
        self.keep_metadata(new, old)

    def keep_metadata(self, new: Object, old: Object) -> None:
        """Count a new generation, and restore what this kind keeps beside the metadata that all kinds keep."""
        meta, before = new["metadata"], old["metadata"]
        meta.pop("generation", None)
        if "generation" in before:
            meta["generation"] = before["generation"] + (1 if self.traits.changed(new, old) else 0)

    def prepare_for_status(self, new: Object, old: Object, now: str) -> Object:
        """Return the object that a write to /status stores: the new one, with the old fields of the main path.

        `now` is RFC 3339 text.
        """
        kept = dict(new)
        for path in self.traits.status_ignores:
            _restore(kept, old, *path.split("."))
        return kept

    def prepare_for_subresource(self, name: str, new: Object, old: Object, now: str) -> Object | None:
        """Return the object that a write to a sub-resource stores; None: there is no such sub-resource.

        `now` is RFC 3339 text.
        """
        if name == "scale":
            return {**old, "spec": new["spec"]}
        return self.prepare_for_status(new, old, now) if name == "status" else None

    def subresource_ignores(self, name: str) -> tuple[str, ...]:
        """Return the paths that a write through a sub-resource ("": the main path) cannot change, and never owns."""
        if name == "status":
            return self.traits.status_ignores
        return ("status",) if self.has_status and not name else ()

    def validate_create(self, obj: Object, sent: Sent | None = None) -> list[Cause]:
        """Return the causes against creating `obj`, in the order of the fields; `sent` None: it came as it is."""
        causes = metadata_rules.validate_create(obj["metadata"], self._metadata) + self.validate_content(obj, None)
        return self._in_order(causes + self.validate_sent(obj, None, sent or Sent(obj, self.resource)))

    def validate_update(self, new: Object, old: Object, sent: Sent | None = None) -> list[Cause]:
        """Return the causes against a change of `old` to `new`, in the order of the fields.

        `sent` None: it came as it is, on the main path. An object from before the rules can still end: its content is
        not checked once it is terminating (reference DEL-11).
        """
        sent = sent or Sent(new, self.resource)
        causes = metadata_rules.validate_update(new["metadata"], old["metadata"], self._metadata)
        if old["metadata"].get("deletionTimestamp") and _same_content(new, old):
            return self._in_order(causes)
        if sent.subresource:
            causes += self.validate_subresource(sent.subresource, new, old)
        else:
            causes += self.validate_content(new, old)
        return self._in_order(causes + self.validate_sent(new, old, sent))

    def validate_sent(self, new: Object, old: Object | None, sent: Sent) -> list[Cause]:
        """Return the causes in the version that the write was sent in, not the stored one."""
        own = self.traits.validate_sent
        return [] if own is None else own(new, old, sent, self.naming)

    def validate_content(self, obj: Object, old: Object | None) -> list[Cause]:
        """Return the causes of declared rules, then of the kind's own; `old` None: a create.

        The status, which such a write cannot change, is not looked at: it may be older than its rules.
        """
        return self.validate_declared(obj, old) + self.validate_own(obj, old)

    def validate_own(self, obj: Object, old: Object | None) -> list[Cause]:
        """Return the causes of the kind's own rules."""
        own = self.traits.validate
        return [] if own is None else own(obj, old, self.naming)

    def validate_declared(self, obj: Object, old: Object | None) -> list[Cause]:
        """Return the causes of declared rules for all but the status."""
        shown = {key: value for key, value in obj.items() if key != "status"} if self.has_status else obj
        return self._codec.check(shown, old)

    def validate_subresource(self, name: str, new: Object, old: Object) -> list[Cause]:
        """Return the causes against a write to a sub-resource: to /status those of the status, to others all but
        those.
        """
        if name != "status":
            return self.validate_content(new, old)
        own = self.traits.validate_status
        causes = within("status", self._codec.check_part("status", new.get("status") or {}, old.get("status")))
        return causes if own is None else causes + own(new, old, self.naming)

    def _in_order(self, causes: list[Cause]) -> list[Cause]:
        return in_field_order(self._codec.schema, causes) if len(causes) > 1 else causes

    def excused(self, new: Object, old: Object) -> list[str]:
        """Return the texts of faults that count no more, because the values have not changed (reference CRD-73)."""
        return []

    def warnings(self, obj: Object, old: Object | None) -> list[str]:
        """Return warnings about a valid create or update (reference ERR-50)."""
        warn = self.traits.warn
        return [] if warn is None else warn(obj, old, self.naming)

    @property
    def scale(self) -> ScaleMapping:
        """Return the mapping between objects of the kind and Scales."""
        return WORKLOAD

    def grace_period_s(self, obj: Object, asked_s: int | None) -> int:
        """Return the seconds between a delete and the removal; 0: the kind has no graceful deletion (reference
        DEL-6).
        """
        return 0

    def holds_removal(self, obj: Object) -> bool:
        """Report whether a terminating object stays although its metadata.finalizers are empty."""
        return False

    def precondition_failed(self, name: str, what: str, asked: str, found: str) -> Conflict:
        """Return the error for a delete whose precondition on `what`, UID or ResourceVersion, does not hold."""
        happened = "deleted and then recreated" if what == "UID" else "modified"
        why = (
            f"the {what} in the precondition ({asked}) does not match the {what} in record ({found}). "
            f"The object might have been {happened}"
        )
        return Conflict.of(self.resource.kind, self.resource.group, name, why)

    def begin_termination(self, obj: Object) -> None:
        """Show in the object that it is being deleted, beyond its metadata."""


def _same_content(new: Object, old: Object) -> bool:
    """Report whether nothing differs but metadata."""
    return {**new, "metadata": None} == {**old, "metadata": None}


def _copy(into: Object, source: Object, key: str) -> None:
    if key in source:
        into[key] = source[key]
    else:
        into.pop(key, None)


def _restore(into: Object, source: Object, key: str, *rest: str) -> None:
    """Put the source's value at a path back; dicts on the way are replaced by copies."""
    if not rest:
        _copy(into, source, key)
        return
    into[key] = dict(into.get(key) or {})
    _restore(into[key], source.get(key) or {}, *rest)
