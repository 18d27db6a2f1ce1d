"""Discovery: the groups, versions and resources that are served (reference DISC-2).

Documents are built on first use and rebuilt after the resources have changed. Their encodings are cached per document
and format.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from hashlib import sha512

import attrs
import msgspec

from orchtw.endpoints.aggregated_discovery import KIND, Document, RemoteList, group_discovery_list
from orchtw.endpoints.conditional import names_tag
from orchtw.registry.aggregation.order import available, matters, merged
from orchtw.registry.aggregation.services import ApiServices
from orchtw.registry.targets import Targets
from orchtw.request import Request, Response
from orchtw.rules.negotiation import JSON, Negotiated, Negotiator, wants_pretty
from orchtw.schema.catalogue import GroupInfo, ResourceType, Subresource

_EVERY_CLIENT = "0.0.0.0/0"
_ROOTS = ("/api", "/apis")
_CACHED = (("Vary", "Accept"), ("Cache-Control", "public"))


class Discovery:
    """Endpoint of `/api`, `/apis` and the paths below them that name a group, or a version that is served here.

    `server` is the advertised address and port; `represent` encodes a document as a response. `aggregated` are the
    versions of aggregated discovery that are served, the preferred one first, and `remote_list` has the resources of
    other servers for it.
    """

    methods = frozenset({"GET"})

    def __init__(
        self,
        targets: Targets,
        services: ApiServices,
        server: str,
        negotiator: Negotiator,
        represent: Callable[[Document, Negotiated], Response],
        aggregated: Sequence[str] = (),
        remote_list: RemoteList = lambda _: None,
    ) -> None:
        self._targets = targets
        self._services = services
        self._server = server
        self._negotiator = negotiator
        self._represent = represent
        self._aggregated = tuple(aggregated)
        self._remote_list = remote_list
        self._items: dict[str, list[Document]] = {}
        self._tags: dict[str, str] = {}
        self._documents: Mapping[str, Document] = {}
        self._kept: dict[tuple[str, str, bool], Response] = {}
        targets.listen(self.forget)
        services.listen(lambda old, new: self.forget() if matters(old, new) else None)

    def paths(self) -> Iterable[str]:
        """Return the path of every document."""
        return self._all()

    def aliases(self) -> Iterable[tuple[str, str]]:
        """Return each path with a trailing slash."""
        return ((f"{path}/", path) for path in self._all())

    async def handle(self, request: Request, path: str) -> Response:
        """Return the document in the negotiated format. Raises NotAcceptable (406)."""
        pretty = wants_pretty(request.params, request.headers.get("user-agent", ""))
        versions = self._aggregated if path in _ROOTS else ()
        header = request.headers.get("accept", "")
        accept = self._negotiator.accept(header, transforms=False, pretty=pretty, discovery=versions)
        if accept.transform == KIND:
            return self._whole(request, path, accept)
        key = path, accept.format, accept.pretty
        kept = self._kept.get(key)
        if kept is None:
            kept = self._kept[key] = self._represent(self._document(path, accept), accept)
        return Response(content_type=kept.content_type, body=kept.body)

    def _all(self) -> Mapping[str, Document]:
        if not self._documents:
            resources, services = self._targets.resources, self._services.all
            served = {(each.group, each.version) for each in resources}
            infos = merged(self._targets.groups, served, services)
            self._documents = documents(infos, resources, self._server, available(services))
        return self._documents

    def forget(self) -> None:
        """Discard all documents: groups, versions or resources have changed, here or on another server."""
        self._documents, self._kept, self._items, self._tags = {}, {}, {}, {}

    def _whole(self, request: Request, path: str, accept: Negotiated) -> Response:
        """Return the aggregated document of a path, or 304 if the client has it (reference DISC-14)."""
        headers = [("ETag", self._tag(path)), *_CACHED]
        if names_tag(request.headers.get("if-none-match", ""), headers[0][1]):
            return Response(code=304, headers=headers)
        key = path, accept.content_type, accept.pretty
        kept = self._kept.get(key)
        if kept is None:
            kept = self._kept[key] = self._encoded(path, accept)
        return Response(content_type=accept.content_type, body=kept.body, headers=headers)

    def _encoded(self, path: str, accept: Negotiated) -> Response:
        plain = msgspec.structs.replace(accept, transform=None, transform_version="")
        meta = {"kind": KIND, "apiVersion": accept.transform_version, "metadata": {}}
        return self._represent({**meta, "items": self._groups(path)}, plain)

    def _tag(self, path: str) -> str:
        """Return the tag of a path's document: that of its JSON in the preferred version, for all encodings."""
        tag = self._tags.get(path)
        if tag is None:
            version = self._negotiator.discovery_version(self._aggregated[0])
            accept = Negotiated(format="json", content_type=JSON, transform_version=version)
            body = self._encoded(path, accept).body
            assert isinstance(body, bytes)
            tag = self._tags[path] = f'"{sha512(body).hexdigest().upper()}"'
        return tag

    def _groups(self, path: str) -> list[Document]:
        if not self._items:
            resources, remote = self._targets.resources, self._services.remote
            every = {name: attrs.evolve(each, available=True) for name, each in self._services.all.items()}
            infos = merged(self._targets.groups, {(each.group, each.version) for each in resources}, every)
            items = group_discovery_list(infos, resources, remote, self._remote_list)
            self._items = {
                "/api": [each for each in items if not each["metadata"]["name"]],
                "/apis": [each for each in items if each["metadata"]["name"]],
            }
        return self._items[path]

    def _document(self, path: str, accept: Negotiated) -> Document:
        document = self._all()[path]
        # APIVersions has no apiVersion in JSON and YAML, but the envelope of protobuf always has one.
        return {**document, "apiVersion": "v1"} if accept.format == "protobuf" else document


