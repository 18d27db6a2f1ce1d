"""A start, a restart and a second server of every store, vocabulary and number of processes (reference VOC-8)."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path
from typing import Any

from orchtw.naming.naming import Naming
from orchtw.testing.process import ServerProcess
from tests.end_to_end.case import TRACEBACKS
from tests.end_to_end.client import Client
from tests.end_to_end.several import make_folders, sealing_file
from tests.end_to_end.test_start import ProcessCase
from tests.end_to_end.test_store_command import orch_store
from tests.storage.etcd.cluster import NO_ETCD, shared_cluster
from tests.vocabularies import in_both, other

MAPS = "/api/v1/namespaces/default/configmaps"
SECRETS = "/api/v1/namespaces/default/secrets"
SERVED = 4
"""Namespaces of a vocabulary: a server of the other one makes three more."""

_prefixes = count(1)


class VocabularyCase(ProcessCase):
    """Servers whose folders have the same keys, and whose Secrets lie sealed."""

    vocabulary = "orch"
    timeout = 180

    def setUp(self) -> None:
        self.naming = Naming.of(self.vocabulary)
        self.folders = make_folders(self.mktemp(), ("a", "b"), self.naming)
        self.sealing = f"--encryption-provider-config={sealing_file(self.folders[0].parent, self.naming)}"

    def on(self, folder: Path, *flags: str, vocabulary: str = "") -> ServerProcess:
        """A server that is yet to be started; of this case's vocabulary unless it is another one."""
        which = f"--vocabulary={vocabulary or self.vocabulary}"
        return self.server(which, self.sealing, *flags, folder=str(folder))

    def role(self, vocabulary: str, *name: str) -> str:
        """The path of ClusterRoles, or of one: of a group whose name differs."""
        naming = Naming.of(vocabulary)
        return "/".join(("/apis", naming.api_version("rbac.authorization.orch.io/v1"), "clusterroles", *name))

    async def write(self, client: Client) -> None:
        """One object of a kind in each way: in a group of either name, plain and sealed."""
        for path, more in (
            (MAPS, {"data": {"k": "v"}}),
            (SECRETS, {"stringData": {"k": "words"}}),
            (self.role(self.vocabulary), {"rules": []}),
        ):
            answer = await client.post(path, {"metadata": {"name": "mine"}, **more})
            self.assertEqual(answer.code, 201, answer)

    async def check(self, server: ServerProcess, vocabulary: str = "") -> None:
        """Written objects are read, no namespaces were added, nothing was set aside, and no failure is logged."""
        client = self.client(server)
        for path in (f"{MAPS}/mine", f"{SECRETS}/mine", self.role(vocabulary or self.vocabulary, "mine")):
            answer = await client.get(path)
            self.assertEqual(answer.code, 200, answer)
        self.assertEqual(len((await client.get("/api/v1/namespaces")).json["items"]), SERVED)
        for word in (*TRACEBACKS, "damaged", "cannot be read"):
            self.assertNotIn(word, server.log)

    async def restarted(self, server: ServerProcess) -> None:
        """End it in either way, start it again, and find everything there."""
        for end in (server.terminate, server.kill9):
            await end()
            await server.start()
            await self.check(server)


@in_both
class SqliteTests(VocabularyCase):
    """The store in a folder, of one process or two."""

    async def use(self, *flags: str) -> None:
        """Start, second server, restarts."""
        first = self.on(self.folders[0], *flags)
        await first.start()
        await self.write(self.client(first))
        for vocabulary in (self.vocabulary, other(self.vocabulary)):
            second = self.server(f"--vocabulary={vocabulary}", *flags, folder=str(self.folders[0]))
            self.assertIn(": in use by another process;", await self.refusal(second))
        await self.check(first)
        await self.restarted(first)
        await first.terminate()

    async def test_one_process(self) -> None:
        """A restart goes on; a second server is refused in a line, and has rewritten nothing."""
        await self.use()

    async def test_two_processes(self) -> None:
        """The same with `--workers 2`; under the other vocabulary the store is rewritten first, and back."""
        await self.use("--workers=2")
        for vocabulary in (other(self.vocabulary), self.vocabulary):
            changed = self.on(self.folders[0], "--workers=2", vocabulary=vocabulary)
            await changed.start()
            await self.check(changed, vocabulary)
            await changed.terminate()


