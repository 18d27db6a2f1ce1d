"""Attributes that a plugin sees, and effects of its changes (reference ADM-8)."""

from __future__ import annotations

from twisted.internet.defer import Deferred, fail, succeed
from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import BadRequest, Forbidden, InternalError, Timeout
from orchtw.rules.delete_options import DeleteOptions
from orchtw.rules.write_options import WriteOptions
from orchtw.schema.declarations import GroupVersionKind
from tests.admission.asked import attributes, canonical, request, resource

BUDGET = canonical(
    "policy/v1", "PodDisruptionBudget", {"metadata": {"name": "x", "labels": {"a": "b"}}, "spec": {"minAvailable": 1}}
)


class KindTests(SynchronousTestCase):
    def test_of_the_resource(self) -> None:
        """The object's kind is that of the resource, in the request's version."""
        found = attributes("CREATE", "poddisruptionbudgets", "policy/v1beta1").kind
        self.assertEqual(found, GroupVersionKind(group="policy", version="v1beta1", kind="PodDisruptionBudget"))

    def test_of_a_subresource(self) -> None:
        """A sub-resource may have a kind of its own."""
        for plural, group_version, subresource, expected in (
            ("pods", "v1", "eviction", ("policy", "v1", "Eviction")),
            ("pods", "v1", "binding", ("", "v1", "Binding")),
            ("pods", "v1", "exec", ("", "v1", "PodExecOptions")),
            ("pods", "v1", "status", ("", "v1", "Pod")),
            ("deployments", "apps/v1", "scale", ("autoscaling", "v1", "Scale")),
        ):
            kind = attributes("UPDATE", plural, group_version, subresource=subresource).kind
            self.assertEqual((kind.group, kind.version, kind.kind), expected)


class OptionsTests(SynchronousTestCase):
    def test_kinds(self) -> None:
        """A create has CreateOptions, any update UpdateOptions, a delete DeleteOptions, with what was set."""
        given = WriteOptions(dry_run=True, field_manager="me", field_validation="Strict")
        members = {"fieldManager": "me", "fieldValidation": "Strict", "dryRun": ["All"]}
        for operation, kind in (("CREATE", "CreateOptions"), ("UPDATE", "UpdateOptions")):
            asked = attributes(operation, "pods", given_options=given)  # type: ignore[arg-type]
            self.assertEqual(asked.options, {"kind": kind, "apiVersion": "meta.orch.io/v1", **members})
        plain = attributes("CREATE", "pods", given_options=WriteOptions()).options
        self.assertEqual(plain, {"kind": "CreateOptions", "apiVersion": "meta.orch.io/v1"})

    def test_delete(self) -> None:
        """Grace of zero and preconditions are shown, what was not said is not."""
        given = DeleteOptions(grace_period_s=0, precondition_uid="u", propagation="Orphan")
        shown = attributes("DELETE", "pods", given_options=given).options
        assert shown is not None
        self.assertEqual(
            {key: shown[key] for key in shown if key not in ("kind", "apiVersion")},
            {"gracePeriodSeconds": 0, "preconditions": {"uid": "u"}, "propagationPolicy": "Orphan"},
        )

    def test_connect(self) -> None:
        """A connection has none."""
        self.assertIsNone(attributes("CONNECT", "pods", subresource="exec").options)


