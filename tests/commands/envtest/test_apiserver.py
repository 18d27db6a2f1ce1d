"""The flags that the drop-in `kube-apiserver` makes of its command line."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.assembly.flags import parse
from orchtw.commands.envtest import store_place
from orchtw.commands.envtest.apiserver import server_flags
from orchtw.commands.envtest.arguments import BadCommandLine
from orchtw.commands.envtest.store_place import NoEtcd, StorePlace

URL = "http://127.0.0.1:2379"


class ServerFlagsTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.place: StorePlace | None = StorePlace("/data", True)
        self.patch(store_place, "ask", lambda url: self.place)

    def test_embedded_store(self) -> None:
        """The store is in etcd's folder, and as careless as etcd is told to be."""
        config = parse(server_flags([f"--etcd-servers={URL}", "--secure-port=1"]))
        self.assertEqual((config.generic.vocabulary, config.storage.backend), ("kubernetes", "sqlite"))
        self.assertEqual(str(config.generic.data_dir), "/data/orchtw")
        self.assertEqual((config.serving.secure_port, config.storage.unsafe_no_fsync), (1, True))
        self.place = StorePlace("/data", False)
        self.assertFalse(parse(server_flags([f"--etcd-servers={URL}"])).storage.unsafe_no_fsync)

    def test_real_etcd(self) -> None:
        """A real etcd is used as one; what the server makes goes below the folder that envtest removes."""
        self.place = None
        config = parse(server_flags(["--etcd-servers", f"{URL},{URL}0", "--cert-dir=/certs"]))
        self.assertEqual((config.storage.backend, config.storage.etcd.servers), ("etcd3", (URL, f"{URL}0")))
        self.assertEqual(str(config.generic.data_dir), "/certs/orchtw")
        self.assertEqual(str(parse(server_flags([f"--etcd-servers={URL}"])).generic.data_dir), "orch-data")

    def test_own_words_count(self) -> None:
        """Flags of the suite count before those that the drop-in adds."""
        controllers = parse(server_flags([f"--etcd-servers={URL}"])).controllers
        self.assertEqual(controllers.names, ("garbagecollector", "namespace", "pv-protection", "pvc-protection"))
        self.assertEqual(controllers.namespace_deletion_grace_period_s, 1)
        given = [f"--etcd-servers={URL}", "--controllers=-*", "--namespace-deletion-grace-period=0s"]
        controllers = parse(server_flags(given)).controllers
        self.assertEqual((controllers.names, controllers.namespace_deletion_grace_period_s), (("-*",), 0))

    def test_insecure_serving(self) -> None:
        """Port 0 turns insecure serving off; any other is refused."""
        for given in (["--insecure-port=0"], ["--insecure-port", "0", "--insecure-bind-address=127.0.0.1"]):
            parse(server_flags([f"--etcd-servers={URL}", *given]))
        for port in ("8080", "", "x"):
            given = [f"--etcd-servers={URL}", f"--insecure-port={port}"]
            self.assertRefused(given, f"--insecure-port={port}: plain HTTP is not served, as Kubernetes 1.24")

    def test_no_etcd(self) -> None:
        """Without a URL, or with nothing behind it, there is one line."""
        for given in ([], ["--etcd-servers="]):
            self.assertRefused(given, "--etcd-servers must be specified")

        def ask(url: str) -> StorePlace:
            raise NoEtcd(f"{url}: Connection refused")

        self.patch(store_place, "ask", ask)
        self.assertRefused([f"--etcd-servers={URL}"], f"--etcd-servers: {URL}: Connection refused")

    def assertRefused(self, given: list[str], text: str) -> None:
        """The command line is refused with a line that begins so."""
        error = str(self.assertRaises(BadCommandLine, server_flags, given))
        self.assertEqual((error[: len(text)], "\n" in error), (text, False))
