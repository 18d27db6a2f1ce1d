"""Definitions of custom resources over the wire: acceptance, conflicts, changes and the end (reference CRD-1)."""

from __future__ import annotations

from typing import Any

import attrs

from orchtw.wire.objects import Object
from tests.end_to_end.custom_case import CustomCase, structure, version
from tests.end_to_end.definitions import condition


@attrs.frozen
class Told:
    """Status, reason and message of a condition."""

    status: str
    reason: str
    message: str

    @classmethod
    def of(cls, obj: Object, type_: str) -> Told:
        """The condition of that type, which must be there."""
        found = condition(obj, type_)
        return cls(found["status"], found["reason"], found["message"])


class AcceptanceTests(CustomCase):
    """From a definition to a served kind."""

    async def test_accepted(self) -> None:
        """Names are accepted, then it is established; defaults and the finalizer are there (CRD-2, CRD-7, CRD-25)."""
        await self.define()
        found = (await self.client.get(self.definition_path)).json
        accepted = Told("True", "NoConflicts", "no conflicts found")
        self.assertEqual(Told.of(found, "NamesAccepted"), accepted)
        established = Told("True", "InitialNamesAccepted", "the initial names have been accepted")
        self.assertEqual(Told.of(found, "Established"), established)
        self.assertEqual(found["status"]["storedVersions"], ["v1"])
        names = found["status"]["acceptedNames"]
        self.assertEqual((names["kind"], names["listKind"], names["shortNames"]), ("Widget", "WidgetList", ["wd"]))
        self.assertEqual(found["spec"]["conversion"], {"strategy": "None"})
        finalizer = f"customresourcecleanup.{self.naming.group('apiextensions.orch.io')}"
        self.assertIn(finalizer, (await self.client.delete(self.definition_path)).json["metadata"]["finalizers"])

    async def test_discovery(self) -> None:
        """Group, versions by maturity, resource and its sub-resources are shown (CRD-8, DISC-2)."""
        beta = version("v1beta1", storage=False)
        hidden = version("v2", served=False)
        scale = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
        await self.define(beta, hidden, version(subresources={"status": {}, "scale": scale}))
        group = (await self.client.get(f"/apis/{self.api_group}")).json
        self.assertEqual([each["version"] for each in group["versions"]], ["v1", "v1beta1"])
        self.assertEqual(group["preferredVersion"]["version"], "v1")
        groups = (await self.client.get("/apis")).json["groups"]
        self.assertIn(self.api_group, [each["name"] for each in groups])
        resources = (await self.client.get(f"/apis/{self.api_group}/v1")).json["resources"]
        by_name = {each["name"]: each for each in resources}
        self.assertEqual(set(by_name), {"widgets", "widgets/status", "widgets/scale"})
        widgets = by_name["widgets"]
        self.assertEqual((widgets["singularName"], widgets["namespaced"]), ("widget", True))
        self.assertEqual((widgets["kind"], widgets["shortNames"]), ("Widget", ["wd"]))
        verbs = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
        self.assertEqual(sorted(widgets["verbs"]), verbs)
        self.assertTrue(widgets["storageVersionHash"])
        scaled = by_name["widgets/scale"]
        self.assertEqual((scaled["kind"], scaled["group"], scaled["version"]), ("Scale", "autoscaling", "v1"))

    async def test_old_version_is_not_served(self) -> None:
        """There is no v1beta1 of definitions (CRD-5)."""
        path = self.definitions.replace("/v1/", "/v1beta1/")
        self.assertEqual((await self.client.get(path)).code, 404)

    async def test_names_in_conflict(self) -> None:
        """A name that another kind of the group has is not accepted until it is free again (CRD-7)."""
        await self.define()
        other = self.definition()
        other["metadata"]["name"] = f"gizmos.{self.api_group}"
        other["spec"]["names"] = {"plural": "gizmos", "kind": "Gizmo", "listKind": "WidgetList"}
        await self.created(self.definitions, other)
        path = f"{self.definitions}/gizmos.{self.api_group}"
        self.addCleanup(self.client.delete, path)
        found = (await self.eventually(path, lambda answer: bool(condition(answer.json, "NamesAccepted")))).json
        conflict = Told("False", "ListKindConflict", '"WidgetList" is already in use')
        self.assertEqual(Told.of(found, "NamesAccepted"), conflict)
        self.assertEqual(Told.of(found, "Established"), Told("False", "NotAccepted", "not all names are accepted"))
        self.assertEqual((await self.client.get(f"/apis/{self.api_group}/v1/gizmos")).code, 404)
        await self.client.delete(self.definition_path)
        await self.served(f"gizmos.{self.api_group}")

    async def test_protected_group(self) -> None:
        """Groups of the API's own domain ask for an approval, which a condition confirms (CRD-1, CRD-7)."""
        domain = self.naming.api_domain
        self.api_group = f"{self.unique('g')}.{domain}"
        definition = self.definition()
        answer = await self.client.post(self.definitions, definition)
        self.assertEqual(answer.code, 422, answer)
        address = "https://github.com/kubernetes/enhancements/pull/1111"
        text = f'protected groups must have approval annotation "api-approved.{domain}", see {address}'
        self.assertIn(text, answer.json["message"])
        definition["metadata"]["annotations"] = {f"api-approved.{domain}": "https://example.com/approved"}
        await self.created(self.definitions, definition)
        found = await self.served(f"widgets.{self.api_group}")
        self.addCleanup(self.client.delete, f"{self.definitions}/widgets.{self.api_group}")
        conformant = next(
            each for each in found["status"]["conditions"] if each["type"].endswith("APIApprovalPolicyConformant")
        )
        self.assertEqual((conformant["status"], conformant["reason"]), ("True", "ApprovedAnnotation"))

    async def test_immutable(self) -> None:
        """Established definitions keep their scope and kind, the group never changes (CRD-6)."""
        await self.define()
        for change in ({"scope": "Cluster"}, {"names": {"kind": "Other", "listKind": "OtherList"}}):
            answer = await self.client.merge(self.definition_path, {"spec": change})
            self.assertEqual(answer.code, 422, answer)
            self.assertIn("field is immutable", answer.json["message"])

    async def test_stored_versions(self) -> None:
        """A new storage version is added; the old one goes through /status alone (CRD-7)."""
        await self.define(version(), version("v2"))
        versions = [version(storage=False), version("v2", storage=True)]
        answer = await self.client.merge(self.definition_path, {"spec": {"versions": versions}})
        self.assertEqual(answer.json["status"]["storedVersions"], ["v1", "v2"], answer)
        answer = await self.client.merge(self.definition_path, {"spec": {"versions": versions[1:]}})
        self.assertEqual(answer.code, 422, answer)
        self.assertIn("must appear in spec.versions", answer.json["message"])
        status = {"status": {"storedVersions": ["v2"]}}
        answer = await self.client.merge(f"{self.definition_path}/status", status)
        self.assertEqual(answer.json["status"]["storedVersions"], ["v2"], answer)
        answer = await self.client.merge(self.definition_path, {"spec": {"versions": versions[1:]}})
        self.assertEqual(answer.code, 200, answer)
        await self.eventually(self.widgets(version="v1"), lambda answer: answer.code == 404)


