"""The container's files and the manifests of a cluster, as far as they can be tried without a container."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from subprocess import run
from typing import Any
from unittest import skipUnless

import yaml
from twisted.internet import reactor
from twisted.trial.unittest import SynchronousTestCase, TestCase

from orchtw import __version__
from tests.end_to_end.several import free_port
from tests.in_process import InProcessServer

EXAMPLES = Path(__file__).parents[2] / "examples"
CONTAINER = EXAMPLES / "container"
CHART = EXAMPLES / "cluster" / "chart"
HELM = shutil.which("helm") or ""
PATIENCE_S = 60.0
_MISSING = object()


def documents(path: Path) -> list[Any]:
    """Return the YAML documents of a file."""
    return list(yaml.safe_load_all(path.read_text()))


class ManifestTests(TestCase):
    """Manifests that run the server in a cluster."""

    async def test_valid(self) -> None:
        """The server itself takes each of them, under strict validation."""
        server = InProcessServer(reactor, self.mktemp(), vocabulary="kubernetes")
        await server.start()
        self.addCleanup(server.stop)
        found = documents(EXAMPLES / "cluster" / "orchtw.yaml")
        self.assertEqual(len(found), 5)
        for each in found:
            group = each["apiVersion"]
            base = "/api/v1" if group == "v1" else f"/apis/{group}"
            path = f"{base}/namespaces/default/{each['kind'].lower()}s?fieldValidation=Strict"
            answer = await server.request("POST", path, each)
            self.assertEqual(answer.code, 201, answer.body)

    def test_careful(self) -> None:
        """No container runs as root, can gain privileges or write its root file system."""
        pods = [each["spec"]["template"]["spec"] for each in documents(EXAMPLES / "cluster" / "orchtw.yaml")
                if "template" in each["spec"]]  # fmt: skip
        self.assertEqual(len(pods), 2)
        for pod in pods:
            self.assertTrue(pod["securityContext"]["runAsNonRoot"])
            for container in pod["containers"]:
                context = container["securityContext"]
                self.assertTrue(context["readOnlyRootFilesystem"])
                self.assertFalse(context["allowPrivilegeEscalation"])


class ChartTests(SynchronousTestCase):
    """The Helm chart, beside the manifests with the same objects."""

    def setUp(self) -> None:
        self.values = yaml.safe_load((CHART / "values.yaml").read_text())
        self.plain = {(each["kind"], each["metadata"]["name"]): each
                      for each in documents(EXAMPLES / "cluster" / "orchtw.yaml")}  # fmt: skip

    def test_version(self) -> None:
        """The chart has the version of this project."""
        chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
        self.assertEqual((chart["apiVersion"], chart["name"]), ("v2", "orchtw"))
        self.assertEqual((chart["version"], chart["appVersion"]), (__version__, __version__))

    def test_values(self) -> None:
        """Each value is used by a template, and the templates use no others."""
        texts = "".join(path.read_text() for path in (CHART / "templates").iterdir())
        used = set(re.findall(r"\.Values\.([\w.]*\w)", texts))
        self.assertEqual({name for name in used if self._value(name) is _MISSING}, set())
        for name in self._names(self.values):
            self.assertTrue(any(f"{name}.".startswith(f"{each}.") for each in used), name)

    def test_defaults(self) -> None:
        """The values as they stand are what the manifests have."""
        values, etcd = self.values, self.values["etcd"]
        deployment = self.plain["Deployment", "orchtw"]["spec"]
        server = deployment["template"]["spec"]["containers"][0]
        image = (server["image"], server["imagePullPolicy"])
        self.assertEqual(deployment["replicas"], values["replicas"])
        self.assertEqual(image, (values["image"]["repository"], values["image"]["pullPolicy"]))
        self.assertEqual(server["args"][-len(values["flags"]) :], values["flags"])
        self.assertEqual(server["resources"], values["resources"])
        service = self.plain["Service", "orchtw"]["spec"]
        self.assertEqual(service["type"], values["service"]["type"])
        self.assertEqual(service["ports"][0]["port"], values["service"]["port"])
        budget = self.plain["PodDisruptionBudget", "orchtw"]["spec"]
        self.assertLessEqual(values["disruptionBudget"].items(), budget.items())
        stateful = self.plain["StatefulSet", "orchtw-etcd"]["spec"]
        member = stateful["template"]["spec"]["containers"][0]
        self.assertEqual((member["image"], member["resources"]), (etcd["image"], etcd["resources"]))
        claim = stateful["volumeClaimTemplates"][0]["spec"]
        self.assertEqual(claim["resources"]["requests"]["storage"], etcd["persistence"]["size"])
        for each in (deployment, stateful):
            pod = each["template"]["spec"]
            self.assertEqual(pod["securityContext"], values["podSecurityContext"])
            self.assertEqual(pod["containers"][0]["securityContext"], values["securityContext"])

    @skipUnless(HELM, "helm is not on the PATH")
    def test_rendered(self) -> None:
        """Helm finds no fault in the chart, and makes of it the objects of the manifests."""
        run([HELM, "lint", "--strict", str(CHART)], check=True, capture_output=True)
        command = [HELM, "template", "orchtw", str(CHART), "--namespace", "control-plane"]
        made = yaml.safe_load_all(run(command, check=True, capture_output=True, text=True).stdout)
        self.assertEqual({(each["kind"], each["metadata"]["name"]): each for each in made}, self.plain)

    def _value(self, name: str) -> Any:
        """Return the value with a dotted name, or _MISSING."""
        found: Any = self.values
        for part in name.split("."):
            found = found.get(part, _MISSING) if isinstance(found, dict) else _MISSING
        return found

    def _names(self, values: dict[str, Any], above: str = "") -> Iterator[str]:
        """Yield the dotted names of all values that are not mappings themselves."""
        for name, value in values.items():
            if isinstance(value, dict) and value:
                yield from self._names(value, f"{above}{name}.")
            else:
                yield above + name


class ContainerTests(SynchronousTestCase):
    """Files of the image."""

    def test_containerfile(self) -> None:
        """The image has no root user, a volume and a health check, and copies files that are there."""
        text = (CONTAINER / "Containerfile").read_text()
        for each in ("USER 65532:65532", "VOLUME /data", 'HEALTHCHECK', 'ENTRYPOINT ["serve"]'):
            self.assertIn(each, text)
        for each in re.findall(r"examples/container/(\w+) ", text):
            self.assertTrue((CONTAINER / each).exists(), each)

    def test_services(self) -> None:
        """Examples for Compose and for CI services are YAML."""
        compose = yaml.safe_load((CONTAINER / "compose.yaml").read_text())
        service = compose["services"]["api"]
        self.assertTrue(service["read_only"])
        self.assertTrue((CONTAINER / service["build"]["context"] / service["build"]["dockerfile"]).exists())
        for name in ("github-service.yaml", "gitlab-ci.yaml"):
            self.assertEqual(len(documents(CONTAINER / name)), 1)

    def test_serves(self) -> None:
        """The start command takes addresses and names from the environment, and the health check finds the server."""
        folder = Path(self.mktemp()).absolute()
        folder.mkdir()
        port = str(free_port())
        variables = {
            "ORCHTW_DATA": str(folder), "ORCHTW_PORT": port, "ORCHTW_BIND_ADDRESS": "127.0.0.2",
            "ORCHTW_TLS_SAN": "api.example.com", "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        }  # fmt: skip
        command = [str(CONTAINER / "serve"), "--storage=memory"]
        running = subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            self.assertTrue(any(self._healthy(variables)))
            names = subprocess.run(
                ["openssl", "x509", "-noout", "-ext", "subjectAltName", "-in", folder / "pki" / "apiserver.crt"],
                capture_output=True, text=True, check=True,
            ).stdout  # fmt: skip
            self.assertIn("DNS:api.example.com", names)
        finally:
            running.terminate()
            running.communicate()
        self.assertFalse(next(self._healthy(variables)))

    def _healthy(self, variables: dict[str, str]) -> Iterator[bool]:
        """Yield what the health check says, until PATIENCE_S have passed."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            yield subprocess.run([CONTAINER / "healthy"], env=variables, capture_output=True).returncode == 0
            time.sleep(0.1)
