"""Groups and versions that discovery shows, in the order of the priorities of all APIServices (reference AGG-9)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from orchtw.registry.aggregation.services import ApiService, GroupVersion
from orchtw.schema.catalogue import ADDED_VERSION_PRIORITY, GroupInfo
from orchtw.schema.versions import maturity


def merged(
    infos: Iterable[GroupInfo], served: Collection[GroupVersion], services: Mapping[str, ApiService]
) -> tuple[GroupInfo, ...]:
    """Return the groups with the versions that can be used, the preferred ones first.

    Those that are `served` here are shown with the priorities of their APIService, or those of `infos` while there is
    none; those of other servers while they are available. A group without a priority goes before all others.
    """
    infos = tuple(infos)
    found = {
        (info.name, version): _local_priorities(info, version, services)
        for info in infos
        for version in info.versions
        if (info.name, version) in served
    }
    for each in services.values():
        if each.backend is not None and each.group:
            found.pop(each.group_version, None)
            if each.available:
                found[each.group_version] = each.group_priority, each.version_priority
    first = {info.name for info in infos if info.group_priority_minimum is None}
    groups: dict[str, dict[str, tuple[int, int]]] = {}
    for (group, version), priorities in found.items():
        groups.setdefault(group, {})[version] = priorities
    made = [_group(name, versions, first=name in first) for name, versions in groups.items()]
    return tuple(sorted(made, key=_rank))


def available(services: Mapping[str, ApiService]) -> frozenset[GroupVersion]:
    """Return the group versions that other servers serve and that are available."""
    return frozenset(each.group_version for each in services.values() if each.backend is not None and each.available)


def matters(old: ApiService | None, new: ApiService | None) -> bool:
    """Report whether a change of an APIService may change discovery; one of the server's own for itself does not."""
    return old is not None or new is None or new.backend is not None or not new.managed


def _local_priorities(info: GroupInfo, version: str, services: Mapping[str, ApiService]) -> tuple[int, int]:
    service = services.get(f"{version}.{info.name}")
    if service is not None and service.backend is None:
        return service.group_priority, service.version_priority
    return info.group_priority_minimum or 0, info.version_priority.get(version, ADDED_VERSION_PRIORITY)


def _group(name: str, versions: Mapping[str, tuple[int, int]], *, first: bool) -> GroupInfo:
    ordered = sorted(versions, key=lambda version: (-versions[version][1], maturity(version)))
    return GroupInfo(
        name=name,
        versions=tuple(ordered),
        preferred=ordered[0],
        group_priority_minimum=None if first else max(priority for priority, _ in versions.values()),
        version_priority={version: versions[version][1] for version in ordered},
    )


def _rank(group: GroupInfo) -> tuple[int, str]:
    minimum = group.group_priority_minimum
    return (-1_000_000 if minimum is None else -minimum), group.name
