"""Operations on each served resource, and their names in OpenAPI (reference OPENAPI-10)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from orchtw.schema.catalogue import ResourceType, Subresource
from orchtw.schema.openapi import parameters
from orchtw.schema.openapi.definition_names import group_title, group_version_kind, tag, title
from orchtw.schema.openapi.definitions import META, PATCH, WATCH_EVENT
from orchtw.schema.openapi.descriptions import Descriptions
from orchtw.schema.openapi.features import Features
from orchtw.schema.openapi.parameters import Parameter
from orchtw.schema.schemas import Schemas

STATUS = f"{META}.Status"
DELETE_OPTIONS = f"{META}.DeleteOptions"
TEXT = "string"  # no message: a response of plain text

ANY = ("*/*",)
TEXTUAL = ("application/json", "application/yaml")
JSON_STREAM = "application/json;stream=watch"
STRATEGIC = "application/strategic-merge-patch+json"
PATCHES = (
    "application/json-patch+json",
    "application/merge-patch+json",
    STRATEGIC,
    "application/apply-patch+yaml",
)
# Verbs of a connecting sub-resource → HTTP methods, in the words of operation ids.
_CONNECT = {"get": "get", "create": "post", "update": "put", "delete": "delete", "patch": "patch"}
# Methods that a proxy also takes, though discovery has no verbs for them.
_PASSED_ON = ("options", "head")
_TITLES = {"create": "create", "get": "read", "update": "replace", "patch": "patch", "delete": "delete"}
_METHODS = {"create": "post", "get": "get", "update": "put", "patch": "patch", "delete": "delete"}
_CODES = {"create": (200, 201, 202), "get": (200,), "update": (200, 201), "patch": (200, 201), "delete": (200, 202)}
_PARAMETERS = {
    "create": parameters.WRITE,
    "get": (),
    "update": parameters.WRITE,
    "patch": parameters.PATCH,
    "delete": parameters.DELETE,
}
_WHAT = {
    "create": "create",
    "get": "read",
    "update": "replace",
    "patch": "patch",
    "delete": "delete",
}


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """One method on one path.

    `body` and the values of `responses` are full message names; a response may be TEXT. `required`: the body may not
    be absent. `action`, `kind` and `fields` are the extensions' values; discovery has none of them.
    """

    path: str
    method: str
    id: str
    tag: str
    description: str
    parameters: tuple[Parameter, ...] = ()
    body: str = ""
    required: bool = True
    consumes: tuple[str, ...] = ANY
    produces: tuple[str, ...]
    responses: Mapping[int, str]
    action: str = ""
    kind: Mapping[str, str] | None = None
    fields: tuple[str, ...] = ()


class Operations:
    """The operations of the served resources, group version by group version."""

    def __init__(self, schemas: Schemas, features: Features) -> None:
        self._schemas = schemas
        self._features = features

    def of_version(self, resources: Iterable[ResourceType]) -> Iterator[Operation]:
        """Yield every operation on the resources of one group version."""
        texts = Descriptions(self._schemas.naming)
        for resource in resources:
            yield from _Resource(resource, self._schemas, texts, self._features).operations()


class _Resource:
    """Makes the operations of one resource."""

    def __init__(
        self, resource: ResourceType, schemas: Schemas, texts: Descriptions, features: Features
    ) -> None:
        naming = schemas.naming
        self._left_out = [
            parameter
            for parameter, known in (
                (parameters.VALIDATION, features.field_validation),
                (parameters.INITIAL_EVENTS, features.initial_events),
                (parameters.SHARDS, features.shards),
                (parameters.IGNORE_READ_ERRORS, features.unsafe_deletes),
            )
            if not known
        ]
        self._resource = resource
        self._schemas = schemas
        self._texts = texts
        self._objects: tuple[str, ...] = TEXTUAL
        self._streams: tuple[str, ...] = (JSON_STREAM,)
        self._patches: tuple[str, ...] = PATCHES
        if resource.protobuf:
            self._objects += (naming.protobuf_media_type,)
            self._streams += (naming.protobuf_watch_media_type,)
        else:
            self._patches = tuple(each for each in PATCHES if each != STRATEGIC)
        self._tag = tag(resource.group, resource.version, naming)
        self._group = group_title(resource.group, naming) + title(resource.version)
        self._scope = "Namespaced" if resource.namespaced else ""
        self._root = f"/apis/{resource.group}/{resource.version}" if resource.group else f"/api/{resource.version}"
        self._kind = group_version_kind(resource.group, resource.version, resource.kind)
        self._fields = () if resource.protobuf else resource.field_selectors
        self._namespace = (parameters.NAMESPACE,) if resource.namespaced else ()
        self._named = (parameters.named(resource.kind), *self._namespace)

    def operations(self) -> Iterator[Operation]:
        """Yield all operations, collection first."""
        resource = self._resource
        yield from self._on_collection()
        yield from self._on_object()
        for sub in resource.subresources:
            yield from self._connecting(sub) if _connects(sub) else self._on_subresource(sub)
        if "watch" in resource.verbs:
            yield from self._watches()

    def _known(self, given: Iterable[Parameter]) -> Iterator[Parameter]:
        return (each for each in given if each not in self._left_out)

    def _path(self, *, watch: bool = False, everywhere: bool = False, below: str = "") -> str:
        namespace = "/namespaces/{namespace}" if self._resource.namespaced and not everywhere else ""
        return f"{self._root}{'/watch' if watch else ''}{namespace}/{self._resource.plural}{below}"

    def _on_collection(self) -> Iterator[Operation]:
        resource, path = self._resource, self._path()
        if "list" in resource.verbs:
            yield self._list(path, f"{self._scope}{resource.kind}", self._namespace)
            if resource.namespaced:
                yield self._list(self._path(everywhere=True), f"{resource.kind}ForAllNamespaces", ())
        if "create" in resource.verbs:
            yield self._write("create", path, self._namespace)
        if "deletecollection" in resource.verbs:
            yield Operation(
                path=path,
                method="delete",
                id=f"delete{self._group}Collection{self._scope}{resource.kind}",
                tag=self._tag,
                description=f"Delete all selected objects of kind {resource.kind}.",
                parameters=(*self._namespace, parameters.PRETTY, *self._known(parameters.DELETE_COLLECTION)),
                body=DELETE_OPTIONS,
                required=False,
                produces=self._objects,
                responses={200: STATUS},
                action="deletecollection",
                kind=self._kind,
                fields=self._fields,
            )

    def _list(self, path: str, name: str, where: tuple[Parameter, ...]) -> Operation:
        resource = self._resource
        kind = resource.list_kind or f"{resource.kind}List"
        message = self._schemas.message_of(resource.api_version, kind)
        assert message is not None, f"{kind} has no message"
        return Operation(
            path=path,
            method="get",
            id=f"list{self._group}{name}",
            tag=self._tag,
            description=f"List or watch objects of kind {resource.kind}.",
            parameters=(*where, parameters.PRETTY, *self._known(parameters.LIST)),
            produces=self._objects + self._streams,
            responses={200: message},
            action="list",
            kind=self._kind,
            fields=self._fields,
        )

    def _on_object(self) -> Iterator[Operation]:
        for verb in ("get", "update", "patch", "delete"):
            if verb in self._resource.verbs:
                yield self._write(verb, self._path(below="/{name}"), self._named)

    def _write(self, verb: str, path: str, where: tuple[Parameter, ...]) -> Operation:
        """Return the operation of one verb on the resource itself; deletion returns a Status by default."""
        resource = self._resource
        status = verb == "delete" and not resource.delete_returns_object
        return self._verb(
            verb, path, where, kind=self._kind, sent=resource.message, answered=STATUS if status else resource.message
        )

    def _verb(
        self,
        verb: str,
        path: str,
        where: tuple[Parameter, ...],
        *,
        kind: Mapping[str, str],
        sent: str,
        answered: str,
        sub: str = "",
        produces: tuple[str, ...] = (),
        more: tuple[Parameter, ...] = (),
    ) -> Operation:
        what = f"the {sub} of one" if sub else "one"
        bodies = {"create": sent, "update": sent, "patch": PATCH, "delete": DELETE_OPTIONS, "get": ""}
        method = _METHODS[verb]
        return Operation(
            path=path,
            method=method,
            id=f"{_TITLES[verb]}{self._group}{self._scope}{self._resource.kind}{title(sub)}",
            tag=self._tag,
            description=f"{title(_WHAT[verb])} {what} {self._resource.kind}.",
            parameters=(*where, parameters.PRETTY, *self._known(_PARAMETERS[verb]), *more),
            body=bodies[verb],
            required=verb != "delete",
            consumes=self._patches if verb == "patch" else ANY,
            produces=produces or self._objects,
            responses=dict.fromkeys(_CODES[verb], answered),
            action=method,
            kind=kind,
        )

    def _on_subresource(self, sub: Subresource) -> Iterator[Operation]:
        message = self._message(sub)
        text = sub.name == "log"
        for verb in ("get", "create", "update", "patch"):
            if verb in sub.verbs:
                yield self._verb(
                    verb,
                    self._path(below=f"/{{name}}/{sub.name}"),
                    self._named,
                    kind=group_version_kind(sub.group, sub.version, sub.kind),
                    sent=message,
                    answered=TEXT if text else message,
                    sub=sub.name,
                    produces=("text/plain", *self._objects) if text else (),
                    more=self._options(f"{self._resource.kind}LogOptions") if text else (),
                )

    def _connecting(self, sub: Subresource) -> Iterator[Operation]:
        """Yield operations of a connecting sub-resource; a proxy takes every method, and also a path below it."""
        options = self._options(sub.kind)
        methods = [_CONNECT[verb] for verb in _CONNECT if verb in sub.verbs]
        if sub.name == "proxy":
            methods += _PASSED_ON
        path = self._path(below=f"/{{name}}/{sub.name}")
        for method in methods:
            yield self._connect(path, method, sub, (*self._named, *options), "")
            if sub.name == "proxy":
                yield self._connect(
                    f"{path}/{{path}}", method, sub, (*self._named, parameters.PATH, *options), "WithPath"
                )

    def _connect(
        self, path: str, method: str, sub: Subresource, given: tuple[Parameter, ...], suffix: str
    ) -> Operation:
        return Operation(
            path=path,
            method=method,
            id=f"connect{self._group}{title(method)}{self._scope}{self._resource.kind}{title(sub.name)}{suffix}",
            tag=self._tag,
            description=f"Send a {method.upper()} request to subresource {sub.name} of one {self._resource.kind}.",
            parameters=given,
            produces=ANY,
            responses={200: TEXT},
            action="connect",
            kind=group_version_kind(sub.group, sub.version, sub.kind),
        )

    def _watches(self) -> Iterator[Operation]:
        """Yield operations of the paths that always watch; they go back to early clients (reference REQ-6)."""
        kind, scope = self._resource.kind, self._scope
        yield self._watch(self._path(watch=True), f"{scope}{kind}List", self._namespace, "watchlist")
        yield self._watch(self._path(watch=True, below="/{name}"), f"{scope}{kind}", self._named, "watch")
        if self._resource.namespaced:
            yield self._watch(self._path(watch=True, everywhere=True), f"{kind}ListForAllNamespaces", (), "watchlist")

    def _watch(self, path: str, name: str, where: tuple[Parameter, ...], action: str) -> Operation:
        return Operation(
            path=path,
            method="get",
            id=f"watch{self._group}{name}",
            tag=self._tag,
            description=f"Watch {self._resource.kind} objects. Deprecated: list them with watch=true.",
            parameters=(*where, parameters.PRETTY, *self._known(parameters.LIST)),
            produces=self._objects + self._streams,
            responses={200: WATCH_EVENT},
            action=action,
            kind=self._kind,
            fields=self._fields,
        )

    def _message(self, sub: Subresource) -> str:
        api_version = f"{sub.group}/{sub.version}" if sub.group else sub.version
        message = self._schemas.message_of(api_version, sub.kind)
        assert message is not None, f"{sub.kind} has no message"
        return message

    def _options(self, kind: str) -> tuple[Parameter, ...]:
        message = self._schemas.message_of(self._resource.api_version, kind)
        assert message is not None, f"{kind} has no message"
        return parameters.of_options(self._schemas.struct(message), self._texts)


def _connects(sub: Subresource) -> bool:
    return sub.kind.endswith("Options")
