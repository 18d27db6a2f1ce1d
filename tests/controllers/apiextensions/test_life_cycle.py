"""Definitions on a running server: conditions, names, what is served, and the end."""
# covers: orchtw.controllers.apiextensions.controller
# covers: orchtw.controllers.apiextensions.observer, orchtw.controllers.apiextensions.serving

from __future__ import annotations

from typing import Any

import orjson
from twisted.internet.defer import Deferred

from orchtw.controllers.apiextensions.acknowledging import LIMIT_S
from orchtw.controllers.apiextensions.controller import DefinitionController
from orchtw.controllers.apiextensions.observer import ESTABLISHING_DELAY_S
from orchtw.errors import Forbidden
from orchtw.testing.in_process import InProcessServer
from orchtw.testing.in_process_watch import WatchEnded
from orchtw.wire.objects import Object
from tests.controllers.apiextensions.made import (
    DEFINITIONS,
    FOOS,
    GROUP,
    LookedAfterCase,
    definition,
    foo,
    version,
)
from tests.verbs.served import APPLY

ACCEPTED = ("True", "NoConflicts", "no conflicts found")
ESTABLISHED = ("True", "InitialNamesAccepted", "the initial names have been accepted")
FINALIZER = "customresourcecleanup.apiextensions.orch.io"
TERMINATING = "create not allowed while custom resource definition is terminating"


