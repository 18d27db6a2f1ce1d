"""ServiceAccount (reference PLUG-45 to PLUG-49)."""
# covers: orchtw.admission.plugins.mountable_secrets

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from twisted.internet.defer import Deferred

from orchtw.wire.objects import Object
from tests.verbs.served import ServedCase

PATH = "/var/run/secrets/orch.io/serviceaccount"
PREFIX = "orch-api-access-"
SECRET = {"valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}
VARIABLE: Object = {"env": [{"name": "A", **SECRET}]}
WHOLE: Object = {"envFrom": [{"configMapRef": {"name": "s"}}, {"secretRef": {"name": "s"}}]}


class ServiceAccountTests(ServedCase):
    """The plugin in a whole server without the controller that makes accounts."""

    more: ClassVar[Mapping[str, Any]] = {"disable_admission_plugins": ()}

    def account(self, name: str = "default", **more: Any) -> Object:
        return self.done("POST", "serviceaccounts", {"metadata": {"name": name, **more.pop("metadata", {})}, **more})

    def pod(self, name: str = "p", annotations: Object | None = None, **spec: Any) -> Object:
        meta = {"name": name, "annotations": annotations or {}}
        return {"metadata": meta, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}

    def made(self, **spec: Any) -> Object:
        """The spec of a pod as it was stored."""
        made = self.done("POST", "pods", self.pod(f"p{len(self.plugin.admitted)}", **spec))
        found: Object = made["spec"]
        return found

    def refused(self, pod: Object) -> str:
        """Return the reason for refusing a pod."""
        answer = self.send("POST", "pods", pod)
        self.assertEqual(answer.code, 403)
        message: str = answer.json["message"]
        self.assertTrue(message.startswith('pods "p" is forbidden: '))
        return message.removeprefix('pods "p" is forbidden: ')

    def test_default(self) -> None:
        """A pod without account runs as `default`, by both names of the field (PLUG-45)."""
        self.account()
        spec = self.made()
        self.assertEqual((spec["serviceAccountName"], spec["serviceAccount"]), ("default", "default"))

    def test_missing(self) -> None:
        """An account that is not there is refused at once (PLUG-45)."""
        expected = 'error looking up service account default/x: serviceaccount "x" not found'
        self.assertEqual(self.refused(self.pod(serviceAccountName="x")), expected)

    def test_volume(self) -> None:
        """The token, the authorities and the namespace are mounted in every container (PLUG-48)."""
        self.account()
        spec = self.made(initContainers=[{"name": "d", "image": "i"}], volumes=[{"name": "v", "emptyDir": {}}])
        first, volume = spec["volumes"]
        self.assertEqual(first["name"], "v")
        self.assertRegex(volume["name"], f"^{PREFIX}[a-z0-9]{{5}}$")
        namespace = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
        sources = [
            {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
            {"configMap": {"name": "orch-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {"downwardAPI": {"items": [namespace]}},
        ]
        self.assertEqual(volume["projected"], {"sources": sources, "defaultMode": 420})
        for container in (*spec["initContainers"], *spec["containers"]):
            mount = {"name": volume["name"], "readOnly": True, "mountPath": PATH}
            self.assertEqual(container["volumeMounts"], [mount])

    def test_order_of_keys(self) -> None:
        """Filled-in fields stand where sent ones would."""
        self.account(imagePullSecrets=[{"name": "r"}])
        more = {"hostname": "h", "nodeSelector": {"a": "b"}, "automountServiceAccountToken": True}
        container = {"name": "c", "image": "i", "env": [{"name": "A"}], "tty": True, "lifecycle": {}, "stdin": True}
        first = self.made(**more, containers=[container])
        second = self.made(**first)
        self.assertEqual(self.keys(first), self.keys(second))

    def keys(self, value: Any) -> Any:
        if isinstance(value, dict):
            return [(key, self.keys(each)) for key, each in value.items()]
        return [self.keys(each) for each in value] if isinstance(value, list) else None

    def test_own_mount(self) -> None:
        """Where something is mounted already nothing else is, and then no volume is needed (PLUG-48)."""
        self.account()
        mount = {"name": "v", "mountPath": PATH}
        container = {"name": "c", "image": "i", "volumeMounts": [mount]}
        spec = self.made(containers=[container], volumes=[{"name": "v", "emptyDir": {}}])
        self.assertEqual([each["name"] for each in spec["volumes"]], ["v"])
        self.assertEqual(spec["containers"][0]["volumeMounts"], [mount])

    def test_own_volume(self) -> None:
        """A volume that is named as a token's is used again (PLUG-48)."""
        self.account()
        spec = self.made(volumes=[{"name": f"{PREFIX}mine", "emptyDir": {}}])
        self.assertEqual(len(spec["volumes"]), 1)
        self.assertEqual(spec["containers"][0]["volumeMounts"][0]["name"], f"{PREFIX}mine")

    def test_no_token(self) -> None:
        """The pod's word counts, then its account's (PLUG-48)."""
        self.account(automountServiceAccountToken=False)
        self.assertNotIn("volumes", self.made())
        self.assertIn("volumes", self.made(automountServiceAccountToken=True))
        self.account("other")
        self.assertNotIn("volumes", self.made(automountServiceAccountToken=False, serviceAccountName="other"))

    def test_pull_secrets(self) -> None:
        """A pod without pull secrets gets its account's (PLUG-47)."""
        self.account(imagePullSecrets=[{"name": "r"}])
        self.assertEqual(self.made()["imagePullSecrets"], [{"name": "r"}])
        self.assertEqual(self.made(imagePullSecrets=[{"name": "s"}])["imagePullSecrets"], [{"name": "s"}])

    def test_mountable_secrets(self) -> None:
        """An account may say that its pods use no secrets but those it lists (PLUG-46)."""
        annotations = {"orch.io/enforce-mountable-secrets": "true"}
        self.account(metadata={"annotations": annotations}, secrets=[{"name": "t"}])
        because = "is not allowed because service account default does not reference that"
        volume = {"name": "v", "secret": {"secretName": "s"}}
        why = f'volume with secret.secretName="s" {because} secret'
        self.assertEqual(self.refused(self.pod(volumes=[volume])), why)
        container = {"name": "c", "image": "i", "env": [{"name": "A", **SECRET}]}
        why = f'container c with envVar A referencing secret.secretName="s" {because} secret'
        self.assertEqual(self.refused(self.pod(containers=[container])), why)
        first = self.pod(initContainers=[{**container, "name": "d"}])
        self.assertEqual(self.refused(first), f"init {why.replace('container c', 'container d')}")
        whole = {"name": "c", "image": "i", **WHOLE}
        why = f'container c with envFrom referencing secret.secretName="s" {because} secret'
        self.assertEqual(self.refused(self.pod(containers=[whole])), why)
        why = f'imagePullSecrets[0].name="s" {because} imagePullSecret'
        self.assertEqual(self.refused(self.pod(imagePullSecrets=[{"name": "s"}])), why)
        self.made(volumes=[{"name": "v", "secret": {"secretName": "t"}}])

    def test_ephemeral(self) -> None:
        """Containers that a pod gets later use no other secrets either (PLUG-46)."""
        self.account("free")
        self.account("bound", metadata={"annotations": {"orch.io/enforce-mountable-secrets": "True"}})
        because = "is not allowed because service account bound does not reference that secret"
        cases: tuple[tuple[str, Object, str], ...] = (
            ("free", VARIABLE, ""),
            ("bound", VARIABLE, f'envVar A referencing secret.secretName="s" {because}'),
            ("bound", WHOLE, f'envFrom referencing secret.secretName="s" {because}'),
            ("bound", {"env": [{"name": "A", "value": "b"}]}, ""),
        )
        for index, (account, source, why) in enumerate(cases):
            name = f"p{index}"
            made = self.done("POST", "pods", self.pod(name, serviceAccountName=account))
            made["spec"]["ephemeralContainers"] = [{"name": "e", "image": "i", **source}]
            answer = self.send("PUT", f"pods/{name}/ephemeralcontainers", made)
            self.assertEqual(answer.code, 403 if why else 200, answer.body)
            if why:
                prefix = f'pods "{name}" is forbidden: ephemeral container e with '
                self.assertEqual(answer.json["message"], prefix + why)

    def test_ephemeral_without_account(self) -> None:
        """A mirror pod, which has no account, gets no such container (PLUG-46)."""
        made = self.done("POST", "pods", self.pod("p", {"orch.io/config.mirror": "x"}, nodeName="n"))
        made["spec"]["ephemeralContainers"] = [{"name": "e", "image": "i"}]
        answer = self.send("PUT", "pods/p/ephemeralcontainers", made)
        expected = 'pods "p" is forbidden: no service account specified for pod default/p'
        self.assertEqual((answer.code, answer.json["message"]), (403, expected))

    def test_enforcing(self) -> None:
        """The annotation is a boolean; whatever else it says, nothing is enforced (PLUG-46)."""
        volume = {"name": "v", "secret": {"secretName": "s"}}
        for index, (text, code) in enumerate((("1", 403), ("t", 403), ("TRUE", 403), ("false", 201), ("yes", 201))):
            self.account(f"a{index}", metadata={"annotations": {"orch.io/enforce-mountable-secrets": text}})
            pod = self.pod(f"p{index}", serviceAccountName=f"a{index}", volumes=[volume])
            answer = self.send("POST", "pods", pod)
            self.assertEqual(answer.code, code, answer.body)

    def test_mirror(self) -> None:
        """A mirror pod is left as it is, and refers to neither account nor secrets (PLUG-45)."""
        annotations: Object = {"orch.io/config.mirror": "x"}
        node: Object = {"nodeName": "n"}
        token = {"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}
        refused: dict[str, Object] = {
            "a mirror pod may not reference service accounts": {"serviceAccountName": "default"},
            "a mirror pod may not reference secrets": {"volumes": [{"name": "v", "secret": {"secretName": "s"}}]},
            "a mirror pod may not use ServiceAccountToken volume projections": {"volumes": [token]},
        }
        for why, spec in refused.items():
            self.assertEqual(self.refused(self.pod("p", annotations, **node, **spec)), why)
        for source in (VARIABLE, WHOLE):
            containers = [{"name": "c", "image": "i", **source}]
            refusal = self.refused(self.pod("p", annotations, **node, containers=containers))
            self.assertEqual(refusal, "a mirror pod may not reference secrets")
        pull = self.refused(self.pod("p", annotations, **node, imagePullSecrets=[{"name": "s"}]))
        self.assertEqual(pull, "a mirror pod may not reference secrets")
        made = self.done("POST", "pods", self.pod("p", annotations, **node))
        self.assertNotIn("serviceAccountName", made["spec"])

    def test_wait(self) -> None:
        """The account `default` of a new namespace is waited for, a short time (PLUG-45)."""
        answers = [self.later(), self.later()]
        self.clock.advance(0.01)
        self.account()
        self.clock.pump([0.02] * 3)
        self.assertEqual([answer[0].code for answer in answers], [201, 201])
        self.done("DELETE", "serviceaccounts/default")
        refused = self.later()
        self.clock.pump([0.5] * 10)
        expected = 'error looking up service account default/default: serviceaccount "default" not found'
        self.assertIn(expected, refused[0].json["message"])

    def later(self) -> list[Any]:
        """Where the answer to a create of a pod will be."""
        found: list[Any] = []
        url = "/api/v1/namespaces/default/pods"
        body = {"metadata": {"generateName": "p"}, "spec": self.pod()["spec"]}
        Deferred.fromCoroutine(self.server.request("POST", url, body)).addBoth(found.append)
        return found
