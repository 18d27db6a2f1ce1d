"""Deletion and namespaces seen from outside (reference DEL-4, DEL-12, DEL-15)."""

from __future__ import annotations

import copy

from orchtw.wire.objects import Object
from tests.end_to_end.objects import TEMPLATE, ConventionCase, config_map, deployment


class DeleteTests(ConventionCase):
    async def test_status_of_a_deletion(self) -> None:
        """An immediate removal is answered with a Status that names the object (reference DEL-9)."""
        made = await self.make()
        answer = await self.ok(await self.client.delete(f"{self.maps}/a"))
        details = {"name": "a", "kind": "configmaps", "uid": made["metadata"]["uid"]}
        expected = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
        self.assertEqual(answer, expected)
        self.assertRefused(await self.client.get(f"{self.maps}/a"), 404, "NotFound", 'configmaps "a" not found')

    async def test_kinds_that_answer_the_object(self) -> None:
        """Some kinds answer with the object that is gone (reference DEL-9)."""
        service = {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 1}]}}
        made = await self.created(self.core("services"), service)
        self.assertEqual(await self.ok(await self.client.delete(self.core("services", "s"))), made)

    async def test_missing(self) -> None:
        """A missing object is a 404 (reference DEL-4)."""
        self.assertRefused(await self.client.delete(f"{self.maps}/a"), 404, "NotFound", 'configmaps "a" not found')

    async def test_preconditions(self) -> None:
        """uid and resourceVersion of the options must be the live ones (reference ERR-9)."""
        meta = (await self.make())["metadata"]
        start = 'Operation cannot be fulfilled on ConfigMap "a": '
        uid = f"the UID in the precondition (x) does not match the UID in record ({meta['uid']}). "
        self.assertRefused(
            await self.client.delete(f"{self.maps}/a", {"preconditions": {"uid": "x"}}), 409, "Conflict",
            start + uid + "The object might have been deleted and then recreated",
        )
        version = meta["resourceVersion"]
        self.assertRefused(
            await self.client.delete(f"{self.maps}/a", {"preconditions": {"resourceVersion": "1"}}), 409, "Conflict",
            f"{start}the ResourceVersion in the precondition (1) does not match the ResourceVersion in record "
            f"({version}). The object might have been modified",
        )
        wanted = {"preconditions": {"uid": meta["uid"], "resourceVersion": version}}
        await self.ok(await self.client.delete(f"{self.maps}/a", wanted))

    async def test_finalizers_hold(self) -> None:
        """With finalizers a delete only begins; the update that takes the last one off ends it
        (reference DEL-8, DEL-11).
        """
        await self.make(finalizers=["x.io/a", "x.io/b"])
        path = f"{self.maps}/a"
        ending = await self.ok(await self.client.delete(path))
        self.assertEqual((ending["kind"], ending["metadata"]["deletionGracePeriodSeconds"]), ("ConfigMap", 0))
        self.assertTrue(ending["metadata"]["deletionTimestamp"])
        self.assertEqual(await self.ok(await self.client.delete(path)), ending, "a second delete changes nothing")
        half = await self.ok(await self.client.merge(path, {"metadata": {"finalizers": ["x.io/b"]}}))
        self.assertEqual((await self.ok(await self.client.get(path))), half)
        last = await self.ok(await self.client.merge(path, {"metadata": {"finalizers": None}}))
        self.assertNotIn("finalizers", last["metadata"])
        self.assertEqual((await self.client.get(path)).code, 404)

    async def test_no_new_finalizers(self) -> None:
        """While it ends an object takes no new finalizers, but other changes (reference OBJ-11, WRITE-15)."""
        await self.make(finalizers=["x.io/a"])
        path = f"{self.maps}/a"
        await self.client.delete(path)
        self.assertRefused(
            await self.client.merge(path, {"metadata": {"finalizers": ["x.io/a", "x/y"]}}), 422, "Invalid",
            'ConfigMap "a" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if the object '
            'is being deleted, found new finalizers []string{"x/y"}',
        )
        self.assertEqual((await self.ok(await self.client.merge(path, {"data": {"k": "w"}})))["data"], {"k": "w"})

    async def test_deletion_counts_as_generation(self) -> None:
        """The first deletionTimestamp raises the generation (reference OBJ-6)."""
        sent = deployment("d")
        sent["metadata"]["finalizers"] = ["x.io/a"]
        await self.created(self.deployments, sent)
        ending = await self.ok(await self.client.delete(f"{self.deployments}/d"))
        self.assertEqual(ending["metadata"]["generation"], 2)

    async def test_grace(self) -> None:
        """A pod on a node gets its grace; later deletes only shorten it; 0 ends it at once
        (reference DEL-6, DEL-7).
        """
        pods = self.core("pods")
        for name, node in (("free", ""), ("bound", "n1")):
            pod = copy.deepcopy(TEMPLATE)
            pod["metadata"]["name"], pod["spec"]["nodeName"] = name, node
            await self.created(pods, pod)
        self.assertEqual((await self.client.delete(f"{pods}/free")).code, 200)
        self.assertEqual((await self.client.get(f"{pods}/free")).code, 404)
        path = f"{pods}/bound"

        async def grace(**options: int) -> int:
            meta = (await self.ok(await self.client.delete(path, options or None)))["metadata"]
            return int(meta["deletionGracePeriodSeconds"])

        self.assertEqual([await grace(), await grace(gracePeriodSeconds=60)], [30, 30])
        self.assertEqual([await grace(gracePeriodSeconds=5), await grace()], [5, 5])
        await self.ok(await self.client.delete(path, {"gracePeriodSeconds": 0}))
        self.assertEqual((await self.client.get(path)).code, 404)

    async def test_options_that_exclude_each_other(self) -> None:
        """propagationPolicy and orphanDependents together are a 422 (reference DEL-3)."""
        await self.make()
        answer = await self.client.delete(f"{self.maps}/a", {"propagationPolicy": "Orphan", "orphanDependents": True})
        self.assertEqual((answer.code, answer.json["reason"]), (422, "Invalid"))
        text = 'Invalid value: "Orphan": orphanDependents and deletionPropagation cannot be both set'
        self.assertIn(f"propagationPolicy: {text}", answer.json["message"])

    async def test_options_from_the_query(self) -> None:
        """Without a body the options come from the query; a dry run deletes nothing (reference DEL-1, DEL-2)."""
        await self.make()
        answer = await self.ok(await self.client.delete(f"{self.maps}/a?dryRun=All"))
        self.assertEqual((answer["kind"], answer["status"]), ("Status", "Success"))
        self.assertEqual((await self.client.get(f"{self.maps}/a")).code, 200)

    async def test_collection(self) -> None:
        """deletecollection deletes what is selected and answers with the list (reference DEL-12)."""
        for name, label in (("a", "x"), ("b", "y"), ("c", "x")):
            await self.make(name, labels={"l": label})
        gone = await self.ok(await self.client.delete(f"{self.maps}?labelSelector=l%3Dx"))
        self.assertEqual(gone["kind"], "ConfigMapList")
        self.assertEqual([item["metadata"]["name"] for item in gone["items"]], ["a", "c"])
        left = (await self.client.get(self.maps)).json["items"]
        self.assertEqual([item["metadata"]["name"] for item in left], ["b"])
        none = await self.ok(await self.client.delete(f"{self.maps}?labelSelector=l%3Dz"))
        self.assertEqual(none["items"], [])