class NoteTests(SynchronousTestCase):
    def test_warnings_and_annotations(self) -> None:
        """Both go to the request; the first value of an annotation stays (reference HOOK-25, ADM-8)."""
        sent = request()
        asked = attributes("CREATE", "pods", request=sent)
        asked.warn("old")
        asked.annotate("a.b/key", "one")
        asked.annotate("a.b/key", "two")
        asked.annotate("a.b/key", "three", detailed=True)
        self.assertEqual((sent.warnings, sent.annotations), (["old"], {"a.b/key": "one"}))
        self.assertEqual(sent.detailed_annotations, {"a.b/key": "three"})

    def test_keys(self) -> None:
        """Keys have a prefix and the form of label keys (reference ADM-19)."""
        sent = request()
        asked = attributes("CREATE", "pods", request=sent)
        for key in ("a.b/c", "a/B_c"):
            self.assertTrue(asked.annotate(key, ""))
        for key in ("", "a", "a/", "/a", "a/b/c", "a b/c", "A.b/c", f"a.b/{'c' * 64}"):
            self.assertFalse(asked.annotate(key, ""))
        self.assertEqual(set(sent.annotations), {"a.b/c", "a/B_c"})

    def test_not_ready(self) -> None:
        """A plugin without timely data refuses (reference ADM-7); other failures stay as they are."""
        asked = attributes("CREATE", "pods", name="x")
        late = fail(Timeout.future_version(5, 3))
        failure = self.failureResultOf(Deferred.fromCoroutine(asked.until_known(late)), Forbidden)
        self.assertEqual(failure.value.message, 'pods "x" is forbidden: not yet ready to handle request')
        broken = fail(InternalError("disk"))
        self.failureResultOf(Deferred.fromCoroutine(asked.until_known(broken)), InternalError)
        self.successResultOf(Deferred.fromCoroutine(asked.until_known(succeed(None))))

    def test_nobody_asked(self) -> None:
        """The server's own writes have nobody to tell."""
        asked = attributes("CREATE", "pods")
        asked.warn("old")
        self.assertTrue(asked.annotate("a.b/key", "one"))

    def test_refusal(self) -> None:
        """A refusal names an object without a name by the beginning of the one to come (reference ADM-9)."""
        for meta, name, shown in (
            ({"generateName": "web-"}, "", "web-"), ({}, "", "Unknown"), ({"name": "a"}, "", "a"), ({}, "x", "x"),
        ):
            error = attributes("CREATE", "pods", name=name, obj={"metadata": meta}).forbidden("because")
            self.assertEqual((error.code, error.message), (403, f'pods "{shown}" is forbidden: because'))


class ChangeTests(SynchronousTestCase):
    def test_edit(self) -> None:
        """The result of `edit` is the object from now on, and shares nothing with the body."""
        sent = {"metadata": {"name": "x", "labels": {"a": "b"}}}
        asked = attributes("CREATE", "configmaps", obj=sent)
        first = self.successResultOf(Deferred.fromCoroutine(asked.edit()))
        first["metadata"]["labels"]["a"] = "c"
        second = self.successResultOf(Deferred.fromCoroutine(asked.edit()))
        self.assertIs(first, second)
        self.assertIs(asked.obj, first)
        self.assertEqual(sent["metadata"]["labels"], {"a": "b"})
        self.assertEqual(asked.changes, 2)

    def test_edit_after_replacement(self) -> None:
        """Another plugin's replacement is what the next one edits."""
        asked = attributes("CREATE", "configmaps", obj={"metadata": {"name": "x"}})
        self.successResultOf(Deferred.fromCoroutine(asked.edit()))
        asked.obj = {"metadata": {"name": "y"}}
        edited = self.successResultOf(Deferred.fromCoroutine(asked.edit()))
        self.assertEqual(edited, {"metadata": {"name": "y"}})

    def test_filled(self) -> None:
        """Filling in counts as a change and keeps the object canonical; other changes do not."""
        asked = attributes("CREATE", "poddisruptionbudgets", "policy/v1", obj=BUDGET)
        asked.fill({**BUDGET, "spec": {}})
        self.assertEqual(((asked.obj or {})["spec"], asked.changes, asked.canonical), ({}, 1, True))
        asked.obj = BUDGET
        self.assertFalse(asked.canonical)
        asked.fill(BUDGET)
        self.assertFalse(asked.canonical)

    def test_finished(self) -> None:
        """Neither is possible in the validating pass, nor on a delete."""
        finished = attributes("CREATE", "configmaps", obj={"metadata": {}})
        finished.finish({"metadata": {"name": "x"}})
        for asked in (finished, attributes("DELETE", "configmaps", old={"metadata": {}})):
            with self.assertRaises(TypeError):
                asked.obj = {"metadata": {}}
            self.failureResultOf(Deferred.fromCoroutine(asked.edit()), TypeError)


