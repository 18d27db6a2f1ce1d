"""PodTolerationRestriction (reference PLUG-18, PLUG-82)."""

from __future__ import annotations

from typing import Any

import orjson
from twisted.trial.unittest import SynchronousTestCase

from orchtw.admission.chain import Chain
from orchtw.admission.plugins.pod_toleration_restriction import (
    PodTolerationRestriction,
    Restriction,
    annotated,
    read,
)
from orchtw.errors import ConfigError, NotFound
from orchtw.wire.objects import Object
from tests.admission.asked import attributes, configured, pass_chain
from tests.admission.plugins.served import PluginCase, pod

NAMESPACES = "/api/v1/namespaces"
DEFAULTS = "scheduler.alpha.orch.io/defaultTolerations"
WHITELIST = "scheduler.alpha.orch.io/tolerationsWhitelist"
VERSION = "podtolerationrestriction.admission.orch.io/v1alpha1"
PRESSURE = {"key": "node.orch.io/memory-pressure", "operator": "Exists", "effect": "NoSchedule"}
A, B = ({"key": key, "operator": "Exists"} for key in "ab")
A_X = {"key": "a", "operator": "Equal", "value": "x"}
CONFLICT = "pod tolerations (possibly merged with namespace default tolerations) conflict with its"
ASKS = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]}

HEAD = {"apiVersion": VERSION, "kind": "Configuration"}
WRONG: list[tuple[Object, str]] = [
    ({}, "Object 'apiVersion' is missing"),
    ({"apiVersion": VERSION}, "Object 'Kind' is missing"),
    (
        {**HEAD, "kind": "Other"},
        f'no kind "Other" is registered for version "{VERSION}": use Configuration of {VERSION}',
    ),
    ({**HEAD, "defaults": []}, 'unknown field "defaults"'),
    ({**HEAD, "default": {}}, "default: must be a list"),
    ({**HEAD, "default": [5]}, "default[0]: must be a mapping"),
    ({**HEAD, "whitelist": [A, {"keys": "a"}]}, 'whitelist[1]: unknown field "keys"'),
    ({**HEAD, "whitelist": [{"key": 5}]}, "whitelist[0].key: must be a string"),
    ({**HEAD, "whitelist": [{**A, "tolerationSeconds": "5"}]}, "whitelist[0].tolerationSeconds: must be an integer"),
    ({**HEAD, "default": [{"operator": "In", "key": "a"}]}, 'default[0].operator: Unsupported value: "In"'),
    ({**HEAD, "default": [{"operator": "Equal"}]}, 'default[0].operator: Invalid value: "Equal": operator must be'),
    ({**HEAD, "default": [A] * 1001}, "default: has more than 1000 tolerations"),
]

ANNOTATIONS: list[tuple[Any, str]] = [
    ("[", f"annotation {DEFAULTS} is not JSON"),
    ("{}", f"annotation {DEFAULTS} must be a list of up to 1000 tolerations"),
    ("[5]", f"annotation {DEFAULTS}: [0]: must be a toleration"),
    ('[{}, {"key": 5}]', f"annotation {DEFAULTS}: [1].key: must be a string"),
    ('[{"tolerationSeconds": true}]', f"annotation {DEFAULTS}: [0].tolerationSeconds: must be an integer"),
    ('[{"tolerationSeconds": 1e3}]', f"annotation {DEFAULTS}: [0].tolerationSeconds: must be an integer"),
    (f"[{'{},' * 1000}{{}}]", f"annotation {DEFAULTS} must be a list of up to 1000 tolerations"),
]


