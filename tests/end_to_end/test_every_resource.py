"""Every resource that can be created lives a whole life on the wire, in both vocabularies (reference KIND-4).

The tests are made from the catalogue: one class for each vocabulary, one test for each resource and version.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Coroutine
from typing import Any

from orchtw.schema.catalogue import ResourceType
from orchtw.schema.codec.kind_codec import KindCodec
from orchtw.wire.objects import Object
from tests.end_to_end.case import ServerCase, surface
from tests.end_to_end.client import JSON, Answer, Watch
from tests.end_to_end.custom_case import DEFINITION, is_served
from tests.end_to_end.minimal import Minimal
from tests.schema.codec.envelopes import opened

MARK = "tested"


class ResourceCase(ServerCase):
    """The life of one resource."""

    # Nobody writes meanwhile, so that lists stay as they are while they are compared.
    flags = (
        "--runtime-config=api/all=true",
        "--controllers=*,-root-ca-cert-publisher,-serviceaccount,-serviceaccount-token,-resourcequota,"
        "-validatingadmissionpolicy-status",
        "--disable-admission-plugins=ServiceAccount",
        "--enable-priority-and-fairness=false",
    )

    async def setUp(self) -> None:  # type: ignore[override]
        await super().setUp()
        self.catalogue, self.codecs = surface(self.vocabulary)
        self.minimal = Minimal(self.catalogue, self.codecs)

    def path(self, resource: ResourceType, name: str = "", sub: str = "") -> str:
        """The path of a resource's collection, or of an object, or of a sub-resource of it."""
        root = f"/apis/{resource.api_version}" if resource.group else f"/api/{resource.version}"
        scope = f"/namespaces/{self.namespace}" if resource.namespaced else ""
        return f"{root}{scope}/{resource.plural}" + (f"/{name}" if name else "") + (f"/{sub}" if sub else "")

    def codec(self, resource: ResourceType) -> KindCodec:
        return self.codecs.kind(resource.api_version, resource.kind)

    async def ok(self, method: str, path: str, body: Any = None, code: int = 200, **headers: str) -> Answer:
        """An answer with this code."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        answer = await self.client.send(method, path, body, sent)
        self.assertEqual(answer.code, code, f"{method} {path}: {answer}")
        return answer

    async def live(self, resource: ResourceType) -> None:
        """Create, read in every form, watch, change, delete."""
        obj = self.minimal.obj(resource, self.unique("x"), self.namespace)
        name = obj["metadata"]["name"]
        listed = await self.ok("GET", self.path(resource))
        query = f"?watch=1&resourceVersion={listed.version}&fieldSelector=metadata.name={name}"
        watch = await self.client.watch(self.path(resource) + query)
        created = await self.created_as_sent(resource, obj)
        await self.saw(watch, [("ADDED", created)])
        if resource.kind == DEFINITION:
            created = await self.established(watch)
        expected = []
        await self.read_in_every_form(resource, created)
        await self.in_every_version(resource, created)
        expected.append(("MODIFIED", changed := await self.label(resource, created)))
        has_status = any(sub.name == "status" for sub in resource.subresources)
        if has_status and resource.kind != DEFINITION:  # whose status the server puts right again
            expected.append(("MODIFIED", changed := await self.update_status(resource, changed)))
        expected.append(("MODIFIED", changed := await self.annotate(resource, changed)))
        await self.saw(watch, expected)
        await self.delete(resource, changed, watch)

    async def established(self, watch: Watch) -> Object:
        """The definition as the server has left it, which accepts its names and serves what it defines."""
        while True:
            event = await watch.event()
            self.assertEqual(event["type"], "MODIFIED")
            if is_served(event["object"]):
                found: Object = event["object"]
                return found

    async def created_as_sent(self, resource: ResourceType, obj: Object) -> Object:
        """POST in Protobuf pretends, POST in JSON stores; both show what was sent."""
        codec, protobuf = self.codec(resource), self.naming.protobuf_media_type
        envelope = codec.encode_envelope(codec.normalise(obj))
        pretended = await self.ok(
            "POST", self.path(resource) + "?dryRun=All", envelope, 201, Content_Type=protobuf, Accept=protobuf
        )
        answer = await self.ok("POST", self.path(resource), obj, 201)
        created: Object = answer.json
        self.assertEqual((created["kind"], created["apiVersion"]), (resource.kind, resource.api_version))
        self.assertEqual(answer.headers["content-type"], JSON)
        for key in ("uid", "resourceVersion", "creationTimestamp"):
            self.assertTrue(created["metadata"][key])
        self.assertEqual(codec.normalise(created), created)
        self.assertContains(created, obj)
        shown = opened(codec, pretended.body)
        self.assertNotIn("resourceVersion", shown["metadata"])
        self.assertEqual(_without_times(shown), _without_times(created))
        return created

    def assertContains(self, whole: Any, part: Any, place: str = "") -> None:
        """Everything in `part` is in `whole`, which may have more keys (defaults)."""
        if isinstance(part, dict):
            for key, value in part.items():
                self.assertIn(key, whole, place)
                self.assertContains(whole[key], value, f"{place}.{key}")
        elif isinstance(part, list):
            self.assertEqual(len(whole), len(part), place)
            for index, value in enumerate(part):
                self.assertContains(whole[index], value, f"{place}[{index}]")
        else:
            self.assertEqual(whole, part, place)

    async def read_in_every_form(self, resource: ResourceType, created: Object) -> None:
        """Get and list, in JSON and in Protobuf, show the created object."""
        path, codec, protobuf = self.path(resource), self.codec(resource), self.naming.protobuf_media_type
        name = created["metadata"]["name"]
        self.assertEqual((await self.ok("GET", self.path(resource, name))).json, created)
        binary = await self.ok("GET", self.path(resource, name), Accept=protobuf)
        self.assertEqual(binary.headers["content-type"], protobuf)
        self.assertEqual(opened(codec, binary.body), created)
        listed = (await self.ok("GET", path)).json
        self.assertEqual((listed["kind"], listed["apiVersion"]), (resource.list_kind, resource.api_version))
        bare = {key: value for key, value in created.items() if key not in ("kind", "apiVersion")}
        self.assertEqual([item for item in listed["items"] if item["metadata"]["name"] == name], [bare])
        assert resource.list_kind is not None
        # Of that version exactly: controllers write meanwhile.
        exact = f"?resourceVersion={listed['metadata']['resourceVersion']}&resourceVersionMatch=Exact"
        binary = await self.ok("GET", path + exact, Accept=protobuf)
        list_codec = self.codecs.kind(resource.api_version, resource.list_kind)
        self.assertEqual(opened(list_codec, binary.body), listed)

    async def in_every_version(self, resource: ResourceType, created: Object) -> None:
        """Every other version of the resource shows the same object."""
        for other in self.catalogue.resources:
            same = (other.storage_group, other.plural) == (resource.storage_group, resource.plural)
            if not same or other is resource or "get" not in other.verbs:
                continue
            shown = (await self.ok("GET", self.path(other, created["metadata"]["name"]))).json
            self.assertEqual((shown["kind"], shown["apiVersion"]), (other.kind, other.api_version))
            for key in ("name", "uid", "resourceVersion"):
                self.assertEqual(shown["metadata"][key], created["metadata"][key])

    async def label(self, resource: ResourceType, before: Object) -> Object:
        """PUT changes a label, and no status where that has a path of its own."""
        obj = copy.deepcopy(before)
        obj["metadata"].setdefault("labels", {})[MARK] = "label"
        separate = any(sub.name == "status" for sub in resource.subresources)
        if separate:
            obj["status"] = self.minimal.status(resource)
        after: Object = (await self.ok("PUT", self.path(resource, before["metadata"]["name"]), obj)).json
        self.assertEqual(after["metadata"]["labels"][MARK], "label")
        self.assertEqual(_without_times(after), _without_times(before))
        self.assertIsNewer(after, before)
        return after

    async def update_status(self, resource: ResourceType, before: Object) -> Object:
        """PUT on /status changes the status and nothing else."""
        status = self.minimal.status(resource)
        obj = {key: value for key, value in before.items() if key != "spec"}
        obj["status"] = {**before.get("status", {}), **status}
        path = self.path(resource, before["metadata"]["name"], "status")
        after: Object = (await self.ok("PUT", path, obj)).json
        self.assertContains(after["status"], status)
        self.assertEqual(after.get("spec"), before.get("spec"))
        self.assertEqual(after["metadata"].get("generation"), before["metadata"].get("generation"))
        self.assertIsNewer(after, before)
        self.assertEqual((await self.ok("GET", path)).json, after)
        return after

    async def annotate(self, resource: ResourceType, before: Object) -> Object:
        """A merge patch sets an annotation."""
        path = self.path(resource, before["metadata"]["name"])
        change = {"metadata": {"annotations": {MARK: "annotation"}}}
        after: Object = (await self.ok("PATCH", path, change, Content_Type="application/merge-patch+json")).json
        self.assertEqual(after["metadata"]["annotations"][MARK], "annotation")
        self.assertEqual(_without_times(after), _without_times(before))
        self.assertIsNewer(after, before)
        return after

    async def delete(self, resource: ResourceType, before: Object, watch: Watch) -> None:
        """DELETE ends it, at once or when what holds it has let go; then it is not there."""
        path = self.path(resource, before["metadata"]["name"])
        await self.ok("DELETE", path)
        event = await watch.event()
        while event["type"] == "MODIFIED":
            self.assertTrue(event["object"]["metadata"]["deletionTimestamp"])
            event = await watch.event()
        self.assertEqual(event["type"], "DELETED")
        self.assertIsNewer(event["object"], before)
        await self.ok("GET", path, code=404)

    def assertIsNewer(self, after: Object, before: Object) -> None:
        """The later object has the higher version, and the same identity."""
        old, new = before["metadata"], after["metadata"]
        self.assertGreater(int(new["resourceVersion"]), int(old["resourceVersion"]))
        for key in ("uid", "creationTimestamp", "name"):
            self.assertEqual(new[key], old[key])

    async def saw(self, watch: Watch, expected: list[tuple[str, Object]]) -> None:
        """The watch has sent exactly these changes."""
        for kind, obj in expected:
            event = await watch.event()
            self.assertEqual((event["type"], event["object"]), (kind, obj))

    async def answered(self, resource: ResourceType) -> None:
        """A kind that is never stored answers a create, in JSON and in Protobuf."""
        if resource.kind == "Binding":
            await self.bound(resource)
            return
        codec, protobuf = self.codec(resource), self.naming.protobuf_media_type
        obj = self.minimal.obj(resource, "", self.namespace)
        answer = (await self.ok("POST", self.path(resource), obj, 201)).json
        self.assertEqual((answer["kind"], answer["apiVersion"]), (resource.kind, resource.api_version))
        told = {} if resource.kind == "SelfSubjectRulesReview" else obj.get("spec", {})  # reference AUTHZ-29
        self.assertContains(answer.get("spec", {}), told)
        self.assertTrue(answer["status"])
        envelope = codec.encode_envelope(codec.normalise(obj))
        binary = await self.ok(
            "POST", self.path(resource), envelope, 201, Content_Type=protobuf, Accept=protobuf
        )
        self.assertEqual(opened(codec, binary.body)["status"], answer["status"])

    async def bound(self, resource: ResourceType) -> None:
        """A Binding puts a pod on a node."""
        pods = self.catalogue.find("", "v1", "pods")
        assert pods is not None
        pod = await self.created(self.path(pods), self.minimal.obj(pods, "bound", self.namespace))
        name = pod["metadata"]["name"]
        binding = self.minimal.obj(resource, name, self.namespace)
        answer = (await self.ok("POST", self.path(resource), binding, 201)).json
        self.assertEqual((answer["kind"], answer["status"]), ("Status", "Success"))
        shown = (await self.ok("GET", self.path(pods, name))).json
        self.assertEqual(shown["spec"]["nodeName"], binding["target"]["name"])


def _without_times(obj: Object) -> Object:
    """Return the comparable part of an object: no metadata, status and conditions without times."""
    rest = {key: value for key, value in obj.items() if key != "metadata"}
    if status := rest.get("status"):
        status = {**status, **dict.fromkeys(status.keys() & {"lastPhaseTransitionTime"})}
        if conditions := status.get("conditions"):
            status["conditions"] = [{**each, "lastTransitionTime": None} for each in conditions]
        rest["status"] = status
    return rest


Test = Callable[[ResourceCase], Coroutine[Any, Any, None]]


def _test(group: str, version: str, plural: str) -> Test:
    async def test(self: ResourceCase) -> None:
        resource = self.catalogue.find(group, version, plural)
        assert resource is not None
        await (self.live(resource) if resource.storage_version else self.answered(resource))

    test.__doc__ = f"{group or 'core'} {version} {plural} can be created, read, watched, changed and deleted."
    return test


def _tests(vocabulary: str) -> dict[str, Test]:
    """A test for each resource that can be created."""
    tests = {}
    for each in surface(vocabulary)[0].resources:
        if "create" in each.verbs:
            words = "_".join(filter(None, [each.group.split(".")[0] or "core", each.version, each.plural]))
            tests[f"test_{words}"] = _test(each.group, each.version, each.plural)
    return tests


OrchVocabularyTests = type(
    "OrchVocabularyTests", (ResourceCase,), {**_tests("orch"), "vocabulary": "orch", "__module__": __name__}
)
KubernetesVocabularyTests = type(
    "KubernetesVocabularyTests",
    (ResourceCase,),
    {**_tests("kubernetes"), "vocabulary": "kubernetes", "__module__": __name__},
)