class ChangeTests(CustomCase):
    """Definitions change and end while they are served."""

    async def test_schema(self) -> None:
        """A new schema holds at once, without an instant in which nothing is served."""
        await self.define()
        await self.created(self.widgets(), self.widget())
        schema = {"openAPIV3Schema": structure(size={"type": "integer", "maximum": 2})}
        change = {"spec": {"versions": [version(schema=schema)]}}
        self.assertEqual((await self.client.merge(self.definition_path, change)).code, 200)
        codes = set()
        for number in range(100):
            answer = await self.client.post(self.widgets(), self.widget(f"n{number}"))
            codes.add(answer.code)
            self.assertEqual((await self.client.get(self.widgets("w"))).code, 200)
            if answer.code == 422:
                break
        self.assertLessEqual(codes, {201, 422})
        self.assertIn(422, codes)

    async def test_version_served_no_more(self) -> None:
        """A version comes and goes by its `served` (CRD-3)."""
        await self.define(version(), version("v2"))
        self.assertEqual((await self.client.get(self.widgets(version="v2"))).code, 200)
        change: Any = {"spec": {"versions": [version(), version("v2", served=False)]}}
        await self.client.merge(self.definition_path, change)
        await self.eventually(self.widgets(version="v2"), lambda answer: answer.code == 404)
        self.assertEqual((await self.client.get(self.widgets())).code, 200)

    async def test_end(self) -> None:
        """Objects go first, with their finalizers; creates are refused meanwhile; watches end (CRD-25)."""
        await self.define()
        await self.created(self.widgets(), self.widget("held") | {
            "metadata": {"name": "held", "finalizers": ["example.com/hold"]}
        })
        await self.created(self.widgets(), self.widget("free"))
        watch = await self.client.watch(f"{self.widgets()}?watch=true&resourceVersion=0")
        await watch.events(2)
        answer = await self.client.delete(self.definition_path)
        self.assertEqual(answer.code, 200, answer)
        path = self.definition_path

        def in_progress(answer: Any) -> bool:
            return condition(answer.json, "Terminating").get("reason") == "InstanceDeletionInProgress"

        await self.eventually(path, in_progress)
        await self.eventually(self.widgets("free"), lambda answer: answer.code == 404)
        refused = await self.client.post(self.widgets(), self.widget("late"))
        text = "create not allowed while custom resource definition is terminating"
        self.assertRefused(refused, 405, "MethodNotAllowed", text)
        await self.client.merge(self.widgets("held"), {"metadata": {"finalizers": None}})
        await self.eventually(path, lambda answer: answer.code == 404)
        await self.eventually(self.widgets(), lambda answer: answer.code == 404)
        types = [event["type"] for event in await watch.rest()]
        self.assertEqual(types.count("DELETED"), 2, types)

    async def test_again(self) -> None:
        """A deleted definition can be created again, in another scope, without objects."""
        await self.define()
        await self.created(self.widgets(), self.widget())
        await self.client.delete(self.definition_path)
        await self.eventually(self.definition_path, lambda answer: answer.code == 404)
        await self.define(scope="Cluster")
        path = f"/apis/{self.api_group}/v1/widgets"
        self.assertEqual((await self.client.get(path)).json["items"], [])
        await self.created(path, self.widget())
