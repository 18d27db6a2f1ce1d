"""Recorded resources: the names of a stored resource, and reading of its values without its cache."""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property

from orchtw.apply.last_applied import annotation_names
from orchtw.apply.merge_type import MapType, Types
from orchtw.history.changes import FieldChange, object_changes
from orchtw.history.redaction import redacted_change, redacted_object
from orchtw.naming.naming import Naming
from orchtw.registry.stored import Stored
from orchtw.registry.targets import Targets
from orchtw.watch.entry import Entry
from orchtw.wire.objects import Object


class RecordedResource:
    """One stored resource, as the record knows it: it outlives the definition of a custom one."""

    def __init__(self, stored: Stored, naming: Naming) -> None:
        resource = stored.resource
        self.group = resource.group
        self.version = resource.version
        self.plural = resource.plural
        self.kind = resource.kind
        self.namespaced = resource.namespaced
        self.prefix = stored.prefix
        self.secret = (resource.group, resource.plural) == ("", "secrets")
        self._stored = stored.alone()
        self._copies: Collection[str] = annotation_names(naming)

    @property
    def qualified(self) -> str:
        """Return the name with its group: `pods` or `deployments.apps`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @cached_property
    def type(self) -> MapType:
        """The merge type of whole objects."""
        return Types().root(self._stored.codec.schema)

    def names(self, key: str) -> tuple[str, str]:
        """Return namespace and name of the object with that store key."""
        namespace, _, name = key[len(self.prefix) :].rpartition("/")
        return namespace, name

    def build(self, key: str, value: bytes, revision: int) -> Entry:
        """Return the entry of a stored value. Raises StatusError or ValueError for an unreadable one."""
        return self._stored.build(key[len(self.prefix) :], value, revision)

    def load(self, entry: Entry) -> Object:
        """Return the object of an entry, without redaction."""
        return self._stored.load(entry)

    def shown(self, obj: Object) -> Object:
        """Return an object without the data of a Secret."""
        return redacted_object(obj, self._copies) if self.secret else obj

    def changes(self, old: Object | None, new: Object | None, *, generation: bool = False) -> list[FieldChange]:
        """Return the changes between two states of an object, those of a Secret without its data."""
        found = object_changes(self.type, old, new, generation=generation)
        return [redacted_change(each, self._copies) for each in found] if self.secret else found


class RecordedResources:
    """Recorded resources by the store keys of their objects. Custom ones come and go."""

    def __init__(self, targets: Targets, naming: Naming) -> None:
        self._targets = targets
        self._naming = naming
        self._known: dict[str, tuple[Stored, RecordedResource]] = {}
        self._look()
        targets.listen(self._look)

    def of(self, key: str) -> RecordedResource | None:
        """Return the resource of a store key, `/registry/<plural>/…` or `/registry/<group>/<plural>/…`, if known."""
        first = key.find("/", 1) + 1
        second = key.find("/", first) + 1
        found = self._known.get(key[:second]) or self._known.get(key[: key.find("/", second) + 1])
        return None if found is None else found[1]

    def present(self) -> list[tuple[Stored, RecordedResource]]:
        """Return the resources that the server has now."""
        return list(self._known.values())

    def _look(self) -> None:
        """Take up new resources and let go of removed ones, whose caches would stay in memory."""
        before, self._known = self._known, {}
        for target in self._targets.homes():
            stored = target.stored
            known = before.get(stored.prefix)
            if known is None or known[0] is not stored:
                known = (stored, RecordedResource(stored, self._naming))
            self._known[stored.prefix] = known
