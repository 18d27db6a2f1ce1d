"""Serving of the resources of established definitions, until they are gone (reference CRD-8)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import partial
from hashlib import sha256
from typing import Final

import msgspec
import orjson

from orchtw.config.releases import LAST, Release
from orchtw.controllers.apiextensions.definition import Definition
from orchtw.registry.custom.versioning import Versionings
from orchtw.registry.offload import Offload
from orchtw.registry.target import Target
from orchtw.registry.targets import Targets
from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.custom.terms import DEFAULT, ValidationTerms
from orchtw.wire.objects import Object

CLOSED: Final = "create not allowed while custom resource definition is terminating"


class Served(msgspec.Struct, frozen=True):
    """Served state of a definition: the fields that decide on it, and one of its targets."""

    state: Hashable
    target: Target


class Serving:
    """Registry of served custom resources, changed as definitions come, change and go.

    A changed resource is served in its old form until the new one is ready. Calls of `serve` for one definition never
    overlap. `terms`: those of the release for their objects; `rules`: enforce those in schemas;
    `release`: the emulated one.
    """

    def __init__(
        self,
        targets: Targets,
        codecs: Codecs,
        versionings: Versionings,
        offload: Offload,
        terms: ValidationTerms = DEFAULT,
        *,
        rules: bool = True,
        release: Release = LAST,
    ) -> None:
        self._targets = targets
        self._versionings = versionings
        self._codecs = codecs
        self._terms = terms
        self._rules = rules
        self._release = release
        self._run = offload.run
        self._served: dict[str, Served] = {}
        self._closed: set[str] = set()
        self._adding: set[str] = set()
        self._ended: set[str] = set()

    def target(self, name: str) -> Target | None:
        """Return the resource of the definition of that name, in one of its versions; None: it is not served."""
        served = self._served.get(name)
        return None if served is None else served.target

    def concerns(self, name: str) -> bool:
        """Report whether a definition's resources are served, or about to be."""
        return name in self._served or name in self._adding

    async def serve(self, definition: Definition, obj: Object, size_bytes: int) -> None:
        """Serve what a definition in version v1 defines, as it is now; `size_bytes` is its size in the store.

        Raises ValueError where another resource is in its way, and what the store raises.
        """
        name = definition.name
        self._adding.add(name)
        try:
            state = await self._run(size_bytes, lambda: _state(definition, obj["spec"]))
            served = self._served.get(name)
            if served is None or served.state != state:
                await self._add(name, state, obj, size_bytes)
        finally:
            self._adding.discard(name)
            if name in self._ended:
                self.end(name)
        if name in self._closed:
            self.close(name)

    async def _add(self, name: str, state: Hashable, obj: Object, size_bytes: int) -> None:
        # Time and memory that the start is spared, and servers without definitions for good.
        from orchtw.registry.custom.kinds import kinds_of
        from orchtw.registry.custom.strategy import CustomStrategy
        from orchtw.schema.custom.codec import CustomCodec

        versioning = self._versionings.of(obj)
        make_kinds = partial(kinds_of, obj, self._codecs.schemas, rules=self._rules, release=self._release)
        kinds = await self._run(size_bytes, make_kinds)
        if name not in self._ended:
            make_codec = partial(CustomCodec, codecs=self._codecs, terms=self._terms)
            await self._targets.add(kinds, CustomStrategy, make_codec, versioning)
            first = kinds[0][0]
            target = self._targets.stored_target(first.group, first.version, first.plural)
            self._served[name] = Served(state, target)

    def close(self, name: str) -> None:
        """Let nothing new into a collection that is to go, from now on (reference CRD-25)."""
        self._closed.add(name)
        served = self._served.get(name)
        if served is not None:
            self._targets.close(served.target.stored, CLOSED)

    def reopen(self, name: str) -> None:
        """Let new objects in again: the definition is no longer terminating, which a restored one may have been.

        The next `serve` replaces the closed collection.
        """
        if name in self._closed:
            self._closed.discard(name)
            if (served := self._served.get(name)) is not None:
                self._served[name] = msgspec.structs.replace(served, state=None)

    def end(self, name: str) -> None:
        """Stop serving the resource of a deleted definition, as soon as it is not being added."""
        self._closed.discard(name)
        if name in self._adding:
            self._ended.add(name)
            return
        self._ended.discard(name)
        served = self._served.pop(name, None)
        if served is not None:
            self._targets.close(served.target.stored, CLOSED)
            self._targets.remove(served.target.resource.group, served.target.resource.plural)


def _state(definition: Definition, spec: Object) -> Hashable:
    """Return the state that decides on serving: spec and accepted names; deletion also makes a new generation."""
    return definition.uid, sha256(orjson.dumps(spec)).digest(), _frozen(definition.accepted)


def _frozen(names: Mapping[str, object]) -> Hashable:
    return tuple((key, tuple(value) if isinstance(value, list) else value) for key, value in names.items())
