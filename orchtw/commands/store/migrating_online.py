"""`orch-store migrate --kubeconfig`: every object is read from a running server and written as it is (STORE-21).

The server stores such a write only if it keeps the object in an older form; others change nothing.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path
from random import SystemRandom
from typing import Any, Final
from urllib.parse import quote, urlencode

import attrs
import orjson

from orchtw.commands.store.outcome import Migrated
from orchtw.commands.store.source import agreed
from orchtw.errors import ConfigError
from orchtw.naming.names import Naming
from orchtw.outbound.caller import Caller, CallFailed, Question
from orchtw.outbound.kubeconfig import load
from orchtw.outbound.remote import Remote
from orchtw.outbound.services import Resolver, ServiceReference
from orchtw.wire.objects import Object

AGENT: Final = "orch-store"
PAGE: Final = 500
TIMEOUT_S: Final = 60.0
ANSWER_BYTES: Final = 256 << 20
TOLD_BY: Final = "authorization.orch.io"
"""A group that every server has, and that no one else may have the name of."""

SLICES: Final = "endpointslices"
"""That of the server itself may name an address that nobody else's may; it keeps it up by itself."""

GONE, CONFLICT = 404, 409
NEEDED: Final = frozenset({"list", "update"})


@attrs.frozen(slots=True)
class Collection:
    """A resource as discovery names it."""

    path: str
    plural: str
    namespaced: bool

    def of(self, namespace: str, name: str) -> str:
        """The path of an object."""
        middle = f"namespaces/{quote(namespace, safe='')}/" if self.namespaced else ""
        return f"{self.path}/{middle}{self.plural}/{quote(name, safe='')}"


class NoServices:
    """See `Objects`: a kubeconfig names a server by its URL."""

    async def service(self, namespace: str, name: str) -> Object | None:
        """Return None: the command knows no Services."""
        return None

    async def endpoints(self, namespace: str, name: str) -> Object | None:
        """Return None: the command knows no endpoints."""
        return None


async def migrate_online(kubeconfig: Path, given: str, reactor: Any, complain: Callable[[str], None]) -> Migrated:
    """Have a server rewrite what it keeps in an older form; `complain` is told of objects that it refused.

    `given`, if not empty, is the vocabulary that it must serve, and that of the file. Raises ConfigError with one
    line for a server that cannot be asked.
    """
    naming = Naming.of(given) if given else Naming.orch()
    own = ServiceReference(namespace=naming.default_namespace, name=naming.product)
    caller = Caller(reactor, Resolver(NoServices(), own, SystemRandom()), AGENT)
    server = OnlineServer(caller, load(kubeconfig, naming, reactor))
    result = Migrated()
    try:
        naming = Naming.of(agreed(server.url, await server.vocabulary(), given))
        async for collection in server.collections():
            async for obj in server.objects(collection):
                result.seen += 1
                meta = obj["metadata"]
                if collection.plural == SLICES and meta["name"] == naming.product:
                    continue
                try:
                    result.written += await server.rewrite(collection, obj)
                except ConfigError as problem:
                    result.failed += 1
                    where = collection.of(meta.get("namespace", ""), meta.get("name", ""))
                    complain(f"{where}: {problem}")
    except CallFailed as problem:
        raise ConfigError(str(problem)) from None
    finally:
        await caller.close()
    return result


class OnlineServer:
    """Requests to the API of a running server."""

    def __init__(self, caller: Caller, remote: Remote) -> None:
        self._caller = caller
        self._remote = remote

    @property
    def url(self) -> str:
        """Return the URL of the server."""
        return self._remote.url

    async def vocabulary(self) -> str:
        """That of its groups. Raises ConfigError."""
        names = {group["name"] for group in await self._groups()}
        naming = Naming.kubernetes() if Naming.kubernetes().group(TOLD_BY) in names else Naming.orch()
        return naming.vocabulary

    async def collections(self) -> AsyncIterator[Collection]:
        """Every resource that can be listed and updated, each in one version."""
        seen = set()
        for path in await self._versions():
            group = path.split("/")[1] if path.startswith("apis/") else ""
            code, answer = await self._ask("GET", path)
            if code != 200:
                continue  # of a server behind this one that does not answer: its objects are not in this store
            for resource in answer.get("resources", ()):
                name = resource["name"]
                if "/" not in name and set(resource.get("verbs", ())) >= NEEDED and (group, name) not in seen:
                    seen.add((group, name))
                    yield Collection(path, name, bool(resource.get("namespaced")))

    async def objects(self, collection: Collection) -> AsyncIterator[Object]:
        """All of a collection, a page at a time. Raises ConfigError."""
        token, api = "", {}
        while True:
            query = urlencode({"limit": PAGE, **({"continue": token} if token else {})})
            code, answer = await self._ask("GET", f"{collection.path}/{collection.plural}", query)
            if code != 200:
                raise ConfigError(f"{collection.path}/{collection.plural}: {_words(code, answer)}")
            api = {"apiVersion": answer["apiVersion"], "kind": answer["kind"].removesuffix("List")}
            for item in answer.get("items") or ():
                yield {**api, **item}
            token = answer.get("metadata", {}).get("continue", "")
            if not token:
                return

    async def rewrite(self, collection: Collection, obj: Object) -> bool:
        """Send an object as it is; whether the server has written it. Raises ConfigError when it refuses.

        One that somebody else has written or removed meanwhile needs it no more.
        """
        meta = obj["metadata"]
        path = collection.of(meta.get("namespace", ""), meta["name"])
        code, answer = await self._ask("PUT", path, body=orjson.dumps(obj))
        if code in (GONE, CONFLICT):
            return False
        if code != 200:
            raise ConfigError(_words(code, answer))
        return bool(answer["metadata"]["resourceVersion"] != meta["resourceVersion"])

    async def _versions(self) -> list[str]:
        """`api/v1`, then each version of each group, the preferred one first."""
        return ["api/v1", *(f"apis/{path}" for group in await self._groups() for path in _of_group(group))]

    async def _groups(self) -> Sequence[Object]:
        code, answer = await self._ask("GET", "apis")
        if code != 200:
            raise ConfigError(f"{self._remote.url}: {_words(code, answer)}")
        groups: Sequence[Object] = answer["groups"]
        return groups

    async def _ask(self, method: str, path: str, query: str = "", body: bytes = b"") -> tuple[int, Any]:
        headers = {"Accept": "application/json", **({"Content-Type": "application/json"} if body else {})}
        question = Question(method=method, path=path, query=query, headers=headers, body=body)
        answer = await self._caller.ask(self._remote, question, timeout_s=TIMEOUT_S, limit_bytes=ANSWER_BYTES)
        try:
            return answer.code, orjson.loads(answer.body)
        except orjson.JSONDecodeError:
            return answer.code, {}


def _of_group(group: Object) -> Iterator[str]:
    preferred = group["preferredVersion"]["groupVersion"]
    yield preferred
    yield from (each["groupVersion"] for each in group["versions"] if each["groupVersion"] != preferred)


def _words(code: int, answer: Any) -> str:
    """Return the message of an error response in one line."""
    message = answer.get("message") if isinstance(answer, dict) else None
    return " ".join(str(message or f"status {code}").split())
