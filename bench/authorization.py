"""Authorization by many roles and bindings: what a decision costs, and how soon a change of a binding counts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, cast

import attrs
import orjson

from bench.closed_loop import ClosedLoop, percentile_ms
from bench.http1 import JSON, Answer, BenchError, Connection, Endpoint
from bench.session import Bench
from orchtw.authz.decision import Decision
from orchtw.authz.live_roles import GROUP, LiveRoles
from orchtw.authz.masters import Masters
from orchtw.authz.rbac import RBAC
from orchtw.authz.rbac_index import Binding, RoleIndex, RoleKey
from orchtw.authz.union import AuthorizerUnion
from orchtw.naming.naming import Naming
from orchtw.request import RequestInfo, UserInfo
from orchtw.rules.rbac import PolicyRule, rules_of
from orchtw.wire.objects import Object

TEAMS = 50
WARM = 100  # questions with a known answer, for each binding
CONNECTIONS = 8
ACCOUNT = "robot"


def authorization(bench: Bench) -> None:
    """Emit a line for decisions without anything around them, and one for changes over TLS."""
    naming, sizes = Naming.of("orch"), Sizes(bench.options.bindings)
    roles, bindings = list(_roles(sizes)), list(_bindings(naming, sizes))
    bench.emit("authorization_decision", _decisions(naming, sizes, roles, bindings))
    _fill(bench, naming, sizes, roles, bindings)
    bench.emit("authorization_change", _changes(bench, naming))


@attrs.frozen(slots=True)
class Sizes:
    """Numbers of bindings and of what they bind: four to a role, two to a user, twenty to a namespace."""

    bindings: int

    @property
    def roles(self) -> int:
        """Return the number of roles."""
        return max(1, self.bindings // 4)

    @property
    def users(self) -> int:
        """Return the number of users, each of which has a first question."""
        return max(1, self.bindings // 2)

    @property
    def namespaces(self) -> int:
        """Return the number of namespaces; it divides that of users, so that a user's bindings are in one."""
        return max(1, self.bindings // 20)


def _roles(sizes: Sizes) -> Iterator[Object]:
    for number in range(sizes.roles):
        rules = [
            {"verbs": ["get", "list", "watch"], "apiGroups": [""], "resources": [f"things{number}", "configmaps"]},
            {"verbs": ["create", "update", "delete"], "apiGroups": ["apps"], "resources": [f"things{number}"]},
            {"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"], "resourceNames": [f"s{number}"]},
        ]
        yield {"metadata": {"name": f"bench-{number}"}, "rules": rules}


def _bindings(naming: Naming, sizes: Sizes) -> Iterator[Object]:
    """Yield one in twenty is for a team in the whole cluster; the others are for a user in a namespace."""
    for number in range(sizes.bindings):
        meta = {"name": f"bench-{number}"}
        subject = {"kind": "Group", "name": f"team-{number % TEAMS}"}
        if number % 20:
            meta["namespace"] = f"bench-{number % sizes.namespaces}"
            subject = {"kind": "User", "name": f"user-{number % sizes.users}"}
        yield _binding(naming, meta, f"bench-{number % sizes.roles}", {**subject, "apiGroup": naming.group(GROUP)})


def _binding(naming: Naming, meta: Object, role: str, subject: Object) -> Object:
    reference = {"apiGroup": naming.group(GROUP), "kind": "ClusterRole", "name": role}
    return {"metadata": meta, "roleRef": reference, "subjects": [subject]}


class _Given(LiveRoles):
    """Roles and bindings without a store."""

    def __init__(self, naming: Naming, roles: list[Object], bindings: list[Object]) -> None:
        super().__init__(cast(Any, None), naming)
        rules: dict[RoleKey, tuple[PolicyRule, ...]] = {
            ("", each["metadata"]["name"]): rules_of(each) for each in roles
        }
        self._index = RoleIndex(rules.get)
        self._follows = True
        for each in bindings:
            self._index.put(Binding.of(each))


