"""Server-side apply and managed fields through the API (reference APPLY-1, APPLY-18)."""

from __future__ import annotations

from typing import Any

from twisted.internet import reactor
from twisted.internet.defer import Deferred, gatherResults
from twisted.trial.unittest import TestCase

from orchtw.testing.in_process import ClientAnswer
from tests.in_process import InProcessServer

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
APPLY = {"content-type": "application/apply-patch+yaml"}
MERGE = {"content-type": "application/merge-patch+json"}


def config_map(data: dict[str, str], **meta: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", **meta}, "data": data}


class Case(TestCase):
    """A server, and the few requests that these tests are made of."""

    async def setUp(self) -> None:  # type: ignore[override]  # trial awaits it
        # Many race here, and a busy machine takes its time: no request is to be too late.
        self.server = InProcessServer(reactor, self.mktemp(), request_timeout_s=3600.0)
        await self.server.start()
        self.addCleanup(self.server.stop)

    async def apply(self, manager: str, data: dict[str, str], *, force: bool = False) -> ClientAnswer:
        """Apply config map `a` with this data."""
        query = f"fieldManager={manager}" + ("&force=true" if force else "")
        return await self.server.request("PATCH", f"{CONFIG_MAPS}/a?{query}", config_map(data), APPLY)

    async def live(self) -> dict[str, Any]:
        """Return the ConfigMap `a`."""
        found: dict[str, Any] = (await self.server.request("GET", f"{CONFIG_MAPS}/a")).json
        return found

    async def owners(self) -> dict[tuple[str, str], list[str]]:
        """The owned data keys by manager and operation."""
        entries = (await self.live())["metadata"].get("managedFields", [])
        return {
            (entry["manager"], entry["operation"]): sorted(
                key.removeprefix("f:") for key in entry["fieldsV1"].get("f:data", {}) if key != "."
            )
            for entry in entries
        }


class OwnershipTests(Case):
    """The rows of reference APPLY-20."""

    async def test_creates(self) -> None:
        """An apply of a missing object creates it: 201."""
        answer = await self.apply("one", {"k": "v"})
        self.assertEqual(answer.code, 201)
        self.assertEqual(await self.owners(), {("one", "Apply"): ["k"]})

    async def test_conflict(self) -> None:
        """Another's field with another value is a 409 that names field and owner; nothing changes."""
        await self.apply("one", {"k": "v"})
        before = await self.live()
        answer = await self.apply("two", {"k": "w"})
        self.assertEqual(answer.code, 409)
        self.assertEqual(answer.json["message"], 'Apply failed with 1 conflict: conflict with "one": .data.k')
        self.assertEqual(
            answer.json["details"]["causes"],
            [{"reason": "FieldManagerConflict", "message": 'conflict with "one"', "field": ".data.k"}],
        )
        self.assertEqual(await self.live(), before)

    async def test_force(self) -> None:
        """With force the value is set and the former owner loses the field."""
        await self.apply("one", {"k": "v"})
        self.assertEqual((await self.apply("two", {"k": "w"}, force=True)).code, 200)
        self.assertEqual((await self.live())["data"], {"k": "w"})
        self.assertEqual(await self.owners(), {("two", "Apply"): ["k"]})

    async def test_shared(self) -> None:
        """Equal values are shared; the field goes only when nobody owns it any more."""
        await self.apply("one", {"k": "v"})
        await self.apply("two", {"k": "v", "l": "v"})
        self.assertEqual(await self.owners(), {("one", "Apply"): ["k"], ("two", "Apply"): ["k", "l"]})
        await self.apply("two", {"l": "v"})
        self.assertEqual((await self.live())["data"], {"k": "v", "l": "v"})
        await self.apply("one", {})
        self.assertEqual((await self.live())["data"], {"l": "v"})

    async def test_update_raises_no_conflict(self) -> None:
        """A patch or PUT by another takes the field over without a conflict."""
        await self.apply("one", {"k": "v"})
        await self.server.request("PATCH", f"{CONFIG_MAPS}/a?fieldManager=two", {"data": {"k": "w"}}, MERGE)
        self.assertEqual((await self.owners())["two", "Update"], ["k"])
        self.assertEqual((await self.apply("one", {"k": "v"})).code, 409)

    async def test_no_op(self) -> None:
        """The same apply again leaves version and times as they are."""
        first = (await self.apply("one", {"k": "v"})).json
        self.assertEqual((await self.apply("one", {"k": "v"})).json, first)

    async def test_default_comes_back(self) -> None:
        """A field that its only owner no longer applies is reset to its default."""
        deployment: dict[str, Any] = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "d"},
            "spec": {
                "replicas": 5,
                "selector": {"matchLabels": {"a": "b"}},
                "template": {
                    "metadata": {"labels": {"a": "b"}},
                    "spec": {"containers": [{"name": "c", "image": "i"}]},
                },
            },
        }
        url = f"{DEPLOYMENTS}/d?fieldManager=one"
        created = await self.server.request("PATCH", url, deployment, APPLY)
        self.assertEqual((created.code, created.json["spec"]["replicas"]), (201, 5))
        del deployment["spec"]["replicas"]
        self.assertEqual((await self.server.request("PATCH", url, deployment, APPLY)).json["spec"]["replicas"], 1)

    async def test_status_is_owned_apart(self) -> None:
        """Fields written through /status are owned with that sub-resource."""
        namespace = {"metadata": {"name": "n"}}
        await self.server.request("POST", "/api/v1/namespaces", namespace)
        url = "/api/v1/namespaces/n/status?fieldManager=two"
        status = {"conditions": [{"type": "A", "status": "True"}]}
        answer = await self.server.request("PATCH", url, {"status": status}, MERGE)
        entry = next(each for each in answer.json["metadata"]["managedFields"] if each["manager"] == "two")
        self.assertEqual((entry["subresource"], list(entry["fieldsV1"])), ("status", ["f:status"]))
        self.assertEqual(list(entry["fieldsV1"]["f:status"]), ["f:conditions"])