class Documents(Mapping[str, Document]):
    """Documents by path. Resource lists are built on first use, as there may be thousands."""

    def __init__(self, made: dict[str, Document], lists: Mapping[str, Sequence[ResourceType]]) -> None:
        self._made = made
        self._lists = lists
        self._paths = dict.fromkeys((*made, *lists))

    def __getitem__(self, path: str) -> Document:
        found = self._made.get(path)
        if found is None:
            found = self._made[path] = _resource_list(self._lists[path])
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)


def documents(
    infos: Iterable[GroupInfo],
    enabled: Iterable[ResourceType],
    server: str,
    elsewhere: Collection[tuple[str, str]] = (),
) -> Documents:
    """Return the discovery documents by path, their members in wire order.

    `elsewhere` are the (group, version) pairs that other servers serve.
    """
    served: dict[tuple[str, str], list[ResourceType]] = {}
    for resource in enabled:
        served.setdefault((resource.group, resource.version), []).append(resource)
    core = sorted(version for group, version in served if not group)
    groups = [
        group for group in (_group(info, {*served, *elsewhere}) for info in infos if info.name) if group["versions"]
    ]
    address = {"clientCIDR": _EVERY_CLIENT, "serverAddress": server}
    found: dict[str, Document] = {
        "/api": {"kind": "APIVersions", "versions": core, "serverAddressByClientCIDRs": [address]},
        "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups},
    }
    found |= {f"/apis/{group['name']}": {"kind": "APIGroup", "apiVersion": "v1", **group} for group in groups}
    lists = {
        f"/apis/{group}/{version}" if group else f"/api/{version}": each for (group, version), each in served.items()
    }
    return Documents(found, lists)


def _group(info: GroupInfo, served: Collection[tuple[str, str]]) -> Document:
    """Return an APIGroup without kind and apiVersion; its preferred version is the first one that is served."""
    versions = [
        {"groupVersion": f"{info.name}/{version}", "version": version}
        for version in info.versions
        if (info.name, version) in served
    ]
    return {"name": info.name, "versions": versions, "preferredVersion": next(iter(versions), {})}


def _resource_list(resources: Iterable[ResourceType]) -> Document:
    """Return an APIResourceList: an entry per resource and subresource, sorted by name."""
    entries: list[Document] = []
    group_version = ""
    for resource in resources:
        group_version = resource.api_version
        entries.append(_resource(resource))
        entries += [_subresource(resource, sub) for sub in resource.subresources]
    entries.sort(key=lambda entry: str(entry["name"]))
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": entries}


def _resource(resource: ResourceType) -> Document:
    """Return a resource's entry; built-in resources have no singular name in discovery."""
    entry: Document = {
        "name": resource.plural,
        "singularName": "" if resource.protobuf else resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": sorted(resource.verbs) if resource.protobuf else list(resource.verbs),
    }
    optional = {
        "shortNames": list(resource.short_names),
        "categories": list(resource.categories),
        "storageVersionHash": resource.storage_version_hash,
    }
    return entry | {key: value for key, value in optional.items() if value}


def _subresource(parent: ResourceType, sub: Subresource) -> Document:
    """Return a subresource's entry, with group and version only if its kind belongs to another group version."""
    entry: Document = {"name": f"{parent.plural}/{sub.name}", "singularName": "", "namespaced": parent.namespaced}
    if (sub.group, sub.version) != (parent.group, parent.version):
        entry |= {"group": sub.group, "version": sub.version}
    return entry | {"kind": sub.kind, "verbs": sorted(sub.verbs)}
