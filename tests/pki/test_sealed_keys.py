"""Keys that are handed over under a join secret (reference CTRL-54)."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from orchtw.assembly.keys import pki_options
from orchtw.config import Config
from orchtw.errors import ConfigError
from orchtw.naming.naming import Naming
from orchtw.pki import first_start, sealed_keys
from orchtw.pki.sealed_keys import NAMES, WrongSecret, join_secret, read_keys, seal, unseal

SECRET = b"sixteen bytes or more"


class SealingTests(SynchronousTestCase):
    """Sealed, sent, and opened again."""

    def setUp(self) -> None:
        self.keys = first_start.common_keys(Naming.orch(), datetime.now(UTC))

    def test_whole(self) -> None:
        """Keys unseal with the same secret; each sealing differs, and no key is visible in it."""
        sealed = seal(SECRET, self.keys)
        self.assertEqual(self.keys.keys(), NAMES)
        self.assertEqual(unseal(SECRET, sealed), self.keys)
        self.assertNotEqual(seal(SECRET, self.keys), sealed)
        for content in self.keys.values():
            self.assertNotIn(content[40:80], sealed)

    def test_another_secret(self) -> None:
        """Another secret opens nothing, however near it is."""
        sealed = seal(SECRET, self.keys)
        for secret in (SECRET + b"x", SECRET[:-1], b"", b"another secret of good length"):
            self.assertRaises(WrongSecret, unseal, secret, sealed)

    def test_changed_or_nonsense(self) -> None:
        """A changed or nonsensical text raises WrongSecret and no other error."""
        sealed = seal(SECRET, self.keys)
        self.patch(sealed_keys, "_COST", 2)  # the cost is the same for all of them
        cheap = seal(SECRET, self.keys)
        changed = [cheap[:at] + bytes([cheap[at] ^ 1]) + cheap[at + 1 :] for at in range(0, len(cheap), 97)]
        for value in (*changed, b"", b"{}", sealed[:20], cheap[:-1], cheap + b"x", cheap[:60], bytes(300_000)):
            self.assertRaises(WrongSecret, unseal, SECRET, value)

    def test_other_files(self) -> None:
        """Files of other names, such as ones that lead out of the folder, are not taken."""
        self.patch(sealed_keys, "_COST", 2)
        for keys in (self.keys | {"../x": b""}, {"ca.key": self.keys["ca.key"]}, {}):
            self.assertRaises(WrongSecret, unseal, SECRET, seal(SECRET, keys))


class JoinSecretTests(SynchronousTestCase):
    """The file of the secret."""

    def setUp(self) -> None:
        self.folder = Path(self.mktemp())
        self.folder.mkdir(mode=0o700)
        self.file = Path(self.mktemp())

    def read(self, content: bytes, file: Path | None = None, mode: int = 0o600) -> bytes | None:
        file = file or self.file
        file.write_bytes(content)
        file.chmod(mode)
        return join_secret(file, self.folder)

    def test_none(self) -> None:
        """Without the flag there is no secret."""
        self.assertIsNone(join_secret(None, self.folder))

    def test_content(self) -> None:
        """White space around it does not count, since editors add it."""
        self.assertEqual(self.read(b"  " + SECRET + b"\n"), SECRET)

    def test_length(self) -> None:
        """A short one is refused, and what it is is not told."""
        error = self.assertRaises(ConfigError, self.read, b"short\n" + b" " * 20)
        self.assertEqual(
            error.problems, (f"--join-secret-file: {self.file}: must hold 16 to 65536 bytes, it holds 5",)
        )
        self.assertRaises(ConfigError, self.read, b"x" * 70_000)
        self.assertRaises(ConfigError, join_secret, Path("/none"), self.folder)

    def test_permissions(self) -> None:
        """In the data folder it is for the owner alone, as keys are."""
        inside = self.folder / "secret"
        self.assertEqual(self.read(SECRET, inside), SECRET)
        self.assertRaises(ConfigError, self.read, SECRET, inside, 0o640)
        self.assertEqual(self.read(SECRET, mode=0o644), SECRET)


class JoinedFolderTests(SynchronousTestCase):
    """A folder that is made of keys of another server."""

    def test_folder(self) -> None:
        """It has the same authorities and keys, certificates of its own by them, and private files are private."""
        naming, now = Naming.orch(), datetime.now(UTC)
        configs = [Config.of(data_dir=Path(self.mktemp())) for _ in range(2)]
        first = first_start.prepare(pki_options(configs[0]), naming, 1, now)
        self.assertTrue(first_start.has_keys(configs[0].generic.data_dir))
        self.assertFalse(first_start.has_keys(configs[1].generic.data_dir))
        handed = read_keys(configs[0].generic.data_dir / "pki")
        second = first_start.prepare(pki_options(configs[1]), naming, 2, now, handed)
        self.assertEqual((second.own.certificate, second.client_ca_pem), (first.own.certificate, first.client_ca_pem))
        self.assertEqual(second.derived_key(b"x"), first.derived_key(b"x"))
        self.assertEqual(second.front_proxy.authorities, first.front_proxy.authorities)
        self.assertNotEqual(second.serving_chain, first.serving_chain)
        self.assertEqual(second.serving_chain[0].issuer, first.own.certificate.subject)
        self.assertEqual(read_keys(configs[1].generic.data_dir / "pki"), handed)
        for file in (configs[1].generic.data_dir / "pki").iterdir():
            self.assertEqual(file.stat().st_mode & 0o777, 0o600 if file.suffix == ".key" else 0o644, file)
        folders = [{each.name for each in (config.generic.data_dir / "pki").iterdir()} for config in configs]
        self.assertEqual(*folders)
