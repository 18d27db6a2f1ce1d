"""The write rules of custom resources (reference CRD-21, CRD-22)."""

from __future__ import annotations

from typing import Final

from orchtw.naming import Naming
from orchtw.objects import Object
from orchtw.registry.strategy import Strategy
from orchtw.registry.traits import Traits
from orchtw.request import UserInfo
from orchtw.schema.catalogue import ResourceType
from orchtw.schema.codec.codecs import KindCodec

TRAITS: Final = Traits(unconditional_update=False, free_finalizers=True, status_ignores=("spec", "metadata"))


class CustomStrategy(Strategy):
    """A generation counts every change outside metadata and, with the sub-resource, status."""

    def __init__(self, resource: ResourceType, naming: Naming, codec: KindCodec) -> None:
        super().__init__(resource, naming, codec, TRAITS)

    def prepare_for_create(self, obj: Object, user: UserInfo) -> None:
        super().prepare_for_create(obj, user)
        obj["metadata"]["generation"] = 1

    def reset_status(self, obj: Object) -> None:
        obj.pop("status", None)

    def keep_metadata(self, new: Object, old: Object) -> None:
        super().keep_metadata(new, old)
        if self._counted(new) != self._counted(old):
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    def _counted(self, obj: Object) -> Object:
        left_out = ("metadata", "status") if self.has_status else ("metadata",)
        return {key: value for key, value in obj.items() if key not in left_out}
