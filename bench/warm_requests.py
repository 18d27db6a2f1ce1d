"""`python -m bench.warm_requests`: what it takes to know who asks and whether they may, in this process.

Prints a line of JSON for each kind of credentials. A server without network has roles and bindings, and looks at the
same request again and again, as clients send it: what is timed is authentication and authorization alone.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from base64 import b64decode
from collections.abc import Coroutine, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater, react

from orchtw.authz.decision import Decision
from orchtw.pki import certificates
from orchtw.request import Peer, Request, RequestInfo, UserInfo
from orchtw.testing.in_process import InProcessServer
from orchtw.wire.objects import Object

NAMESPACE, ACCOUNT, USER = "bench", "robot", "ann"
RBAC = "/apis/rbac.authorization.orch.io/v1"
NAMESPACES = 50
BATCH = 2000
NOBODY = Peer(address="127.0.0.1", port=1)
ASKED = RequestInfo(
    is_resource=True,
    verb="get",
    path="/api/v1/namespaces/bench/configmaps/a",
    prefix="api",
    version="v1",
    namespace=NAMESPACE,
    resource="configmaps",
    name="a",
)


class WarmRequests:
    """A server with `roles` and `bindings`; each figure is the best of `rounds` batches."""

    def __init__(self, server: InProcessServer, roles: int, bindings: int, rounds: int) -> None:
        self._server = server
        self._roles = roles
        self._bindings = bindings
        self._rounds = rounds

    async def run(self, reactor: Any) -> None:
        """Fill the server and measure."""
        await self._fill()
        shown = await self._credentials(reactor)
        for kind, (headers, peer) in shown.items():
            print(orjson.dumps({"credentials": kind, **self._measured(headers, peer)}).decode())

    async def _create(self, path: str, obj: Object) -> Any:
        answer = await self._server.request("POST", path, obj)
        if answer.code not in (200, 201):
            raise RuntimeError(f"POST {path}: {answer.code} {answer.body[:300]!r}")
        return answer.json

    async def _fill(self) -> None:
        """Make a role for each binding, one in ten for a group; three bindings are of the measured users."""
        for number in range(NAMESPACES):
            await self._create("/api/v1/namespaces", {"metadata": {"name": f"bench-{number}"}})
        await self._create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        for number in range(self._roles):
            rules = [
                {"apiGroups": [""], "resources": ["configmaps", f"things{number}"], "verbs": ["get", "list"]},
                {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get", "create", "update"]},
            ]
            await self._create(f"{RBAC}/clusterroles", {"metadata": {"name": f"bench-{number}"}, "rules": rules})
        users = [{"kind": "User", "name": f"user-{number}"} for number in range(self._bindings - 3)]
        for number, user in enumerate(users):
            subject = user if number % 10 else {"kind": "Group", "name": f"team-{number}"}
            await self._bind(f"bench-{number % NAMESPACES}", number, subject)
        account = {"kind": "ServiceAccount", "name": ACCOUNT, "namespace": NAMESPACE}
        for number, subject in enumerate((account, *({"kind": "User", "name": name} for name in (USER, "bob")))):
            await self._bind(NAMESPACE, number, subject)

    async def _bind(self, namespace: str, number: int, subject: Object) -> None:
        role = {"kind": "ClusterRole", "name": f"bench-{number % self._roles}", "apiGroup": RBAC.split("/")[2]}
        binding = {"metadata": {"name": f"bench-{number}"}, "roleRef": role, "subjects": [subject]}
        await self._create(f"{RBAC}/namespaces/{namespace}/rolebindings", binding)

    async def _credentials(self, reactor: Any) -> Mapping[str, tuple[Mapping[str, str], Peer]]:
        accounts = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts"
        await self._create(accounts, {"metadata": {"name": ACCOUNT}})
        issued = await self._create(f"{accounts}/{ACCOUNT}/token", {"spec": {}})
        now = datetime.now(UTC)
        authority = certificates.new_authority("bench", now)
        shown = certificates.issue(authority, certificates.new_key(), "bob", certificates.CLIENT, now)
        return {
            "static token": ({"authorization": "Bearer warm"}, NOBODY),
            "service account token": ({"authorization": f"Bearer {issued['status']['token']}"}, NOBODY),
            "token of a Secret": ({"authorization": f"Bearer {await self._kept(reactor)}"}, NOBODY),
            "client certificate": ({}, Peer(address="127.0.0.1", port=1, certificate=shown, verified=True)),
        }

    async def _kept(self, reactor: Any) -> str:
        """Return the token that a controller puts into a Secret."""
        path = f"/api/v1/namespaces/{NAMESPACE}/secrets"
        meta = {"name": "kept", "annotations": {"orch.io/service-account.name": ACCOUNT}}
        await self._create(path, {"metadata": meta, "type": "orch.io/service-account-token"})
        while True:
            found = (await self._server.request("GET", f"{path}/kept")).json.get("data", {}).get("token")
            if found:
                return b64decode(found).decode()
            await deferLater(reactor, 0.05)

    def _measured(self, headers: Mapping[str, str], peer: Peer) -> Mapping[str, object]:
        """Microseconds of CPU for a request."""
        given = {"host": "localhost", "user-agent": "bench", "accept": "application/json", **headers}
        authenticate, authorize = (getattr(self._server.instance, name) for name in ("authenticator", "authorizer"))
        best = [float("inf")] * 2
        users: Sequence[Any] = ()
        for _ in range(self._rounds):
            asked = [Request(method="GET", path=ASKED.path, headers=given, peer=peer) for _ in range(BATCH)]
            began = time.process_time_ns()
            users = [authenticate.authenticate(request) for request in asked]
            between = time.process_time_ns()
            decisions = [authorize.authorize(user, ASKED) for user in users]
            ended = time.process_time_ns()
            if not all(isinstance(user, UserInfo) for user in users):
                raise RuntimeError("a user is not known at once")
            if not all(isinstance(each, Decision) and each.allowed for each in decisions):
                raise RuntimeError(f"{users[0].name} is not allowed to make its request")
            best = [min(best[0], (between - began) / BATCH), min(best[1], (ended - between) / BATCH)]
        who, may = (each / 1000 for each in best)
        return {
            "user": users[0].name,
            "authentication_us": round(who, 2),
            "authorization_us": round(may, 2),
            "total_us": round(who + may, 2),
        }


async def measure(reactor: Any, roles: int, bindings: int, rounds: int) -> None:
    """Start a server, measure, stop it."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        server = InProcessServer(reactor, folder)
        with (Path(folder) / "tokens.csv").open("a") as tokens:
            tokens.write(f"warm,{USER},{USER}\n")
        server.instance.base.reloads.run()
        await server.start()
        try:
            await WarmRequests(server, roles, bindings, rounds).run(reactor)
        finally:
            await server.stop()


def main() -> None:
    """Sizes come from the command line."""
    parser = argparse.ArgumentParser("python -m bench.warm_requests")
    parser.add_argument("--roles", type=int, default=500)
    parser.add_argument("--bindings", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=20)
    given = parser.parse_args()

    def run(reactor: Any) -> Deferred[None]:
        work: Coroutine[Deferred[Any], Any, None] = measure(reactor, given.roles, given.bindings, given.rounds)
        return Deferred.fromCoroutine(work)

    react(run)


if __name__ == "__main__":
    main()
