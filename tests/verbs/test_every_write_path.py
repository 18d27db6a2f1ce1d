"""Nothing gets around admission, and what does not write never meets it (reference ADM-1, ADM-10).

The requests are made from the catalogue: every verb that writes, on every resource and sub-resource in every version.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from copy import deepcopy
from typing import Any, ClassVar

import attrs

from orchtw.admission.attributes import Attributes, Operation
from orchtw.admission.chain import ChainPlugin
from orchtw.schema.catalogue import ResourceType
from orchtw.wire.objects import Object
from tests.end_to_end.minimal import Minimal
from tests.registry.custom.definitions import GROUP, definition, lamp
from tests.verbs.served import APPLY, MERGE, PLUGIN, ServedCase

JSON_PATCH = {"content-type": "application/json-patch+json"}
STRATEGIC = {"content-type": "application/strategic-merge-patch+json"}
METHODS = {"create": "POST", "update": "PUT", "patch": "PATCH", "delete": "DELETE", "get": "GET"}
WRITES = frozenset({"create", "update", "patch", "delete", "deletecollection"})
CONNECTING = frozenset({"exec", "attach", "portforward", "proxy"})
NOTE = {"metadata": {"annotations": {"a.b/c": "d"}}}
MARK: Object = {"op": "add", "path": "/metadata/annotations", "value": {"a.b/c": "d"}}
ADMIT, VALIDATE = "admit", "validate"


class Gate:
    """Refuses every request of people in one half, if it is shut there; `look` sees those that pass."""

    def __init__(self) -> None:
        self.shut = ""
        self.seen: list[str] = []
        self.look: Callable[[Attributes], Awaitable[None]] | None = None

    def handles(self, operation: Operation, resource: ResourceType, subresource: str) -> bool:
        return True

    async def admit(self, attributes: Attributes) -> None:
        self.let(ADMIT, attributes)

    async def validate(self, attributes: Attributes) -> None:
        self.let(VALIDATE, attributes)
        if self.look is not None and attributes.user.name == "admin":
            await self.look(attributes)

    def let(self, half: str, attributes: Attributes) -> None:
        """Let the request through, or refuse it."""
        if attributes.user.name == "admin":
            self.seen.append(half)
            if self.shut == half:
                raise attributes.forbidden(f"shut at {half}")


@attrs.frozen(slots=True)
class Attempt:
    """One request, and the verb of the catalogue that it stands for."""

    verb: str
    method: str
    path: str
    body: Any = None
    headers: Any = None


class EveryCase(ServedCase):
    """A server of all resources whose only plugin is a gate."""

    more: ClassVar = {
        "runtime_config": (("api/all", "true"),),
        "enable_admission_plugins": (),
        "disable_admission_plugins": (),
        "admission_control": (PLUGIN,),
    }

    def make_plugin(self) -> ChainPlugin:
        self.gate = Gate()
        return self.gate

    def setUp(self) -> None:
        super().setUp()
        resources = self.server.instance.resources
        self.catalogue = resources.codecs.catalogue
        self.minimal = Minimal(self.catalogue, resources.codecs)

    def root(self, resource: ResourceType) -> str:
        """The path of a resource's collection."""
        group = f"/apis/{resource.api_version}" if resource.group else f"/api/{resource.version}"
        return f"{group}{'/namespaces/default' if resource.namespaced else ''}/{resource.plural}"


