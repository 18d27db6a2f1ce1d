"""All served resources by group, version and name, each with the stored resource behind it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from orchtw.naming import Naming
from orchtw.registry.stored import Stored
from orchtw.registry.strategies import strategy_for
from orchtw.registry.target import Target
from orchtw.rules.warnings import deprecation
from orchtw.schema.catalogue import Catalogue, ResourceType
from orchtw.schema.codec.codecs import Codecs

REGISTRY = "/registry/"


class Targets:
    """What requests can name. Resources of the catalogue that `served` leaves out are not there."""

    def __init__(self, catalogue: Catalogue, codecs: Codecs, served: Iterable[ResourceType]) -> None:
        self._catalogue = catalogue
        self._codecs = codecs
        self._stored: dict[tuple[str, str], Stored] = {}
        self._targets: dict[tuple[str, str, str], Target] = {}
        self._all: dict[tuple[str, str, str], Target] = {}
        shown = {(each.group, each.version, each.plural) for each in served}
        self.versions = {(group, version) for group, version, _ in shown}
        for resource in catalogue.resources:
            key = (resource.group, resource.version, resource.plural)
            if resource.storage_version is not None:
                target = self._all[key] = self._target(resource)
                if key in shown:
                    self._targets[key] = target

    def find(self, group: str, version: str, plural: str) -> Target | None:
        """The target of a path, or None."""
        return self._targets.get((group, version, plural))

    def stored_target(self, group: str, version: str, plural: str) -> Target:
        """A target that the server itself uses, whether requests may name it or not; KeyError: there is none."""
        return self._all[group, version, plural]

    def served(self) -> Iterator[Target]:
        """Every target that requests may name."""
        return iter(self._targets.values())

    def versions_of(self, target: Target) -> Mapping[str, Target]:
        """The served targets that share `target`'s stored resource, by apiVersion; itself in any case."""
        served = {each.resource.api_version: each for each in self._targets.values() if each.stored is target.stored}
        return {target.resource.api_version: target, **served}

    def stored(self) -> Iterator[Stored]:
        """Every stored resource once."""
        return iter(self._stored.values())

    def _target(self, resource: ResourceType) -> Target:
        stored = self._stored_for(resource)
        target = Target(
            resource=resource,
            codec=self._codecs.kind(resource.api_version, resource.kind),
            stored=stored,
            deprecation=deprecation(resource, self._catalogue.naming.release),
        )
        home = stored.resource
        if (resource.group, resource.version) != (home.group, home.version):
            naming, conversions = self._catalogue.naming, stored.strategy.traits.conversions
            target.to_storage = conversions.converter(resource.api_version, home.api_version, naming=naming)
            target.from_storage = conversions.converter(home.api_version, resource.api_version, naming=naming)
            target.same_fields = conversions.same_fields
        return target

    def _stored_for(self, resource: ResourceType) -> Stored:
        group, plural = resource.storage_group or "", resource.plural
        known = self._stored.get((group, plural))
        if known is None:
            home = self._catalogue.find(group, resource.storage_version or "", plural) or resource
            codec, naming = self._codecs.kind(home.api_version, home.kind), self._catalogue.naming
            known = self._stored[group, plural] = Stored(
                home,
                codec,
                strategy_for(home, naming, codec),
                storage_prefix(home, naming),
                home.field_selectors,
            )
        return known


def storage_prefix(resource: ResourceType, naming: Naming) -> str:
    """Where a resource's objects lie in the store: the same in every vocabulary."""
    group = naming.neutral(resource.group)
    return f"{REGISTRY}{group}/{resource.plural}/" if group else f"{REGISTRY}{resource.plural}/"