class NamespaceTests(ConventionCase):
    async def test_made(self) -> None:
        """A namespace gets its finalizer, its label and phase Active (reference DEL-14)."""
        name, naming = self.unique("ns"), self.naming
        made = await self.created("/api/v1/namespaces", {"metadata": {"name": name}})
        self.assertEqual(made["spec"], {"finalizers": [naming.namespace_finalizer]})
        self.assertEqual(made["status"], {"phase": "Active"})
        self.assertEqual(made["metadata"]["labels"], {naming.namespace_name_label: name})
        self.assertNotIn("generation", made["metadata"])

    async def test_end(self) -> None:
        """A namespace that is not empty is Terminating, nothing is created in it; empty, it goes
        (reference DEL-15, ERR-21).
        """
        path = f"/api/v1/namespaces/{self.namespace}"
        held = await self.make("held", finalizers=["x.io/a"])
        query = f"watch=1&fieldSelector=metadata.name%3D{self.namespace}"
        watch = await self.client.watch(f"/api/v1/namespaces?{query}&resourceVersion={_version(held)}")
        ending = await self.ok(await self.client.delete(path))
        self.assertEqual((ending["kind"], ending["status"]["phase"]), ("Namespace", "Terminating"))
        again = await self.ok(await self.client.delete(path))
        self.assertEqual(again["metadata"]["deletionTimestamp"], ending["metadata"]["deletionTimestamp"])
        status = self.assertRefused(
            await self.client.post(self.maps, config_map("a")), 403, "Forbidden",
            f'configmaps "a" is forbidden: unable to create new content in namespace {self.namespace} '
            "because it is being terminated",
        )
        cause = {
            "reason": "NamespaceTerminating",
            "message": f"namespace {self.namespace} is being terminated",
            "field": "metadata.namespace",
        }
        self.assertEqual(status["details"], {"name": "a", "kind": "configmaps", "causes": [cause]})
        await self.ok(await self.client.merge(f"{self.maps}/held", {"metadata": {"finalizers": None}}))
        while (event := await watch.event())["type"] != "DELETED":
            self.assertEqual((event["type"], event["object"]["status"]["phase"]), ("MODIFIED", "Terminating"))
        self.assertEqual((await self.client.get(path)).code, 404)

    async def test_finalize_changes_finalizers_only(self) -> None:
        """PUT …/finalize replaces spec.finalizers and nothing else (reference DEL-16)."""
        path = f"/api/v1/namespaces/{self.namespace}"
        live = await self.ok(await self.client.get(path))
        sent = {**live, "spec": {"finalizers": ["x.io/a"]}, "status": {"phase": "Terminating"}}
        after = await self.ok(await self.client.put(f"{path}/finalize", sent))
        self.assertEqual((after["spec"], after["status"]), ({"finalizers": ["x.io/a"]}, live["status"]))

    async def test_main_path_keeps_finalizers(self) -> None:
        """A PUT of the namespace itself changes no finalizers and keeps the label (reference DEL-14, KIND-10)."""
        path = f"/api/v1/namespaces/{self.namespace}"
        live = await self.ok(await self.client.get(path))
        sent = {"metadata": {"name": self.namespace, "labels": {"x": "y"}}, "spec": {"finalizers": []}}
        after = await self.ok(await self.client.put(path, sent))
        self.assertEqual(after["spec"], live["spec"])
        self.assertEqual(after["metadata"]["labels"], {**live["metadata"]["labels"], "x": "y"})

    async def test_immortal(self) -> None:
        """The built-in namespaces may not be deleted (reference DEL-17)."""
        for name in ("default", self.naming.system_namespace, self.naming.public_namespace):
            self.assertRefused(
                await self.client.delete(f"/api/v1/namespaces/{name}"), 403, "Forbidden",
                f'namespaces "{name}" is forbidden: this namespace may not be deleted',
            )


def _version(obj: Object) -> str:
    version: str = obj["metadata"]["resourceVersion"]
    return version
