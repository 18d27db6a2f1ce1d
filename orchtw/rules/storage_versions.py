"""StorageVersions: the version in which each server stores a resource, and the common one (reference VER-19)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from orchtw.wire.objects import Object

CORE: Final = "core"
EQUAL: Final = "AllEncodingVersionsEqual"


def object_name(group: str, plural: str) -> str:
    """Return the name of a resource's StorageVersion: `apps.deployments`, `core.pods`."""
    return f"{group or CORE}.{plural}"


def stated(status: Object, server: str, encoding: str, decodable: Sequence[str], now: str) -> Object:
    """Return the status with a server's encoding and decodable versions set; those of other servers stay."""
    own = {"apiServerID": server, "encodingVersion": encoding, "decodableVersions": list(decodable)}
    said = [own if each.get("apiServerID") == server else each for each in status.get("storageVersions") or ()]
    if own not in said:
        said.append(own)
    return summed_up(status, said, now)


def without(status: Object, servers: Iterable[str], now: str) -> Object:
    """Return the status without the entries of these servers."""
    gone = frozenset(servers)
    said = [each for each in status.get("storageVersions") or () if each.get("apiServerID") not in gone]
    return summed_up(status, said, now)


def summed_up(status: Object, said: Sequence[Object], now: str) -> Object:
    """Return the status with the servers' entries `said`, and the common version and condition that follow from them.

    `now` is the transition time of a changed condition.
    """
    versions = {each.get("encodingVersion", "") for each in said}
    old = status.get("commonEncodingVersion")
    common = versions.pop() if len(versions) == 1 else None
    word = "unset" if common is None else "set"
    condition = {
        "type": EQUAL,
        "status": "False" if common is None else "True",
        "lastTransitionTime": now,
        "reason": f"CommonEncodingVersion{word.capitalize()}",
        "message": f"Common encoding version {word}",
    }
    others = []
    for each in status.get("conditions") or ():
        if each.get("type") != EQUAL:
            others.append(each)
        elif each.get("status") == condition["status"] and old == common:
            condition["lastTransitionTime"] = each.get("lastTransitionTime") or now
    fresh: Object = {"storageVersions": list(said), "conditions": [condition, *others]}
    return fresh if common is None else {**fresh, "commonEncodingVersion": common}