class RequestTests(Case):
    """Requirements of apply requests (reference APPLY-19)."""

    async def test_manager_required(self) -> None:
        """Without a field manager: 422."""
        answer = await self.server.request("PATCH", f"{CONFIG_MAPS}/a", config_map({}), APPLY)
        self.assertEqual(answer.code, 422)
        self.assertIn("fieldManager: Required value: is required for apply patch", answer.json["message"])

    async def test_managed_fields_refused(self) -> None:
        """An applied object has no managedFields: 400."""
        body = config_map({}, managedFields=[{"manager": "x"}])
        answer = await self.server.request("PATCH", f"{CONFIG_MAPS}/a?fieldManager=one", body, APPLY)
        self.assertEqual((answer.code, answer.json["message"]), (400, "metadata.managedFields must be nil"))

    async def test_yaml(self) -> None:
        """The body may be YAML; a repeated key is dropped, warned about or refused (reference APPLY-18, WRITE-29)."""
        body = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  k: v\n"
        url = f"{CONFIG_MAPS}/a?fieldManager=one"
        self.assertEqual((await self.server.request("PATCH", url, body, APPLY)).code, 201)
        repeated = body + b"  k: w\n"
        answer = await self.server.request("PATCH", f"{url}&fieldValidation=Strict", repeated, APPLY)
        self.assertEqual(answer.code, 400, answer.body)
        self.assertIn("error strict decoding YAML", answer.json["message"])
        answer = await self.server.request("PATCH", f"{url}&fieldValidation=Ignore", repeated, APPLY)
        self.assertEqual((answer.code, answer.json["data"]), (200, {"k": "w"}))
        self.assertNotIn("warning", answer.headers)
        answer = await self.server.request("PATCH", url, repeated, APPLY)
        self.assertEqual(answer.code, 200, answer.body)
        self.assertIn("already set in map", answer.headers["warning"])

    async def test_not_an_object(self) -> None:
        """A list, text or nothing is a 400."""
        for body in (b"[]", b"x", b"", b"a: [", b"\xff"):
            answer = await self.server.request("PATCH", f"{CONFIG_MAPS}/a?fieldManager=one", body, APPLY)
            self.assertEqual(answer.code, 400, body)

    async def test_other_name(self) -> None:
        """The body's name must be the path's: 400."""
        answer = await self.server.request("PATCH", f"{CONFIG_MAPS}/b?fieldManager=one", config_map({}), APPLY)
        self.assertEqual(answer.code, 400, answer.body)

    async def test_dry_run(self) -> None:
        """A dry run answers as the real one would and stores nothing."""
        url = f"{CONFIG_MAPS}/a?fieldManager=one&dryRun=All"
        answer = await self.server.request("PATCH", url, config_map({"k": "v"}), APPLY)
        self.assertEqual((answer.code, answer.json["data"]), (201, {"k": "v"}))
        self.assertEqual((await self.server.request("GET", f"{CONFIG_MAPS}/a")).code, 404)

    async def test_stale_version(self) -> None:
        """A resourceVersion in the applied object is a precondition: 409."""
        await self.apply("one", {"k": "v"})
        body = config_map({"k": "w"}, resourceVersion="1")
        answer = await self.server.request("PATCH", f"{CONFIG_MAPS}/a?fieldManager=one", body, APPLY)
        self.assertEqual((answer.code, answer.json["reason"]), (409, "Conflict"))

    async def test_version_of_a_missing_object(self) -> None:
        """An applied resourceVersion fits no object that is missing: 409, nothing is created (reference APPLY-26)."""
        body = config_map({"k": "v"}, resourceVersion="1")
        answer = await self.server.request("PATCH", f"{CONFIG_MAPS}/a?fieldManager=one", body, APPLY)
        self.assertEqual((answer.code, answer.json["reason"]), (409, "Conflict"))
        self.assertIn("the object has been modified", answer.json["message"])
        self.assertEqual((await self.server.request("GET", f"{CONFIG_MAPS}/a")).code, 404)

    async def test_broken_yaml(self) -> None:
        """Malformed YAML is refused as such (reference APPLY-19)."""
        answer = await self.server.request("PATCH", f"{CONFIG_MAPS}/a?fieldManager=one", b"a: [", APPLY)
        self.assertEqual(answer.code, 400, answer.body)
        self.assertTrue(answer.json["message"].startswith("error decoding YAML: "), answer.body)

    async def test_kinds_within(self) -> None:
        """A claim in a StatefulSet may say what it is; applied again it is the same (reference APPLY-24)."""
        claim: dict[str, Any] = {"kind": "PersistentVolumeClaim", "apiVersion": "v1", "metadata": {"name": "v"}}
        claim["spec"] = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        labels = {"a": "b"}
        template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        spec: dict[str, Any] = {"selector": {"matchLabels": labels}, "serviceName": "s", "template": template}
        spec["volumeClaimTemplates"] = [claim]
        url = "/apis/apps/v1/namespaces/default/statefulsets/a?fieldManager=m"
        body = {"apiVersion": "apps/v1", "kind": "StatefulSet", "spec": spec}
        first = await self.server.request("PATCH", url, body, APPLY)
        self.assertEqual(first.code, 201, first.body)
        again = await self.server.request("PATCH", url, body, APPLY)
        self.assertEqual((again.code, again.json), (200, first.json))

    async def test_scale(self) -> None:
        """An applied Scale is a Scale without managedFields: else 400."""
        scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "d"}, "spec": {"replicas": 2}}
        url = f"{DEPLOYMENTS}/d/scale?fieldManager=one"
        for body in ({**scale, "metadata": {"managedFields": []}}, {**scale, "kind": "Deployment"}):
            self.assertEqual((await self.server.request("PATCH", url, body, APPLY)).code, 400, body)