class ConditionTests(LookedAfterCase):
    def test_established(self) -> None:
        """A definition without conflicts has its names and is established, in this order (reference CRD-7)."""
        self.install(definition(shortNames=["fo"], categories=["all"]))
        status = self.read()["status"]
        self.assertEqual([each["type"] for each in status["conditions"]], ["NamesAccepted", "Established"])
        self.assertEqual(self.condition("NamesAccepted"), ACCEPTED)
        self.assertEqual(self.condition("Established"), ESTABLISHED)
        names = {"plural": "foos", "singular": "foo", "shortNames": ["fo"], "kind": "Foo", "listKind": "FooList"}
        self.assertEqual(status["acceptedNames"], {**names, "categories": ["all"]})
        self.assertNotIn("finalizers", self.read()["metadata"])

    def test_conflicts(self) -> None:
        """A name that another definition of the group has is not given; all others are (reference CRD-7)."""
        self.install(definition(shortNames=["fo"]))
        cases: list[tuple[dict[str, Any], str, str]] = [
            ({"singular": "foo"}, "SingularConflict", "foo"),
            ({"shortNames": ["b", "fo"]}, "ShortNamesConflict", "fo"),
            ({"kind": "Foo", "listKind": "Bars"}, "KindConflict", "Foo"),
            ({"listKind": "FooList"}, "ListKindConflict", "FooList"),
            ({"kind": "FooList", "listKind": "Cars"}, "KindConflict", "FooList"),
        ]
        for number, (names, reason, taken) in enumerate(cases):
            plural = f"bars{number}"
            with self.subTest(reason=reason):
                self.install(definition(plural, **{"kind": f"Bar{number}", **names}))
                self.assertEqual(
                    self.condition("NamesAccepted", plural), ("False", reason, f'"{taken}" is already in use')
                )
                self.assertEqual(
                    self.condition("Established", plural), ("False", "NotAccepted", "not all names are accepted")
                )
                accepted = self.read(plural)["status"]["acceptedNames"]
                kind = "" if reason == "KindConflict" else names.get("kind", f"Bar{number}")
                self.assertEqual((accepted["plural"], accepted["kind"]), (plural, kind))
                self.assertEqual(self.code("GET", f"/apis/{GROUP}/v1/{plural}"), 404)

    def test_plural_conflict(self) -> None:
        """A plural may be another's short name."""
        self.install(definition(shortNames=["bars"]), definition("bars", "Bar"))
        self.assertEqual(
            self.condition("NamesAccepted", "bars"), ("False", "PluralConflict", '"bars" is already in use')
        )

    def test_losers_are_looked_at_again(self) -> None:
        """Names freed by a deleted or changed definition pass to the definitions that wait for them."""
        self.install(definition(shortNames=["fo"]))
        self.install(definition("bars", "Foo"), definition("cars", "Car", shortNames=["fo"]))
        clash = "False", "ListKindConflict", '"FooList" is already in use'
        self.assertEqual(self.condition("NamesAccepted", "bars"), clash)
        self.put({"spec": {"names": {"shortNames": None}}})
        self.assertEqual(self.condition("Established", "cars"), ESTABLISHED)
        self.delete()
        self.wait()
        self.assertEqual(self.condition("NamesAccepted", "bars"), ACCEPTED)
        self.assertEqual(self.code("GET", f"/apis/{GROUP}/v1/bars"), 200)

    def test_established_stays(self) -> None:
        """An established definition stays served under its accepted names, even if it asks for others."""
        self.install(definition(shortNames=["fo"]), definition("bars", "Bar"))
        self.put({"spec": {"names": {"shortNames": ["fo"], "categories": ["all"]}}}, "bars")
        self.assertEqual(
            self.condition("NamesAccepted", "bars"), ("False", "ShortNamesConflict", '"fo" is already in use')
        )
        self.assertEqual(self.condition("Established", "bars"), ESTABLISHED)
        entry = next(each for each in self.done("GET", f"/apis/{GROUP}/v1")["resources"] if each["name"] == "bars")
        self.assertEqual((entry.get("shortNames"), entry["categories"]), (None, ["all"]))

    def test_approval(self) -> None:
        """A definition in a protected group says whether that is approved (reference CRD-7)."""
        key = "api-approved.orch.io"
        for plural, approval, expected in (
            ("a", "unapproved, a test", ("False", "UnapprovedAnnotation", 'not approved: "unapproved, a test"')),
            ("b", "https://example.com/1", ("True", "ApprovedAnnotation", "approved in https://example.com/1")),
        ):
            made = definition(plural, plural.upper())
            made["spec"]["group"] = "x.orch.io"
            made["metadata"] = {"name": f"{plural}.x.orch.io", "annotations": {key: approval}}
            self.install(made)
            found = self.done("GET", f"{DEFINITIONS}/{plural}.x.orch.io")["status"]["conditions"]
            told = next(each for each in found if each["type"] == "OrchAPIApprovalPolicyConformant")
            self.assertEqual((told["status"], told["reason"], told["message"]), expected)

    def test_others_cannot_unsay(self) -> None:
        """Conditions that another client writes are corrected, and then left alone."""
        self.install()
        wrong = {"conditions": None, "acceptedNames": {"plural": "x", "kind": "X"}}
        self.put({"status": wrong}, subresource="/status")
        self.assertEqual(self.condition("Established"), ESTABLISHED)
        version_then = self.read()["metadata"]["resourceVersion"]
        self.wait(10)
        self.assertEqual(self.read()["metadata"]["resourceVersion"], version_then)


