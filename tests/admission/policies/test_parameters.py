"""Parameters of policies, without a server (reference POLICY-9)."""
# covers: orchtw.admission.policies.views

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import msgspec
from twisted.internet.defer import Deferred, fail
from twisted.trial.unittest import SynchronousTestCase

from orchtw.admission.policies.known import Pairing
from orchtw.admission.policies.parameters import Misconfigured, ParameterStore
from orchtw.admission.policies.records import Binding, Parameters, Policy
from orchtw.admission.policies.views import view_of
from orchtw.admission.webhooks.views import Views
from orchtw.errors import InternalError, Timeout
from orchtw.rules.selectors import ALL_LABELS
from tests.admission.asked import attributes, resource

POLICY = Policy(name="p", kind=("v1", "ConfigMap"))
NAMED = Binding(name="b", policy="p", parameters=Parameters(name="limits"))


class Stored:
    """Stored ConfigMaps of namespace `default`, in a cache that lags and does not catch up in time."""

    def __init__(self, *names: str) -> None:
        self.names = names
        self.cache = self.freshness = self

    def due(self, wanted: int | None) -> Deferred[None]:
        return fail(Timeout("Too large resource version"))

    def get(self, namespace: str, name: str) -> Any:
        return next(iter(self.snapshot(namespace, name)), None)

    def snapshot(self, namespace: str, *names: str) -> list[Any]:
        entries = [SimpleNamespace(key=f"{namespace}/{name}", name=name, labels={}) for name in names or self.names]
        return [each for each in entries if namespace == "default" and each.name in self.names]


class ParameterTests(SynchronousTestCase):
    def parameters(self, binding: Binding, *names: str, policy: Policy = POLICY) -> Deferred[Sequence[Any]]:
        """Find the parameters for a write in namespace `default`, where ConfigMaps of these names are."""
        target = SimpleNamespace(
            resource=resource("configmaps"), stored=Stored(*names), forms=None, load=lambda entry: entry.name
        )
        targets: Any = SimpleNamespace(listen=lambda changed: None, served=lambda: [target])
        write = attributes("CREATE", "configmaps", namespace="default")
        return Deferred.fromCoroutine(ParameterStore(targets).of(policy, binding, write))

    def why(self, binding: Binding) -> str:
        return str(self.failureResultOf(self.parameters(binding), Misconfigured).value)

    def test_found(self) -> None:
        """Parameters are found by name, or selected and sorted; without paramRef there is one evaluation."""
        self.assertEqual(self.successResultOf(self.parameters(NAMED, "limits")), ["limits"])
        selecting = msgspec.structs.replace(NAMED, parameters=Parameters(labels=ALL_LABELS))
        self.assertEqual(self.successResultOf(self.parameters(selecting, "b", "a")), ["a", "b"])
        plain = msgspec.structs.replace(NAMED, parameters=None)
        self.assertEqual(self.successResultOf(self.parameters(plain)), (None,))

    def test_not_synced(self) -> None:
        """A miss counts only once the cache is current."""
        kind = "paramKind kind `&ParamKind{APIVersion:v1,Kind:ConfigMap,}`"
        expected = f"failed to configure binding: {kind} not yet synced to use for admission"
        self.assertEqual(self.why(NAMED), expected)

    def test_broken(self) -> None:
        """A binding that cannot be matched says why."""
        broken = msgspec.structs.replace(NAMED, broken="bad selector")
        self.assertEqual(self.why(broken), "failed to configure binding: bad selector")


class ViewTests(SynchronousTestCase):
    def test_unusable(self) -> None:
        """A policy that cannot be matched, or for which the object cannot be converted, is misconfigured."""
        write = attributes("CREATE", "configmaps", obj={})
        views = Views(write)
        bad = Pairing(Policy(name="p", broken="bad selector"), write.resource, ())
        work = Deferred.fromCoroutine(view_of(bad, views))
        text = "failed to configure policy: bad selector"
        self.assertEqual(str(self.failureResultOf(work, Misconfigured).value), text)

        async def fails(resource: Any) -> Any:
            raise InternalError.of("no conversion")

        self.patch(views, "of", fails)
        work = Deferred.fromCoroutine(view_of(Pairing(POLICY, write.resource, ()), views))
        self.assertIn("no conversion", str(self.failureResultOf(work, Misconfigured).value))
