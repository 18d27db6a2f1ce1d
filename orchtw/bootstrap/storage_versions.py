"""StorageVersions of the release's resources, with the versions that this server uses (reference VER-19)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final

import msgspec

from orchtw.bootstrap.ensurer import Ensurer, together
from orchtw.errors import StatusError
from orchtw.naming.naming import Naming
from orchtw.registry.targets import Targets
from orchtw.rules.storage_versions import object_name, stated
from orchtw.wire.objects import Object

STORAGE_VERSIONS: Final = ("internal.apiserver.orch.io", "v1alpha1", "storageversions")


def states_versions(gates: Mapping[str, bool], naming: Naming, targets: Targets) -> bool:
    """Report whether servers publish StorageVersions: two gates enable it, and the API is served."""
    group, version, plural = STORAGE_VERSIONS
    asked = gates["APIServerIdentity"] and gates["StorageVersionAPI"]
    return asked and targets.find(naming.group(group), version, plural) is not None


class Statement(msgspec.Struct, frozen=True):
    """Versions of one resource: the name of its object, the storage version, and the readable ones."""

    group: str
    plural: str
    name: str
    encoding: str
    decodable: Sequence[str]


def statements(targets: Targets) -> Iterator[Statement]:
    """Yield the statement of each served resource of the release."""
    seen = set()
    for target in targets.served():
        resource = target.resource
        name = object_name(resource.group, resource.plural)
        if resource.protobuf and name not in seen:
            seen.add(name)
            home = target.stored.codec.api_version
            readable = dict.fromkeys((home, *targets.versions_of(target)))
            yield Statement(resource.group, resource.plural, name, home, tuple(readable))


class Unstated:
    """The resources, by group and plural, that this server has not published yet, and the last error."""

    def __init__(self, targets: Targets) -> None:
        self.resources = {(each.group, each.plural) for each in statements(targets)}
        self.why = "<nil>"


async def publish(ensurer: Ensurer, server: str, now: Callable[[], str], unstated: Unstated) -> None:
    """Create missing objects, and publish `server`'s versions in each. Raises StatusError."""
    await together(partial(_publish, ensurer, server, each, now, unstated) for each in statements(ensurer.targets))


async def _publish(
    ensurer: Ensurer, server: str, statement: Statement, now: Callable[[], str], unstated: Unstated
) -> None:
    try:
        await _state(ensurer, server, statement, now)
    except StatusError as error:
        unstated.why = error.message
        raise
    unstated.resources.discard((statement.group, statement.plural))


async def _state(ensurer: Ensurer, server: str, statement: Statement, now: Callable[[], str]) -> None:
    await ensurer.ensure(*STORAGE_VERSIONS, {"metadata": {"name": statement.name}, "spec": {}})

    def change(status: Object) -> Object | None:
        wanted = stated(status, server, statement.encoding, statement.decodable, now())
        return None if wanted == status else wanted

    await ensurer.change_status(*STORAGE_VERSIONS, statement.name, change)