class EveryWriteTests(EveryCase):
    """All that the catalogue says can be written, or connected with."""

    def test_admit(self) -> None:
        """A refusal in the mutating half stops every request that writes, and nothing is stored."""
        self.try_all(ADMIT)

    def test_validate(self) -> None:
        """So does a refusal in the validating half."""
        self.try_all(VALIDATE)

    def test_custom(self) -> None:
        """Kinds of definitions are no exception."""
        definitions = "/apis/apiextensions.orch.io/v1/customresourcedefinitions"
        self.done("POST", definitions, definition())
        targets = self.server.instance.resources.targets
        while (target := targets.find(GROUP, "v1", "lamps")) is None:
            self.clock.advance(0.1)
        resource = target.resource
        for half in (ADMIT, VALIDATE):
            self.try_one(half, resource, lamp(half, spec={"replicas": 1}))

    def try_all(self, half: str) -> None:
        """Try everything while the gate is shut."""
        for number, resource in enumerate(self.catalogue.resources):
            written = {"create", "update"}.intersection(resource.verbs)
            self.try_one(half, resource, self.minimal.obj(resource, f"x{number}", "default") if written else {})

    def try_one(self, half: str, resource: ResourceType, obj: Object) -> None:
        """Try all verbs of a resource, every one of which must be among them."""
        tried = set()
        if obj:
            tried |= self.refused(half, self.on_nothing(resource, obj))
        if obj and resource.storage_version is not None:
            present = self.made(resource, obj)
            tried |= self.refused(half, self.on_object(resource, present))
            tried |= self.refused(half, self.on_subresources(resource, present))
            tried |= self.refused(half, self.on_end(resource, present))
        declared = {verb for verb in resource.verbs if verb in WRITES}
        for sub in resource.subresources:
            verbs = sub.verbs if sub.name in CONNECTING else WRITES.intersection(sub.verbs)
            declared |= {f"{sub.name} {verb}" for verb in verbs}
        self.assertEqual(declared - tried, set(), resource.qualified)

    def refused(self, half: str, attempts: Iterator[Attempt]) -> set[str]:
        """Make the attempts, all of which must fail at the gate; the verbs that were tried."""
        tried = set()
        for attempt in attempts:
            before, self.gate.shut, self.gate.seen = self.store.now, half, []
            answer = self.send(attempt.method, attempt.path, attempt.body, attempt.headers)
            self.gate.shut = ""
            shown = f"{attempt.method} {attempt.path}: {answer.code} {answer.body!r}"
            self.assertEqual(answer.code, 403, shown)
            self.assertIn(f"shut at {half}", answer.json["message"], shown)
            self.assertEqual(self.gate.seen[-1:], [half], shown)
            self.assertEqual(self.store.now, before, shown)
            tried.add(attempt.verb)
        return tried

    def made(self, resource: ResourceType, obj: Object) -> Object:
        """Return the object as stored."""
        if self.code("GET", f"{self.root(resource)}/{obj['metadata']['name']}") != 200:
            self.done("POST", self.root(resource), obj)
        return self.done("GET", f"{self.root(resource)}/{obj['metadata']['name']}")

    def on_nothing(self, resource: ResourceType, obj: Object) -> Iterator[Attempt]:
        """Creates, also as dry runs or with a generated name, are covered."""
        root, verbs = self.root(resource), resource.verbs
        if "create" in verbs:
            yield Attempt("create", "POST", root, obj)
            yield Attempt("create", "POST", f"{root}?dryRun=All", obj)
        if "patch" in verbs:
            name = obj["metadata"]["name"]
            for query in ("fieldManager=me", "fieldManager=me&force=true&dryRun=All"):
                yield Attempt("patch", "PATCH", f"{root}/{name}?{query}", obj, APPLY)

    def on_object(self, resource: ResourceType, present: Object) -> Iterator[Attempt]:
        """Every way to change an object is covered."""
        path = f"{self.root(resource)}/{present['metadata']['name']}"
        yield from self.changes(resource, path, present, "", resource.verbs)

    def changes(
        self, resource: ResourceType, path: str, body: Object, prefix: str, verbs: Sequence[str]
    ) -> Iterator[Attempt]:
        """A PUT, and the patches of every sort."""
        for query in ("", "?dryRun=All"):
            if "update" in verbs:
                yield Attempt(f"{prefix}update", "PUT", f"{path}{query}", body)
            if "patch" in verbs:
                yield Attempt(f"{prefix}patch", "PATCH", f"{path}{query}", NOTE, MERGE)
                yield Attempt(f"{prefix}patch", "PATCH", f"{path}{query}", [MARK], JSON_PATCH)
                if resource.protobuf:
                    yield Attempt(f"{prefix}patch", "PATCH", f"{path}{query}", NOTE, STRATEGIC)
        if "patch" in verbs:
            meta = {key: value for key, value in body["metadata"].items() if key != "managedFields"}
            yield Attempt(
                f"{prefix}patch", "PATCH", f"{path}?fieldManager=me&force=true", {**body, "metadata": meta}, APPLY
            )

    def on_subresources(self, resource: ResourceType, present: Object) -> Iterator[Attempt]:
        """Writes through sub-resources, and connections, are covered."""
        name = present["metadata"]["name"]
        for sub in resource.subresources:
            path, prefix = f"{self.root(resource)}/{name}/{sub.name}", f"{sub.name} "
            if sub.name in CONNECTING:
                for verb in sub.verbs:
                    yield Attempt(f"{prefix}{verb}", METHODS[verb], path)
            elif "create" in sub.verbs:
                yield Attempt(f"{prefix}create", "POST", path, self.submitted(resource, name, sub.name))
            elif WRITES.intersection(sub.verbs):
                body = self.done("GET", path) if "get" in sub.verbs else present
                yield from self.changes(resource, path, body, prefix, sub.verbs)

    def submitted(self, resource: ResourceType, name: str, subresource: str) -> Object:
        """The body of a POST on a sub-resource."""
        bodies: dict[str, Object] = {
            "binding": {"metadata": {"name": name}, "target": {"kind": "Node", "name": "n"}},
            "eviction": {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}},
            "token": {"spec": {"audiences": ["a"]}},
        }
        return bodies[subresource]

    def on_end(self, resource: ResourceType, present: Object) -> Iterator[Attempt]:
        """Deletes of an object, or of a collection, are covered."""
        root = self.root(resource)
        for query in ("", "?dryRun=All", "?propagationPolicy=Orphan"):
            if "delete" in resource.verbs:
                yield Attempt("delete", "DELETE", f"{root}/{present['metadata']['name']}{query}")
            if "deletecollection" in resource.verbs:
                yield Attempt("deletecollection", "DELETE", f"{root}{query}")


