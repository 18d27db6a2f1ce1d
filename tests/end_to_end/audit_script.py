"""A script of requests of all kinds, and the audit events that each of them is to leave, as one table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import attrs

from orchtw.wire.objects import Object
from tests.end_to_end.client import MERGE_PATCH

POLICY: Final = """\
apiVersion: audit.k8s.io/v1
kind: Policy
rules:
- level: None
  nonResourceURLs: ["/healthz*", "/livez", "/readyz"]
- level: None
  verbs: [get]
  resources:
  - {group: "", resources: [endpoints]}
- level: Request
  omitStages: [RequestReceived]
  resources:
  - {group: "", resources: [pods, "pods/*"]}
- level: RequestResponse
  omitManagedFields: true
  resources:
  - {group: "", resources: [configmaps]}
- level: None
  users: [quiet]
- level: Metadata
  omitStages: [RequestReceived]
  namespaces: [""]
- level: Metadata
"""
TOKENS: Final = 'amy-token,amy,1,"dev,ops"\nquiet-token,quiet,2\n'

ADMIN: Final = {"username": "orch-admin", "groups": ["system:masters", "system:authenticated"]}
AMY: Final = {"username": "amy", "uid": "1", "groups": ["dev", "ops", "system:authenticated"]}
ANONYMOUS: Final = {"username": "system:anonymous", "groups": ["system:unauthenticated"]}

RECEIVED, STARTED, COMPLETE = "RequestReceived", "ResponseStarted", "ResponseComplete"
BOTH, LONG, LATE = (RECEIVED, COMPLETE), (RECEIVED, STARTED, COMPLETE), (COMPLETE,)
ALLOWED: Final = {"authorization.orch.io/decision": "allow", "authorization.orch.io/reason": ""}
FORBIDDEN: Final = {"authorization.orch.io/decision": "forbid", "authorization.orch.io/reason": ""}


@attrs.frozen(slots=True, kw_only=True)
class Step:
    """One request and what is to be written of it.

    `status` is `responseStatus` beyond metadata and code; of a refusal all of it but these. `request` is what the
    body is shown as; `answers`: the answer's object is shown. `annotations` are those of the last event.
    """

    method: str = "GET"
    path: str
    body: Any = None
    headers: dict[str, str] = attrs.field(factory=dict)
    who: str = "admin"
    code: int = 200
    verb: str
    level: str = "Metadata"
    stages: tuple[str, ...] = BOTH
    user: Object = attrs.field(default=ADMIN)
    other: Object | None = None
    ref: Object | None = None
    decoded: Object = attrs.field(factory=dict)
    status: Object = attrs.field(factory=dict)
    request: Any = None
    answers: bool = False
    annotations: Object = attrs.field(default=ALLOWED)


def ref(
    resource: str, namespace: str = "", name: str = "", group: str = "", version: str = "v1", sub: str = ""
) -> Object:
    """An objectRef in the order of its members."""
    found = {
        "resource": resource,
        "namespace": namespace,
        "name": name,
        "apiGroup": group,
        "apiVersion": version,
        "subresource": sub,
    }
    return {key: value for key, value in found.items() if value}


def failure(reason: str, message: str, **details: Any) -> Object:
    """Return the message of a refusal."""
    said: Object = {"status": "Failure", "message": message, "reason": reason}
    return {**said, "details": details} if details else said


def config_maps(namespace: str, name: str) -> Iterator[Step]:
    """One ConfigMap's life at level RequestResponse."""
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    one, many = ref("configmaps", namespace, name), ref("configmaps", namespace)
    common: Any = {"level": "RequestResponse", "answers": True}
    body: Object = {"metadata": {"name": name}, "data": {"a": "ä"}}
    shown = {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {"name": name, "creationTimestamp": None},
        "data": {"a": "ä"},
    }
    named = {"name": name}
    yield Step(
        method="POST", path=path, body=body, code=201, verb="create", ref=many, decoded=named, request=shown, **common
    )
    taken = failure("AlreadyExists", f'configmaps "{name}" already exists', name=name, kind="configmaps")
    yield Step(
        method="POST", path=path, body=body, code=409, verb="create", ref=many, decoded=named, request=shown,
        status=taken, **common,
    )
    yield Step(path=f"{path}/{name}", verb="get", ref=one, **common)
    yield Step(path=f"{path}/{name}", verb="get", ref=one, headers={"Accept": "application/yaml"}, **common)
    yield Step(path=f"{path}?limit=500", verb="list", ref=many, **common)
    versioned = {"name": name, "uid": "0-0"}
    renamed = {**body, "metadata": versioned}
    yield Step(
        method="PUT", path=f"{path}/{name}", body=renamed, code=409, verb="update", ref=one, decoded=versioned,
        request={**shown, "metadata": {"name": name, "uid": "0-0", "creationTimestamp": None}},
        status={"status": "Failure", "reason": "Conflict"}, **common,
    )
    patch = {"data": {"b": "2"}}
    yield Step(
        method="PATCH", path=f"{path}/{name}", body=patch, headers={"Content-Type": MERGE_PATCH}, verb="patch",
        ref=one, request=patch, **common,
    )
    applied = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"c": "3"}}
    text = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{c: '3'}}\n".encode()
    yield Step(
        method="PATCH", path=f"{path}/{name}?fieldManager=m", body=text, verb="patch", ref=one, request=applied,
        headers={"Content-Type": "application/apply-patch+yaml"}, **common,
    )
    yield Step(
        method="POST", path=path, body=b"{", headers={"Content-Type": "application/json"}, code=400, verb="create",
        ref=many, status={"status": "Failure", "reason": "BadRequest"}, **common,
    )
    deletion = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
    yield Step(
        method="DELETE", path=f"{path}/{name}", body=deletion, verb="delete", ref=one, request=deletion,
        status={"status": "Success"}, **common,
    )
    gone = failure("NotFound", f'configmaps "{name}" not found', name=name, kind="configmaps")
    yield Step(path=f"{path}/{name}", code=404, verb="get", ref=one, status=gone, **common)
    yield Step(method="DELETE", path=path, verb="deletecollection", ref=many, **common)


