"""Aggregated discovery: all groups, versions and resources in one document (reference DISC-13)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from orchtw.config.releases import Release
from orchtw.registry.aggregation.services import ApiService, GroupVersion
from orchtw.schema.catalogue import GroupInfo, ResourceType, Subresource

Document = dict[str, Any]
GROUP: Final = "apidiscovery.orch.io"
KIND: Final = "APIGroupDiscoveryList"
CURRENT, STALE = "Current", "Stale"
V2_BEGINS: Final[Release] = (1, 30)
BETA_ENDS: Final[Release] = (1, 35)

RemoteList = Callable[[GroupVersion], Sequence[Document] | None]
"""Returns the resources that another server listed last, as in an APIResourceList; None: it never did."""


def aggregated_versions(gates: Mapping[str, bool], emulated: Release) -> tuple[str, ...]:
    """Return the versions of aggregated discovery that are served, the preferred one first (reference DISC-13)."""
    if not gates["AggregatedDiscoveryEndpoint"]:
        return ()
    beta = emulated < BETA_ENDS and not gates["AggregatedDiscoveryRemoveBetaType"]
    return (("v2",) if emulated >= V2_BEGINS else ()) + (("v2beta1",) if beta else ())


def group_discovery_list(
    infos: Iterable[GroupInfo],
    enabled: Iterable[ResourceType],
    remote: Mapping[GroupVersion, ApiService],
    remote_list: RemoteList,
) -> list[Document]:
    """Return the items of the document of these groups, members in wire order, versions in order of preference.

    `remote` are the APIServices of group versions that other servers serve; those that cannot be reached are Stale
    and have the resources that were listed last.
    """
    served: dict[GroupVersion, list[ResourceType]] = {}
    for resource in enabled:
        served.setdefault((resource.group, resource.version), []).append(resource)
    items: list[Document] = []
    for info in infos:
        versions: list[Document] = []
        for version in info.versions:
            key = info.name, version
            if key in remote:
                versions.append(_remote_version(remote[key], remote_list(key)))
            elif key in served:
                versions.append(_version(version, served[key]))
        if versions:
            items.append({"metadata": {"name": info.name, "creationTimestamp": None}, "versions": versions})
    return items


def _version(version: str, resources: Iterable[ResourceType]) -> Document:
    entries = sorted(resources, key=lambda each: each.plural)
    return {"version": version, "resources": [_resource(each) for each in entries], "freshness": CURRENT}


def _resource(resource: ResourceType) -> Document:
    entry: Document = {
        "resource": resource.plural,
        "responseKind": {"group": resource.group, "version": resource.version, "kind": resource.kind},
        "scope": _scope(namespaced=resource.namespaced),
        "singularResource": resource.singular,
        "verbs": sorted(resource.verbs),
    }
    optional = {
        "shortNames": list(resource.short_names),
        "categories": list(resource.categories),
        "subresources": [_subresource(each) for each in sorted(resource.subresources, key=lambda each: each.name)],
    }
    return entry | {key: value for key, value in optional.items() if value}


def _subresource(sub: Subresource) -> Document:
    kind = {"group": sub.group, "version": sub.version, "kind": sub.kind}
    return {"subresource": sub.name, "responseKind": kind, "verbs": sorted(sub.verbs)}


def _scope(*, namespaced: bool) -> str:
    return "Namespaced" if namespaced else "Cluster"


def _remote_version(service: ApiService, listed: Sequence[Document] | None) -> Document:
    """Return a version of another server, by the entries of its APIResourceList; malformed ones are left out."""
    found: dict[str, Document] = {}
    below: dict[str, list[Document]] = {}
    for entry in listed or ():
        name, _, sub = _text(entry, "name").partition("/")
        if sub:
            below.setdefault(name, []).append(_remote_subresource(service, entry, sub))
        elif name:
            found[name] = _remote_resource(service, entry)
    for name, subresources in below.items():
        parent = found.setdefault(name, _remote_resource(service, {"name": name}))
        parent["subresources"] = sorted(subresources, key=lambda each: str(each["subresource"]))
    version: Document = {"version": service.version}
    if found:
        version["resources"] = [found[name] for name in sorted(found)]
    return {**version, "freshness": CURRENT if service.available and listed is not None else STALE}


def _remote_resource(service: ApiService, entry: Document) -> Document:
    made: Document = {
        "resource": _text(entry, "name"),
        "responseKind": _remote_kind(service, entry),
        "scope": _scope(namespaced=entry.get("namespaced") is True),
        "singularResource": _text(entry, "singularName"),
        "verbs": _texts(entry, "verbs"),
    }
    optional = {name: _texts(entry, name) for name in ("shortNames", "categories")}
    return made | {key: value for key, value in optional.items() if value}


def _remote_subresource(service: ApiService, entry: Document, name: str) -> Document:
    return {
        "subresource": name,
        "responseKind": _remote_kind(service, entry),
        "verbs": _texts(entry, "verbs"),
    }


def _remote_kind(service: ApiService, entry: Document) -> Document:
    """Return the kind of an entry, whose group and version are those of the list unless it names others."""
    kind = _text(entry, "kind")
    if not kind:
        return {"group": "", "version": "", "kind": ""}
    if version := _text(entry, "version"):
        return {"group": _text(entry, "group"), "version": version, "kind": kind}
    return {"group": service.group, "version": service.version, "kind": kind}


def _text(entry: Document, name: str) -> str:
    value = entry.get(name)
    return value if isinstance(value, str) else ""


def _texts(entry: Document, name: str) -> list[str]:
    values = entry.get(name)
    return [each for each in values if isinstance(each, str)] if isinstance(values, list) else []
