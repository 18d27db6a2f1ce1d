"""Containers of pods and of templates of pods (reference KIND-40 to KIND-45)."""
# covers: orchtw.registry.groups.core.container_mounts
# covers: orchtw.registry.groups.core.resource_requirements, orchtw.registry.groups.core.security_context
# covers: orchtw.registry.groups.core.field_references, orchtw.registry.groups.core.pod_containers

from __future__ import annotations

from tests.validation import case
from tests.validation.container_examples import C
from tests.validation.examples import Accepted, Base, Entry, Refused, Shown, Warned
from tests.validation.pod_container_fields import FIELDS
from tests.validation.pod_container_needs import NEEDS
from tests.validation.pods import CONTAINERS, POD, PODS, TEMPLATES

EPHEMERAL = {"name": "e", "image": "i:1"}


class PodContainerTests(case.EntryCase):
    file = "pod.json"
    bases = {
        "Pod": Base(path=PODS, obj=POD),
        "PodTemplateSpec": TEMPLATES,
    }
    examples = {
        **FIELDS,
        **NEEDS,
        **{
            number: Refused(
                before={f"spec.{key}": [{"name": "x", "image": "i:1"}, {"name": "y", "image": "i:1"}]},
                change={f"spec.{key}": [{"name": "x", "image": "i:1"}]},
            )
            for number, key in ((331, "containers"), (332, "initContainers"))
        },
        333: [
            Refused(change={f"{C}.image": ""}, accepts={f"{C}.image": "i:2"}),
            Refused(
                before={"spec.initContainers[0]": {"name": "i", "image": "i:1"}},
                change={"spec.initContainers[0].image": ""},
                field="spec.initContainers[0].image",
                accepts={"spec.initContainers[0].image": "i:2"},
            ),
        ],
        **dict.fromkeys((352, 353), Shown(f"{__name__}.PodContainerTests.test_ephemeral_containers_stay")),
        354: Refused(
            on="ephemeralcontainers",
            change={"spec.ephemeralContainers[0]": {**EPHEMERAL, "terminationMessagePolicy": "Else"}},
            field="spec.ephemeralContainers[0].terminationMessagePolicy",
            accepts={"spec.ephemeralContainers[0]": EPHEMERAL},
        ),
        404: [
            Warned(
                change={f"{C}.resources": {"limits": {name: "2k"}, "requests": {name: "1"}, key: {name: "1500m"}}},
                text=f'{C}.resources.{key}[{name}]: fractional byte value "1500m" is invalid, must be an integer',
                accepts={f"{C}.resources": {key: {name: "2k"}}},
            )
            for key in ("limits", "requests")
            for name in ("memory", "ephemeral-storage")
        ],
        405: [
            Warned(
                change={f"{C}.env": [{"name": "X"}, {"name": "X"}]}, text=f'{C}.env[1].name: duplicate name "X"'
            ),
            Warned(
                change={"spec.initContainers[0]": {**EPHEMERAL, "env": [{"name": "X"}, {"name": "X"}]}},
                text='spec.initContainers[0].env[1].name: duplicate name "X"',
            ),
            Warned(
                kind="PodTemplateSpec",
                change={f"template.{C}.env": [{"name": "X"}, {"name": "X"}]},
                text=f'template.{C}.env[1].name: duplicate name "X"',
            ),
        ],
        412: Refused(change={"template.spec.ephemeralContainers": [EPHEMERAL]}),
        414: Accepted(change={f"template.{C}.image": " "}),
    }

    def entries(self) -> list[Entry]:
        """Those that are about containers."""
        return [each for each in super().entries() if "ontainers" in each.fact["path"]]

    def test_ephemeral_containers_stay(self) -> None:
        """Ephemeral containers are added in any order; those that are there do not change and do not go."""
        self.done("POST", PODS, POD)
        path = f"{PODS}/a/ephemeralcontainers"
        made = self.done("PUT", path, {**POD, "spec": {"ephemeralContainers": [EPHEMERAL]}})
        self.assertEqual(made["spec"]["containers"][0]["image"], "i:1")
        both = [{**EPHEMERAL, "name": "f"}, *made["spec"]["ephemeralContainers"]]
        found = self.done("PUT", path, {**POD, "spec": {"ephemeralContainers": both}})["spec"]
        self.assertEqual([each["name"] for each in found["ephemeralContainers"]], ["f", "e"])
        changed = [{**both[0], "image": "i:2"}, both[1]]
        for wrong, verb in (([], "removed"), (both[:1], "removed"), (changed, "changed")):
            answer = self.send("PUT", path, {**POD, "spec": {"ephemeralContainers": wrong}})
            self.assertEqual(answer.code, 422)
            cause = answer.json["details"]["causes"][-1]
            self.assertEqual((cause["field"], cause["reason"]), ("spec.ephemeralContainers", "FieldValueForbidden"))
            self.assertRegex(cause["message"], f'existing ephemeral containers "[ef]" may not be {verb}')

    def test_readiness_probe(self) -> None:
        """A readiness probe has the rules of probes."""
        self._check_probe("readinessProbe")

    def test_startup_probe(self) -> None:
        """A startup probe has the rules of probes."""
        self._check_probe("startupProbe")

    def _check_probe(self, key: str) -> None:
        wrong = {
            "exec": {},
            "tcpSocket": {"port": 0},
            "initialDelaySeconds": -1,
            "timeoutSeconds": -1,
            "periodSeconds": -1,
            "successThreshold": -1,
            "failureThreshold": -1,
        }
        container = {**CONTAINERS[0], key: wrong}
        answer = self.send("POST", PODS, {**POD, "spec": {"containers": [container]}})
        self.assertEqual(answer.code, 422)
        found = {each["field"] for each in answer.json["details"]["causes"]}
        expected = {"exec.command", "tcpSocket", "tcpSocket.port", *wrong} - {"exec"}
        self.assertEqual(found, {f"{C}.{key}.{each}" for each in expected})
