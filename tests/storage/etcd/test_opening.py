"""The store that the flags ask for (reference FLAG-16)."""

from __future__ import annotations

from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from orchtw.config.storage import EtcdOptions
from orchtw.errors import ConfigError
from orchtw.storage.etcd.opening import tls_of
from orchtw.testing.etcd import Files


class FilesTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.files = Files.made_in(self.mktemp())

    def options(self) -> EtcdOptions:
        """With all three files."""
        files = self.files
        return EtcdOptions(
            servers=("https://a:2379",),
            cafile=files.authority,
            certfile=files.client_certificate,
            keyfile=files.client_key,
        )

    def refused(self) -> str:
        """Return the reason that the files cannot be used."""
        return str(self.assertRaises(ConfigError, tls_of, self.options()))

    def test_used(self) -> None:
        """Members are believed by the file's authority alone."""
        tls = tls_of(self.options())
        self.assertFalse(tls.system)
        self.assertEqual(len(tls.authorities), 1)

    def test_empty(self) -> None:
        """An empty file is not "nothing given", for which the machine's authorities would do, or no certificate."""
        for name, flag in (("authority", "cafile"), ("client_certificate", "certfile"), ("client_key", "keyfile")):
            path: Path = getattr(self.files, name)
            held = path.read_bytes()
            for nothing in (b"", b" \n"):
                path.write_bytes(nothing)
                self.assertEqual(self.refused(), f"--etcd-{flag}: {path}: the file is empty")
            path.write_bytes(held)

    def test_missing(self) -> None:
        """The flag, the file and the reason are said."""
        self.files.authority.unlink()
        self.assertEqual(self.refused(), f"--etcd-cafile: {self.files.authority}: No such file or directory")
