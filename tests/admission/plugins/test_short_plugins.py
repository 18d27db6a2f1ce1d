"""Plugins of few rules (reference PLUG-1, PLUG-5, PLUG-16)."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.admission.chain import Chain, ChainPlugin
from orchtw.admission.plugins.always import AlwaysAdmit, AlwaysDeny
from orchtw.admission.plugins.deny_service_external_ips import DenyServiceExternalIPs
from orchtw.admission.plugins.taint_nodes_by_condition import TaintNodesByCondition
from orchtw.errors import Forbidden
from orchtw.request import UserInfo
from orchtw.wire.objects import Object
from tests.admission.asked import attributes, canonical, pass_chain, request

NOT_READY = "node.orch.io/not-ready"


class AlwaysTests(SynchronousTestCase):
    """AlwaysAdmit and AlwaysDeny (reference PLUG-1)."""

    def test_admit(self) -> None:
        """AlwaysAdmit is not even asked."""
        asked = attributes("CREATE", "pods", obj={"metadata": {}})
        self.assertTrue(Chain([AlwaysAdmit()]).plan("CREATE", asked.resource).empty)

    def test_deny(self) -> None:
        """AlwaysDeny refuses writes of all kinds, with what they are of."""
        for operation, obj, name in (
            ("CREATE", {"metadata": {"generateName": "g-"}}, "g-"),
            ("UPDATE", {"metadata": {"name": "x"}}, "x"),
            ("DELETE", None, "x"),
            ("CONNECT", {}, "x"),
        ):
            given: Any = {"name": "" if operation == "CREATE" else "x", "obj": obj}
            asked = attributes(operation, "pods", **given)  # type: ignore[arg-type]
            refused = self.failureResultOf(pass_chain(Chain([AlwaysDeny("apiserver")]), asked), Forbidden)
            text = f'pods "{name}" is forbidden: admission control is denying all modifications'
            self.assertEqual(refused.value.message, text)

    def test_own_writes(self) -> None:
        """The server's own writes pass; a request of its user does not."""
        own = UserInfo(name="apiserver")
        chain = Chain([AlwaysDeny("apiserver")])
        asked = attributes("CREATE", "pods", obj={"metadata": {"name": "x"}}, user=own, request=None)
        self.successResultOf(pass_chain(chain, asked))
        asked = attributes("CREATE", "pods", obj={"metadata": {"name": "x"}}, user=own, request=request())
        self.failureResultOf(pass_chain(chain, asked), Forbidden)


class ExternalIPsTests(SynchronousTestCase):
    """Tests of DenyServiceExternalIPs (reference PLUG-5)."""

    def service(self, *addresses: str) -> Object:
        return {"metadata": {"name": "x"}, "spec": {"externalIPs": [*addresses]}}

    def pass_by(self, plugin: ChainPlugin, new: Object, old: Object | None) -> Any:
        asked = attributes("CREATE" if old is None else "UPDATE", "services", obj=new, old=old)
        return pass_chain(Chain([plugin]), asked)

    def test_table(self) -> None:
        """New external IPs are refused; old ones may stay or go."""
        plugin, one, two = DenyServiceExternalIPs(), "192.0.2.1", "192.0.2.2"
        for new, old, passes in (
            (self.service(), None, True),
            (self.service(one), None, False),
            (self.service(one), self.service(one), True),
            (self.service(two, one), self.service(one, two), True),
            (self.service(one), self.service(one, two), True),
            (self.service(one, two), self.service(one), False),
            (self.service(two), self.service(one), False),
            (self.service(), self.service(one), True),
        ):
            done = self.pass_by(plugin, new, old)
            if passes:
                self.successResultOf(done)
            else:
                refused = self.failureResultOf(done, Forbidden).value.message
                text = 'services "x" is forbidden: Use of external IPs is denied by admission control.'
                self.assertEqual(refused, text)


class TaintTests(SynchronousTestCase):
    """Tests of TaintNodesByCondition (reference PLUG-16)."""

    def taints(self, *given: Object) -> Any:
        spec = {"taints": [*given], "unschedulable": True}
        node = canonical("v1", "Node", {"metadata": {"name": "x"}, "spec": spec})
        asked = attributes("CREATE", "nodes", obj=node)
        self.successResultOf(pass_chain(Chain([TaintNodesByCondition(NOT_READY)]), asked))
        assert asked.obj is not None
        self.assertEqual(list(asked.obj["spec"]), list(canonical("v1", "Node", asked.obj)["spec"]))
        return asked.obj["spec"]["taints"]

    def test_table(self) -> None:
        """The taint is added behind others, unless it is there with this effect."""
        taint = {"key": NOT_READY, "effect": "NoSchedule"}
        other = {"key": NOT_READY, "effect": "NoExecute"}
        self.assertEqual(self.taints(), [taint])
        self.assertEqual(self.taints(other), [other, taint])
        self.assertEqual(self.taints({**taint, "value": "v"}), [{**taint, "value": "v"}])

    def test_update(self) -> None:
        """Updates are left alone."""
        resource = attributes("UPDATE", "nodes").resource
        self.assertTrue(Chain([TaintNodesByCondition(NOT_READY)]).plan("UPDATE", resource).empty)