class ServingTests(LookedAfterCase):
    def test_discovery(self) -> None:
        """Groups, versions by maturity, and resources are shown as long as they are served (reference CRD-8)."""
        versions = [version("v1beta1", storage=False), version("v2alpha1", storage=False), version("v1")]
        versions[2]["subresources"] = {"status": {}}
        self.install(definition("foos", "Foo", *versions, shortNames=["fo"], categories=["all"]))
        group = self.done("GET", f"/apis/{GROUP}")
        self.assertEqual([each["version"] for each in group["versions"]], ["v1", "v1beta1", "v2alpha1"])
        self.assertEqual(group["preferredVersion"]["version"], "v1")
        foos, status = self.done("GET", f"/apis/{GROUP}/v1")["resources"]
        self.assertEqual((foos["singularName"], foos["shortNames"], foos["categories"]), ("foo", ["fo"], ["all"]))
        verbs = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]
        self.assertEqual((foos["verbs"], status["verbs"]), (verbs, ["get", "patch", "update"]))
        self.put({"spec": {"versions": [{**each, "served": each["name"] != "v1beta1"} for each in versions]}})
        self.assertEqual(self.code("GET", f"/apis/{GROUP}/v1beta1"), 404)
        self.assertEqual(self.code("GET", f"/apis/{GROUP}/v1beta1/foos"), 404)

    def test_change_of_schema(self) -> None:
        """Another schema takes the place of the old one without a gap; watches end and start again."""
        self.install()
        self.done("POST", FOOS, foo("a"))
        watch = self.run_async(self.server.watch(f"{FOOS}?watch=1"))
        self.put({"spec": {"versions": [version(colour={"type": "string", "default": "red"})]}})
        self.assertEqual(self.done("POST", FOOS, foo("b"))["spec"], {"colour": "red", "size": 3})
        self.run_async(watch.next())
        self.assertRaises(WatchEnded, self.run_async, watch.next())

    def test_in_force_when_answered(self) -> None:
        """A change to a definition applies to the next request, however it was made (reference CRD-65)."""
        self.install()
        path, headers = f"{DEFINITIONS}/foos.{GROUP}", {"content-type": "application/merge-patch+json"}
        text: Any = {"type": "string"}

        def put(changed: Object) -> None:
            self.done("PUT", path, {**self.read(), "spec": {**self.read()["spec"], **changed}})

        def patch(changed: Object) -> None:
            self.done("PATCH", path, orjson.dumps({"spec": changed}), headers)

        def apply(changed: Object) -> None:
            applied = definition()
            body = orjson.dumps({**applied, "spec": {**applied["spec"], **changed}})
            self.done("PATCH", f"{path}?fieldManager=a&force=true", body, APPLY)

        for number, write in enumerate((put, patch, apply) * 2):
            write({"versions": [version(**{f"f{number}": text})]})
            sent = {**foo(f"o{number}"), "spec": {f"f{number}": "kept"}}
            self.assertEqual(self.done("POST", FOOS, sent)["spec"], {f"f{number}": "kept", "size": 3})

    def test_no_wait_for_nothing(self) -> None:
        """A change that is not to be served, and a dry run, are answered at once."""
        self.install()
        definitions = self.server.instance.definitions
        assert definitions is not None
        self.run_async(definitions.queue.stop())
        path, headers = f"{DEFINITIONS}/foos.{GROUP}", {"content-type": "application/merge-patch+json"}
        changed = orjson.dumps({"spec": {"versions": [version(colour={"type": "string"})]}})
        self.done("PATCH", f"{path}?dryRun=All", changed, headers)
        self.done("PATCH", path, b'{"metadata":{"labels":{"a":"b"}}}', headers)
        waiting = Deferred.fromCoroutine(self.server.request("PATCH", path, changed, headers))
        self.wait(LIMIT_S - 1)
        self.assertNoResult(waiting)
        self.wait(2)
        self.assertEqual(self.successResultOf(waiting).code, 200)

    def test_served_when_established(self) -> None:
        """When a definition says that it is established, its objects can be created (reference CRD-65)."""
        watch = self.run_async(self.server.watch(f"{DEFINITIONS}?watch=1"))
        self.done("POST", DEFINITIONS, definition())
        while True:
            seen = self.run_async(watch.next())["object"]
            if any(each["type"] == "Established" for each in seen.get("status", {}).get("conditions") or ()):
                break
        watch.close()
        self.assertEqual(self.done("POST", FOOS, foo("a"))["spec"], {"size": 3})

    def test_nothing_new(self) -> None:
        """Labels and status of a definition do not affect its watches."""
        self.install()
        watch = self.run_async(self.server.watch(f"{FOOS}?watch=1"))
        self.put({"metadata": {"labels": {"a": "b"}}})
        self.put({"status": {"conditions": []}}, subresource="/status")
        self.done("POST", FOOS, foo("a"))
        self.assertEqual(self.run_async(watch.next())["type"], "ADDED")
        watch.close()

    def test_writes_go_on(self) -> None:
        """A write that a change of the definition overtakes meets the newer object, and loses nothing."""
        self.install()
        self.done("POST", FOOS, foo("a"))
        gate: Deferred[None] = Deferred()

        async def wait(attributes: Any) -> None:
            if attributes.resource.kind == "Foo" and not gate.called:
                await gate

        self.plugin.mutate = wait
        headers = {"content-type": "application/merge-patch+json"}
        slow = Deferred.fromCoroutine(
            self.server.request("PATCH", f"{FOOS}/a", b'{"metadata":{"labels":{"slow":"yes"}}}', headers)
        )
        self.put({"spec": {"versions": [version(colour={"type": "string"})]}})
        self.plugin.mutate = lambda attributes: None
        self.done("PATCH", f"{FOOS}/a", b'{"metadata":{"labels":{"fast":"yes"}}}', headers)
        gate.callback(None)
        self.wait()
        self.assertEqual(self.successResultOf(slow).code, 200)
        self.assertEqual(self.done("GET", f"{FOOS}/a")["metadata"]["labels"], {"fast": "yes", "slow": "yes"})


