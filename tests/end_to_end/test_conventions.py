"""The API's conventions seen from outside: what creating and changing objects does and says.

Each test is named after its rule; the docstrings cite the reference.
"""

from __future__ import annotations

import copy

from orchtw.wire.objects import Object
from tests.end_to_end.client import Answer
from tests.end_to_end.objects import ConventionCase, config_map, deployment

NO_UID = "00000000-0000-0000-0000-000000000000"
SUBDOMAIN = "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"


class CreateTests(ConventionCase):
    async def test_server_fills_identity(self) -> None:
        """uid and times are the server's; what a client says of them is dropped (reference OBJ-3 to OBJ-5)."""
        sent = config_map("a", uid=NO_UID, creationTimestamp="2001-01-01T00:00:00Z", selfLink="/x")
        sent["metadata"]["deletionTimestamp"] = "2001-01-01T00:00:00Z"
        sent["metadata"]["deletionGracePeriodSeconds"] = 5
        meta = (await self.created(self.maps, sent))["metadata"]
        expected = ["name", "namespace", "uid", "resourceVersion", "creationTimestamp", "managedFields"]
        self.assertEqual(list(meta), expected, "nothing else is set")
        self.assertNotEqual(meta["uid"], NO_UID)
        self.assertRegex(meta["uid"], r"^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")
        self.assertRegex(meta["creationTimestamp"], r"^20(?!01)\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertEqual(meta["namespace"], self.namespace)

    async def test_generation(self) -> None:
        """Kinds that track their spec start with generation 1, whatever is sent; others have none
        (reference OBJ-6).
        """
        sent = deployment("d")
        sent["metadata"]["generation"] = 7
        self.assertEqual((await self.created(self.deployments, sent))["metadata"]["generation"], 1)
        self.assertEqual((await self.make(generation=7))["metadata"]["generation"], 7)

    async def test_status_is_dropped(self) -> None:
        """A status in the body of a create is dropped where the kind has a status sub-resource
        (reference WRITE-12).
        """
        made = await self.created(self.deployments, {**deployment("d"), "status": {"replicas": 9}})
        self.assertNotIn("replicas", made["status"])

    async def test_defaults(self) -> None:
        """Declared defaults are filled in (reference KIND-14, KIND-18)."""
        spec = (await self.created(self.deployments, deployment("d")))["spec"]
        self.assertEqual((spec["revisionHistoryLimit"], spec["progressDeadlineSeconds"]), (10, 600))
        self.assertEqual(spec["template"]["spec"]["dnsPolicy"], "ClusterFirst")

    async def test_generate_name(self) -> None:
        """generateName gives a name of the prefix and 5 characters of the alphabet, and is kept
        (reference OBJ-9, OBJ-29).
        """
        sent = {"metadata": {"generateName": "pre-"}}
        meta = (await self.created(self.maps, sent))["metadata"]
        self.assertRegex(meta["name"], r"^pre-[bcdfghjklmnpqrstvwxz2456789]{5}$")
        self.assertEqual(meta["generateName"], "pre-")
        other = (await self.created(self.maps, sent))["metadata"]
        self.assertNotEqual(other["name"], meta["name"])

    async def test_generate_name_is_cut(self) -> None:
        """A long generateName is cut to 58 characters (reference OBJ-29)."""
        name = (await self.created(self.maps, {"metadata": {"generateName": "a" * 70}}))["metadata"]["name"]
        self.assertEqual((len(name), name[:58]), (63, "a" * 58))

    async def test_name_wins_over_generate_name(self) -> None:
        """generateName is used only when name is empty (reference OBJ-9)."""
        self.assertEqual((await self.make(generateName="pre-"))["metadata"]["name"], "a")

    async def test_no_name(self) -> None:
        """Neither name nor generateName is a 422 with this text (reference OBJ-31)."""
        status = self.assertRefused(
            await self.client.post(self.maps, {}), 422, "Invalid",
            'ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required',
        )
        self.assertEqual(status["details"]["kind"], "ConfigMap")

    async def test_invalid_name(self) -> None:
        """A bad name is a 422 whose cause names the field and the rule (reference OBJ-20, ERR-12)."""
        cause = (
            'Invalid value: "A_B": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric '
            "characters, '-' or '.', and must start and end with an alphanumeric character "
            f"(e.g. 'example.com', regex used for validation is '{SUBDOMAIN}')"
        )
        status = self.assertRefused(
            await self.client.post(self.maps, config_map("A_B")), 422, "Invalid",
            f'ConfigMap "A_B" is invalid: metadata.name: {cause}',
        )
        causes = [{"reason": "FieldValueInvalid", "message": cause, "field": "metadata.name"}]
        self.assertEqual(status["details"], {"name": "A_B", "kind": "ConfigMap", "causes": causes})

    async def test_several_causes(self) -> None:
        """All faults are told at once; of a named group the kind is shown with it (reference OBJ-24, ERR-12)."""
        sent = deployment("A_B")
        sent["metadata"]["labels"] = {"a b": "c d"}
        status = (await self.client.post(self.deployments, sent)).json
        self.assertTrue(status["message"].startswith('Deployment.apps "A_B" is invalid: [metadata.'), status)
        fields = [cause["field"] for cause in status["details"]["causes"]]
        self.assertEqual(sorted(fields), ["metadata.labels", "metadata.labels", "metadata.name"])

    async def test_already_exists(self) -> None:
        """A name that is taken is a 409 (reference ERR-6)."""
        await self.make()
        status = self.assertRefused(
            await self.client.post(self.maps, config_map("a")), 409, "AlreadyExists", 'configmaps "a" already exists'
        )
        self.assertEqual(status["details"], {"name": "a", "kind": "configmaps"})

    async def test_already_exists_in_a_group(self) -> None:
        """A named group shows in text and details (reference ERR-6)."""
        await self.created(self.deployments, deployment("d"))
        status = self.assertRefused(
            await self.client.post(self.deployments, deployment("d")), 409, "AlreadyExists",
            'deployments.apps "d" already exists',
        )
        self.assertEqual(status["details"], {"name": "d", "group": "apps", "kind": "deployments"})

    async def test_resource_version_must_be_empty(self) -> None:
        """A resourceVersion on create is refused (reference WRITE-8)."""
        answer = await self.client.post(self.maps, config_map("a", resourceVersion="1"))
        self.assertRefused(
            answer, 400, "BadRequest", "resourceVersion should not be set on objects to be created"
        )
        dry = await self.client.post(f"{self.maps}?dryRun=All", config_map("a", resourceVersion="1"))
        self.assertEqual((dry.code, dry.json["metadata"].get("resourceVersion")), (201, None))

    async def test_missing_namespace(self) -> None:
        """A create where there is no such namespace is a 404 of the namespace (reference ERR-20)."""
        answer = await self.client.post(self.core("configmaps", namespace="nope"), config_map("a"))
        status = self.assertRefused(answer, 404, "NotFound", 'namespaces "nope" not found')
        self.assertEqual(status["details"], {"name": "nope", "kind": "namespaces"})

    async def test_other_namespace(self) -> None:
        """The body's namespace must be the path's (reference ERR-17)."""
        self.assertRefused(
            await self.client.post(self.maps, config_map("a", namespace="other")), 400, "BadRequest",
            "the namespace of the provided object does not match the namespace sent on the request",
        )

    async def test_unknown_fields_and_nulls(self) -> None:
        """Unknown fields are dropped, null is absent, of a repeated key the last one counts
        (reference OBJ-15, OBJ-16).
        """
        body = b'{"metadata":{"name":"a","labels":null},"foo":1,"data":{"k":"1","k":"2"},"binaryData":null}'
        answer = await self.client.send("POST", self.maps, body, {"Content-Type": "application/json"})
        made = await self.ok(answer, 201)
        self.assertEqual(list(made), ["kind", "apiVersion", "metadata", "data"])
        self.assertEqual(made["data"], {"k": "2"})

    async def test_wrong_kind(self) -> None:
        """A body of another kind is a 400 with this text (reference ERR-15)."""
        answer = await self.client.post(self.maps, {"kind": "Foo", "apiVersion": "v1", **config_map("a")})
        self.assertEqual((answer.code, answer.json["reason"]), (400, "BadRequest"))
        start = 'Foo in version "v1" cannot be handled as a ConfigMap: '
        self.assertTrue(answer.json["message"].startswith(start), answer)

    async def test_wrong_version(self) -> None:
        """A body of the group's other version is a 400 with this text (reference WRITE-7)."""
        body = {**deployment("d"), "kind": "HorizontalPodAutoscaler", "apiVersion": "autoscaling/v1"}
        self.assertRefused(
            await self.client.post(self.group("autoscaling/v2", "horizontalpodautoscalers"), body), 400, "BadRequest",
            "the API version in the data (autoscaling/v1) does not match the expected API version (autoscaling/v2)",
        )

    async def test_repeated_owners(self) -> None:
        """An owner that is named twice is stored once, with a warning (reference OBJ-10, ERR-53)."""
        namespace = (await self.client.get(f"/api/v1/namespaces/{self.namespace}")).json["metadata"]
        owner = {"apiVersion": "v1", "kind": "Namespace", "name": namespace["name"], "uid": namespace["uid"]}
        answer = await self.client.post(self.maps, config_map("a", ownerReferences=[owner, owner]))
        self.assertEqual((await self.ok(answer, 201))["metadata"]["ownerReferences"], [owner])
        warning = answer.headers["warning"]
        self.assertTrue(warning.startswith('299 - ".metadata.ownerReferences contains duplicate entries; '), warning)
        self.assertTrue(warning.endswith(f'duplicate UID(s) observed: {owner["uid"]}"'), warning)

    async def test_cluster_name(self) -> None:
        """clusterName is dropped with a warning (reference OBJ-8)."""
        answer = await self.client.post(self.maps, config_map("a", clusterName="c"))
        self.assertNotIn("clusterName", (await self.ok(answer, 201))["metadata"])
        text = "metadata.clusterName was specified. This field is not preserved and will be removed from the schema"
        self.assertEqual(answer.headers["warning"], f'299 - "{text} in 1.25"')

    async def test_dry_run(self) -> None:
        """A dry run answers 201 without a resourceVersion and stores nothing (reference WRITE-19, WRITE-21)."""
        made = await self.ok(await self.client.post(f"{self.maps}?dryRun=All", config_map("a")), 201)
        self.assertNotIn("resourceVersion", made["metadata"])
        self.assertTrue(made["metadata"]["uid"])
        self.assertEqual((await self.client.get(f"{self.maps}/a")).code, 404)

    async def test_bad_options(self) -> None:
        """A bad dryRun is a 422 of the options' kind, before the body is looked at (reference WRITE-1, ERR-14)."""
        meta_group = self.naming.meta_group
        status = self.assertRefused(
            await self.client.post(f"{self.maps}?dryRun=foo", config_map("a")), 422, "Invalid",
            f'CreateOptions.{meta_group} "" is invalid: dryRun: Unsupported value: []string{{"foo"}}: '
            'supported values: "All"',
        )
        self.assertEqual((status["details"]["group"], status["details"]["kind"]), (meta_group, "CreateOptions"))

    async def test_quantities_are_canonical(self) -> None:
        """Quantities are stored in canonical form (reference OBJ-18)."""
        quota = {"metadata": {"name": "q"}, "spec": {"hard": {"cpu": "1000m", "memory": "1024Ki", "pods": 5}}}
        hard = (await self.created(self.core("resourcequotas"), quota))["spec"]["hard"]
        self.assertEqual(hard, {"cpu": "1", "memory": "1Mi", "pods": "5"})


class UpdateTests(ConventionCase):
    async def put(self, obj: Object, name: str = "a") -> Answer:
        return await self.client.put(f"{self.maps}/{name}", obj)

    async def test_current_version(self) -> None:
        """A PUT with the live resourceVersion replaces; the version rises (reference WRITE-10)."""
        made = await self.make(labels={"l": "1"})
        after = await self.ok(await self.put({**made, "data": {"k": "w"}}))
        self.assertEqual((after["data"], after["metadata"]["labels"]), ({"k": "w"}, {"l": "1"}))
        self.assertGreater(int(after["metadata"]["resourceVersion"]), int(made["metadata"]["resourceVersion"]))

    async def test_stale_version(self) -> None:
        """Another resourceVersion is a 409 with this text (reference ERR-7)."""
        made = await self.make()
        await self.ok(await self.put({**made, "data": {"k": "w"}}))
        status = self.assertRefused(
            await self.put(made), 409, "Conflict",
            'Operation cannot be fulfilled on configmaps "a": the object has been modified; '
            "please apply your changes to the latest version and try again",
        )
        self.assertEqual(status["details"], {"name": "a", "kind": "configmaps"})

    async def test_unconditional(self) -> None:
        """Without a resourceVersion a PUT overwrites; 0 says no more (reference WRITE-8, WRITE-10)."""
        await self.created(self.maps, config_map("a", resourceVersion="0"))
        for number, metadata in enumerate(({}, {"resourceVersion": "0"})):
            data = {"x": str(number)}
            answer = await self.put(config_map("a", **metadata) | {"data": data})
            self.assertEqual((await self.ok(answer))["data"], data)

    async def test_version_required(self) -> None:
        """Some kinds must be PUT with a resourceVersion (reference WRITE-10, KIND-9)."""
        leases = self.group("coordination.orch.io/v1", "leases")
        await self.created(leases, {"metadata": {"name": "f"}})
        group = self.naming.group("coordination.orch.io")
        for metadata in ({"name": "f"}, {"name": "f", "resourceVersion": "0"}):
            status = self.assertRefused(
                await self.client.put(f"{leases}/f", {"metadata": metadata}), 422, "Invalid",
                f'leases.{group} "f" is invalid: metadata.resourceVersion: Invalid value: 0x0: '
                "must be specified for an update",
            )
            self.assertEqual(status["details"]["kind"], "leases")

    async def test_create_on_update(self) -> None:
        """A PUT creates where the kind allows it, and ignores a resourceVersion then (reference WRITE-9, KIND-8)."""
        services = self.core("services")
        body = {"metadata": {"name": "s", "resourceVersion": "5"}, "spec": {"ports": [{"port": 80}]}}
        made = await self.ok(await self.client.put(f"{services}/s", body), 201)
        self.assertEqual((await self.client.get(f"{services}/s")).json, made)

    async def test_no_create_on_update(self) -> None:
        """A PUT to a missing object of another kind is a 404 (reference WRITE-9)."""
        self.assertRefused(await self.put(config_map("a")), 404, "NotFound", 'configmaps "a" not found')

    async def test_no_change(self) -> None:
        """An update that changes nothing writes nothing: same version, no event (reference WRITE-4)."""
        made = await self.make()
        watch = await self.client.watch(f"{self.maps}?watch=1&resourceVersion={made['metadata']['resourceVersion']}")
        self.assertEqual(await self.ok(await self.put(made)), made)
        self.assertEqual(await self.ok(await self.client.merge(f"{self.maps}/a", {"data": {"k": "v"}})), made)
        await self.make("b")
        self.assertEqual(await watch.types(1), [("ADDED", "b")])

    async def test_server_fields_are_restored(self) -> None:
        """creationTimestamp and generation are ignored; a deletionTimestamp is a 422 (reference WRITE-11)."""
        made = await self.make()
        sent = copy.deepcopy(made)
        sent["metadata"] |= {"creationTimestamp": "2001-01-01T00:00:00Z", "generation": 9}
        self.assertEqual(await self.ok(await self.put(sent)), made)
        sent["metadata"]["deletionTimestamp"] = "2001-01-01T00:00:00Z"
        text = "metadata.deletionTimestamp: Invalid value: 2001-01-01 00:00:00 +0000 UTC: field is immutable"
        self.assertRefused(await self.put(sent), 422, "Invalid", f'ConfigMap "a" is invalid: {text}')

    async def test_generation_counts_specs(self) -> None:
        """generation rises with the spec, not with labels or status (reference OBJ-6)."""
        made = await self.created(self.deployments, deployment("d"))
        path = f"{self.deployments}/d"
        labelled = await self.ok(await self.client.merge(path, {"metadata": {"labels": {"x": "y"}}}))
        self.assertEqual(labelled["metadata"]["generation"], 1)
        changed = await self.ok(await self.client.merge(path, {"spec": {"replicas": 2}}))
        self.assertEqual(changed["metadata"]["generation"], 2)
        status = {**changed, "status": {"observedGeneration": 2}}
        reported = await self.ok(await self.client.put(f"{path}/status", status))
        self.assertEqual((reported["metadata"]["generation"], reported["status"]), (2, {"observedGeneration": 2}))
        self.assertEqual(made["metadata"]["generation"], 1)

    async def test_other_uid(self) -> None:
        """Another uid is a failed precondition (reference ERR-8)."""
        made = await self.make()
        uid = made["metadata"]["uid"]
        self.assertRefused(
            await self.put(config_map("a", uid="123")), 409, "Conflict",
            'Operation cannot be fulfilled on configmaps "a": Precondition failed: '
            f"UID in precondition: 123, UID in object meta: {uid}",
        )

    async def test_other_name(self) -> None:
        """The body's name must be the path's (reference ERR-16)."""
        await self.make()
        self.assertRefused(
            await self.put(config_map("b")), 400, "BadRequest",
            "the name of the object (b) does not match the name on the URL (a)",
        )

    async def test_other_namespace(self) -> None:
        """The body's namespace must be the path's (reference ERR-17)."""
        await self.make()
        self.assertRefused(
            await self.put(config_map("a", namespace="other")), 400, "BadRequest",
            f"the namespace of the object (other) does not match the namespace on the request ({self.namespace})",
        )

    async def test_merge_patch(self) -> None:
        """A merge patch merges objects, deletes by null and replaces lists (reference PATCH-12)."""
        await self.created(self.deployments, deployment("d"))
        containers = [{"name": "x", "image": "y"}]
        change = {
            "metadata": {"annotations": {"a": "b", "c": None}},
            "spec": {"template": {"spec": {"containers": containers}}, "revisionHistoryLimit": None},
        }
        after = await self.ok(await self.client.merge(f"{self.deployments}/d", change))
        self.assertEqual(after["metadata"]["annotations"], {"a": "b"})
        (container,) = after["spec"]["template"]["spec"]["containers"]
        self.assertEqual((container["name"], container["image"]), ("x", "y"))
        self.assertEqual(after["spec"]["revisionHistoryLimit"], 10, "the default, again")

    async def test_patch_of_a_stale_version(self) -> None:
        """A resourceVersion in a patch is a precondition (reference PATCH-4)."""
        made = await self.make()
        old = made["metadata"]["resourceVersion"]
        change = {"metadata": {"resourceVersion": old}, "data": {"k": "w"}}
        await self.ok(await self.client.merge(f"{self.maps}/a", change))
        answer = await self.client.merge(f"{self.maps}/a", {**change, "data": {"k": "x"}})
        self.assertEqual((answer.code, answer.json["reason"]), (409, "Conflict"))

    async def test_patch_of_a_missing_object(self) -> None:
        """A merge patch never creates (reference PATCH-3)."""
        self.assertRefused(
            await self.client.merge(f"{self.core('services')}/s", {}), 404, "NotFound", 'services "s" not found'
        )

    async def test_dry_run(self) -> None:
        """A dry-run update answers with the live version and changes nothing (reference WRITE-19, WRITE-21)."""
        made = await self.make()
        shown = await self.ok(await self.client.put(f"{self.maps}/a?dryRun=All", {**made, "data": {"k": "w"}}))
        self.assertEqual(shown, {**made, "data": {"k": "w"}})
        self.assertEqual((await self.client.get(f"{self.maps}/a")).json, made)

    async def test_scale(self) -> None:
        """/scale shows and sets replicas with the parent's identity; its body needs a namespace
        (reference KIND-25).
        """
        made = await self.created(self.deployments, deployment("d"))
        path = f"{self.deployments}/d/scale"
        scale = await self.ok(await self.client.get(path))
        self.assertEqual((scale["kind"], scale["apiVersion"]), ("Scale", "autoscaling/v1"))
        self.assertEqual(scale["metadata"]["uid"], made["metadata"]["uid"])
        scale["spec"]["replicas"] = 4
        scaled = await self.ok(await self.client.put(path, scale))
        live = await self.ok(await self.client.get(f"{self.deployments}/d"))
        self.assertEqual((live["spec"]["replicas"], live["metadata"]["generation"]), (4, 2))
        self.assertEqual(scaled["metadata"]["resourceVersion"], live["metadata"]["resourceVersion"])
        patched = await self.ok(await self.client.merge(path, {"spec": {"replicas": 0}}))
        self.assertNotIn("replicas", patched["spec"])
        self.assertRefused(
            await self.client.put(path, {"metadata": {"name": "d"}, "spec": {}}), 422, "Invalid",
            'Scale.autoscaling "d" is invalid: metadata.namespace: Required value',
        )