def _decisions(naming: Naming, sizes: Sizes, roles: list[Object], bindings: list[Object]) -> dict[str, object]:
    """Microseconds of a question that has been asked before, and of each user's first one."""
    asked = AuthorizerUnion((Masters(), RBAC(_Given(naming, roles, bindings), naming)))
    questions = [
        (
            UserInfo(name=f"user-{number}", groups=(f"team-{number % TEAMS}", "system:authenticated")),
            RequestInfo(
                is_resource=True, verb="get", path="", version="v1", resource="configmaps", name="a",
                namespace=f"bench-{number % sizes.namespaces}",
            ),
        )
        for number in range(sizes.users)
    ]  # fmt: skip
    began = time.perf_counter()
    answers = [asked.authorize(*question) for question in questions]
    cold_s = time.perf_counter() - began
    allowed = sum(isinstance(each, Decision) and each.allowed is True for each in answers)
    user, info = questions[1]
    again = WARM * sizes.bindings
    began = time.perf_counter()
    for _ in range(again):
        asked.authorize(user, info)
    warm_s = time.perf_counter() - began
    return {
        "roles": sizes.roles,
        "bindings": sizes.bindings,
        "warm_us": round(warm_s / again * 1e6, 2),
        "cold_us": round(cold_s / sizes.users * 1e6, 1),
        "allowed": allowed,
        "errors": int(not allowed),
    }


def _fill(
    bench: Bench, naming: Naming, sizes: Sizes, roles: list[Object], bindings: list[Object]
) -> None:
    """Create them all, with the namespaces that they are in."""
    namespaces: list[Object] = [{"metadata": {"name": f"bench-{number}"}} for number in range(sizes.namespaces)]
    base = f"/apis/{naming.group(GROUP)}/v1"
    everything = [
        *((f"{base}/clusterroles", each) for each in roles),
        *(("/api/v1/namespaces", each) for each in namespaces),
    ]
    _create_all(bench, everything)
    _create_all(bench, [(_home(base, each), each) for each in bindings])


def _home(base: str, binding: Object) -> str:
    namespace = binding["metadata"].get("namespace")
    return f"{base}/namespaces/{namespace}/rolebindings" if namespace else f"{base}/clusterrolebindings"


def _create_all(bench: Bench, wanted: list[tuple[str, Object]]) -> None:
    requests = [bench.endpoint.request("POST", path, JSON, JSON, orjson.dumps(each)) for path, each in wanted]
    loop = ClosedLoop(bench.endpoint, CONNECTIONS)
    result = loop.run(lambda worker, number: requests[number], count=len(requests))
    loop.close()
    if result.errors:
        raise BenchError(f"filling: {result.first_error}")


def _changes(bench: Bench, naming: Naming) -> dict[str, object]:
    """Return a binding comes and goes; after each answer its subject, another client, asks at once.

    `granted_ms` and `revoked_ms` are from that answer to the subject's; `wrong` is how many of these were.
    """
    namespace = bench.namespace()
    name = namespace.rsplit("/", 1)[1]
    account = {"kind": "ServiceAccount", "name": ACCOUNT, "namespace": name}
    binding = _binding(naming, {"name": "robots"}, "bench-1", account)
    bindings = f"/apis/{naming.group(GROUP)}/v1/namespaces/{name}/rolebindings"
    bench.create(f"{namespace}/serviceaccounts", {"metadata": {"name": ACCOUNT}})
    subject = Endpoint(bench.endpoint.host, bench.endpoint.port, _token(bench, f"{namespace}/serviceaccounts"))
    admin, robot = Connection(bench.endpoint), Connection(subject)
    create = bench.endpoint.request("POST", bindings, JSON, JSON, orjson.dumps(binding))
    remove = bench.endpoint.request("DELETE", f"{bindings}/robots")
    read = subject.request("GET", f"{namespace}/configmaps")
    granted: list[int] = []
    revoked: list[int] = []
    wrong = 0
    end = time.monotonic() + bench.options.seconds
    while time.monotonic() < end:
        for change, expected, took in ((create, 200, granted), (remove, 403, revoked)):
            _good(admin.call(change))
            wrong += _timed(lambda: robot.call(read), took).status != expected
    admin.close()
    robot.close()
    figures = {
        f"{word}_ms_{label}": percentile_ms(sorted(took), share)
        for word, took in (("granted", granted), ("revoked", revoked))
        for label, share in (("p50", 0.5), ("max", 1.0))
    }
    return {"changes": len(granted) + len(revoked), **figures, "wrong": wrong, "errors": wrong}


def _token(bench: Bench, accounts: str) -> str:
    """Return a token of the account's."""
    connection = Connection(bench.endpoint)
    request = bench.endpoint.request("POST", f"{accounts}/{ACCOUNT}/token", JSON, JSON, b'{"spec":{}}')
    answer = _good(connection.call(request))
    connection.close()
    token: str = orjson.loads(answer.content)["status"]["token"]
    return token


def _timed(work: Callable[[], Answer], took: list[int]) -> Answer:
    began = time.perf_counter_ns()
    answer = work()
    took.append(time.perf_counter_ns() - began)
    return answer


def _good(answer: Answer) -> Answer:
    if problem := answer.problem(JSON):
        raise BenchError(problem)
    return answer