class EndTests(LookedAfterCase):
    def test_end(self) -> None:
        """All objects go, then the definition, and then its paths (reference CRD-25)."""
        self.install()
        self.done("POST", FOOS, foo("a"))
        self.delete()
        self.wait()
        self.assertEqual(self.code("GET", f"{DEFINITIONS}/foos.{GROUP}"), 404)
        self.assertEqual((self.code("GET", FOOS), self.code("GET", f"/apis/{GROUP}")), (404, 404))
        self.install()
        self.assertEqual(self.done("GET", FOOS)["items"], [])

    def test_closed(self) -> None:
        """From the deletion on nothing new comes in, while objects that others hold can be changed and go."""
        self.install()
        self.done("POST", FOOS, foo("a", finalizers=["ex.io/held"]))
        self.delete()
        answer = self.send("POST", FOOS, foo("b"))
        self.assertEqual((answer.code, answer.json["message"]), (405, TERMINATING))
        self.wait(2)
        self.assertEqual(self.read()["metadata"]["finalizers"], [FINALIZER])
        self.assertEqual(
            self.condition("Terminating"),
            ("True", "InstanceDeletionInProgress", "CustomResource deletion is in progress"),
        )
        self.assertEqual(self.send("POST", FOOS, foo("b")).code, 405)
        verbs = self.done("GET", f"/apis/{GROUP}/v1")["resources"][0]["verbs"]
        self.assertEqual(verbs, ["delete", "deletecollection", "get", "list", "watch"])
        patch = {"content-type": "application/merge-patch+json"}
        self.done("PATCH", f"{FOOS}/a", b'{"metadata":{"finalizers":null}}', patch)
        self.wait(6)
        self.assertEqual(self.code("GET", f"{DEFINITIONS}/foos.{GROUP}"), 404)

    def test_pending(self) -> None:
        """The deletion's own answer says that objects will be deleted soon."""
        self.install()
        answer = self.done("DELETE", f"{DEFINITIONS}/foos.{GROUP}")
        told = answer["status"]["conditions"][-1]
        self.assertEqual((told["type"], told["reason"]), ("Terminating", "InstanceDeletionPending"))
        self.assertEqual(answer["metadata"]["finalizers"], [FINALIZER])

    def test_unconfirmed(self) -> None:
        """Objects that do not end within a minute are reported once."""
        self.install()
        self.done("POST", FOOS, foo("a", finalizers=["ex.io/held"]))
        self.delete()
        self.wait(70)
        condition = self.condition("Terminating")
        assert condition is not None
        self.assertEqual(condition[1], "InstanceDeletionCheck")
        version_then = self.read()["metadata"]["resourceVersion"]
        self.wait(130)
        self.assertEqual(self.read()["metadata"]["resourceVersion"], version_then)

    def test_failed(self) -> None:
        """Objects that cannot be deleted are reported and retried."""
        self.install()
        self.done("POST", FOOS, foo("a"))
        deletion, refusing = self.server.instance.deletion, True
        delete = deletion.delete

        async def refuse(write: Any, options: Any) -> Any:
            if refusing and write.target.resource.kind == "Foo":
                raise Forbidden.of("foos", GROUP, "a", "not now")
            return await delete(write, options)

        self.patch(deletion, "delete", refuse)
        self.delete()
        self.wait(1)
        condition = self.condition("Terminating")
        assert condition is not None
        self.assertEqual(condition[:2], ("True", "InstanceDeletionFailed"))
        self.assertTrue(condition[2].startswith("could not issue all deletes: "), condition)
        refusing = False
        self.wait(6)
        self.assertEqual(self.code("GET", f"{DEFINITIONS}/foos.{GROUP}"), 404)

    def test_never_established(self) -> None:
        """A definition that never got its names is deleted at once."""
        self.install(definition(), definition("bars", "Foo"))
        self.delete("bars")
        self.wait()
        self.assertEqual(self.code("GET", f"{DEFINITIONS}/bars.{GROUP}"), 404)

    def test_again_at_once(self) -> None:
        """A definition that comes back at once, of another kind and scope, is served as what it is now."""
        self.install()
        self.done("POST", FOOS, foo("a"))
        path = f"{DEFINITIONS}/foos.{GROUP}"
        self.delete()
        again = definition("foos", "Food")
        again["spec"]["scope"] = "Cluster"
        while self.code("POST", DEFINITIONS, again) != 201:
            self.clock.advance(0.01)
        self.wait()
        self.assertEqual(self.done("GET", path)["status"]["acceptedNames"]["kind"], "Food")
        self.assertEqual((self.code("GET", FOOS), self.code("GET", f"/apis/{GROUP}/v1/foos")), (404, 200))

    def test_forced(self) -> None:
        """Without its finalizer a definition is deleted at once and no longer served."""
        self.install()
        self.done("POST", FOOS, foo("a", finalizers=["ex.io/held"]))
        self.delete()
        self.wait(1)
        self.put({"metadata": {"finalizers": None}})
        self.assertEqual((self.code("GET", f"{DEFINITIONS}/foos.{GROUP}"), self.code("GET", FOOS)), (404, 404))


    def test_left_behind(self) -> None:
        """Objects of a former definition of another kind or scope are set aside, and go with the new definition."""
        for kind, scope in (("Food", "Namespaced"), ("Foo", "Cluster")):
            self.install()
            self.done("POST", FOOS, foo("a", finalizers=["ex.io/held"]))
            self.delete()
            self.wait(1)
            self.put({"metadata": {"finalizers": None}})
            again = definition("foos", kind)
            again["spec"]["scope"] = scope
            self.install(again)
            self.assertEqual(self.done("GET", f"/apis/{GROUP}/v1/foos")["items"], [])
            self.delete()
            self.wait(1)
            self.assertEqual(self.code("GET", f"{DEFINITIONS}/foos.{GROUP}"), 404)
            self.assertEqual([key for key in self.store.items if key.startswith(f"/registry/{GROUP}/")], [])


