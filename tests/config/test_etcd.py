"""Flags of the etcd store (reference FLAG-16)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.assembly.flags import parse
from orchtw.errors import ConfigError

SERVERS = "--etcd-servers=https://a:2379,https://b:2379"


class EtcdFlagTests(SynchronousTestCase):
    def test_backend(self) -> None:
        """Servers mean etcd; nothing means the embedded store."""
        self.assertEqual(parse([]).storage.backend, "sqlite")
        found = parse([SERVERS])
        self.assertEqual((found.storage.backend, found.storage.etcd.servers), ("etcd3", ("https://a:2379", "https://b:2379")))
        self.assertEqual(parse(["--storage-backend=etcd3", SERVERS]).storage.etcd.prefix, "/registry")

    def test_refused(self) -> None:
        """Each inconsistency between flags is reported in one line."""
        for arguments, text in (
            (["--storage-backend=etcd3"], "--etcd-servers must be specified"),
            (["--storage-backend=sqlite", SERVERS], "--etcd-servers: only for --storage-backend=etcd3"),
            (["--etcd-servers-overrides=a#b"], "--etcd-servers-overrides: only for --storage-backend=etcd3"),
            (["--etcd-cafile=x"], "--etcd-cafile: only for --storage-backend=etcd3"),
            (["--etcd-servers=a:2379"], '--etcd-servers: "a:2379" is not a URL such as https://host:2379'),
            (["--etcd-servers=http://u:p@a"], '--etcd-servers: "http://u:p@a" is not a URL such as https://host:2379'),
            ([SERVERS, "--etcd-keyfile=x"], "--etcd-certfile and --etcd-keyfile must be given together"),
            (["--etcd-servers=http://a :1"], '--etcd-servers: "http://a :1" is not a URL such as https://host:2379'),
            ([SERVERS, "--etcd-prefix=/"], "--etcd-prefix: must not be empty"),
            ([SERVERS, "--etcd-prefix=/\udcff"], "--etcd-prefix: must be valid text"),
            ([SERVERS, "--etcd-prefix=/a\0b"], "--etcd-prefix: must be valid text"),
            ([SERVERS, "--lease-reuse-duration-seconds=0"], "--lease-reuse-duration-seconds: must be greater than 0"),
            (
                [SERVERS, "--etcd-servers-overrides=/events#http://c"],
                "--etcd-servers-overrides: not supported, all objects share one sequence of revisions in one cluster",
            ),
        ):
            error = self.assertRaises(ConfigError, parse, arguments)
            self.assertEqual(error.problems, (text,))
