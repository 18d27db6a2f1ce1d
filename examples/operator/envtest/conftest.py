"""The operator in a thread, beside the two programs of an envtest folder, as suites for envtest are written.

The control plane starts once and is never reset: each test has a namespace, and deletes by hand what it has made.
Conditions are polled, and the operator's client is wrapped where the API is to fail. `KUBEBUILDER_ASSETS` is the
folder of the programs, as `orch-envtest-assets` writes it.
"""

from __future__ import annotations

import base64
import json
import os
import random
import secrets
import socket
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import kubernetes
import pytest
import urllib3
import yaml
from certificates import certificate
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from kubernetes.client import ApiException
from website_operator.conversion import ConversionServer
from website_operator.operator import Operator

MANIFESTS = Path(__file__).parent.parent / "manifests"
USER, ADMIN = "website-operator", "admin"
WEBSITES = "/apis/example.com/v1/namespaces/{namespace}/websites"
CONFIG_MAPS = "/api/v1/namespaces/{namespace}/configmaps"
TIMEOUT_S, INTERVAL_S = 10.0, 0.25  # as in the tests of Kubebuilder's book
START_S = 60.0

urllib3.disable_warnings()  # of the certificate, which the program has made for itself


class Refused(Exception):
    """Refusal of a request of the test; its text is the server's message."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Admin:
    """The administrator's access to the API."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._context = ssl._create_unverified_context()

    def call(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> Any:
        """Return the object of a response. Raises Refused."""
        headers = {"Authorization": f"Bearer {ADMIN}", "Content-Type": content_type}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, context=self._context) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise Refused(error.code, error.read().decode()) from None

    def get(self, path: str) -> Any:
        """Return an object, None if it is not there."""
        try:
            return self.call("GET", path)
        except Refused as error:
            if error.status != 404:
                raise
            return None


Send = Callable[[], Any]
Intercept = Callable[[str, str, Send], Any]
"""Function of the method (WATCH for watches), the path and the sending of a request, which it may call or not."""


def client(url: str, intercept: Intercept = lambda method, path, send: send()) -> kubernetes.client.ApiClient:
    """Return a client of the operator, whose requests may be made to fail."""
    configuration = kubernetes.client.Configuration()
    configuration.host, configuration.verify_ssl, configuration.retries = url, False, False
    configuration.api_key = dict.fromkeys(("authorization", "BearerToken"), USER)
    configuration.api_key_prefix = dict.fromkeys(("authorization", "BearerToken"), "Bearer")
    made = kubernetes.client.ApiClient(configuration)
    pool = made.rest_client.pool_manager
    request = pool.request

    def intercepted(method: str, url: str, *arguments: Any, **settings: Any) -> Any:
        watches = "watch=" in url or any(each[0] == "watch" for each in settings.get("fields") or ())
        return intercept("WATCH" if watches else method, url, lambda: request(method, url, *arguments, **settings))

    pool.request = intercepted
    return made


def eventually(condition: Callable[[], Any]) -> Any:
    """Poll a condition; return its first true value."""
    until = time.monotonic() + TIMEOUT_S
    while True:
        try:
            found = condition()
        except (LookupError, TypeError):
            found = None
        if found:
            return found
        assert time.monotonic() < until, f"not met within {TIMEOUT_S} s"
        time.sleep(INTERVAL_S)


def free_port() -> int:
    """Return a port that is free now."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])


def start(name: str, health: str, folder: Path, *flags: str) -> subprocess.Popen[bytes]:
    """Start a program of the folder, and wait until it is healthy."""
    with (folder / f"{name}.log").open("wb") as log:
        program = Path(os.environ["KUBEBUILDER_ASSETS"]) / name
        process = subprocess.Popen([str(program), *flags], stdout=log, stderr=log)
    context, until = ssl._create_unverified_context(), time.monotonic() + START_S
    while True:
        try:
            with urllib.request.urlopen(health, context=context):
                return process
        except OSError:
            assert process.poll() is None and time.monotonic() < until, (folder / f"{name}.log").read_text()
            time.sleep(0.1)


@pytest.fixture(scope="session")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """URL of a control plane of two processes, with a token for each user, which is the user's name."""
    folder = tmp_path_factory.mktemp("plane")
    (folder / "tokens.csv").write_text(f'{ADMIN},{ADMIN},{ADMIN},"system:masters"\n{USER},{USER},{USER}\n')
    key = rsa.generate_private_key(65537, 2048)
    (folder / "sa.key").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    store, url = f"http://127.0.0.1:{free_port()}", f"https://127.0.0.1:{free_port()}"
    etcd = start(
        "etcd", f"{store}/health", folder, f"--data-dir={folder / 'etcd'}", "--unsafe-no-fsync=true",
        f"--listen-client-urls={store}", f"--advertise-client-urls={store}",
        f"--listen-peer-urls=http://127.0.0.1:{free_port()}",
    )  # fmt: skip
    server = start(
        "kube-apiserver", f"{url}/healthz", folder, f"--etcd-servers={store}", f"--cert-dir={folder / 'certs'}",
        "--bind-address=127.0.0.1", f"--secure-port={url.rpartition(':')[2]}", "--authorization-mode=RBAC",
        "--disable-admission-plugins=ServiceAccount", "--service-cluster-ip-range=10.0.0.0/24",
        f"--token-auth-file={folder / 'tokens.csv'}", f"--service-account-issuer={url}/",
        f"--service-account-key-file={folder / 'sa.key'}",
        f"--service-account-signing-key-file={folder / 'sa.key'}",
    )  # fmt: skip
    yield url
    for process in (server, etcd):
        process.terminate()
        process.wait(START_S)


