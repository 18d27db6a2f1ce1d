"""NamespaceLifecycle (reference PLUG-2, DEL-17)."""

from __future__ import annotations

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from orchtw.admission.attributes import Attributes
from orchtw.admission.chain import Chain
from orchtw.admission.plugins.namespace_lifecycle import NamespaceLifecycle
from orchtw.errors import Forbidden, NotFound
from orchtw.registry.listers.namespaces import NamespaceState
from tests.admission.asked import NAMING, attributes, pass_chain


class Namespaces:
    """Two namespaces, and `late`, which the cache hears of once `told` has fired; None: nobody else writes."""

    def __init__(self, told: Deferred[None] | None = None) -> None:
        self.phases = {"live": "Active", "ending": "Terminating"}
        self.told = told

    def get(self, namespace: str, name: str) -> NamespaceState | None:
        return NamespaceState(self.phases[name], {}) if name in self.phases else None

    def due(self) -> Deferred[None] | None:
        return self.told


class NamespaceLifecycleTests(SynchronousTestCase):
    """The plugin in a chain."""

    def run_chain(self, asked: Attributes, namespaces: Namespaces | None = None) -> Deferred[None]:
        return pass_chain(Chain([NamespaceLifecycle(NAMING, namespaces or Namespaces())]), asked)

    def test_allowed(self) -> None:
        """Creates in live namespaces, updates anywhere, cluster objects and other deletes pass."""
        for asked in (
            attributes("CREATE", "configmaps", namespace="live"),
            attributes("UPDATE", "configmaps", namespace="ending"),
            attributes("CREATE", "nodes"),
            attributes("DELETE", "configmaps", namespace="ending"),
            attributes("DELETE", "namespaces", name="live"),
        ):
            self.assertIsNone(self.successResultOf(self.run_chain(asked)))

    def test_idle(self) -> None:
        """The plugin is idle where it has nothing to refuse and nothing to wait for."""
        plugin = NamespaceLifecycle(NAMING, Namespaces())
        operations = ("CREATE", "UPDATE", "DELETE")
        idle = [(operation, namespace) for operation in operations for namespace in ("live", "ending", "nope")
                if plugin.idle(attributes(operation, "configmaps", namespace=namespace))]  # type: ignore[arg-type]
        self.assertEqual(idle, [("CREATE", "live"), ("UPDATE", "live"), ("UPDATE", "ending")])

    def test_missing_namespace(self) -> None:
        """A create or update where there is no namespace is a 404 on the namespace; what is left there can go."""
        for operation in ("CREATE", "UPDATE"):
            asked = attributes(operation, "configmaps", namespace="nope")
            failure = self.failureResultOf(self.run_chain(asked), NotFound)
            self.assertEqual(failure.value.message, 'namespaces "nope" not found')
        self.assertIsNone(self.successResultOf(self.run_chain(attributes("DELETE", "pods", namespace="nope"))))

    def test_namespace_of_another_process(self) -> None:
        """A namespace is missing only once the cache holds what other processes have written (reference READ-10)."""
        for phases, missing in (({"late": "Active"}, False), ({}, True)):
            told: Deferred[None] = Deferred()
            namespaces = Namespaces(told)
            done = self.run_chain(attributes("CREATE", "configmaps", namespace="late"), namespaces)
            self.assertNoResult(done)
            namespaces.phases.update(phases)
            told.callback(None)
            if missing:
                self.failureResultOf(done, NotFound)
            else:
                self.successResultOf(done)

    def test_terminating_namespace(self) -> None:
        """A create where a namespace is ending is a 403 with its cause."""
        asked = attributes("CREATE", "configmaps", namespace="ending", name="n1")
        error = self.failureResultOf(self.run_chain(asked), Forbidden).value
        why = "unable to create new content in namespace ending because it is being terminated"
        self.assertEqual(error.message, f'configmaps "n1" is forbidden: {why}')
        self.assertEqual(error.details["causes"][0]["reason"], "NamespaceTerminating")

    def test_protected(self) -> None:
        """The built-in namespaces are not deleted, but for the one of node leases."""
        for name in ("default", "orch-system", "orch-public"):
            asked = attributes("DELETE", "namespaces", name=name)
            error = self.failureResultOf(self.run_chain(asked), Forbidden).value
            self.assertEqual(error.message, f'namespaces "{name}" is forbidden: this namespace may not be deleted')
        self.successResultOf(self.run_chain(attributes("DELETE", "namespaces", name="orch-node-lease")))

    def test_reviews_tell_nothing(self) -> None:
        """A local access review passes: its refusal would tell which namespaces there are."""
        for namespace in ("nope", "ending"):
            asked = attributes(
                "CREATE", "localsubjectaccessreviews", "authorization.orch.io/v1", namespace=namespace
            )
            self.successResultOf(self.run_chain(asked))

    def test_evictions_are_creates(self) -> None:
        """An Eviction is refused where the namespace is ending, as whatever else is created there."""
        asked = attributes("CREATE", "pods", namespace="ending", subresource="eviction")
        error = self.failureResultOf(self.run_chain(asked), Forbidden).value
        self.assertTrue(error.message.startswith('pods "x" is forbidden: unable to create new content'))
