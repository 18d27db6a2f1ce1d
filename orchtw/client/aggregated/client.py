"""The client of this process joined with aggregated API servers (reference AGG-17)."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final

from twisted.internet.interfaces import IReactorTime

from orchtw.client.aggregated.answers import LargeAnswer, made
from orchtw.client.aggregated.discovery import AggregatedDiscovery
from orchtw.client.aggregated.items import PageOfItems, RemoteItem
from orchtw.client.aggregated.requests import MERGE_PATCH, AskedRequest, Requests, path_of
from orchtw.client.aggregated.watch import RemoteWatch
from orchtw.client.concurrency import each
from orchtw.client.interface import (
    PLAIN_DELETE,
    Client,
    Discovered,
    Item,
    Listing,
    Receiver,
    Resource,
    ResourcesChanged,
    Watch,
)
from orchtw.errors import InternalError, MethodNotAllowed, NotFound
from orchtw.rules.delete_options import DeleteOptions
from orchtw.wire.objects import Object

PAGE: Final = 500
"""Objects per request of a list; fewer if they are large."""

MOST_ITEMS: Final = 1_000_000
"""Limit of one list's items: a longer one is taken for endless."""

ONE: Final = "PartialObjectMetadata"
MANY: Final = "PartialObjectMetadataList"
DELETES_AT_A_TIME: Final = 16
LEAST_WATCH_S, MOST_WATCH_S = 300, 600