@pytest.fixture(scope="session")
def admin(plane: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Admin]:
    """Administrator's access to the API, on a control plane with definition, webhook and rights."""
    admin = Admin(plane)
    paths = certificate(tmp_path_factory.mktemp("tls"), "localhost")
    conversion = ConversionServer(*paths)
    conversion.start()
    definition = yaml.safe_load((MANIFESTS / "definition.yaml").read_text())
    bundle = base64.b64encode(Path(paths[0]).read_bytes()).decode()
    # envtest rewrites the webhooks of manifests in this way: no Service leads anywhere.
    url = {"url": f"https://localhost:{conversion.port}/convert", "caBundle": bundle}
    definition["spec"]["conversion"]["webhook"]["clientConfig"] = url
    admin.call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
    for each in yaml.safe_load_all((MANIFESTS / "rights.yaml").read_text()):
        admin.call("POST", f"/apis/{each['apiVersion']}/{each['kind'].lower()}s", each)
    admin.call("POST", "/api/v1/namespaces", {"metadata": {"name": "dns"}})
    eventually(lambda: admin.get("/apis/example.com/v1"))
    yield admin
    conversion.stop()


@pytest.fixture
def namespace(admin: Admin) -> Iterator[str]:
    """Namespace of the test, emptied by hand afterwards: under envtest it would not go."""
    name = f"test-{secrets.token_hex(4)}"
    admin.call("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    yield name
    for path in (
        WEBSITES.format(namespace=name),
        CONFIG_MAPS.format(namespace=name),
        CONFIG_MAPS.format(namespace="dns"),
    ):
        for each in admin.call("GET", path)["items"]:
            own = f"{path}/{each['metadata']['name']}"
            if each["metadata"].get("finalizers"):
                no_finalizers = {"metadata": {"finalizers": None}}
                admin.call("PATCH", own, no_finalizers, "application/merge-patch+json")
            try:
                admin.call("DELETE", own)
            except Refused as error:
                assert error.status == 404


@pytest.fixture
def new_operator(namespace: str, plane: str) -> Iterator[Callable[..., Operator]]:
    """Function that starts an operator, whose requests may be intercepted; all of them are stopped in the end."""
    started: list[Operator] = []

    def begin(intercept: Intercept = lambda method, path, send: send()) -> Operator:
        operator = Operator(client(plane, intercept))
        operator.start()
        started.append(operator)
        return operator

    yield begin
    for operator in started:
        operator.stop()


@pytest.fixture
def operator(new_operator: Callable[..., Operator]) -> Operator:
    """Operator that runs beside the test."""
    return new_operator()


@pytest.fixture
def make(admin: Admin, namespace: str) -> Callable[..., Any]:
    """Function that creates a website with some pages; hosts are of this test, as records of others may be left."""

    def make(name: str = "shop", **pages: str) -> Any:
        spec = {
            "host": f"{name}.{namespace}.example.com",
            "pages": {f"{key}.html": text for key, text in pages.items()},
        }
        website = {"apiVersion": "example.com/v1", "kind": "Website", "metadata": {"name": name}, "spec": spec}
        return admin.call("POST", WEBSITES.format(namespace=namespace), website)

    return make


class Faults:
    """Interceptor that fails the first `times` requests of a method, or any with a probability."""

    def __init__(self, method: str, status: int, times: int, *, after: bool = False) -> None:
        self._method, self._status, self.left, self._after = method, status, times, after

    def __call__(self, method: str, path: str, send: Send) -> Any:
        if not self.left or (self._method and method != self._method):
            return send()
        self.left -= 1
        if self._after:
            send()
            raise ConnectionResetError
        raise ApiException(status=self._status)


def chaos(seed: int) -> Intercept:
    """Return an interceptor that fails one request in five."""
    draw = random.Random(seed)

    def intercept(method: str, path: str, send: Send) -> Any:
        if draw.random() < 0.2:
            raise ApiException(status=draw.choice((409, 429, 500, 503)))
        return send()

    return intercept
