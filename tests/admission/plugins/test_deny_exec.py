"""DenyEscalatingExec and DenyExecOnPrivileged (reference PLUG-9)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from orchtw.wire.objects import Object
from tests.verbs.served import PLUGIN, ServedCase

NO_NODE = "pod p does not have a host assigned"
"""What a connection that admission lets pass ends with."""


class DenyExecCase(ServedCase):
    """Connections with pods of several kinds."""

    more: ClassVar[Mapping[str, Any]] = {
        "enable_admission_plugins": (PLUGIN, "DenyEscalatingExec"),
        "allow_privileged": True,
    }

    def check(self, expected: str, spec: Object | None = None, **containers: Object) -> None:
        """Exec and attach of a pod are refused with these words, or, without any, come to where it has no node."""
        first: Object = {"name": "c", "image": "i"}
        lists = {key: [{**first, "securityContext": each, "name": key.lower()}] for key, each in containers.items()}
        both = {**lists, "containers": [first, *lists.get("containers", [])], **(spec or {})}
        self.done("POST", "pods", {"metadata": {"name": "p"}, "spec": both})
        refusal = f'pods "p" is forbidden: cannot exec into or attach to a {expected}'
        for subresource in ("exec", "attach"):
            answer = self.send("GET", f"pods/p/{subresource}?stdout=true&command=ls&container=c")
            found = (answer.code, answer.json["message"])
            self.assertEqual(found, (403, refusal) if expected else (400, NO_NODE))
        self.assertEqual(self.send("GET", "pods/p/portforward?ports=1").json["message"], NO_NODE)
        self.done("DELETE", "pods/p?gracePeriodSeconds=0")


class EscalatingTests(DenyExecCase):
    """Tests of plugin DenyEscalatingExec."""

    def test_usual(self) -> None:
        """A pod that may no more than others may be entered."""
        self.check("")
        self.check("", {"hostNetwork": False, "hostPID": False}, containers={"privileged": False})

    def test_shared(self) -> None:
        """One that shares something with its node may not."""
        self.check("container using host network", {"hostNetwork": True, "hostPID": True})
        self.check("container using host pid", {"hostPID": True, "hostIPC": True})
        self.check("container using host ipc", {"hostIPC": True}, containers={"privileged": True})

    def test_privileged(self) -> None:
        """One with a privileged container may not, whichever is meant."""
        for key in ("containers", "initContainers"):
            self.check("privileged container", **{key: {"privileged": True}})

    def test_missing(self) -> None:
        """Where there is no pod the refusal says so."""
        answer = self.send("GET", "pods/nope/exec?command=ls")
        expected = 'pods "nope" is forbidden: pods "nope" not found'
        self.assertEqual((answer.code, answer.json["message"]), (403, expected))


class PrivilegedTests(DenyExecCase):
    """Tests of plugin DenyExecOnPrivileged."""

    more: ClassVar[Mapping[str, Any]] = {
        **DenyExecCase.more,
        "enable_admission_plugins": (PLUGIN, "DenyExecOnPrivileged"),
    }

    def test_privileged(self) -> None:
        """Only a privileged container keeps people out."""
        self.check("", {"hostNetwork": True, "hostPID": True, "hostIPC": True})
        self.check("privileged container", containers={"privileged": True})