def others(namespace: str, name: str) -> Iterator[Step]:
    """Secrets, pods, cluster-scoped objects, long-running requests, reviews."""
    secrets = f"/api/v1/namespaces/{namespace}/secrets"
    yield Step(
        method="POST", path=secrets, body={"metadata": {"name": name}, "stringData": {"k": "s3cret"}}, code=201,
        verb="create", ref=ref("secrets", namespace), decoded={"name": name},
    )
    yield Step(path=f"{secrets}/{name}", verb="get", ref=ref("secrets", namespace, name))
    gone = {"name": name, "kind": "secrets"}
    yield Step(
        method="DELETE", path=f"{secrets}/{name}", verb="delete", ref=ref("secrets", namespace, name),
        status={"status": "Success", "details": gone},
    )
    pods = f"/api/v1/namespaces/{namespace}/pods"
    requested: Any = {"level": "Request", "stages": LATE}
    yield Step(path=pods, verb="list", ref=ref("pods", namespace), **requested)
    missing = failure("NotFound", f'pods "{name}" not found', name=name, kind="pods")
    pod = ref("pods", namespace, name)
    yield Step(path=f"{pods}/{name}", code=404, verb="get", ref=pod, status=missing, **requested)
    for sub in ("log", "exec"):
        yield Step(
            path=f"{pods}/{name}/{sub}", code=404, verb="get", ref=ref("pods", namespace, name, sub=sub),
            status=missing, level="Request", stages=(STARTED, COMPLETE),
        )
    scaled = {"spec": {"replicas": 2}}
    deployments = f"/apis/apps/v1/namespaces/{namespace}/deployments/{name}"
    unknown = failure(
        "NotFound", f'deployments.apps "{name}" not found', name=name, group="apps", kind="deployments"
    )
    yield Step(
        method="PATCH", path=f"{deployments}/scale", body=scaled, headers={"Content-Type": MERGE_PATCH}, code=404,
        verb="patch", ref=ref("deployments", namespace, name, "apps", sub="scale"), status=unknown,
    )
    yield Step(path="/api/v1/nodes", verb="list", ref=ref("nodes"), stages=LATE)
    yield Step(path=f"/api/v1/namespaces/{namespace}", verb="get", ref=ref("namespaces", namespace, namespace))
    yield Step(
        path=f"/api/v1/namespaces/{namespace}/secrets?watch=true&timeoutSeconds=1", verb="watch",
        ref=ref("secrets", namespace), stages=LONG, body="watch",
    )
    budgets = f"/apis/policy/v1beta1/namespaces/{namespace}/poddisruptionbudgets"
    old = {"orch.io/deprecated": "true", "orch.io/removed-release": "1.25"}
    yield Step(
        path=budgets, verb="list", ref=ref("poddisruptionbudgets", namespace, "", "policy", "v1beta1"),
        annotations={**old, **ALLOWED},
    )
    reviews = "selfsubjectaccessreviews"
    asked = {"spec": {"nonResourceAttributes": {"path": "/", "verb": "get"}}}
    yield Step(
        method="POST", path=f"/apis/authorization.orch.io/v1/{reviews}", body=asked, code=201, verb="create",
        ref=ref(reviews, "", "", "authorization.orch.io"), stages=LATE,
    )
    lost = {"status": "Failure", "reason": "NotFound", "details": {},
            "message": "the server could not find the requested resource"}
    yield Step(path="/apis/apps/v1/nothings", code=404, verb="list", ref=ref("nothings", "", "", "apps"), stages=LATE,
               status={name: value for name, value in lost.items() if value})
    yield Step(path=f"/api/v1/namespaces/{namespace}/endpoints/x", code=404, verb="get", level="None", stages=())
    yield Step(path="/healthz/ping", verb="get", level="None", stages=())
    yield Step(path="/version", verb="get")
    yield Step(path="/apis", verb="get")
    yield Step(path="/nowhere?a=b", code=404, verb="get")


