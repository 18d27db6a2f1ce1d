"""PodSecurity and the labels of namespaces, in a whole server (reference PLUG-37)."""
# covers: orchtw.admission.plugins.pod_security.existing

from __future__ import annotations

from typing import Any

from orchtw.admission.plugins.pod_security import existing
from orchtw.admission.plugins.pod_security.checks import violations
from orchtw.wire.objects import Object
from tests.admission.plugins.pod_security.pods import good_pod
from tests.admission.plugins.pod_security.served_case import NO_LEVEL, PREFIX, PodSecurityCase
from tests.verbs.served import MERGE


class NamespaceTests(PodSecurityCase):
    """Labels of namespaces, and the pods that are there."""

    def test_wrong_labels(self) -> None:
        """Wrong labels are refused, on create and when they are new."""
        bad = {"metadata": {"name": "n", "labels": self.labels({"enforce": "x", "warn_version": "1.2"})}}
        answer = self.send("POST", "/api/v1/namespaces", bad)
        level = f'metadata.labels[{PREFIX}enforce]: Invalid value: "x": {NO_LEVEL}'
        version = f'metadata.labels[{PREFIX}warn-version]: Invalid value: "1.2": must be "latest" or "v1.x"'
        expected = f'Namespace "n" is invalid: [{level}, {version}]'
        self.assertEqual((answer.code, answer.json["message"]), (422, expected))
        self.assertEqual(answer.json["details"]["causes"][0]["field"], f"metadata.labels[{PREFIX}enforce]")
        self.namespace("n", enforce="restricted")
        answer = self.label("n", enforce="x")
        self.assertEqual((answer.code, answer.json["message"]), (422, f'Namespace "n" is invalid: {level}'))
        self.assertEqual(self.label("n", enforce="x", **{"enforce_version": "v1"}).code, 422)

    def test_wrong_labels_that_were_there(self) -> None:
        """Wrong labels that nobody touches refuse no other change."""
        self.namespace("n")
        stored = self.server.instance.resources.targets.stored_target("", "v1", "namespaces").stored
        old = self.done("GET", "/api/v1/namespaces/n")
        labels = {**old["metadata"]["labels"], f"{PREFIX}enforce": "x"}
        self.patch(
            stored, "load", lambda entry, load=stored.load: self.relabelled(load(entry), labels)
        )
        answer = self.send("PATCH", "/api/v1/namespaces/n", {"metadata": {"annotations": {"a": "b"}}}, MERGE)
        self.assertEqual(answer.code, 200, answer.body)

    def relabelled(self, obj: Object, labels: Object) -> Object:
        obj["metadata"]["labels"] = labels
        return obj

    def test_existing_pods(self) -> None:
        """A stricter level tells which pods would not come in again, grouped by reasons, in a dry run too."""
        self.namespace("n")
        self.namespace("other")
        for name in ("d", "c", "b"):
            self.done("POST", self.pods("n"), self.bad_pod(name))
        self.done("POST", self.pods("n"), self.bad_pod("a", hostPID=True))
        for name in ("f", "e"):
            pod = good_pod(hostNetwork=True)
            pod["metadata"] = {"name": name}
            self.done("POST", self.pods("n"), pod)
        self.done("POST", self.pods("n"), good_pod())
        self.done("POST", self.pods("other"), self.bad_pod("x"))
        head = 'existing pods in namespace "n" violate the new PodSecurity enforce level "baseline:latest"'
        expected = [
            head,
            "a: host namespaces, privileged",
            "b (and 2 other pods): privileged",
            "e (and 1 other pod): host namespaces",
        ]
        answer = self.label("n", "?dryRun=All", enforce="baseline")
        self.assertEqual((answer.code, self.warnings(answer)), (200, expected))
        self.assertNotIn(f"{PREFIX}enforce", self.done("GET", "/api/v1/namespaces/n")["metadata"]["labels"])
        answer = self.label("n", enforce="baseline")
        self.assertEqual((answer.code, self.warnings(answer)), (200, expected))
        for labels in ({"enforce": "baseline", "warn": "restricted"}, {"enforce": "privileged"}):
            self.assertEqual(self.warnings(self.label("n", **labels)), [])

    def test_nothing_found(self) -> None:
        """Where all pods keep to the new level nothing is told."""
        self.namespace("n")
        self.done("POST", self.pods("n"), good_pod())
        answer = self.label("n", enforce="restricted", enforce_version="v1.22")
        self.assertEqual((answer.code, self.warnings(answer)), (200, []))

    def test_many_pods(self) -> None:
        """Only so many are looked at, first one of each set of labels."""
        self.patch(existing, "MOST_PODS", 3)
        self.namespace("n")
        for name in ("a", "b", "c"):
            pod = good_pod()
            pod["metadata"] = {"name": name, "labels": {"app": "web"}}
            self.done("POST", self.pods("n"), pod)
        self.done("POST", self.pods("n"), self.bad_pod("z"))
        answer = self.label("n", enforce="baseline")
        expected = [
            "new PodSecurity enforce level only checked against the first 3 of 4 existing pods",
            'existing pods in namespace "n" violate the new PodSecurity enforce level "baseline:latest"',
            "z: privileged",
        ]
        self.assertEqual(self.warnings(answer), expected)

    def test_time(self) -> None:
        """After a second the rest is left."""
        self.namespace("n")
        for name in ("a", "b", "c"):
            self.done("POST", self.pods("n"), self.bad_pod(name))
        looked = violations

        def slowly(*arguments: Any) -> Any:
            self.clock.advance(0.6)
            return looked(*arguments)

        self.patch(existing, "violations", slowly)
        answer = self.label("n", enforce="baseline")
        expected = [
            "new PodSecurity enforce level only checked against the first 2 of 3 existing pods",
            'existing pods in namespace "n" violate the new PodSecurity enforce level "baseline:latest"',
            "a (and 1 other pod): privileged",
        ]
        self.assertEqual(self.warnings(answer), expected)