class UpdateTests(Case):
    """Managed fields of writes other than apply."""

    async def test_create_and_default_manager(self) -> None:
        """A create owns what it sets, under the name before the user agent's slash."""
        headers = {"user-agent": "tool/1.0 (linux)"}
        await self.server.request("POST", CONFIG_MAPS, config_map({"k": "v"}), headers)
        self.assertEqual(await self.owners(), {("tool", "Update"): ["k"]})

    async def test_reset(self) -> None:
        """A list with one empty entry removes all managed fields; an empty list does not (reference APPLY-12)."""
        await self.apply("one", {"k": "v"})
        await self.server.request("PATCH", f"{CONFIG_MAPS}/a", {"metadata": {"managedFields": []}}, MERGE)
        self.assertIn(("one", "Apply"), await self.owners())
        await self.server.request("PATCH", f"{CONFIG_MAPS}/a", {"metadata": {"managedFields": [{}]}}, MERGE)
        self.assertEqual(await self.owners(), {})

    async def test_no_op_update(self) -> None:
        """A PUT of what is there keeps version and owners."""
        await self.apply("one", {"k": "v"})
        before = await self.live()
        await self.server.request("PUT", f"{CONFIG_MAPS}/a?fieldManager=two", before)
        self.assertEqual(await self.live(), before)

    async def test_secrets(self) -> None:
        """Plain text of a Secret is owned as the data that it becomes."""
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"p": "q"}}
        url = "/api/v1/namespaces/default/secrets/s?fieldManager=one"
        first = await self.server.request("PATCH", url, secret, APPLY)
        self.assertEqual(first.json["data"], {"p": "cQ=="})
        fields = first.json["metadata"]["managedFields"][0]["fieldsV1"]
        self.assertEqual(fields, {"f:data": {"f:p": {}}})
        self.assertEqual((await self.server.request("PATCH", url, secret, APPLY)).json, first.json)

    async def test_name_required(self) -> None:
        """A PUT whose object has no name, and a patch that takes it away, are a 400 (reference ERR-16, PATCH-5)."""
        await self.server.request("POST", CONFIG_MAPS, config_map({"k": "v"}))
        put = await self.server.request("PUT", f"{CONFIG_MAPS}/a", {"apiVersion": "v1", "kind": "ConfigMap"})
        patch = await self.server.request("PATCH", f"{CONFIG_MAPS}/a", {"metadata": {"name": None}}, MERGE)
        text = "the name of the object (a based on URL) was undeterminable: name must be provided"
        for answer in (put, patch):
            self.assertEqual((answer.code, answer.json["message"]), (400, text))

    async def test_of_another_object(self) -> None:
        """A PUT of another object is refused whether or not there is one at its path (reference ERR-16, ERR-17)."""
        texts = {
            "name": "the name of the object (b) does not match the name on the URL (a)",
            "namespace": "the namespace of the object (b) does not match the namespace on the request (default)",
        }
        for _ in ("missing", "there"):
            for field, text in texts.items():
                answer = await self.server.request("PUT", f"{CONFIG_MAPS}/a", config_map({}, **{field: "b"}))
                self.assertEqual((answer.code, answer.json["message"]), (400, text))
            await self.server.request("POST", CONFIG_MAPS, config_map({"k": "v"}))

    async def test_long_manager_in_an_entry(self) -> None:
        """An entry that a write brings names its manager in at most 128 bytes: else 422 (reference APPLY-10)."""
        await self.apply("one", {"k": "v"})
        entry = {**(await self.live())["metadata"]["managedFields"][0], "manager": "x" * 129}
        body = {"metadata": {"managedFields": [entry]}}
        answer = await self.server.request("PATCH", f"{CONFIG_MAPS}/a", body, MERGE)
        self.assertEqual(answer.code, 422, answer.body)
        self.assertEqual(answer.json["details"]["causes"][0]["field"], "metadata.managedFields[0].manager")


class RaceTests(Case):
    """Many writers share one object safely (reference DESIGN-4)."""

    async def test_no_lost_update(self) -> None:
        """64 writers on one object all get through, each keeping what it wrote."""
        await self.server.request("POST", CONFIG_MAPS, config_map({"first": "v"}))

        async def write(number: int) -> int:
            return (await self.apply(f"manager-{number}", {f"key-{number}": "v"})).code

        codes = await gatherResults([Deferred.fromCoroutine(write(number)) for number in range(64)])
        self.assertEqual(set(codes), {200})
        self.assertEqual(len((await self.live())["data"]), 65)

    async def test_racing_creates(self) -> None:
        """Of many that apply a missing object one creates it (201), the others are merged into it (200)."""

        async def write(number: int) -> int:
            return (await self.apply(f"manager-{number}", {f"key-{number}": "v"})).code

        codes = await gatherResults([Deferred.fromCoroutine(write(number)) for number in range(16)])
        self.assertEqual(sorted(codes), [200] * 15 + [201])
        self.assertEqual(len((await self.live())["data"]), 16)
