"""`orch-store migrate --kubeconfig`: reads every object from a running server and writes it back (STORE-21).

The server stores such a write only if the object was stored in an older form; otherwise it is a no-op.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path
from random import SystemRandom
from typing import Any, Final
from urllib.parse import quote, urlencode

import msgspec
import orjson

from orchtw.commands.store.outcome import Migrated
from orchtw.commands.store.source import agreed
from orchtw.errors import ConfigError
from orchtw.logs.progress import Progress
from orchtw.naming.naming import Naming
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
"""Group that tells the vocabulary: every server has it, and only built-in resources can be in it."""

SLICES: Final = "endpointslices"
"""Plural of EndpointSlices. The server's own is skipped: its address may be one that validation rejects."""

GONE, CONFLICT = 404, 409
NEEDED: Final = frozenset({"list", "update"})


class Collection(msgspec.Struct, frozen=True):
    """Resource from discovery: the path of its group version, its plural name and scope."""

    path: str
    plural: str
    namespaced: bool

    def of(self, namespace: str, name: str) -> str:
        """Return the path of an object."""
        middle = f"namespaces/{quote(namespace, safe='')}/" if self.namespaced else ""
        return f"{self.path}/{middle}{self.plural}/{quote(name, safe='')}"


class NoServices:
    """Lookup without Services, as a kubeconfig gives the server's URL."""

    async def service(self, namespace: str, name: str) -> Object | None:
        """Return None for every Service."""
        return None

    async def endpoints(self, namespace: str, name: str) -> Object | None:
        """Return None for every Service's endpoints."""
        return None


async def migrate_online(kubeconfig: Path, given: str, reactor: Any, complain: Callable[[str], None]) -> Migrated:
    """Make a running server rewrite objects stored in an older form; report rejected ones to `complain`.

    `given`, if not empty, is the vocabulary that the server must serve, and that of the kubeconfig. Raises
    ConfigError if a request fails.
    """
    naming = Naming.of(given) if given else Naming.orch()
    own = ServiceReference(namespace=naming.default_namespace, name=naming.product)
    caller = Caller(reactor, Resolver(NoServices(), own, SystemRandom()), AGENT)
    server = OnlineServer(caller, load(kubeconfig, naming, reactor))
    result = Migrated()
    try:
        naming = Naming.of(agreed(server.url, await server.vocabulary(), given))
        with Progress("rewriting") as progress:
            await _rewrite(server, naming, complain, result, progress)
    except CallFailed as problem:
        raise ConfigError(str(problem)) from None
    finally:
        await caller.close()
    return result


async def _rewrite(
    server: OnlineServer, naming: Naming, complain: Callable[[str], None], result: Migrated, progress: Progress
) -> None:
    async for collection in server.collections():
        async for obj in server.objects(collection):
            progress.advance()
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


class OnlineServer:
    """API client of a running server."""

    def __init__(self, caller: Caller, remote: Remote) -> None:
        self._caller = caller
        self._remote = remote

    @property
    def url(self) -> str:
        """Return the URL of the server."""
        return self._remote.url

    async def vocabulary(self) -> str:
        """Return the vocabulary of the server's groups. Raises ConfigError."""
        names = {group["name"] for group in await self._groups()}
        naming = Naming.kubernetes() if Naming.kubernetes().group(TOLD_BY) in names else Naming.orch()
        return naming.vocabulary

    async def collections(self) -> AsyncIterator[Collection]:
        """Yield every resource that can be listed and updated, each in one version."""
        seen = set()
        for path in await self._versions():
            group = path.split("/")[1] if path.startswith("apis/") else ""
            code, answer = await self._ask("GET", path)
            if code != 200:
                continue  # an unavailable aggregated server, whose objects are not in this store
            for resource in answer.get("resources", ()):
                name = resource["name"]
                if "/" not in name and set(resource.get("verbs", ())) >= NEEDED and (group, name) not in seen:
                    seen.add((group, name))
                    yield Collection(path, name, bool(resource.get("namespaced")))

    async def objects(self, collection: Collection) -> AsyncIterator[Object]:
        """Yield all objects of a collection, listed page by page. Raises ConfigError."""
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
        """Write an object back unchanged; returns whether the server stored it. Raises ConfigError if rejected.

        An object that was changed or deleted in the meantime needs no rewrite.
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
        """Return `api/v1` and the path of each version of each group, the preferred version first."""
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
    """Return the message of an error response on one line."""
    message = answer.get("message") if isinstance(answer, dict) else None
    return " ".join(str(message or f"status {code}").split())