@in_both
class EtcdTests(VocabularyCase):
    """The store in a cluster."""

    skip = NO_ETCD

    async def cluster_flags(self) -> tuple[str, ...]:
        """Those of a part of the shared cluster that nobody has used."""
        self.cluster = await shared_cluster()
        self.prefix = f"/vocabularies-{next(_prefixes)}"
        return f"--etcd-servers={self.cluster.endpoints[0]}", f"--etcd-prefix={self.prefix}"

    async def test_two_servers(self) -> None:
        """A second server serves the same; both start again; one of the other vocabulary is refused, the store being
        in use or not, and leaves everything as it was.
        """
        flags = await self.cluster_flags()
        first, second = (self.on(folder, *flags) for folder in self.folders)
        await first.start()
        await self.write(self.client(first))
        await self.refused(flags)
        await second.start()
        await self.check(second)
        await self.restarted(first)
        await second.terminate()
        await first.terminate()
        await self.refused(flags)
        await second.start()
        await self.check(second)

    async def refused(self, flags: tuple[str, ...]) -> None:
        """A server of the other vocabulary says in a line what the store is of."""
        stranger = self.on(Path(self.mktemp()).absolute(), *flags, vocabulary=other(self.vocabulary))
        line = await self.refusal(stranger)
        said = f"{self.prefix} was made with --vocabulary {self.vocabulary}, and objects in etcd are not rewritten"
        self.assertIn(said, line)

    async def test_made_by_an_earlier_version(self) -> None:
        """A store that does not say its vocabulary is recognised by what is in it, encrypted as it may be."""
        flags = await self.cluster_flags()
        first = self.on(self.folders[0], *flags)
        await first.start()
        await self.write(self.client(first))
        await first.terminate()
        self.cluster.control("del", f"{self.prefix}/~vocabulary")
        await self.refused(flags)
        await first.start()
        await self.check(first)
        recorded = self.cluster.control("get", f"{self.prefix}/~vocabulary", "--print-value-only")
        self.assertEqual(recorded.strip(), self.vocabulary)

    async def test_workers(self) -> None:
        """Several processes on etcd are several servers."""
        server = self.on(self.folders[0], *await self.cluster_flags(), "--workers=2")
        self.assertEqual(
            await self.refusal(server),
            "Error: --workers: only with --storage-backend sqlite; otherwise run several servers",
        )

    async def test_commands(self) -> None:
        """`orch-store` reads the vocabulary beside a server: it finds nothing wrong, and leaves nothing out."""
        flags = await self.cluster_flags()
        server = self.on(self.folders[0], *flags)
        await server.start()
        await self.write(self.client(server))
        status, output, errors = await orch_store("check", *flags, self.sealing)
        self.assertEqual((status, errors), (0, ""))
        self.assertIn(f"vocabulary {self.vocabulary}, revision", output)
        status, output, errors = await orch_store("export", *flags, self.sealing)
        self.assertEqual((status, errors), (0, ""))
        head, *items = [json.loads(line) for line in output.splitlines()]
        self.assertEqual(head["vocabulary"], self.vocabulary)
        self.assertLess({"/registry/secrets/default/mine"}, {item["key"] for item in items})
        self.assertGreater(len(items), 150)
        kubeconfig = f"--kubeconfig={server.kubeconfig}"
        status, output, errors = await orch_store("migrate", kubeconfig)
        self.assertEqual((status, errors), (0, ""), output)
        status, _, errors = await orch_store("migrate", kubeconfig, f"--vocabulary={other(self.vocabulary)}")
        said: Any = f"is of --vocabulary {self.vocabulary}, not {other(self.vocabulary)}\n"
        self.assertEqual((status, errors.endswith(said)), (1, True), errors)
