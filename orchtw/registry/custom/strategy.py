"""Write rules of custom resources (reference CRD-21, CRD-22, CRD-23)."""

from __future__ import annotations

from typing import Final

from orchtw.errors import Cause
from orchtw.naming.naming import Naming
from orchtw.registry.offload import INLINE_BYTES
from orchtw.registry.scaling import PathScale, ScaleMapping
from orchtw.registry.strategy import Strategy
from orchtw.registry.traits import Traits
from orchtw.request import UserInfo
from orchtw.schema.catalogue import ResourceType
from orchtw.schema.codec.codec import Codec
from orchtw.wire.objects import Object

TRAITS: Final = Traits(unconditional_update=False, free_finalizers=True, own_columns=True)


class CustomStrategy(Strategy):
    """The rules of one version: a generation counts all changes outside metadata and a status of its own."""

    def __init__(self, resource: ResourceType, naming: Naming, codec: Codec) -> None:
        super().__init__(resource, naming, codec, TRAITS)
        paths = next((sub.scale for sub in resource.subresources if sub.name == "scale"), None)
        self._paths = None if paths is None else PathScale(paths)

    def work_bytes(self, obj: Object, size_bytes: int) -> int:
        """Return the cost of a write in bytes: rules of the schema may take long for small objects too."""
        if size_bytes > INLINE_BYTES:
            return size_bytes
        return INLINE_BYTES + 1 if self._codec.may_take_long(size_bytes) else size_bytes

    def prepare_for_create(self, obj: Object, user: UserInfo) -> None:
        super().prepare_for_create(obj, user)
        obj["metadata"]["generation"] = 1

    def reset_status(self, obj: Object) -> None:
        """Drop the status; a default for it in the schema is filled in again."""
        if obj.pop("status", None) is not None:
            self._codec.set_defaults(obj)

    def keep_metadata(self, new: Object, old: Object) -> None:
        super().keep_metadata(new, old)
        meta, generation = new["metadata"], old["metadata"].get("generation", 0)
        if self._counted(new) != self._counted(old):
            generation += 1
        if generation:
            meta["generation"] = generation

    def _counted(self, obj: Object) -> Object:
        left_out = ("metadata", "status") if self.has_status else ("metadata",)
        return {key: value for key, value in obj.items() if key not in left_out}

    def prepare_for_status(self, new: Object, old: Object, now: str) -> Object:
        """Return the old object with the new status: nothing else can be changed this way."""
        kept = {key: value for key, value in old.items() if key != "status"}
        return {**kept, "status": new["status"]} if "status" in new else kept

    def prepare_for_subresource(self, name: str, new: Object, old: Object, now: str) -> Object | None:
        if name != "scale":
            return super().prepare_for_subresource(name, new, old, now)
        scaled = {**new, "metadata": old["metadata"]}
        if self.has_status:
            scaled = self.prepare_for_status(old, scaled, now)
        # A part that the path of the replicas added lacks its defaults, which reads fill in, and no manager owns.
        self._codec.set_defaults(scaled)
        return scaled

    def subresource_ignores(self, name: str) -> tuple[str, ...]:
        if name != "status":
            return super().subresource_ignores(name)
        others = (key for key in self._codec.schema.keys if key != "status")
        return tuple(dict.fromkeys(("metadata", "spec", *others)))

    @property
    def scale(self) -> ScaleMapping:
        return self._paths or super().scale

    def validate_content(self, obj: Object, old: Object | None) -> list[Cause]:
        """Return the causes of the whole object's schema, and of its Scale."""
        return self._codec.check(obj, old) + (self._paths.causes(obj) if self._paths else [])

    def warnings(self, obj: Object, old: Object | None) -> list[str]:
        """Return the texts of broken rules that count no more: the values that break them have not changed."""
        return [*super().warnings(obj, old), *self._codec.excused(obj, old)]

    def excused(self, new: Object, old: Object) -> list[str]:
        """Return those texts alone."""
        return self._codec.excused(new, old)

    def validate_subresource(self, name: str, new: Object, old: Object) -> list[Cause]:
        if name != "status" or self._paths is None:
            return self.validate_content(new, old)
        return self._codec.check(new, old) + self._paths.causes(new, status_only=True)
