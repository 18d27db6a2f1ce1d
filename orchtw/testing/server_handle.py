"""Common part of the servers for blocking and for asynchronous tests: a child process and its attributes."""

from __future__ import annotations

import os
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from orchtw.testing.child_process import ChildProcess
from orchtw.testing.control.http import HttpClient
from orchtw.testing.control.network import Network
from orchtw.testing.control.server_control import Reached
from orchtw.testing.control.service_map import ServiceMapFile
from orchtw.testing.server_died import ServerDied
from orchtw.testing.server_folder import ServerFolder

DYING_S: Final = 0.5
"""How long the end of a process may take whose connections have broken."""


class ServerHandle:
    """One server, from its start to its end. Attributes that tell of it raise RuntimeError before the start.

    `flags` are further flags of the server. With a `data_dir` the data stay there, in the store that `storage` names
    ("memory", "sqlite"); else they are in a private temporary folder, which is removed at the end.
    """

    def __init__(
        self,
        *,
        flags: Sequence[str] = (),
        vocabulary: str = "kubernetes",
        storage: str = "memory",
        data_dir: str | os.PathLike[str] | None = None,
    ) -> None:
        if isinstance(flags, str):
            raise TypeError(f"flags must be a sequence of texts: flags=[{flags!r}]")
        self._flags = tuple(flags)
        self._vocabulary = vocabulary
        self._storage = storage
        self._data_dir = data_dir
        self._last_log = ""
        self._running: _Running | None = None

    @property
    def url(self) -> str:
        """Return the server's URL, such as `https://127.0.0.1:40123`."""
        return self._now.url

    @property
    def ca_pem(self) -> str:
        """Return the authority of the server's certificate, in PEM."""
        return self._now.ca_pem

    @property
    def token(self) -> str:
        """Return a bearer token of the administrator."""
        return self._now.folder.token

    @property
    def kubeconfig(self) -> Path:
        """Return the path of the administrator's kubeconfig."""
        return self._now.folder.kubeconfig

    @property
    def pid(self) -> int:
        """Return the server's process id."""
        return self._now.child.pid

    @property
    def vocabulary(self) -> str:
        """Return the server's vocabulary: "kubernetes" or "orch"."""
        return self._vocabulary

    def client_config(self) -> dict[str, Any]:
        """Return keyword arguments for `kubernetes.client.Configuration`, as the administrator.

        Those of `kubernetes_asyncio.client.Configuration` are the same.

        ```python
        configuration = kubernetes.client.Configuration(**server.client_config())
        core = kubernetes.client.CoreV1Api(kubernetes.client.ApiClient(configuration))
        ```
        """
        return {
            "host": self.url,
            "ssl_ca_cert": str(self._now.folder.ca),
            # The first name is that of kubernetes, the second that of kubernetes_asyncio.
            "api_key": dict.fromkeys(("authorization", "BearerToken"), self.token),
            "api_key_prefix": dict.fromkeys(("authorization", "BearerToken"), "Bearer"),
        }

    def lightkube_config(self) -> Any:
        """Return a `lightkube.KubeConfig`, as the administrator: `lightkube.Client(config=…)`.

        Raises ImportError without lightkube.
        """
        from lightkube import KubeConfig

        return KubeConfig.from_file(self.kubeconfig)

    def kr8s_config(self) -> dict[str, Any]:
        """Return keyword arguments for `kr8s.api` and `kr8s.asyncio.api`, as the administrator."""
        return {"url": self.url, "kubeconfig": str(self.kubeconfig)}

    def environment(self, kubeconfig: str | os.PathLike[str] | None = None) -> dict[str, str]:
        """Return this process's environment with KUBECONFIG, for operators that are processes of their own.

        By default they are the administrator; `user()` returns other kubeconfigs.
        """
        return {**os.environ, "KUBECONFIG": os.fspath(kubeconfig or self.kubeconfig)}

    def user(self, name: str, groups: Sequence[str] = ()) -> Path:
        """Return the path of a kubeconfig of a user, who may do what the cluster's roles allow.

        Its client certificate is signed by the server's authority. Raises `orchtw.errors.ConfigError` for names and
        groups that are not of 1 to 64 printable characters.
        """
        return self._now.folder.user(name, groups)

    def log(self) -> str:
        """Return what the server has written: its log and standard error. Kept after the end."""
        running = self._running
        return self._last_log if running is None else running.folder.log_text()

    @property
    def running(self) -> bool:
        """Report whether it has been started, and has neither been stopped nor ended by itself."""
        return self._running is not None and self._running.child.status() is None

    def last_writes(self, since: int = 0, namespace: str = "") -> str:
        """Return the text of the last writes since a revision and of the faults that struck, for a failed test.

        It blocks, and raises no error: a server that is gone is told in the text.
        """
        from orchtw.testing.last_writes import read_report, unreadable  # only failures need it

        try:
            now = self._now
            if (died := now.death()) is not None:
                raise died
            return read_report(now.url, now.ca_pem, now.folder.own_token, since, namespace)
        except Exception as error:  # noqa: BLE001 - the test's own failure matters more
            return unreadable(error)

    @property
    def _now(self) -> _Running:
        if self._running is None:
            raise RuntimeError("the server is not running")
        return self._running

    def _reached(self) -> Reached:
        return self._now.reached

    def _launch(self, network: Network) -> None:
        """Start the server; returns when it is ready. Raises StartFailed and RuntimeError."""
        if self.running:
            raise RuntimeError("the server is running already")
        self._finish()  # one that has ended by itself
        folder = ServerFolder(self._data_dir)
        try:
            self._running = running = _Running(
                folder, folder.flags(self._vocabulary, self._storage, self._flags), network
            )
        except BaseException:
            folder.remove()
            raise
        self._finalizer = weakref.finalize(self, running.end)

    def _finish(self) -> None:
        """Stop the server, if it runs."""
        running, self._running = self._running, None
        if running is not None:
            self._last_log = running.folder.log_text()
            self._finalizer.detach()
            running.end()


class _Running:
    """Child process with its folder, and what it has said of itself."""

    def __init__(self, folder: ServerFolder, flags: Sequence[str], network: Network) -> None:
        self.folder = folder
        services = ServiceMapFile(folder.service_map)
        services.create()
        self.child = ChildProcess(flags, folder.root, folder.log, remove=folder.temporary)
        try:
            self.url = self.child.ready_line().split(" ", 1)[0]
            self.ca_pem = folder.read_ca()
        except BaseException:
            self.child.kill()
            raise
        client = HttpClient(network, self.url, self.ca_pem, folder.own_token, lambda: self.death(DYING_S))
        self.reached = Reached(client, services)

    def death(self, wait_s: float = 0.0) -> ServerDied | None:
        """Return the error of a server that has ended by itself, None while it runs; waits for so long for an end."""
        status = self.child.status(wait_s)
        return None if status is None else ServerDied(status, self.folder.log_text())

    def end(self) -> None:
        """End the child and remove the folder, unless they are of the process that this one was forked from."""
        self.reached.client.close()
        if not self.child.owned:
            self.child.disown()
            return
        if self.folder.temporary:
            self.child.kill()
            self.folder.remove()
        else:
            self.child.end()
