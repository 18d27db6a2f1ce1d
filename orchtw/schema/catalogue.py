"""Catalogue of the API: resources, groups and kinds, read from the declarations.

A `Catalogue` speaks one vocabulary: groups in it are already translated by its `Naming`. The switches of a running
server are not known here; `default_on` is the release's own choice.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator
from hashlib import sha256

import attrs
import msgspec

from orchtw.naming.naming import Naming
from orchtw.schema import declarations
from orchtw.schema.additions import EVERY, Additions
from orchtw.schema.declarations import Column, GroupVersionKind
from orchtw.schema.versions import maturity

_META = "meta.orch.io"
_METADATA = "PartialObjectMetadata"
_AGGREGATED = "apiregistration.orch.io"  # the aggregator's own group: first of the named ones, without a priority
_ADDED_GROUP_PRIORITY = 1000  # of groups that come at run time: behind all of the release
ADDED_VERSION_PRIORITY = 100
# A message that travels at top level without being declared a kind: it has no kind or apiVersion of its own.
_META_EXTRAS = ("WatchEvent",)
# Clients send and expect these in the group version of the resource that they are about.
IN_EVERY_GROUP = frozenset(
    {"WatchEvent", "ListOptions", "GetOptions", "DeleteOptions", "CreateOptions", "UpdateOptions", "PatchOptions"}
)


class ScalePaths(msgspec.Struct, frozen=True, kw_only=True):
    """Paths behind the Scale of a custom kind; `selector` may be empty (reference CRD-23)."""

    replicas: str
    status_replicas: str
    selector: str = ""


class Subresource(msgspec.Struct, frozen=True, kw_only=True):
    """A path below one object: its name and the kind of its requests and responses.

    `scale`: the paths behind the Scale of a custom kind; None for any other sub-resource.
    """

    name: str
    kind: str
    group: str
    version: str
    verbs: tuple[str, ...]
    scale: ScalePaths | None = None


@attrs.frozen(slots=True, kw_only=True)
class ResourceType:
    """One resource in one version, as the API serves it.

    `storage_version` and `storage_group` name the form that is stored; both are None for a resource that is never
    stored. `introduced`, `deprecated` and `removed` are releases such as "1.21" (reference VER-9). `message` is
    the full Protobuf name of the kind's message. No `columns` means the default Table. `protobuf` False: the kind is
    not part of the release, has a schema but no message (`message` is the schema's name), and its objects are stored
    and served as JSON. `warning`: what requests are warned of because a definition says so.
    """

    group: str
    version: str
    plural: str
    singular: str
    kind: str
    list_kind: str | None
    namespaced: bool
    verbs: tuple[str, ...]
    short_names: tuple[str, ...]
    categories: tuple[str, ...]
    subresources: tuple[Subresource, ...]
    storage_version: str | None
    storage_group: str | None
    storage_version_hash: str
    default_on: bool
    preferred: bool
    delete_returns_object: bool
    field_selectors: tuple[str, ...]
    introduced: str | None
    deprecated: str | None
    removed: str | None
    replacement: GroupVersionKind | None
    columns: tuple[Column, ...]
    message: str
    protobuf: bool = True
    warning: str = ""
    api_version: str = attrs.field(init=False)
    qualified: str = attrs.field(init=False)

    @api_version.default
    def _api_version(self) -> str:
        return joined(self.group, self.version)

    @qualified.default
    def _qualified(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural


class GroupInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A served group: its versions in order of preference, the priorities behind that order.

    `group_priority_minimum` is None for the aggregator's own group, the first of the named ones (reference DISC-2).
    """

    name: str
    versions: tuple[str, ...]
    preferred: str
    group_priority_minimum: int | None
    version_priority: dict[str, int]


def with_added(groups: tuple[GroupInfo, ...], added: Iterable[ResourceType]) -> tuple[GroupInfo, ...]:
    """Return the groups, followed by those of resources added at run time, by name (reference DISC-2).

    Versions that a group of the release does not know follow its own.
    """
    versions: dict[str, set[str]] = {}
    for resource in added:
        versions.setdefault(resource.group, set()).add(resource.version)
    known = tuple(_extended(group, versions.pop(group.name, set())) for group in groups)
    return known + tuple(added_group(name, versions[name]) for name in sorted(versions))


def _extended(group: GroupInfo, versions: set[str]) -> GroupInfo:
    found = (*group.versions, *sorted(versions - {*group.versions}, key=maturity))
    return group if found == group.versions else msgspec.structs.replace(group, versions=found)


def added_group(name: str, versions: set[str]) -> GroupInfo:
    """Return a group that the release does not have."""
    ordered = tuple(sorted(versions, key=maturity))
    return GroupInfo(
        name=name,
        versions=ordered,
        preferred=ordered[0],
        group_priority_minimum=_ADDED_GROUP_PRIORITY,
        version_priority=dict.fromkeys(ordered, ADDED_VERSION_PRIORITY),
    )


def joined(group: str, version: str) -> str:
    """Return the apiVersion of a group and version: "v1" in the core group, else "apps/v1"."""
    return f"{group}/{version}" if group else version


class Catalogue:
    """Every resource, group and kind of the emulated release, in one vocabulary."""

    def __init__(
        self,
        naming: Naming,
        resources: tuple[ResourceType, ...],
        groups: tuple[GroupInfo, ...],
        additions: Additions = EVERY,
    ) -> None:
        self.naming = naming
        self.additions = additions
        self.resources = resources
        self.groups = groups
        self._by_path = {(each.group, each.version, each.plural): each for each in resources}
        self._messages = _messages_by_kind(naming, additions)
        self._api_versions = frozenset(api_version for api_version, _ in self._messages)

    @classmethod
    def load(cls, naming: Naming, additions: Additions = EVERY) -> Catalogue:
        """Return the catalogue of the packaged declarations, as far as `additions` go; takes a few milliseconds."""
        found = list(_resources(naming, additions))
        groups = _groups(naming, {(each.group, each.version) for each in found})
        every = [(group.name, version) for group in groups for version in group.versions]
        order = {group_version: position for position, group_version in enumerate(every)}
        found.sort(key=lambda each: (order[each.group, each.version], each.plural))
        return cls(naming, tuple(found), groups, additions)

    def find(self, group: str, version: str, plural: str) -> ResourceType | None:
        """Return the resource at a path, switched on or not, or None."""
        return self._by_path.get((group, version, plural))

    def message_of(self, api_version: str, kind: str) -> str | None:
        """Return the full name of a kind's message, or None for an unknown kind.

        Lists, options and kinds that are not served count too. The kinds that all groups share (Status,
        DeleteOptions, …) are known in the meta group, by either vocabulary's name, and, as they travel, under "v1";
        those that go along with a request also in each group version.
        """
        found = self._messages.get((api_version, kind))
        if found is None and kind in IN_EVERY_GROUP and api_version in self._api_versions:
            return self._messages["v1", kind]
        return found


def _messages_by_kind(naming: Naming, additions: Additions) -> dict[tuple[str, str], str]:
    shared: dict[tuple[str, str], str] = {}
    own: dict[tuple[str, str], str] = {}
    for file in declarations.files():
        options = file.options
        if options.version is None:
            continue
        api_version = joined(naming.group(options.group), options.version)
        for message in file.messages:
            name, is_meta = message.name, options.group == _META
            listed = message.options.kind or (is_meta and name in _META_EXTRAS)
            if not listed or not _is_known(message, additions):
                continue
            own[api_version, name] = message.full_name
            if is_meta:
                own[joined(naming.counterpart.meta_group, options.version), name] = message.full_name
                shared.setdefault(("v1", name), message.full_name)
    # Metadata alone is asked for in the beta version too, where it never got a message of its own.
    for group in (naming.meta_group, naming.counterpart.meta_group):
        own[joined(group, "v1beta1"), _METADATA] = shared["v1", _METADATA]
    return {**shared, **own}


def _is_known(message: declarations.Message, additions: Additions) -> bool:
    """Report whether the emulated release has the kind of a message."""
    return additions.includes(message.options.lifecycle.introduced)


def _groups(naming: Naming, known: set[tuple[str, str]]) -> tuple[GroupInfo, ...]:
    """Return the served groups in discovery's order: core, aggregator, descending priority, name (reference
    DISC-2). Versions that are not `known` to have resources are left out.
    """
    priorities: dict[str, dict[str, int]] = {}
    minimum: dict[str, int] = {}
    for file in declarations.files():
        group, version, priority = file.options.group, file.options.version, file.options.version_priority
        if version is not None and priority is not None and (naming.group(group), version) in known:
            priorities.setdefault(group, {})[version] = priority
            minimum[group] = file.options.group_priority_minimum
    order = sorted(priorities, key=lambda name: (name != "", name != _AGGREGATED, -minimum[name], name))
    return tuple(_group(naming, name, priorities[name], minimum[name] or None) for name in order)


def _group(naming: Naming, name: str, priority: dict[str, int], minimum: int | None) -> GroupInfo:
    versions = tuple(sorted(priority, key=lambda version: -priority[version]))
    return GroupInfo(
        name=naming.group(name),
        versions=versions,
        preferred=versions[0],
        group_priority_minimum=minimum,
        version_priority=priority,
    )


def _resources(naming: Naming, additions: Additions) -> Iterator[ResourceType]:
    for file in declarations.files():
        group, version = naming.group(file.options.group), file.options.version or ""
        for message in file.messages:
            served = message.options.resource
            if served is not None and _is_known(message, additions):
                yield _resource(naming, group, version, message, served, additions)


def _resource(
    naming: Naming,
    group: str,
    version: str,
    message: declarations.Message,
    served: declarations.Resource,
    additions: Additions,
) -> ResourceType:
    life = message.options.lifecycle
    stored_group, _, stored_version = served.storage_version.rpartition("/")
    return ResourceType(
        group=group,
        version=version,
        plural=served.plural,
        singular=served.singular,
        kind=message.name,
        list_kind=served.list_kind or None,
        namespaced=served.namespaced,
        verbs=served.verb,
        short_names=served.short_name,
        categories=served.category,
        subresources=tuple(
            _subresource(naming, group, version, each)
            for each in served.subresource
            if additions.includes(each.since, each.feature_gate)
        ),
        storage_version=stored_version or None,
        storage_group=naming.group(stored_group) if stored_version else None,
        storage_version_hash=_storage_hash(naming, served.storage_version, message.name),
        default_on=served.served,
        preferred=served.preferred,
        delete_returns_object=served.delete_returns_object,
        field_selectors=served.field_selector,
        introduced=life.introduced or None,
        deprecated=life.deprecated or None,
        removed=life.removed or None,
        replacement=_replacement(naming, life),
        columns=message.options.column,
        message=message.full_name,
    )


def _storage_hash(naming: Naming, storage_version: str, kind: str) -> str:
    """Return the storage version hash of discovery: the first 8 bytes of a SHA-256 over its full name, in base64.

    It follows the vocabulary, since clients compare it over servers; empty for what is never stored.
    """
    if not storage_version:
        return ""
    group, _, version = storage_version.rpartition("/")
    digest = sha256(f"{naming.group(group)}/{version}/{kind}".encode()).digest()
    return b64encode(digest[:8]).decode()


def _subresource(naming: Naming, group: str, version: str, declared: declarations.Subresource) -> Subresource:
    """Return a sub-resource, whose kind is of its parent's group version unless declared otherwise."""
    return Subresource(
        name=declared.name,
        kind=declared.kind,
        group=group if declared.version is None else naming.group(declared.group),
        version=version if declared.version is None else declared.version,
        verbs=declared.verb,
    )


def _replacement(naming: Naming, life: declarations.Lifecycle) -> GroupVersionKind | None:
    target = life.replacement
    if target is None:
        return None
    return GroupVersionKind(group=naming.group(target.group), version=target.version, kind=target.kind)
