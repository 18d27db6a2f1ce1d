"""Storage and served versions of resources that are added at run time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

import msgspec

from orchtw.registry.stored import Stored
from orchtw.registry.strategy import Strategy
from orchtw.registry.target import Target
from orchtw.schema.catalogue import ResourceType
from orchtw.schema.codec.codec import Codec


class VersioningParts(msgspec.Struct, frozen=True, kw_only=True):
    """Parts that every target has."""

    resource: ResourceType
    codec: Codec
    stored: Stored
    strategy: Strategy
    deprecation: str


class Versioning(Protocol):
    """Factory of the storage and the targets of one added resource."""

    def stored(self, resource: ResourceType, codec: Codec, strategy: Strategy, prefix: str) -> Stored:
        """Return the storage of its objects; resource, codec and strategy are those of the storage version."""

    def target(self, parts: VersioningParts) -> Target:
        """Return the target of one version."""


MakeVersioning = Callable[[Mapping[str, Codec]], Versioning]
"""Makes a versioning from the codecs of all versions by apiVersion."""