class RestartTests(LookedAfterCase):
    def restart(self) -> None:
        """Another process on the same store."""
        self.run_async(self.server.instance.lifecycle.stop())
        self.server = InProcessServer(self.clock, self.mktemp(), controllers=())
        self.run_async(self.server.start())

    def test_served_from_the_start(self) -> None:
        """A server that has started serves every definition that is established."""
        self.install(definition(), definition("bars", "Bar"), definition("cars", "Bar"))
        self.done("POST", FOOS, foo("a"))
        self.restart()
        self.assertEqual([each["metadata"]["name"] for each in self.done("GET", FOOS)["items"]], ["a"])
        self.assertEqual(self.code("GET", f"/apis/{GROUP}/v1/bars"), 200)
        self.assertEqual(self.code("GET", f"/apis/{GROUP}/v1/cars"), 404)
        self.delete("bars")
        self.wait()
        self.assertEqual(self.condition("Established", "cars"), ESTABLISHED)

    def test_end_goes_on(self) -> None:
        """A terminating definition stays closed, and its deletion ends after a restart."""
        self.install()
        self.done("POST", FOOS, foo("a", finalizers=["ex.io/held"]))
        self.delete()
        self.wait(1)
        self.restart()
        self.assertEqual(self.send("POST", FOOS, foo("b")).json["message"], TERMINATING)
        patch = {"content-type": "application/merge-patch+json"}
        self.done("PATCH", f"{FOOS}/a", b'{"metadata":{"finalizers":null}}', patch)
        self.wait(6)
        self.assertEqual(self.code("GET", f"{DEFINITIONS}/foos.{GROUP}"), 404)

    def test_names_from_before(self) -> None:
        """A definition that was stored but not looked at gets no name of those that were, whatever their order."""
        self.install(definition("zoos", "Foo"))
        controller = self.server.instance.definitions
        assert isinstance(controller, DefinitionController)
        controller.stopService()
        self.done("POST", DEFINITIONS, definition())
        self.restart()
        self.wait()
        self.assertEqual(self.condition("Established", "zoos"), ESTABLISHED)
        self.assertEqual(
            self.condition("NamesAccepted"), ("False", "ListKindConflict", '"FooList" is already in use')
        )


