"""StorageVersions of the release's resources, as this server stores and reads them (reference VER-19)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final

import attrs

from orchtw.bootstrap.maker import Maker, together
from orchtw.config import Config
from orchtw.errors import StatusError
from orchtw.naming.names import Naming
from orchtw.registry.targets import Targets
from orchtw.rules.storage_versions import object_name, stated
from orchtw.wire.objects import Object

STORAGE_VERSIONS: Final = ("internal.apiserver.orch.io", "v1alpha1", "storageversions")


def states_versions(config: Config, naming: Naming, targets: Targets) -> bool:
    """Report whether servers publish StorageVersions: two gates ask for it, and the API is served."""
    group, version, plural = STORAGE_VERSIONS
    asked = config.gates["APIServerIdentity"] and config.gates["StorageVersionAPI"]
    return asked and targets.find(naming.group(group), version, plural) is not None


@attrs.frozen(slots=True)
class Statement:
    """Of one resource: the name of its object, the version it is stored in, and those that can be read."""

    group: str
    plural: str
    name: str
    encoding: str
    decodable: Sequence[str]


def statements(targets: Targets) -> Iterator[Statement]:
    """Of each resource that is served and is the release's own."""
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
    """The resources, by group and plural, of which this server has not said anything yet, and why not."""

    def __init__(self, targets: Targets) -> None:
        self.resources = {(each.group, each.plural) for each in statements(targets)}
        self.why = "<nil>"


async def publish(maker: Maker, server: str, now: Callable[[], str], unstated: Unstated) -> None:
    """Make the objects where they are missing, and let each have what `server` says. Raises StatusError."""
    await together(partial(_publish, maker, server, each, now, unstated) for each in statements(maker.targets))


async def _publish(
    maker: Maker, server: str, statement: Statement, now: Callable[[], str], unstated: Unstated
) -> None:
    try:
        await _state(maker, server, statement, now)
    except StatusError as error:
        unstated.why = error.message
        raise
    unstated.resources.discard((statement.group, statement.plural))


async def _state(maker: Maker, server: str, statement: Statement, now: Callable[[], str]) -> None:
    await maker.ensure(*STORAGE_VERSIONS, {"metadata": {"name": statement.name}, "spec": {}})

    def change(status: Object) -> Object | None:
        wanted = stated(status, server, statement.encoding, statement.decodable, now())
        return None if wanted == status else wanted

    await maker.change_status(*STORAGE_VERSIONS, statement.name, change)
