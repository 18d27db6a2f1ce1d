"""What established definitions define is served, until they are gone (reference CRD-8)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import partial
from typing import Final

from orchtw.controllers.definitions.definition import Definition
from orchtw.objects import Object
from orchtw.registry.custom.kinds import kinds_of
from orchtw.registry.custom.strategy import CustomStrategy
from orchtw.registry.targets import Targets
from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.custom.codec import CustomCodec

_CLOSED: Final = "create not allowed while custom resource definition is terminating"


class Serving:
    """Adds, changes and removes resources, as definitions come, change and go; one at a time of each."""

    def __init__(self, targets: Targets, codecs: Codecs) -> None:
        self._targets = targets
        self._schemas = codecs.schemas
        self._make_codec = partial(codecs.made, codec_type=CustomCodec)
        self._served: dict[str, Hashable] = {}
        self._homes: dict[str, tuple[str, str]] = {}

    async def serve(self, definition: Definition, obj: Object) -> None:
        """Serve what a definition defines if it is established, as it is now. Raises what the store raises."""
        if not definition.established:
            self.end(definition.name)
            return
        state = _state(definition)
        if self._served.get(definition.name) == state:
            return
        await self._targets.add(kinds_of(obj, self._schemas), CustomStrategy, self._make_codec)
        self._served[definition.name] = state
        self._homes[definition.name] = definition.group, definition.accepted["plural"]
        if definition.terminating:
            self.close(definition.name)

    def close(self, name: str) -> None:
        """Let nothing new into a collection that is to go (reference CRD-25)."""
        home = self._homes.get(name)
        for target in self._targets.served():
            if (target.resource.group, target.resource.plural) == home:
                target.stored.closed = _CLOSED

    def end(self, name: str) -> None:
        """Serve what the definition of that name defined no longer."""
        if self._served.pop(name, None) is not None:
            self._targets.remove(*self._homes.pop(name))


def _state(definition: Definition) -> Hashable:
    """What is served depends on nothing else."""
    return definition.uid, definition.generation, _frozen(definition.accepted)


def _frozen(names: Mapping[str, object]) -> Hashable:
    return tuple((key, tuple(value) if isinstance(value, list) else value) for key, value in names.items())
