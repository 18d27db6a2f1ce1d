"""Tests of SecurityContextDeny (reference PLUG-7)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from orchtw.wire.objects import Object
from tests.verbs.served import MERGE, PLUGIN, ServedCase


class SecurityContextDenyTests(ServedCase):
    """The plugin in a whole server."""

    more: ClassVar[Mapping[str, Any]] = {"enable_admission_plugins": (PLUGIN, "SecurityContextDeny")}

    def pod(self, security: Object, **containers: Object) -> Object:
        """A pod with a security context; `containers` are those of its containers, by the list they are in."""
        lists = {key: [{"name": "x", "image": "i", "securityContext": each}] for key, each in containers.items()}
        first = [{"name": "c", "image": "i"}]
        spec = {"securityContext": security, **lists, "containers": lists.get("containers", first)}
        return {"metadata": {"name": "p"}, "spec": spec}

    def check(self, pod: Object, expected: str) -> None:
        answer = self.send("POST", "pods", pod)
        message = answer.json.get("message", "")
        self.assertEqual(message, f'pods "p" is forbidden: {expected} is forbidden' if expected else "")
        self.assertEqual(answer.code, 403 if expected else 201)

    def test_pod(self) -> None:
        """Fields of the pod."""
        for field, value, name in (
            ("supplementalGroups", [1], "SupplementalGroups"),
            ("seLinuxOptions", {"level": "s0"}, "SELinuxOptions"),
            ("runAsUser", 0, "RunAsUser"),
            ("fsGroup", 0, "FSGroup"),
        ):
            self.check(self.pod({field: value}), f"pod.Spec.SecurityContext.{name}")

    def test_containers(self) -> None:
        """Fields of containers, of those that come first too."""
        for key in ("containers", "initContainers"):
            for field, value, name in (
                ("seLinuxOptions", {"level": "s0"}, "SELinuxOptions"),
                ("runAsUser", 0, "RunAsUser"),
            ):
                self.check(self.pod({}, **{key: {field: value}}), f"SecurityContext.{name}")

    def test_first(self) -> None:
        """The first field of the list is told of."""
        everything = {"fsGroup": 1, "runAsUser": 1, "supplementalGroups": [1]}
        self.check(self.pod(everything, containers={"runAsUser": 1}), "pod.Spec.SecurityContext.SupplementalGroups")

    def test_others(self) -> None:
        """Other fields may be set, and updates are looked at alike."""
        self.check(self.pod({"runAsNonRoot": True, "runAsGroup": 1}, containers={"runAsNonRoot": True}), "")
        self.done("PATCH", "pods/p", {"metadata": {"labels": {"a": "b"}}}, MERGE)
        self.done("PATCH", "pods/p/status", {"status": {"phase": "Running"}}, MERGE)