class ManyServersTests(LookedAfterCase):
    def setUp(self) -> None:
        super().setUp()

        async def delay_s() -> float:
            return ESTABLISHING_DELAY_S

        definitions = self.server.instance.definitions
        assert definitions is not None
        self.patch(definitions._parts.observer, "_delay_s", delay_s)

    def test_delay(self) -> None:
        """Where there are other servers, all of them serve for five seconds before it is established (CRD-8)."""
        self.install()
        self.assertEqual(self.condition("NamesAccepted"), ACCEPTED)
        self.assertEqual(
            self.condition("Established"), ("False", "Installing", "the initial names have been accepted")
        )
        self.assertEqual(self.code("GET", FOOS), 200)
        self.wait(4)
        established = self.condition("Established")
        assert established is not None
        self.assertEqual(established[0], "False")
        self.wait(1)
        self.assertEqual(self.condition("Established"), ESTABLISHED)
        self.assertEqual(self.code("GET", FOOS), 200)

    def test_names_lost(self) -> None:
        """A definition that loses its names before it is established is not served (reference CRD-8)."""
        self.install(definition(), definition("bars", "Bar"))
        self.assertEqual(self.code("GET", f"/apis/{GROUP}/v1/bars"), 200)
        self.put({"spec": {"names": {"kind": "Foo", "listKind": "Bars"}}}, "bars")
        accepted = self.condition("NamesAccepted", "bars")
        assert accepted is not None
        self.assertEqual(accepted[1], "KindConflict")
        self.assertEqual(self.code("GET", f"/apis/{GROUP}/v1/bars"), 404)

    def test_deleted_early(self) -> None:
        """Objects go with a definition that was not established yet (reference CRD-25)."""
        self.install()
        self.done("POST", FOOS, foo("a"))
        self.delete()
        self.wait()
        self.assertEqual(self.code("GET", f"{DEFINITIONS}/foos.{GROUP}"), 404)
        self.install()
        self.assertEqual(self.done("GET", FOOS)["items"], [])