class PodTolerationRestrictionTests(PluginCase):
    """The plugin in a whole server, whose configuration says default and whitelist."""

    name = "PodTolerationRestriction"
    configuration = {**HEAD, "default": [A], "whitelist": [A, B, PRESSURE]}  # noqa: RUF012

    def namespace(self, **annotations: Any) -> str:
        """A namespace with annotations, `default` and `allowed`, as JSON."""
        name = f"n{len(self.done('GET', NAMESPACES)['items'])}"
        names = {"default": DEFAULTS, "allowed": WHITELIST}
        texts = {
            names[key]: value if isinstance(value, str) else orjson.dumps(value).decode()
            for key, value in annotations.items()
        }
        self.done("POST", NAMESPACES, {"metadata": {"name": name, "annotations": texts}})
        return f"{NAMESPACES}/{name}/pods"

    def test_changed(self) -> None:
        """The defaults of the namespace, else the cluster's, and what comes with requests."""
        for said, spec, expected in (
            ({}, {}, [A]),
            ({}, {"tolerations": [A_X]}, [A]),
            ({}, {"tolerations": [B]}, [B, A]),
            ({}, ASKS, [A, PRESSURE]),
            ({"default": ""}, {}, None),
            ({"default": []}, {}, None),
            ({"default": "null"}, {}, [A]),
            ({"default": [B]}, {}, [B]),
            ({"default": [{**B, "unknown": 1, "value": None}]}, {}, [B]),
            ({"default": [B], "allowed": [B, PRESSURE]}, ASKS, [B, PRESSURE]),
            ({"default": [A_X], "allowed": [A]}, {}, [A_X]),
            ({"allowed": "[]"}, {"tolerations": [{"key": "free", "operator": "Exists"}]}, ["free", "a"]),
        ):
            made = self.done("POST", f"{self.namespace(**said)}?dryRun=All", pod(**spec))
            found = made["spec"].get("tolerations")
            if expected == ["free", "a"]:
                found = [each["key"] for each in found]
            self.assertEqual(found, expected, said)

    def test_refused(self) -> None:
        """Tolerations outside of the namespace's whitelist, else the cluster's, are refused."""
        other = {"tolerations": [{"key": "z", "operator": "Exists"}]}
        cases: tuple[tuple[Object, Object, str], ...] = (
            ({}, other, f"{CONFLICT} cluster whitelist"),
            ({}, {"tolerations": [{"operator": "Exists"}]}, f"{CONFLICT} cluster whitelist"),
            ({"allowed": [B]}, {}, f"{CONFLICT} namespace whitelist"),
            ({"allowed": [A]}, ASKS, f"{CONFLICT} namespace whitelist"),
            ({"allowed": [A_X]}, {"tolerations": [A]}, f"{CONFLICT} namespace whitelist"),
            *(({"default": text}, {}, why) for text, why in ANNOTATIONS),
        )
        for said, spec, why in cases:
            found = self.refusal("POST", self.namespace(**said), pod(**spec))
            self.assertEqual(found, f'pods "p" is forbidden: {why}')

    def test_bound(self) -> None:
        """So many that it would take long are not looked at."""
        many = [{"key": f"k{number}", "operator": "Exists"} for number in range(1001)]
        pods = self.namespace(default=[])
        found = self.refusal("POST", pods, pod(tolerations=many))
        self.assertEqual(found, 'pods "p" is forbidden: at most 1000 tolerations can be checked, not 1001')
        self.done("POST", self.namespace(default=[], allowed=[]), pod(tolerations=many))

    def test_update(self) -> None:
        """An update adds no defaults, but is held against the whitelist."""
        pods = self.namespace(default=[B])
        made = self.done("POST", pods, pod())
        labels = {**made, "metadata": {**made["metadata"], "labels": {"a": "b"}}}
        after = self.done("PUT", f"{pods}/p", labels)
        self.assertEqual(after["spec"]["tolerations"], [B])
        wider = {**after, "spec": {**after["spec"], "tolerations": [B, {"key": "z", "operator": "Exists"}]}}
        self.assertIn("cluster whitelist", self.refusal("PUT", f"{pods}/p", wider))

    def test_order_of_keys(self) -> None:
        """Filled-in fields stand where sent ones would."""
        more: Object = {"hostNetwork": True, "hostAliases": [{"ip": "10.0.0.1", "hostnames": ["a"]}]}
        more["os"] = {"name": "linux"}
        filled = self.done("POST", "pods?dryRun=All", pod(**more))["spec"]
        given = self.done("POST", "pods?dryRun=All", pod(**more, tolerations=[A]))["spec"]
        self.assertEqual((list(filled), filled), (list(given), given))


class Nowhere:
    """Lister without any namespaces."""

    def get(self, namespace: str, name: str) -> Restriction | None:
        return None

    def due(self) -> None:
        return None


class AloneTests(SynchronousTestCase):
    """The plugin without a server, and its configuration."""

    def test_no_namespace(self) -> None:
        """A namespace that is not there is a 404."""
        plugin = PodTolerationRestriction(Restriction(), Nowhere(), PRESSURE["key"])
        asked = attributes("CREATE", "pods", namespace="away", obj=pod())
        failure = self.failureResultOf(pass_chain(Chain([plugin]), asked), NotFound)
        self.assertEqual(failure.value.message, 'namespaces "away" not found')

    def test_annotations(self) -> None:
        """An empty list counts as set."""
        self.assertEqual(annotated({}, DEFAULTS, WHITELIST), Restriction())
        found = annotated({DEFAULTS: "", WHITELIST: "[]"}, DEFAULTS, WHITELIST)
        self.assertEqual((found.default, found.allowed), ([], []))

    def test_configuration(self) -> None:
        """Each mistake has its line; no configuration means no restriction."""
        for obj, line in WRONG:
            error = self.assertRaises(ConfigError, read, configured(obj))
            self.assertTrue(str(error).startswith(f"/etc/orch/plugin.yaml: {line}"), str(error))
        self.assertEqual(read(None), Restriction())
        self.assertEqual(read(configured(HEAD)), Restriction(default=[], allowed=[]))
