"""PodNodeSelector (reference PLUG-17, PLUG-81)."""

from __future__ import annotations

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from orchtw.admission.chain import Chain
from orchtw.admission.plugins.pod_node_selector import Annotated, PodNodeSelector, Selectors, annotated, read
from orchtw.errors import ConfigError, Forbidden, NotFound
from orchtw.wire.objects import Object
from tests.admission.asked import attributes, configured, pass_chain
from tests.admission.plugins.served import PluginCase, pod

ANNOTATION = "scheduler.alpha.orch.io/node-selector"
NAMESPACES = "/api/v1/namespaces"
CONFLICT = "pod node label selector conflicts with its namespace node label selector"
NOT_ALLOWED = "pod node label selector labels conflict with its namespace whitelist"

WRONG: list[tuple[Object, str]] = [
    ({"other": {}}, 'unknown field "other"'),
    ({"podNodeSelectorPluginConfig": []}, "podNodeSelectorPluginConfig: must be a mapping"),
    ({"podNodeSelectorPluginConfig": {"ns": 5}}, "podNodeSelectorPluginConfig.ns: must be a string"),
    ({"podNodeSelectorPluginConfig": {"ns": "a"}}, "podNodeSelectorPluginConfig.ns: invalid selector: [a]"),
    ({"podNodeSelectorPluginConfig": {"ns": "a=b=c"}}, "podNodeSelectorPluginConfig.ns: invalid selector: [a=b=c]"),
    (
        {"podNodeSelectorPluginConfig": {"clusterDefaultNodeSelector": "a=b,-=c"}},
        "podNodeSelectorPluginConfig.clusterDefaultNodeSelector: invalid selector: [-=c]: ",
    ),
    ({"podNodeSelectorPluginConfig": {"ns": "a=-"}}, "podNodeSelectorPluginConfig.ns: invalid selector: [a=-]: "),
]


class PodNodeSelectorTests(PluginCase):
    """The plugin in a whole server."""

    name = "PodNodeSelector"
    configuration = {  # noqa: RUF012
        "podNodeSelectorPluginConfig": {
            "clusterDefaultNodeSelector": "env=any",
            "strict": "env=prod, disk=ssd,tier=gold",
        }
    }

    def setUp(self) -> None:
        super().setUp()
        for name, annotation in (
            ("said", "env=dev"),
            ("nothing", ""),
            ("strict", "env=prod"),
            ("bad", "env"),
        ):
            self.done("POST", NAMESPACES, {"metadata": {"name": name, "annotations": {ANNOTATION: annotation}}})

    def test_changed(self) -> None:
        """The namespace's word counts, else the cluster's; it is merged with the pod's own."""
        for namespace, own, expected in (
            ("default", None, {"env": "any"}),
            ("default", {"a": "b"}, {"a": "b", "env": "any"}),
            ("said", None, {"env": "dev"}),
            ("said", {"env": "dev", "z": "y"}, {"env": "dev", "z": "y"}),
            ("nothing", None, None),
            ("nothing", {"a": "b"}, {"a": "b"}),
            ("strict", {"disk": "ssd"}, {"disk": "ssd", "env": "prod"}),
        ):
            spec: Object = {} if own is None else {"nodeSelector": own}
            made = self.done("POST", f"{NAMESPACES}/{namespace}/pods?dryRun=All", pod(**spec))
            self.assertEqual(made["spec"].get("nodeSelector"), expected, namespace)

    def test_refused(self) -> None:
        """Conflicts, forbidden selectors and malformed annotations are refused."""
        for namespace, own, why in (
            ("default", {"env": "dev"}, CONFLICT),
            ("said", {"env": "prod"}, CONFLICT),
            ("strict", {"env": "dev"}, CONFLICT),
            ("strict", {"disk": "hdd"}, NOT_ALLOWED),
            ("strict", {"other": "a"}, NOT_ALLOWED),
            ("bad", {}, "invalid selector: [env]"),
        ):
            found = self.refusal("POST", f"{NAMESPACES}/{namespace}/pods", pod(nodeSelector=own))
            self.assertEqual(found, f'pods "p" is forbidden: {why}')

    def test_changed_namespace(self) -> None:
        """An annotation counts from its write on; existing pods stay."""
        patch = {"metadata": {"annotations": {ANNOTATION: "env=test"}}}
        headers = {"content-type": "application/merge-patch+json"}
        made = self.done("POST", "pods", pod())
        self.done("PATCH", f"{NAMESPACES}/default", patch, headers)
        self.assertEqual(self.done("POST", "pods", pod("q"))["spec"]["nodeSelector"], {"env": "test"})
        again = {**made, "metadata": {**made["metadata"], "labels": {"a": "b"}}}
        self.assertEqual(self.done("PUT", "pods/p", again)["spec"]["nodeSelector"], {"env": "any"})

    def test_order_of_keys(self) -> None:
        """Filled-in fields stand where sent ones would."""
        more: Object = {"hostNetwork": True, "dnsPolicy": "Default", "tolerations": []}
        filled = self.done("POST", "pods?dryRun=All", pod(**more))["spec"]
        given = self.done("POST", "pods?dryRun=All", pod(**more, nodeSelector={"env": "any"}))["spec"]
        self.assertEqual((list(filled), filled), (list(given), given))


class Namespaces:
    """One namespace, which wants env=prod."""

    def get(self, namespace: str, name: str) -> Annotated | None:
        return annotated("env=prod") if name == "ns" else None

    def due(self) -> None:
        return None


class AloneTests(SynchronousTestCase):
    """The plugin without a server, and its configuration."""

    def test_later_plugins(self) -> None:
        """Tolerations of later plugins are checked too."""
        selectors = Selectors(allowed={"ns": {"env": "prod"}})
        plugin = PodNodeSelector(selectors, Namespaces())
        for selector, why in (({"env": "dev"}, CONFLICT), ({"env": "prod", "a": "b"}, NOT_ALLOWED)):
            asked = attributes("CREATE", "pods", namespace="ns", obj=pod(nodeSelector=selector))
            asked.finish(asked.obj or {})
            error = self.failureResultOf(Deferred.fromCoroutine(plugin.validate(asked)), Forbidden).value
            self.assertEqual(error.message, f'pods "x" is forbidden: {why}')

    def test_no_namespace(self) -> None:
        """A namespace that is not there is a 404."""
        asked = attributes("CREATE", "pods", namespace="away", obj=pod())
        plugin = PodNodeSelector(Selectors(), Namespaces())
        failure = self.failureResultOf(pass_chain(Chain([plugin]), asked), NotFound)
        self.assertEqual(failure.value.message, 'namespaces "away" not found')

    def test_configuration(self) -> None:
        """Each mistake has its line, and no configuration is one."""
        for obj, line in WRONG:
            error = self.assertRaises(ConfigError, read, configured(obj))
            self.assertTrue(str(error).startswith(f"/etc/orch/plugin.yaml: {line}"), str(error))
        error = self.assertRaises(ConfigError, read, None)
        self.assertIn("no config specified", str(error))
        self.assertEqual(read(configured({})), Selectors())
        self.assertEqual(read(configured({"imagePolicy": {}})), Selectors())