class EndTests(EveryCase):
    """The end of an object that waits for it."""

    def test_last_finalizer(self) -> None:
        """The update that takes the last finalizer off is refused as any other: the object stays."""
        meta = {"name": "x", "finalizers": ["a.b/c"]}
        self.done("POST", "configmaps", {"metadata": meta})
        self.done("DELETE", "configmaps/x")
        for half in (ADMIT, VALIDATE):
            self.gate.shut = half
            patch = {"metadata": {"finalizers": None}}
            self.assertEqual(self.code("PATCH", "configmaps/x", patch, MERGE), 403)
            self.assertEqual(self.code("GET", "configmaps/x"), 200)
        self.gate.shut, self.gate.seen = "", []
        self.done("PATCH", "configmaps/x", patch, MERGE)
        self.assertEqual((self.gate.seen, self.code("GET", "configmaps/x")), ([ADMIT, VALIDATE], 404))

    def test_second_delete(self) -> None:
        """So is the DELETE of what is ending already."""
        self.done("POST", "configmaps", {"metadata": {"name": "x", "finalizers": ["a.b/c"]}})
        self.done("DELETE", "configmaps/x")
        self.gate.shut = VALIDATE
        self.assertEqual(self.code("DELETE", "configmaps/x"), 403)

    def test_some_of_a_collection(self) -> None:
        """Of a collection each item is asked about by its name, and those that may not go stay."""
        for name in ("a", "b", "c"):
            self.done("POST", "configmaps", {"metadata": {"name": name}})
        asked: list[str] = []

        def keep_b(half: str, attributes: Attributes) -> None:
            if half == VALIDATE:
                asked.append(attributes.name)
                if attributes.name == "b":
                    raise attributes.forbidden("kept")

        self.patch(self.gate, "let", keep_b)
        answer = self.send("DELETE", "configmaps")
        self.assertEqual((answer.code, answer.json["message"]), (403, 'configmaps "b" is forbidden: kept'))
        self.assertEqual(asked, ["a", "b", "c"])
        left = [each["metadata"]["name"] for each in self.done("GET", "configmaps")["items"]]
        self.assertEqual(left, ["b"])


class WhoTests(EveryCase):
    def test_impersonated(self) -> None:
        """Plugins see whom the request acts as (reference ADM-8)."""
        seen = []
        self.patch(self.gate, "let", lambda half, attributes: seen.append(attributes.user))
        headers = {"impersonate-user": "eve", "impersonate-group": "system:masters"}
        self.done("POST", "configmaps", {"metadata": {"name": "x"}}, headers)
        groups = ("system:masters", "system:authenticated")
        self.assertEqual([(user.name, user.groups) for user in seen], [("eve", groups)] * 2)


