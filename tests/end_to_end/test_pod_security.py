"""Pod Security Standards and policies, as `kubectl` users meet them (reference PLUG-35 to PLUG-38, PLUG-104)."""

from __future__ import annotations

import json
from typing import Any

from orchtw.testing.kubectl import Result
from orchtw.wire.objects import Object
from tests.end_to_end.case import ServerCase
from tests.end_to_end.kubectl_case import KubectlCase

LABEL = "pod-security.kubernetes.io/"
ESCALATION = (
    'allowPrivilegeEscalation != false (container "c" must set securityContext.allowPrivilegeEscalation=false), '
    'unrestricted capabilities (container "c" must set securityContext.capabilities.drop=["ALL"]), '
    'runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true), '
    'seccompProfile (pod or container "c" must set securityContext.seccompProfile.type to "RuntimeDefault" or '
    '"Localhost")'
)


class SecurityCase(KubectlCase):
    """`kubectl` in the test's namespace."""

    vocabulary = "kubernetes"

    async def apply(self, obj: Object, *arguments: str) -> Result:
        return await self.run_any(*arguments, "apply", "-f", "-", stdin=json.dumps(obj))

    def manifest(self, name: str, **spec: Any) -> Object:
        """Return the body of a pod."""
        containers = [{"name": "c", "image": "example.com/web:1"}]
        meta = {"name": name, "labels": {"app": "web"}}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": containers, **spec}}


class PodSecurityTests(SecurityCase):
    """A namespace that becomes stricter step by step."""

    async def label(self, *arguments: str) -> Result:
        return await self.run_any("label", "--overwrite", "namespace", self.namespace, *arguments)

    async def test_steps(self) -> None:
        """Labelling warns of existing pods; then pods are refused, and kinds that make them warned about."""
        for name in ("b", "a"):
            result = await self.apply(self.manifest(name, hostPID=True))
            self.assertEqual(result.status, 0, result)
        head = f'existing pods in namespace "{self.namespace}" violate the new PodSecurity enforce level'
        result = await self.label("--dry-run=server", f"{LABEL}enforce=baseline")
        self.assertEqual(result.status, 0, result)
        for warning in (f'Warning: {head} "baseline:latest"', "Warning: a (and 1 other pod): host namespaces"):
            self.assertIn(warning, result.errors)
        result = await self.label(f"{LABEL}enforce=wrong")
        self.assertNotEqual(result.status, 0)
        self.assertIn('Invalid value: "wrong": must be one of privileged, baseline, restricted', result.errors)
        labels = (f"{LABEL}enforce=restricted", f"{LABEL}enforce-version=v1.24", f"{LABEL}warn=restricted")
        result = await self.label(*labels)
        self.assertIn(f'Warning: {head} "restricted:v1.24"', result.errors)
        result = await self.apply(self.manifest("c"))
        self.assertNotEqual(result.status, 0)
        self.assertIn(f'pods "c" is forbidden: violates PodSecurity "restricted:v1.24": {ESCALATION}', result.errors)
        template = {key: self.manifest("t")[key] for key in ("metadata", "spec")}
        del template["metadata"]["name"]
        spec = {"selector": {"matchLabels": {"app": "web"}}, "template": template}
        result = await self.apply(
            {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec}
        )
        self.assertEqual(result.status, 0, result)
        self.assertIn(f'Warning: would violate PodSecurity "restricted:latest": {ESCALATION}', result.errors)

    async def test_good_pod(self) -> None:
        """A pod that says all it must is made, and told nothing."""
        await self.label(f"{LABEL}enforce=restricted")
        security: Object = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
        container = {"name": "c", "image": "i", "securityContext": security}
        whole = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
        result = await self.apply(self.manifest("good", containers=[container], securityContext=whole))
        self.assertEqual((result.status, result.errors), (0, ""))


class PodSecurityPolicyTests(SecurityCase):
    """A server with PodSecurityPolicy, and somebody who may use one."""

    flags = (*ServerCase.flags, "--enable-admission-plugins=PodSecurityPolicy")

    async def test_use(self) -> None:
        """A pod is made as soon as a policy may be used for it, and says which that was."""
        any_rule = {"rule": "RunAsAny"}
        rules = {key: any_rule for key in ("seLinux", "supplementalGroups", "fsGroup")}
        must = {"rule": "MustRunAs", "ranges": [{"min": 1000, "max": 2000}]}
        name = self.unique("psp")
        policy: Object = {
            "apiVersion": "policy/v1beta1",
            "kind": "PodSecurityPolicy",
            "metadata": {"name": name},
            "spec": {**rules, "runAsUser": must, "volumes": ["secret"]},
        }
        user = ("--as=jane", "--as-group=system:authenticated")
        pod = self.manifest("p")
        await self.run_ok("create", "rolebinding", "edits", "--clusterrole=edit", "--user=jane")
        result = await self.apply(pod, *user)
        self.assertIn('pods "p" is forbidden: PodSecurityPolicy: unable to admit pod: []', result.errors)
        await self.run_ok("apply", "-f", "-", stdin=json.dumps(policy))
        await self.run_ok(
            "create", "role", "uses", "--verb=use", "--resource=podsecuritypolicies.policy", f"--resource-name={name}"
        )
        await self.run_ok("create", "rolebinding", "uses", "--role=uses", "--user=jane")
        result = await self.apply(pod, *user)
        self.assertEqual(result.status, 0, result)
        made = json.loads(await self.run_ok("get", "pod", "p", "-o", "json"))
        self.assertEqual(made["metadata"]["annotations"]["kubernetes.io/psp"], name)
        self.assertEqual(made["spec"]["containers"][0]["securityContext"]["runAsUser"], 1000)
        result = await self.apply(self.manifest("q", hostNetwork=True), *user)
        self.assertIn("Host network is not allowed to be used", result.errors)
