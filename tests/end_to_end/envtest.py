"""Imitation of controller-runtime's envtest: flags, certificates, health polling and stop of its two programs.

The flags are recorded from the releases that RELEASES names. Methods wait; tests call them in a thread.
"""

from __future__ import annotations

import os
import signal
import socket
import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final

import attrs
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from orchtw.commands.envtest.assets import write_assets
from orchtw.pki.certificates import key_pem, pem
from orchtw.testing.process import environment
from tests.end_to_end.client import Client

START_S: Final = 60.0
POLL_S: Final = 0.1


@attrs.frozen(slots=True, kw_only=True)
class Release:
    """Command lines of a release, with its variables in braces; `key` makes the keys of its certificates.

    A flag with a condition is passed only if the program's help shows it.
    """

    etcd: Sequence[str]
    apiserver: Sequence[str]
    key: Callable[[], Any]
    conditions: Mapping[str, str] = {}


_APISERVER: Final = (
    "--allow-privileged=true",
    "--authorization-mode=RBAC",
    "--bind-address=127.0.0.1",
    "--cert-dir={certs}",
    "--client-ca-file={certs}/client-cert-auth-ca.crt",
    "--disable-admission-plugins=ServiceAccount",
    "--etcd-servers={etcd}",
    "--insecure-port=0",
    "--secure-port={port}",
    "--service-account-issuer={api}/",
    "--service-account-key-file={certs}/sa-signer.crt",
    "--service-account-signing-key-file={certs}/sa-signer.key",
    "--service-cluster-ip-range=10.0.0.0/24",
)
_ETCD: Final = (
    "--advertise-client-urls={etcd}",
    "--data-dir={data}",
    "--listen-client-urls={etcd}",
)

RELEASES: Final[Mapping[str, Release]] = {
    "v0.9.0": Release(
        etcd=(*_ETCD, "--listen-peer-urls=http://localhost:0"),
        apiserver=("--advertise-address=127.0.0.1", *_APISERVER),
        key=lambda: rsa.generate_private_key(65537, 2048),
    ),
    "v0.20.4": Release(
        etcd=(*_ETCD, "--listen-peer-urls={peer}", "--unsafe-no-fsync=true"),
        apiserver=_APISERVER,
        key=lambda: ec.generate_private_key(ec.SECP256R1()),
        conditions={"--unsafe-no-fsync": "unsafe-no-fsync", "--insecure-port": "insecure-port"},
    ),
    # Releases 0.6 to 0.8 talk to the insecure port.
    "v0.8.3": Release(
        etcd=("--listen-peer-urls=http://localhost:0", *_ETCD),
        apiserver=(
            "--advertise-address=127.0.0.1",
            "--etcd-servers={etcd}",
            "--cert-dir={certs}",
            "--insecure-port={insecure}",
            "--insecure-bind-address=127.0.0.1",
            "--secure-port={port}",
            "--disable-admission-plugins=ServiceAccount",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--allow-privileged=true",
        ),
        key=lambda: rsa.generate_private_key(65537, 2048),
    ),
}


class TinyCA:
    """Authority of a test environment, with the names and extensions that envtest's has."""

    def __init__(self, new_key: Callable[[], Any]) -> None:
        self._new_key = new_key
        self.key = new_key()
        name = _name("envtest-environment", ("envtest",))
        usage = x509.KeyUsage(True, False, True, False, False, True, False, False, False)
        self.certificate = (
            self._builder(name, name, self.key)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(usage, critical=True)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName("envtest-environment")]), critical=False)
            .sign(self.key, hashes.SHA256())
        )

    def pair(self) -> tuple[bytes, bytes]:
        """Return its own certificate and key, as PEM."""
        return pem(self.certificate), key_pem(self.key)

    def serving(self) -> tuple[bytes, bytes]:
        """Return a certificate for this machine, and its key, as PEM."""
        names = [x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))]
        return self._issued(_name("localhost", ("envtest",)), ExtendedKeyUsageOID.SERVER_AUTH, names)

    def client(self, user: str, *groups: str) -> tuple[bytes, bytes]:
        """Return a user's certificate and key, as PEM."""
        return self._issued(_name(user, groups), ExtendedKeyUsageOID.CLIENT_AUTH)

    def _issued(
        self, name: x509.Name, purpose: x509.ObjectIdentifier, names: Sequence[x509.GeneralName] = ()
    ) -> tuple[bytes, bytes]:
        key = self._new_key()
        usage = x509.KeyUsage(True, False, True, False, False, False, False, False, False)
        builder = (
            self._builder(name, self.certificate.subject, key)
            .add_extension(usage, critical=True)
            .add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
        )
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return pem(builder.sign(self.key, hashes.SHA256())), key_pem(key)

    def _builder(self, name: x509.Name, issuer: x509.Name, key: Any) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(issuer)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now)
            .not_valid_after(now + timedelta(hours=168))
        )


