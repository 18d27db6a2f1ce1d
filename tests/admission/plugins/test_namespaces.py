"""NamespaceExists and NamespaceAutoProvision (reference PLUG-3)."""

from __future__ import annotations

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from orchtw.admission.chain import Chain
from orchtw.admission.plugins.namespace_auto_provision import NamespaceAutoProvision
from orchtw.admission.plugins.namespace_exists import NamespaceExists
from orchtw.errors import Forbidden, InternalError, NotFound
from tests.admission.asked import attributes, pass_chain
from tests.admission.plugins.served import PluginCase
from tests.admission.plugins.test_namespace_lifecycle import Namespaces

MAP = {"metadata": {"name": "m"}}


class NamespaceExistsTests(SynchronousTestCase):
    """The plugin in a chain."""

    def passed(self, asked: object, namespaces: Namespaces | None = None) -> Deferred[None]:
        chain = Chain([NamespaceExists(namespaces or Namespaces())])
        return pass_chain(chain, asked)  # type: ignore[arg-type]

    def test_allowed(self) -> None:
        """Where there is a namespace, in whatever phase, and where none is needed."""
        for asked in (
            attributes("CREATE", "configmaps", namespace="live"),
            attributes("UPDATE", "configmaps", namespace="ending"),
            attributes("DELETE", "configmaps", namespace="live"),
            attributes("CREATE", "nodes"),
            attributes("CREATE", "namespaces", namespace="new", name="new"),
            attributes("DELETE", "namespaces", namespace="gone", name="gone"),
            attributes("CONNECT", "pods", namespace="gone", subresource="exec"),
        ):
            self.assertIsNone(self.successResultOf(self.passed(asked)))

    def test_missing(self) -> None:
        """Every other write is a 404 on the namespace."""
        for operation in ("CREATE", "UPDATE", "DELETE"):
            failure = self.failureResultOf(
                self.passed(attributes(operation, "configmaps", namespace="nope")),
                NotFound,
            )
            self.assertEqual(failure.value.message, 'namespaces "nope" not found')

    def test_namespace_of_another_process(self) -> None:
        """A namespace is missing only once the cache holds what other processes have written (reference READ-10)."""
        for phases, missing in (({"late": "Active"}, False), ({}, True)):
            told: Deferred[None] = Deferred()
            namespaces = Namespaces(told)
            done = self.passed(attributes("CREATE", "configmaps", namespace="late"), namespaces)
            self.assertNoResult(done)
            namespaces.phases.update(phases)
            told.callback(None)
            if missing:
                self.failureResultOf(done, NotFound)
            else:
                self.successResultOf(done)


class NamespaceAutoProvisionTests(SynchronousTestCase):
    """The plugin in a chain."""

    def setUp(self) -> None:
        self.made: list[str] = []
        self.chain = Chain([NamespaceAutoProvision(Namespaces(), self.make)])

    async def make(self, name: str) -> None:
        if name == "bad":
            raise InternalError.of("no")
        self.made.append(name)

    def test_made(self) -> None:
        """A create makes its namespace; other writes and dry runs make none."""
        for asked, made in (
            (attributes("CREATE", "configmaps", namespace="new"), ["new"]),
            (attributes("CREATE", "pods", namespace="new", subresource="eviction"), ["new"]),
            (attributes("CREATE", "configmaps", namespace="live"), []),
            (attributes("CREATE", "configmaps", namespace="ending"), []),
            (attributes("CREATE", "configmaps", namespace="new", dry_run=True), []),
            (attributes("UPDATE", "configmaps", namespace="new"), []),
            (attributes("DELETE", "configmaps", namespace="new"), []),
            (attributes("CREATE", "nodes"), []),
            (attributes("CREATE", "namespaces", namespace="new", name="new"), []),
        ):
            self.made = []
            self.assertIsNone(self.successResultOf(pass_chain(self.chain, asked)))
            self.assertEqual(self.made, made)

    def test_refused(self) -> None:
        """A namespace that cannot be made is a 403 with the reason."""
        done = pass_chain(self.chain, attributes("CREATE", "configmaps", namespace="bad"))
        message = self.failureResultOf(done, Forbidden).value.message
        self.assertEqual(message, 'configmaps "x" is forbidden: Internal error occurred: no')


class ServedExistsTests(PluginCase):
    """NamespaceExists in a whole server, without the plugin that would refuse first."""

    name = "NamespaceExists"
    more = {"disable_admission_plugins": ("ServiceAccount", "NamespaceLifecycle")}  # noqa: RUF012

    def test_missing(self) -> None:
        """Nothing is written where there is no namespace."""
        found = self.refusal("POST", "/api/v1/namespaces/nope/configmaps", MAP, 404)
        self.assertEqual(found, 'namespaces "nope" not found')
        self.done("POST", "configmaps", MAP)


class ServedProvisionTests(PluginCase):
    """NamespaceAutoProvision in a whole server."""

    name = "NamespaceAutoProvision"

    def test_made(self) -> None:
        """A namespace that is made by the way is one like any other, and stays."""
        self.done("POST", "/api/v1/namespaces/new/configmaps", MAP)
        made = self.done("GET", "/api/v1/namespaces/new")
        self.assertEqual(made["metadata"]["labels"], {"orch.io/metadata.name": "new"})
        self.assertEqual((made["status"], made["spec"]), ({"phase": "Active"}, {"finalizers": ["orch"]}))
        self.done("POST", "/api/v1/namespaces/new/configmaps", {"metadata": {"name": "n"}})

    def test_dry_run(self) -> None:
        """A dry run makes none, and so fails."""
        found = self.refusal("POST", "/api/v1/namespaces/new/configmaps?dryRun=All", MAP, 404)
        self.assertEqual(found, 'namespaces "new" not found')
        self.assertEqual(self.code("GET", "/api/v1/namespaces/new"), 404)

    def test_bad_name(self) -> None:
        """An invalid namespace name is a 403 that says so."""
        found = self.refusal("POST", "/api/v1/namespaces/A_/configmaps", MAP)
        self.assertTrue(found.startswith('configmaps "m" is forbidden: Namespace "A_" is invalid'), found)