class AggregatedClient:
    """Client for local and aggregated resources; other servers are asked for theirs, as the user of `requests`.

    A group version with a remote APIService is always asked of that server. Items of lists and watches of other
    servers hold only their metadata.
    """

    def __init__(
        self, local: Client, discovery: AggregatedDiscovery, requests: Requests, clock: IReactorTime, random: Random
    ) -> None:
        self._local = local
        self._discovery = discovery
        self._requests = requests
        self._clock = clock
        self._random = random

    async def discover(self) -> Discovered:
        """Discover local and remote resources. See `Client`, also for the methods below."""
        local, remote = await self._local.discover(), await self._discovery.discover()
        return Discovered([*local.resources, *remote.resources], remote.failures)

    def follow_discovery(self, changed: ResourcesChanged) -> Callable[[], None]:
        """Follow changes. For other servers `changed` is called without resources: they do not report which."""
        ends = self._local.follow_discovery(changed), self._discovery.listen(lambda: changed((), ()))

        def end() -> None:
            for each_end in ends:
                each_end()

        return end

    def resource(self, group: str, version: str, plural: str) -> Resource:
        return self._local.resource(group, version, plural)

    def resource_of(self, api_version: str, kind: str) -> Resource | None:
        if self._discovery.is_remote(api_version):
            return self._discovery.resource_of(api_version, kind)
        return self._local.resource_of(api_version, kind)

    async def get(self, resource: Resource, namespace: str, name: str) -> Object:
        if not resource.remote:
            return await self._local.get(resource, namespace, name)
        return (await self._item(resource, AskedRequest(path=path_of(resource, namespace, name)))).load()

    async def find(self, resource: Resource, namespace: str, name: str) -> Item | None:
        if not resource.remote:
            return await self._local.find(resource, namespace, name)
        try:
            return await self._item(resource, AskedRequest(path=path_of(resource, namespace, name), transform=ONE))
        except NotFound as error:
            if (error.details or {}).get("name") != name and not await self._discovery.serves(resource):
                raise made(InternalError, f"{resource.plural}.{resource.group} is not served at present") from None
            return None

    async def list(self, resource: Resource, namespace: str = "", *, labels: str = "", fields: str = "") -> Listing:
        if not resource.remote:
            return await self._local.list(resource, namespace, labels=labels, fields=fields)
        selected = {"labelSelector": labels, "fieldSelector": fields}
        query = {key: value for key, value in selected.items() if value}
        items: list[Item] = []
        page: PageOfItems | None = None
        limit = PAGE
        while page is None or page.token:
            asked = query | {"limit": str(limit)} | ({"continue": page.token} if page is not None else {})
            try:
                page = await self._page(resource, namespace, asked)
            except LargeAnswer:
                if limit == 1:
                    raise
                limit = max(1, limit // 10)
                continue
            items += page.items
            if len(items) > MOST_ITEMS or (page.token and not page.items):
                raise made(InternalError, "the list of the aggregated API server never ends")
        return Listing(items, page.version)

    def watch(self, resource: Resource, since: str, receiver: Receiver) -> Watch:
        if not resource.remote:
            return self._local.watch(resource, since, receiver)
        timeout_s = self._random.randrange(LEAST_WATCH_S, MOST_WATCH_S)
        query = {"watch": "true", "resourceVersion": since, "timeoutSeconds": str(timeout_s)}
        asked = AskedRequest(path=path_of(resource, ""), query=query, transform=ONE)
        watch = RemoteWatch(self._requests, self._discovery.service_of(resource), asked, receiver, self._clock)
        watch.start()
        return watch

    async def create(self, resource: Resource, namespace: str, obj: Object, *, whole: bool = True) -> Object:
        """Create locally, as `update` and `apply` work: other servers are not written to by these."""
        return await self._local.create(resource, namespace, obj, whole=whole)

    async def update(
        self, resource: Resource, namespace: str, name: str, obj: Object, subresource: str = ""
    ) -> Object:
        return await self._local.update(resource, namespace, name, obj, subresource)

    async def apply(
        self, resource: Resource, namespace: str, name: str, wanted: Object, manager: str, size_bytes: int = 0
    ) -> None:
        await self._local.apply(resource, namespace, name, wanted, manager, size_bytes)

    async def patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        changes: Object,
        subresource: str = "",
        *,
        whole: bool = True,
    ) -> Object:
        if not resource.remote:
            return await self._local.patch(resource, namespace, name, changes, subresource, whole=whole)
        path = path_of(resource, namespace, name) + (f"/{subresource}" if subresource else "")
        asked = AskedRequest(method="PATCH", path=path, body=changes, transform=ONE, media_type=MERGE_PATCH)
        return (await self._item(resource, asked)).load()

    async def delete(
        self, resource: Resource, namespace: str, name: str, options: DeleteOptions = PLAIN_DELETE
    ) -> bool:
        if not resource.remote:
            return await self._local.delete(resource, namespace, name, options)
        path = path_of(resource, namespace, name)
        asked = AskedRequest(method="DELETE", path=path, body=_body(options), transform=ONE)
        return await self._requests.ask(self._discovery.service_of(resource), asked, _is_gone)

    async def delete_collection(
        self, resource: Resource, namespace: str, options: DeleteOptions = PLAIN_DELETE, *, labels: str = "",
        fields: str = "",
    ) -> int:
        """Delete as `Client` says; a deletecollection of another server counts as 0, since its number is unknown."""
        if not resource.remote:
            return await self._local.delete_collection(resource, namespace, options, labels=labels, fields=fields)
        if not (labels or fields) and await self._deleted_together(resource, namespace, options):
            return 0
        deleted = 0

        async def delete(item: Item) -> None:
            nonlocal deleted
            try:
                await self.delete(resource, item.namespace, item.name, options)
            except NotFound:
                return
            deleted += 1

        listing = await self.list(resource, namespace, labels=labels, fields=fields)
        await each(listing.items, delete, DELETES_AT_A_TIME)
        return deleted

    async def _deleted_together(self, resource: Resource, namespace: str, options: DeleteOptions) -> bool:
        """Report whether one deletecollection has deleted all of a namespace: not every server supports it."""
        if not resource.allows("deletecollection"):
            return False
        service = self._discovery.service_of(resource)
        asked = AskedRequest(method="DELETE", path=path_of(resource, namespace), body=_body(options), transform=MANY)
        try:
            await self._requests.ask(service, asked, lambda _: None)
        except LargeAnswer as error:
            return 200 <= error.answered < 300
        except (NotFound, MethodNotAllowed):
            return False
        return True

    async def _item(self, resource: Resource, asked: AskedRequest) -> RemoteItem:
        return await self._requests.ask(self._discovery.service_of(resource), asked, RemoteItem.of)

    async def _page(self, resource: Resource, namespace: str, query: dict[str, str]) -> PageOfItems:
        asked = AskedRequest(path=path_of(resource, namespace), query=query, transform=MANY)
        return await self._requests.ask(self._discovery.service_of(resource), asked, PageOfItems.of)


def _is_gone(found: Object) -> bool:
    """Report whether the object is gone after a DELETE: the response is a Status, not a terminating object."""
    meta = found.get("metadata")
    return not (isinstance(meta, dict) and meta.get("deletionTimestamp"))


def _body(options: DeleteOptions) -> Object:
    """Return the DeleteOptions of a request."""
    conditions = {"uid": options.precondition_uid, "resourceVersion": options.precondition_version}
    body = {
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        "gracePeriodSeconds": options.grace_period_s,
        "propagationPolicy": options.propagation,
        "preconditions": {key: value for key, value in conditions.items() if value} or None,
    }
    return {key: value for key, value in body.items() if value is not None}