def _name(common: str, organizations: Sequence[str]) -> x509.Name:
    units = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, each) for each in organizations]
    return x509.Name([*units, x509.NameAttribute(NameOID.COMMON_NAME, common)])


class StartFailed(Exception):
    """Error: a program has ended before it was healthy. The text is its standard error."""


class Program:
    """One of the two programs, in a process group of its own; `log` is its output."""

    def __init__(self, path: Path, flags: Sequence[str], folder: Path, health: str) -> None:
        self._command = [str(path), *flags]
        self._health = health
        self.log = folder / f"{path.name}.log"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until its health check answers 200. Raises StartFailed, TimeoutError."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self._command, stdout=log, stderr=log, process_group=0, env=environment(()), cwd=self.log.parent
            )
        deadline = time.monotonic() + START_S
        while not healthy(self._health):
            if self.process.poll() is not None:
                raise StartFailed(self.log.read_text())
            if time.monotonic() > deadline:
                self.stop()
                raise TimeoutError(self.log.read_text())
            time.sleep(POLL_S)

    def stop(self) -> int:
        """End its process group as releases from 0.24 on do; returns the exit status."""
        process, self.process = self.process, None
        if process is None:
            return 0
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
        status = process.wait(START_S)
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            return status
        raise AssertionError("something is left of the process group")


def healthy(url: str) -> bool:
    """Ask for the health of a program, anonymously, and without a look at its certificate."""
    try:
        with urllib.request.urlopen(url, context=ssl._create_unverified_context(), timeout=5) as answer:
            return bool(answer.status == 200)
    except (OSError, urllib.error.URLError):
        return False


class ControlPlane:
    """Both programs as a release starts them, and the users that it makes."""

    def __init__(self, release: str, folder: Path) -> None:
        self.release = RELEASES[release]
        folder.mkdir(parents=True)
        self.assets = write_assets(folder / "assets")
        self._serving, self.users = TinyCA(self.release.key), TinyCA(self.release.key)
        data, certs = (Path(tempfile.mkdtemp(prefix="k8s_test_framework_", dir=folder)) for _ in range(2))
        ports = dict(zip(("etcd", "peer", "port", "insecure"), free_ports(4), strict=True))
        self.port = ports["port"]
        self.certs = certs
        self.variables = {
            "data": str(data), "certs": str(certs), "port": str(self.port), "insecure": str(ports["insecure"]),
            "etcd": f"http://127.0.0.1:{ports['etcd']}", "peer": f"http://127.0.0.1:{ports['peer']}",
            "api": f"https://127.0.0.1:{self.port}",
        }  # fmt: skip
        self.etcd = self._program("etcd", self.release.etcd, f"{self.variables['etcd']}/health", folder)
        health = f"{self.variables['api']}/healthz"
        self.apiserver = self._program("kube-apiserver", self.release.apiserver, health, folder)

    def start(self) -> None:
        """Start etcd, write the certificates, start the API server."""
        self.etcd.start()
        accounts = TinyCA(self.release.key)
        for name, content in (
            *zip(("apiserver.crt", "apiserver.key"), self._serving.serving(), strict=True),
            *zip(("sa-signer.crt", "sa-signer.key"), accounts.pair(), strict=True),
            ("client-cert-auth-ca.crt", self.users.pair()[0]),
        ):
            (self.certs / name).write_bytes(content)
        self.apiserver.start()

    def stop(self) -> list[int]:
        """Stop the API server, then etcd; returns their exit statuses."""
        return [self.apiserver.stop(), self.etcd.stop()]

    def client(self, user: str = "", *groups: str, **headers: str) -> Client:
        """Return a client that trusts the API server by its authority; without a user one that shows nothing."""
        context = ssl.create_default_context(cadata=self._serving.pair()[0].decode())
        if user:
            with tempfile.NamedTemporaryFile(suffix=".pem") as file:
                file.write(b"".join(self.users.client(user, *groups)))
                file.flush()
                context.load_cert_chain(file.name)
        return Client(self.port, context, headers)

    def _program(self, name: str, flags: Sequence[str], health: str, folder: Path) -> Program:
        path = self.assets / name
        told = subprocess.run([path, "--help"], capture_output=True, check=True, env=environment(())).stdout.decode()
        shown = {line.split()[0] for line in told.splitlines() if line.strip().startswith("--")}
        given = [
            each.format_map(self.variables)
            for each in flags
            if each.partition("=")[0] not in self.release.conditions or each.partition("=")[0] in shown
        ]
        return Program(path, given, folder, health)


def free_ports(count: int) -> list[int]:
    """Return ports that are free now."""
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [int(each.getsockname()[1]) for each in sockets]
    for each in sockets:
        each.close()
    return ports