class VersionTests(SynchronousTestCase):
    """For webhooks that match equivalent resources (reference HOOK-8)."""

    def test_equivalents(self) -> None:
        """Every served version and group behind which the same objects lie, the request's own among them."""
        found = attributes("CREATE", "events", "events.orch.io/v1").equivalents()
        self.assertEqual(set(found), {"v1", "events.orch.io/v1", "events.orch.io/v1beta1"})
        bindings = attributes("CREATE", "bindings").equivalents()
        self.assertEqual(list(bindings), ["v1"])

    def test_there_and_back(self) -> None:
        """Both objects are shown in the other version; changes there come back into the request's."""
        old = {**BUDGET, "metadata": {"name": "x", "creationTimestamp": None}}
        asked = attributes("UPDATE", "poddisruptionbudgets", "policy/v1", obj=BUDGET, old=old)
        wanted = resource("poddisruptionbudgets", "policy/v1beta1")
        other = self.successResultOf(Deferred.fromCoroutine(asked.converted(wanted)))
        assert other.obj is not None and other.old is not None
        self.assertEqual((other.obj["apiVersion"], other.old["apiVersion"]), ("policy/v1beta1",) * 2)
        self.assertEqual(other.kind.version, "v1beta1")
        edited = self.successResultOf(Deferred.fromCoroutine(other.edit()))
        edited["spec"]["minAvailable"] = 7
        self.assertEqual(BUDGET["spec"]["minAvailable"], 1)
        self.successResultOf(Deferred.fromCoroutine(asked.adopt(other)))
        assert asked.obj is not None
        self.assertEqual((asked.obj["apiVersion"], asked.obj["spec"]["minAvailable"]), ("policy/v1", 7))
        self.assertEqual(asked.changes, 1)

    def test_not_canonical(self) -> None:
        """An object that a plugin left without its defaults is not taken for canonical in another version."""
        asked = attributes("CREATE", "poddisruptionbudgets", "policy/v1", obj=BUDGET)
        asked.obj = {**BUDGET, "spec": {}}
        wanted = resource("poddisruptionbudgets", "policy/v1beta1")
        other = self.successResultOf(Deferred.fromCoroutine(asked.converted(wanted)))
        self.assertFalse(other.canonical)

    def test_looking_is_no_change(self) -> None:
        """Another version in which nothing was changed is not adopted."""
        asked = attributes("CREATE", "poddisruptionbudgets", "policy/v1", obj=BUDGET)
        wanted = resource("poddisruptionbudgets", "policy/v1beta1")
        other = self.successResultOf(Deferred.fromCoroutine(asked.converted(wanted)))
        self.successResultOf(Deferred.fromCoroutine(asked.adopt(other)))
        self.assertIs(asked.obj, BUDGET)
        self.assertEqual(asked.changes, 0)

    def test_rubbish(self) -> None:
        """A change that leaves no object of the kind is a 400."""
        asked = attributes("CREATE", "poddisruptionbudgets", "policy/v1", obj=BUDGET)
        wanted = resource("poddisruptionbudgets", "policy/v1beta1")
        other = self.successResultOf(Deferred.fromCoroutine(asked.converted(wanted)))
        other.obj = {**BUDGET, "apiVersion": "policy/v1beta1", "spec": "none"}
        self.failureResultOf(Deferred.fromCoroutine(asked.adopt(other)), BadRequest)

    def test_same_kind(self) -> None:
        """A sub-resource that has one kind in all versions is not converted."""
        scale = canonical("autoscaling/v1", "Scale", {"metadata": {"name": "x"}, "spec": {"replicas": 1}})
        asked = attributes("UPDATE", "deployments", "apps/v1", subresource="scale", obj=scale)
        other = self.successResultOf(Deferred.fromCoroutine(asked.converted(resource("statefulsets", "apps/v1"))))
        self.assertIs(other.obj, scale)
        other.obj = {**scale, "spec": {"replicas": 2}}
        self.successResultOf(Deferred.fromCoroutine(asked.adopt(other)))
        self.assertEqual((asked.obj or {})["spec"], {"replicas": 2})
