"""Plugins that look at pods alone (reference PLUG-6, PLUG-8, PLUG-11, PLUG-12)."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.admission.attributes import Attributes, Operation
from orchtw.admission.chain import Chain, ChainPlugin
from orchtw.admission.plugins.always_pull_images import AlwaysPullImages
from orchtw.admission.plugins.default_toleration_seconds import DefaultTolerationSeconds
from orchtw.admission.plugins.extended_resource_toleration import ExtendedResourceToleration
from orchtw.admission.plugins.limit_pod_hard_anti_affinity_topology import LimitPodHardAntiAffinityTopology
from orchtw.errors import Forbidden
from orchtw.wire.objects import Object
from tests.admission.asked import NAMING, attributes, canonical, pass_chain

HARD, SOFT = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"
READY, REACHED = "node.orch.io/not-ready", "node.orch.io/unreachable"


def container(name: str = "c", image: str = "i:1", **more: Any) -> Object:
    return {"name": name, "image": image, **more}


def pod(*containers: Object, **spec: Any) -> Object:
    """Return a canonical pod."""
    return canonical("v1", "Pod", {"metadata": {"name": "x"}, "spec": {"containers": [*containers], **spec}})


class PodPluginCase(SynchronousTestCase):
    """Puts pods through one plugin."""

    def ask(
        self, plugin: ChainPlugin, new: Object, old: Object | None = None, subresource: str = ""
    ) -> Attributes:
        operation: Operation = "CREATE" if old is None else "UPDATE"
        asked = attributes(operation, "pods", namespace="default", obj=new, old=old, subresource=subresource)
        self.successResultOf(pass_chain(Chain([plugin]), asked))
        return asked

    def spec(self, plugin: ChainPlugin, new: Object, old: Object | None = None, subresource: str = "") -> Any:
        """The spec as the plugin leaves it, which is in canonical order."""
        found = self.ask(plugin, new, old, subresource).obj
        assert found is not None
        self.assertEqual(list(found["spec"]), list(canonical("v1", "Pod", found)["spec"]))
        return found["spec"]

    def refusal(self, plugin: ChainPlugin, new: Object, old: Object | None = None) -> str:
        operation: Operation = "CREATE" if old is None else "UPDATE"
        asked = attributes(operation, "pods", namespace="default", obj=new, old=old)
        message: str = self.failureResultOf(pass_chain(Chain([plugin]), asked), Forbidden).value.message
        return message


class AlwaysPullImagesTests(PodPluginCase):
    """Tests of AlwaysPullImages (reference PLUG-6)."""

    plugin = AlwaysPullImages()

    def test_new(self) -> None:
        """Every container of a new pod is pulled, the first ones too, and what was given is not changed."""
        first = container(imagePullPolicy="IfNotPresent")
        new = pod(container(imagePullPolicy="Never"), container("d"), initContainers=[first])
        spec = self.spec(self.plugin, new)
        policies = [each["imagePullPolicy"] for name in ("containers", "initContainers") for each in spec[name]]
        self.assertEqual(policies, ["Always"] * 3)
        self.assertEqual(new["spec"]["containers"][0]["imagePullPolicy"], "Never")

    def test_nothing_to_do(self) -> None:
        """A pod that is pulled anyhow stays the same object."""
        self.assertEqual(self.ask(self.plugin, pod(container(imagePullPolicy="Always"))).changes, 0)

    def test_update(self) -> None:
        """An update counts if it brings a new image; moving an old image does not."""
        old = pod(container(imagePullPolicy="Never"), container("d", "j:1"))
        same = pod(container("c", "j:1", imagePullPolicy="Never"))
        self.assertEqual(self.spec(self.plugin, same, old)["containers"][0]["imagePullPolicy"], "Never")
        new = pod(container("c", "k:1", imagePullPolicy="Never"), container("d", "j:1", imagePullPolicy="Never"))
        policies = [each["imagePullPolicy"] for each in self.spec(self.plugin, new, old)["containers"]]
        self.assertEqual(policies, ["Always", "Always"])

    def test_changed_since(self) -> None:
        """A later plugin cannot take it back."""

        class Never:
            def handles(self, operation: Operation, resource: object, subresource: str) -> bool:
                return True

            async def admit(self, attributes: Attributes) -> None:
                for each in (await attributes.edit())["spec"]["containers"]:
                    each["imagePullPolicy"] = "IfNotPresent"

        text = 'Unsupported value: "IfNotPresent": supported values: "Always"'
        first, second = (f"spec.containers[{index}].imagePullPolicy: {text}" for index in (0, 1))
        for new, why in (
            (pod(container()), first),
            (pod(container(), container("d")), f"[{first}, {second}]"),
        ):
            asked = attributes("CREATE", "pods", namespace="default", obj=new)
            refused = self.failureResultOf(pass_chain(Chain([self.plugin, Never()]), asked), Forbidden)
            self.assertEqual(refused.value.message, f'pods "x" is forbidden: {why}')

    def test_status(self) -> None:
        """Sub-resources are left alone."""
        new, old = pod(container(imagePullPolicy="Never")), pod(container(image="old"))
        self.assertEqual(self.ask(self.plugin, new, old, "status").changes, 0)


class DefaultTolerationSecondsTests(PodPluginCase):
    """Tests of DefaultTolerationSeconds (reference PLUG-11)."""

    plugin = DefaultTolerationSeconds({READY: 300, REACHED: 20})

    def tolerations(self, *given: Object) -> list[Object]:
        found: list[Object] = self.spec(self.plugin, pod(container(), tolerations=[*given]))["tolerations"]
        return found

    def added(self, key: str, seconds: int) -> Object:
        return {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds}

    def test_none(self) -> None:
        """A pod without tolerations gets both, for the times of the flags."""
        self.assertEqual(self.tolerations(), [self.added(READY, 300), self.added(REACHED, 20)])

    def test_covered(self) -> None:
        """A toleration covers a taint by its key or none, with the effect or none."""
        for given, added in (
            ({"key": READY, "operator": "Exists", "effect": "NoExecute"}, [REACHED]),
            ({"key": READY, "operator": "Exists"}, [REACHED]),
            ({"key": READY, "operator": "Exists", "effect": "NoSchedule"}, [READY, REACHED]),
            ({"key": REACHED, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}, [READY]),
            ({"operator": "Exists"}, []),
            ({"operator": "Exists", "effect": "NoExecute"}, []),
            ({"operator": "Exists", "effect": "NoSchedule"}, [READY, REACHED]),
            ({"key": "other", "operator": "Exists"}, [READY, REACHED]),
        ):
            found = self.tolerations(given)
            self.assertEqual([each.get("key") for each in found[1:]], added, given)
            self.assertEqual(found[0], given)

    def test_update(self) -> None:
        """An update that leaves them out gets them again."""
        self.assertEqual(len(self.spec(self.plugin, pod(container()), pod(container()))["tolerations"]), 2)


def toleration(resource: str) -> Object:
    """Return the toleration for a resource."""
    return {"key": resource, "operator": "Exists", "effect": "NoSchedule"}


class ExtendedResourceTolerationTests(PodPluginCase):
    """Tests of ExtendedResourceToleration (reference PLUG-12)."""

    plugin = ExtendedResourceToleration(NAMING)

    def asked(self, *names: str) -> Object:
        amounts = dict.fromkeys(names, "1")
        return container(resources={"requests": amounts, "limits": amounts})

    def test_extended(self) -> None:
        """Each extended resource that any container asks for is tolerated, once and in order."""
        new = pod(self.asked("b.io/y", "cpu"), self.asked("a.io/x"), initContainers=[self.asked("b.io/y", "c.io/z")])
        found = self.spec(self.plugin, new)["tolerations"]
        self.assertEqual(found, [toleration(key) for key in ("a.io/x", "b.io/y", "c.io/z")])

    def test_native(self) -> None:
        """Native resources and huge pages get no toleration."""
        new = pod(self.asked("cpu", "hugepages-2Mi", "orch.io/thing", "x.orch.io/thing"))
        self.assertNotIn("tolerations", self.spec(self.plugin, new))

    def test_present(self) -> None:
        """Existing tolerations are not repeated; another effect is another toleration."""
        for given, count in (
            (toleration("a.io/x"), 1),
            ({**toleration("a.io/x"), "tolerationSeconds": 5}, 1),
            ({**toleration("a.io/x"), "value": ""}, 1),
            ({"key": "a.io/x", "operator": "Exists"}, 2),
            ({**toleration("a.io/x"), "effect": "NoExecute"}, 2),
        ):
            spec = self.spec(self.plugin, pod(self.asked("a.io/x"), tolerations=[given]))
            self.assertEqual(len(spec["tolerations"]), count)
            self.assertEqual(spec["tolerations"][-1], toleration("a.io/x"))


class AntiAffinityTests(PodPluginCase):
    """Tests of LimitPodHardAntiAffinityTopology (reference PLUG-8)."""

    plugin = LimitPodHardAntiAffinityTopology("orch.io/hostname")

    def pod(self, kind: str, **terms: Any) -> Object:
        return pod(container(), affinity={kind: terms})

    def term(self, key: str) -> Object:
        return {"labelSelector": {"matchLabels": {"a": "b"}}, "topologyKey": key}

    def test_refused(self) -> None:
        """Another key is a 403, on update too."""
        required = {HARD: [self.term("orch.io/hostname"), self.term("zone")]}
        why = (
            "affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey zone but only key orch.io/hostname is "
            "allowed"
        )
        for old in (None, pod(container())):
            refused = self.refusal(self.plugin, self.pod("podAntiAffinity", **required), old)
            self.assertEqual(refused, f'pods "x" is forbidden: {why}')

    def test_accepted(self) -> None:
        """The name of the host, preferences, and affinity pass."""
        self.ask(self.plugin, pod(container()))
        self.ask(self.plugin, self.pod("podAntiAffinity", **{HARD: [self.term("orch.io/hostname")]}))
        self.ask(self.plugin, self.pod("podAffinity", **{HARD: [self.term("zone")]}))
        preferred = {"weight": 1, "podAffinityTerm": self.term("zone")}
        self.ask(self.plugin, self.pod("podAntiAffinity", **{SOFT: [preferred]}))