class VersionTests(EveryCase):
    """The same write as every version of its resource has it (reference ADM-8)."""

    def test_equivalents(self) -> None:
        """A plugin that asks for other versions sees the object as their readers will."""
        seen: list[tuple[ResourceType, Object]] = []

        async def look(attributes: Attributes) -> None:
            for resource in attributes.equivalents().values():
                converted = (await attributes.converted(resource)).obj
                assert converted is not None
                seen.append((resource, deepcopy(converted)))

        pairs = 0
        for number, resource in enumerate(self.catalogue.resources):
            if resource.storage_version is None or "create" not in resource.verbs:
                continue
            obj = self.minimal.obj(resource, f"x{number}", "default")
            if self.code("GET", f"{self.root(resource)}/{obj['metadata']['name']}") == 200:
                continue
            self.gate.look = look
            version = self.done("POST", self.root(resource), obj)["metadata"]["resourceVersion"]
            self.gate.look = None
            self.assertIn(resource, [each for each, _ in seen])
            for other, converted in seen:
                present = self.done("GET", f"{self.root(other)}/{obj['metadata']['name']}")
                if present["metadata"].pop("resourceVersion") != version:
                    continue  # the server has written its status meanwhile
                converted["metadata"].pop("resourceVersion", "")  # which the store is to give
                self.assertEqual(converted, present, (resource.api_version, other.api_version))
            pairs += len(seen) > 1
            seen.clear()
        self.assertGreater(pairs, 20)


class NoWriteTests(EveryCase):
    """Reads, documents and watches (reference ADM-1)."""

    def test_reads(self) -> None:
        """No read of any resource, sub-resource or collection asks a plugin, in any form."""
        name = {"metadata": {"name": "x"}}
        self.done("POST", "configmaps", name)
        self.gate.shut, self.gate.seen = ADMIT, []
        tables = {"accept": "application/json;as=Table;g=meta.orch.io;v=v1"}
        for resource in self.catalogue.resources:
            root = self.root(resource)
            for path in (root, f"{root}?limit=1", f"{root}/x", f"{root}/x/status", f"{root}/x/scale"):
                if "list" in resource.verbs or "get" in resource.verbs:
                    for headers in ({}, tables):
                        answer = self.send("GET", path, None, headers)
                        self.assertIn(answer.code, (200, 404, 405, 406), path)
        self.assertEqual(self.gate.seen, [])

    def test_watches(self) -> None:
        """A watch asks nobody, and a log neither."""
        self.gate.shut, self.gate.seen = ADMIT, []
        for path in ("/api/v1/namespaces/default/configmaps?watch=1", "/api/v1/watch/pods"):
            self.run_async(self.server.watch(path)).close()
        self.assertEqual(self.code("GET", "pods/x/log"), 404)
        self.assertEqual(self.gate.seen, [])

    def test_documents(self) -> None:
        """Discovery, OpenAPI, health, version and metrics ask nobody either."""
        self.gate.shut, self.gate.seen = ADMIT, []
        paths = ["/", "/api", "/apis", "/api/v1", "/apis/apps", "/apis/apps/v1", "/openapi/v2", "/openapi/v3"]
        paths += ["/openapi/v3/apis/apps/v1", "/version", "/healthz", "/livez", "/readyz", "/metrics"]
        for path in paths:
            self.assertEqual(self.code("GET", path), 200, path)
        self.assertEqual(self.gate.seen, [])

    def test_refused_before(self) -> None:
        """Nor does what is refused before it comes to that: a body that cannot be read, a verb that is not there."""
        self.gate.seen = []
        refused: tuple[tuple[str, str, Any, int], ...] = (
            ("POST", "configmaps", b"{", 400),
            ("POST", "configmaps", {"metadata": {"name": "x", "namespace": "other"}}, 400),
            ("PUT", "configmaps", {}, 405),
            ("PUT", "configmaps/nope", {"metadata": {"name": "nope"}}, 404),
            ("DELETE", "configmaps/nope", None, 404),
            ("POST", "/apis/no.such/v1/things", {}, 404),
        )
        for method, path, body, code in refused:
            self.assertEqual(self.code(method, path, body), code, path)
        self.assertEqual(self.gate.seen, [])
