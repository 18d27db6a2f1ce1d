"""A server with fault rules, and an operator with a token whose requests they strike."""

from __future__ import annotations

import base64
import json
import shutil
import ssl
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from orchtw.wire.objects import Object
from tests.end_to_end.case import ServerCase
from tests.end_to_end.client import PATIENCE_S, Client, tls_context

TOKENS = Path("fault-tokens.csv")
POLICY = Path("fault-audit.yaml")
AUDIT = Path("fault-audit.log")
TOKEN = "operators-token"
RULES = "/debug/faults"
PROTOBUF = "application/vnd.kubernetes.protobuf;stream=watch"
ANNOTATION = "faults.kubernetes.io/rule"

CURL = shutil.which("curl")
NO_CURL = None if CURL else "curl is not on the PATH: not run"


class FaultCase(ServerCase):
    """Rules for the user `operator`, who may do everything; the administrator adds them and looks."""

    vocabulary = "kubernetes"

    async def setUp(self) -> None:  # type: ignore[override]
        TOKENS.write_text(f'{TOKEN},operator,1,"system:masters"\nbobs-token,bob,2,dev\n')
        POLICY.write_text("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n")
        self.flags = (
            "--enable-faults",
            f"--token-auth-file={TOKENS.absolute()}",
            f"--audit-policy-file={POLICY.absolute()}",
            f"--audit-log-path={AUDIT.absolute()}",
            "--controllers=*,-root-ca-cert-publisher",
        )
        await super().setUp()
        self.addCleanup(self.client.send, "DELETE", RULES)
        self.operator = self.as_user(TOKEN)
        self.maps = self.core("configmaps")

    def as_user(self, token: str) -> Client:
        """A client that shows a token."""
        return self.anonymous(Authorization=f"Bearer {token}")

    async def rule(self, **fields: Any) -> str:
        """Add a rule for the operator's requests; returns its id."""
        answer = await self.client.post(RULES, {"user": "operator", **fields})
        self.assertEqual(answer.code, 201, answer)
        rule_id: str = answer.json["id"]
        return rule_id

    async def struck(self, rule_id: str) -> int:
        """Count of requests that a rule has struck."""
        count: int = (await self.client.get(f"{RULES}/{rule_id}")).json["struck"]
        return count

    async def map(self, name: str, **data: str) -> Object:
        """Create a config map, as the administrator."""
        return await self.created(self.maps, {"metadata": {"name": name}, "data": data})

    async def names(self) -> set[str]:
        """Names of the config maps that are there."""
        return {each["metadata"]["name"] for each in (await self.client.get(self.maps)).json["items"]}

    def events(self) -> Iterator[Object]:
        """Audit events of requests that faults have struck."""
        for line in AUDIT.read_text().splitlines():
            event: Object = json.loads(line)
            if ANNOTATION in event.get("annotations", {}):
                yield event

    def kubeconfig(self) -> Path:
        """A kubeconfig of the operator."""
        document = yaml.safe_load(self.server.kubeconfig.read_text())
        document["users"][0]["user"] = {"token": TOKEN}
        path = Path(self.mktemp())
        path.write_text(json.dumps(document))
        return path.absolute()

    def tls(self) -> ssl.SSLContext:
        """The TLS settings of a client that knows the server's authority."""
        return tls_context(self.server.kubeconfig, certificate=False)

    def curl(self, path: str, *arguments: str, body: Object | None = None) -> subprocess.CompletedProcess[bytes]:
        """Run curl as the operator; blocking."""
        command = self.curl_command(path, *arguments, body=body)
        return subprocess.run(command, capture_output=True, timeout=PATIENCE_S, check=False)

    def curl_command(self, path: str, *arguments: str, body: Object | None = None) -> Sequence[str]:
        """The command that runs curl as the operator."""
        assert CURL is not None
        document = yaml.safe_load(self.server.kubeconfig.read_text())
        authority = Path(self.mktemp())
        authority.write_bytes(base64.b64decode(document["clusters"][0]["cluster"]["certificate-authority-data"]))
        sent: Sequence[str] = () if body is None else ("-H", "Content-Type: application/json", "-d", json.dumps(body))
        return (CURL, "-sSN", "--cacert", str(authority), "-H", f"Authorization: Bearer {TOKEN}", *sent, *arguments,
                f"{self.server.address}{path}")  # fmt: skip