def users(namespace: str, name: str) -> Iterator[Step]:
    """Requests without rights, without credentials, and with impersonation."""
    path = f"/api/v1/namespaces/{namespace}/configmaps/{name}"
    one = ref("configmaps", namespace, name)
    common: Any = {"path": path, "verb": "get", "ref": one, "level": "RequestResponse", "answers": True}
    yield Step(
        who="amy", user=AMY, code=403, annotations=FORBIDDEN, status=_no_right("amy", namespace, name), **common
    )
    yield Step(
        who="anonymous", user=ANONYMOUS, code=403, annotations=FORBIDDEN,
        status=_no_right("system:anonymous", namespace, name), **common,
    )
    bob = {"username": "bob", "groups": ["system:authenticated"]}
    yield Step(
        headers={"Impersonate-User": "bob"}, code=403, other=bob, annotations=FORBIDDEN,
        status=_no_right("bob", namespace, name), **common,
    )
    master = {"username": "root", "groups": ["system:masters", "system:authenticated"]}
    missing = failure("NotFound", f'configmaps "{name}" not found', name=name, kind="configmaps")
    yield Step(
        headers={"Impersonate-User": "root", "Impersonate-Group": "system:masters"}, code=404, other=master,
        status=missing, **common,
    )
    barred = failure(
        "Forbidden", 'users "bob" is forbidden: User "amy" cannot impersonate resource "users" in API group "" at '
        "the cluster scope", name="bob", kind="users",
    )
    yield Step(
        who="amy", user=AMY, headers={"Impersonate-User": "bob"}, code=403, annotations={}, status=barred, **common
    )
    refused: Any = {**common, "stages": (STARTED,), "user": {}, "annotations": {}, "answers": False}
    yield Step(who="unknown", code=401, status={"message": "Authentication failed, attempted: bearer"}, **refused)
    large = {"metadata": {"name": name}, "data": {"a": "x" * 20_000}}
    many: Any = {"method": "POST", "path": f"/api/v1/namespaces/{namespace}/configmaps", "verb": "create",
                 "body": large, "ref": ref("configmaps", namespace)}
    why = f'cannot create resource "configmaps" in API group "" in the namespace "{namespace}"'
    barred = failure("Forbidden", f'configmaps is forbidden: User "system:anonymous" {why}', kind="configmaps")
    yield Step(
        who="anonymous", user=ANONYMOUS, code=403, annotations=FORBIDDEN, status=barred, **{**common, **many}
    )
    yield Step(
        who="unknown", code=401, status={"message": "Authentication failed, attempted: bearer"}, **{**refused, **many}
    )
    late = {**refused, "path": f"{path}?timeout=soon"}
    yield Step(code=400, status={"message": "invalid timeout specified in the request URL"}, **late)
    big: Any = {**many, "body": None, "headers": {"Content-Length": "3145729"}}
    told = failure("RequestEntityTooLarge", "Request entity too large: limit is 3145728")
    yield Step(code=413, status=told, **{**common, **big})
    yield Step(
        who="unknown", code=401, status={"message": "Authentication failed, attempted: bearer"}, **{**refused, **big}
    )
    yield Step(who="quiet", path="/version", verb="get", level="None", stages=())


def _no_right(user: str, namespace: str, name: str) -> Object:
    why = f'User "{user}" cannot get resource "configmaps" in API group "" in the namespace "{namespace}"'
    message = f'configmaps "{name}" is forbidden: {why}'
    return failure("Forbidden", message, name=name, kind="configmaps")


def script(namespace: str, rounds: int) -> Iterator[Step]:
    """Everything, so many times."""
    for number in range(rounds):
        for part in (config_maps, others, users):
            yield from part(namespace, f"x-{number}")
