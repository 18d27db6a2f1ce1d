"""The operator in a thread, beside the API server of orchtw."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import kubernetes
import pytest
import yaml
from certificates import certificate
from website_operator.conversion import ConversionServer
from website_operator.operator import Operator

from orchtw.testing import ApiServer

MANIFESTS = Path(__file__).parent.parent / "manifests"
USER = "website-operator"
WEBSITES = "/apis/example.com/v1/namespaces/{namespace}/websites"

Make = Callable[..., Any]


def apply(server: ApiServer, obj: Any) -> None:
    """Apply a cluster-wide object as the administrator."""
    group, _, version = obj["apiVersion"].rpartition("/")
    plural = obj["kind"].lower() + "s"
    root = f"/apis/{group}/{version}" if group else f"/api/{version}"
    path = f"{root}/{plural}/{obj['metadata']['name']}?fieldManager=installer"
    server.request("PATCH", path, obj, "application/apply-patch+yaml").checked(obj["metadata"]["name"])


@pytest.fixture(scope="session")
def orch_baseline(orch_server: ApiServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Install the definition, the webhook and the rights once: every test begins with them."""
    paths = certificate(tmp_path_factory.mktemp("tls"), "webhook.website-operator.svc")
    conversion = ConversionServer(*paths)
    conversion.start()
    orch_server.map_service("website-operator/webhook:443", f"127.0.0.1:{conversion.port}")
    definition = yaml.safe_load((MANIFESTS / "definition.yaml").read_text())
    client = definition["spec"]["conversion"]["webhook"]["clientConfig"]
    client["caBundle"] = base64.b64encode(Path(paths[0]).read_bytes()).decode()
    apply(orch_server, definition)
    for each in yaml.safe_load_all((MANIFESTS / "rights.yaml").read_text()):
        apply(orch_server, each)
    apply(orch_server, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "dns"}})
    name = definition["metadata"]["name"]
    orch_server.eventually(f"customresourcedefinitions/{name}", established)
    yield
    conversion.stop()


def established(definition: Any) -> bool:
    """Report whether a definition is served."""
    conditions = definition["status"]["conditions"]
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)


@pytest.fixture(scope="session")
def account(orch_server: ApiServer) -> Path:
    """Kubeconfig of the operator."""
    return orch_server.user(USER)


@pytest.fixture
def start(orch: ApiServer, account: Path) -> Iterator[Callable[[], Operator]]:
    """Function that starts an operator; all of them are stopped in the end."""
    started: list[Operator] = []

    def start() -> Operator:
        configuration = kubernetes.client.Configuration()
        kubernetes.config.load_kube_config(str(account), client_configuration=configuration)
        configuration.retries = False  # the operator's queue does that, and does not sleep meanwhile
        operator = Operator(kubernetes.client.ApiClient(configuration))
        operator.start()
        started.append(operator)
        return operator

    yield start
    for operator in started:
        operator.stop()


@pytest.fixture
def operator(start: Callable[[], Operator]) -> Operator:
    """Operator that runs beside the test."""
    return start()


@pytest.fixture
def make(orch: ApiServer, orch_namespace: str) -> Make:
    """Function that creates a website with some pages."""

    def make(name: str = "shop", host: str = "", **pages: str) -> Any:
        spec = {"host": host or f"{name}.example.com", "pages": {f"{key}.html": text for key, text in pages.items()}}
        website = {"apiVersion": "example.com/v1", "kind": "Website", "metadata": {"name": name}, "spec": spec}
        return orch.request("POST", WEBSITES.format(namespace=orch_namespace), website).checked(name).json

    return make
