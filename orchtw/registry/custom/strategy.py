"""The write rules of custom resources (reference CRD-21, CRD-22, CRD-23)."""

from __future__ import annotations

from typing import Final

from orchtw.errors import Cause
from orchtw.naming import Naming
from orchtw.objects import Object
from orchtw.registry.scaling import PathScale, ScaleMapping
from orchtw.registry.strategy import Strategy
from orchtw.registry.traits import Sent, Traits
from orchtw.request import UserInfo
from orchtw.rules import metadata as metadata_rules
from orchtw.schema.catalogue import ResourceType
from orchtw.schema.codec.codecs import KindCodec
from orchtw.schema.validation.order import in_field_order

TRAITS: Final = Traits(unconditional_update=False, free_finalizers=True, own_columns=True)


class CustomStrategy(Strategy):
    """The rules of one definition: a generation counts all changes outside metadata and a status of its own.

    Content is checked in the version in which it was sent, by the schema and the paths of that version.
    """

    def __init__(self, resource: ResourceType, naming: Naming, codec: KindCodec) -> None:
        super().__init__(resource, naming, codec, TRAITS)
        self._scales: dict[str, PathScale | None] = {}

    def prepare_for_create(self, obj: Object, user: UserInfo) -> None:
        super().prepare_for_create(obj, user)
        obj["metadata"]["generation"] = 1

    def reset_status(self, obj: Object) -> None:
        """Drop the status; what stands in the schema as its default comes back."""
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
        """The old object with the new status: nothing else can be changed this way."""
        kept = {key: value for key, value in old.items() if key != "status"}
        return {**kept, "status": new["status"]} if "status" in new else kept

    def prepare_for_subresource(self, name: str, new: Object, old: Object, now: str) -> Object | None:
        if name != "scale":
            return super().prepare_for_subresource(name, new, old, now)
        scaled = {**new, "metadata": old["metadata"]}
        if self.has_status:
            scaled = self.prepare_for_status(old, scaled, now)
        return scaled

    def subresource_ignores(self, name: str) -> tuple[str, ...]:
        if name != "status":
            return super().subresource_ignores(name)
        others = (key for key in self._codec.schema.keys if key != "status")
        return tuple(dict.fromkeys(("metadata", "spec", *others)))

    def scale(self, resource: ResourceType) -> ScaleMapping:
        return self._scale(resource) or super().scale(resource)

    def _scale(self, resource: ResourceType) -> PathScale | None:
        if resource.version not in self._scales:
            paths = next((sub.scale for sub in resource.subresources if sub.name == "scale"), None)
            self._scales[resource.version] = None if paths is None else PathScale(paths)
        return self._scales[resource.version]

    def validate_create(self, obj: Object, sent: Sent | None = None) -> list[Cause]:
        causes = metadata_rules.validate_create(obj["metadata"], self._metadata)
        return self._checked(causes, obj, None, sent or Sent(obj, self.resource))

    def validate_update(self, new: Object, old: Object, sent: Sent | None = None) -> list[Cause]:
        causes = metadata_rules.validate_update(new["metadata"], old["metadata"], self._metadata)
        if old["metadata"].get("deletionTimestamp") and self._counted(new) == self._counted(old):
            return causes
        return self._checked(causes, new, old, sent or Sent(new, self.resource))

    def _checked(self, causes: list[Cause], new: Object, old: Object | None, sent: Sent) -> list[Cause]:
        """The causes with those of the content, in the order of the fields."""
        codec, shown, before = self._codec, new, old
        if sent.codec is not None and sent.codec is not self._codec:
            codec, shown, before = sent.codec, self._as_sent(new, sent), sent.live
        declared = codec.validator
        found = [] if declared is None else declared(shown, before)
        if (paths := self._scale(sent.resource)) is not None:
            found = found + paths.causes(shown, status_only=sent.subresource == "status")
        causes = causes + found
        return in_field_order(codec.schema, causes) if len(causes) > 1 else causes

    def _as_sent(self, new: Object, sent: Sent) -> Object:
        """The object that is to be stored, in the version in which it was sent."""
        live = sent.live or {}
        if sent.subresource == "status":
            shown = self.prepare_for_status(sent.obj, live, "")
        elif self.has_status:
            shown = self.prepare_for_status(live, sent.obj, "")
        else:
            shown = sent.obj
        return {**shown, "metadata": new["metadata"]}

