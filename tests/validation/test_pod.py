"""Pods and templates of pods, but for their containers (reference KIND-35, KIND-36, KIND-37, KIND-38)."""
# covers: orchtw.registry.groups.core.pod_annotations, orchtw.registry.groups.core.pod_dns
# covers: orchtw.registry.groups.core.pod_security_context, orchtw.registry.groups.core.pod_status
# covers: orchtw.registry.groups.core.pod_templates, orchtw.registry.groups.core.pod_updates
# covers: orchtw.registry.groups.core.pod_warnings
# covers: orchtw.registry.groups.core.volume_sources
# covers: orchtw.registry.groups.core.pod_validation

from __future__ import annotations

from typing import Any

from tests.validation import case
from tests.validation.examples import Base, Entry
from tests.validation.pod_lives import LIVES
from tests.validation.pod_specs import SPECS
from tests.validation.pod_volumes import VOLUMES
from tests.validation.pods import POD, PODS, TEMPLATES


class PodTests(case.EntryCase):
    file = "pod.json"
    more = {**case.EntryCase.more, "disable_admission_plugins": ("Priority", "RuntimeClass", "ServiceAccount")}
    bases = {
        "Pod": Base(path=PODS, obj=POD),
        "PodTemplate": TEMPLATES,
        "PodTemplateSpec": TEMPLATES,
    }
    examples = {**VOLUMES, **SPECS, **LIVES}

    def entries(self) -> list[Entry]:
        """Those that are not about containers."""
        return [each for each in super().entries() if "ontainers" not in each.fact["path"]]

    def pod(self, name: str, **more: Any) -> dict[str, Any]:
        """A pod that was created with this in its spec."""
        return self.done("POST", "pods", {**POD, "metadata": {"name": name}, "spec": {**POD["spec"], **more}})

    def test_ended_containers(self) -> None:
        """A container that ended stays so unless the pod's policy starts it again."""
        ended, failed = ({"terminated": {"exitCode": code}} for code in (0, 1))
        for key in ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"):
            restarted = 422 if key.startswith("ephemeral") else 200
            for policy, state, code in [
                ("Never", ended, 422),
                ("Never", failed, 422),
                ("OnFailure", ended, 422),
                ("OnFailure", failed, restarted),
                ("Always", ended, restarted),
            ]:
                name = f"{policy}-{key}-{state['terminated']['exitCode']}".lower()
                pod = self.pod(name, restartPolicy=policy)
                status: dict[str, Any] = {"name": "c", "image": "", "imageID": "", "ready": False, "restartCount": 0}
                pod["status"][key] = [{**status, "state": state}]
                pod = self.done("PUT", f"pods/{name}/status", pod)
                pod["status"][key] = [{**status, "state": {"running": {}}}]
                answer = self.send("PUT", f"pods/{name}/status", pod)
                self.assertEqual(answer.code, code, (policy, key, state))
                if code == 422:
                    (cause,) = answer.json["details"]["causes"]
                    self.assertEqual(cause["field"], f"status.{key}[0].state")
                    self.assertEqual(cause["message"], "Forbidden: may not be transitioned to non-terminated state")

    def test_no_warning(self) -> None:
        """A negative period of grace is accepted as it is."""
        spec = {**POD["spec"], "terminationGracePeriodSeconds": -1}
        answer = self.send("POST", "pods", {**POD, "spec": spec})
        self.assertEqual((answer.code, answer.headers.get("warning")), (201, None))
