"""First and later starts: keys and certificates are made, reused and renewed, and damaged ones are named."""

from __future__ import annotations

import base64
import os
import ssl
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest import mock

import yaml
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from twisted.logger import ILogObserver, LogEvent, formatEvent, globalLogPublisher
from twisted.trial.unittest import SynchronousTestCase
from zope.interface import implementer

from orchtw.assembly.keys import pki_options
from orchtw.config import Config
from orchtw.errors import ConfigError
from orchtw.naming.naming import Naming
from orchtw.pki import certificates, files
from orchtw.pki.first_start import Pki, prepare

NOW = datetime(2026, 1, 1, tzinfo=UTC)
# Object identifiers of two curves, of equal length; the second is one that no library here has.
P256, PRIME239V1 = bytes.fromhex("2a8648ce3d030107"), bytes.fromhex("2a8648ce3d030104")
PRIVATE = ("ca.key", "apiserver.key", "admin.key", "sa.key", "front-proxy-ca.key", "front-proxy-client.key")


class FirstStartTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.data = Path(self.mktemp())
        self.pki = self.data / "pki"

    def start(self, port: int = 6443, now: datetime = NOW, naming: Naming | None = None, **settings: Any) -> Pki:
        """One start of a server on this folder."""
        config = Config.of(data_dir=self.data, **settings)
        return prepare(pki_options(config), naming or Naming.orch(), port, now)

    def contents(self) -> dict[str, bytes]:
        """Every file of the folder."""
        return {path.name: path.read_bytes() for path in self.pki.iterdir()}

    def kubeconfig(self) -> dict[str, Any]:
        """Return the administrator's kubeconfig file, parsed."""
        document: dict[str, Any] = yaml.safe_load((self.data / "admin.kubeconfig").read_text())
        return document

    def refused(self, name: str, **settings: Any) -> str:
        """The one line that a start ends with; it names the file."""
        error: ConfigError = self.assertRaises(ConfigError, self.start, **settings)
        (problem,) = error.problems
        self.assertIn(name, problem)
        return problem

    def test_files(self) -> None:
        """Keys and the administrator's file are 0600, the folders 0700 (reference DESIGN-20)."""
        umask = os.umask(0)
        self.addCleanup(os.umask, umask)
        self.start()
        public = {f"{name}.crt" for name in ("ca", "apiserver", "admin", "front-proxy-ca", "front-proxy-client")}
        public.add("sa.pub")
        self.assertEqual({path.name for path in self.pki.iterdir()}, public | set(PRIVATE))
        for path in [*(self.pki / name for name in PRIVATE), self.data / "admin.kubeconfig"]:
            self.assertEqual(path.stat().st_mode & 0o777, 0o600)
        for folder in (self.data, self.pki):
            self.assertEqual(folder.stat().st_mode & 0o777, 0o700)
        self.assertEqual({path.name for path in self.data.iterdir()}, {"pki", "admin.kubeconfig"})

    def test_certificates(self) -> None:
        """The administrator is in system:masters; each certificate is for one purpose and of the one CA."""
        self.start()
        authority, serving, admin = (
            files.read_certificates(self.pki / f"{name}.crt")[0] for name in ("ca", "apiserver", "admin")
        )
        subject = {part.oid: part.value for part in admin.subject}
        self.assertEqual(subject, {NameOID.COMMON_NAME: "orch-admin", NameOID.ORGANIZATION_NAME: "system:masters"})
        for certificate, purpose in (
            (serving, ExtendedKeyUsageOID.SERVER_AUTH),
            (admin, ExtendedKeyUsageOID.CLIENT_AUTH),
        ):
            self.assertTrue(certificates.issued_by(certificate, authority))
            usage = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
            self.assertEqual(list(usage), [purpose])
        self.assertTrue(authority.extensions.get_extension_for_class(x509.BasicConstraints).value.ca)

    def test_serving_names(self) -> None:
        """The serving certificate is good for loopback, both given addresses, and the Service's names
        (reference DESIGN-20).
        """
        pki = self.start(bind_address="10.0.0.1", advertise_address="2001:db8::1")
        self.assertEqual(
            certificates.hosts_of(pki.serving_chain[0]),
            {"localhost", "127.0.0.1", "::1", "10.0.0.1", "2001:db8::1"}
            | {"orch", "orch.default", "orch.default.svc", "orch.default.svc.cluster.local"},
        )

    def test_kubernetes_vocabulary(self) -> None:
        """Under the other vocabulary the names are Kubernetes' own (reference DESIGN-6)."""
        pki = self.start(naming=Naming.kubernetes())
        self.assertIn("kubernetes.default.svc", certificates.hosts_of(pki.serving_chain[0]))
        self.assertEqual(self.kubeconfig()["current-context"], "kubernetes-admin@kubernetes")

    def test_kubeconfig(self) -> None:
        """The administrator's file embeds everything and names the real port (reference CLIENT-9)."""
        pki = self.start(port=40123)
        document = self.kubeconfig()
        self.assertEqual((document["kind"], document["apiVersion"]), ("Config", "v1"))
        self.assertEqual(document["current-context"], document["contexts"][0]["name"])
        cluster = document["clusters"][0]["cluster"]
        self.assertEqual(cluster["server"], "https://127.0.0.1:40123")
        self.assertEqual(base64.b64decode(cluster["certificate-authority-data"]), (self.pki / "ca.crt").read_bytes())
        user = document["users"][0]["user"]
        self.assertEqual(base64.b64decode(user["client-key-data"]), (self.pki / "admin.key").read_bytes())
        self.assertEqual(pki.kubeconfig, self.data / "admin.kubeconfig")

    def test_openssl_accepts(self) -> None:
        """OpenSSL trusts the serving certificate through the CA file and loads the key pair."""
        self.start()
        context = ssl.create_default_context(cafile=str(self.pki / "ca.crt"))
        context.load_cert_chain(self.pki / "admin.crt", self.pki / "admin.key")
        self.assertEqual(len(context.get_ca_certs()), 1)

    def test_second_start_reuses(self) -> None:
        """A second start changes no file (reference DESIGN-20)."""
        self.start()
        before, inode = self.contents(), (self.data / "admin.kubeconfig").stat().st_ino
        self.start(now=NOW + timedelta(days=100))
        self.assertEqual(self.contents(), before)
        self.assertEqual((self.data / "admin.kubeconfig").stat().st_ino, inode)

    def test_common_secrets(self) -> None:
        """Servers of one store that sign accounts' tokens with the same key have the same secrets, whatever their
        folders hold; one for each purpose.
        """
        signing = Path(self.mktemp())
        signing.write_bytes(certificates.key_pem(certificates.new_key()))
        alone = self.start().derived_key(b"a")
        one = self.start(service_account_signing_key_file=signing)
        self.data = Path(self.mktemp())
        two = self.start(service_account_signing_key_file=signing)
        self.assertEqual(one.derived_key(b"a"), two.derived_key(b"a"))
        self.assertEqual(len({alone, one.derived_key(b"a"), one.derived_key(b"b")}), 3)

    def test_port_change(self) -> None:
        """Another port rewrites the administrator's file and nothing else."""
        self.start(port=1)
        before = self.contents()
        self.start(port=2, advertise_address="::1")
        self.assertEqual(self.kubeconfig()["clusters"][0]["cluster"]["server"], "https://[::1]:2")
        self.assertEqual(self.contents(), before)

    def changed(self, before: dict[str, bytes]) -> set[str]:
        """The files that are no longer what they were."""
        return {name for name, content in self.contents().items() if before[name] != content}

    def test_renewal(self) -> None:
        """Serving and administrator's certificates are renewed when they near their end, for the same keys."""
        self.start()
        before = self.contents()
        later = NOW + certificates.LEAF_LIFE - certificates.RENEWAL
        pki = self.start(now=later - timedelta(seconds=1))
        self.assertEqual(self.changed(before), set())
        pki = self.start(now=later)
        self.assertEqual(self.changed(before), {"apiserver.crt", "admin.crt", "front-proxy-client.crt"})
        self.assertEqual(pki.serving_chain[0].not_valid_after_utc, later + certificates.LEAF_LIFE)

    def test_new_address(self) -> None:
        """A serving certificate that lacks the address is reissued; one with more addresses is kept."""
        self.start()
        before = self.contents()
        pki = self.start(bind_address="10.0.0.1")
        self.assertEqual(self.changed(before), {"apiserver.crt"})
        self.assertIn("10.0.0.1", certificates.hosts_of(pki.serving_chain[0]))
        before = self.contents()
        self.start()
        self.assertEqual(self.changed(before), set())

    def test_missing_file(self) -> None:
        """Each missing file is named; none is made anew in its place."""
        for name in ("ca.crt", "ca.key", "apiserver.crt", "apiserver.key", "admin.crt", "admin.key", "sa.key"):
            self.start()
            path, aside = self.pki / name, self.data / name
            path.rename(aside)
            self.assertIn("No such file", self.refused(name))
            aside.rename(path)

    def test_damaged_file(self) -> None:
        """Each damaged file is named."""
        for name in ("ca.crt", "ca.key", "apiserver.crt", "apiserver.key", "sa.key"):
            self.start()
            path = self.pki / name
            content = path.read_bytes()
            for damage in (b"", content[: len(content) // 2]):
                path.write_bytes(damage)
                self.assertIn("no readable", self.refused(name))
            path.write_bytes(content)

    def test_foreign_key(self) -> None:
        """A key that is not its certificate's is named."""
        self.start()
        (self.pki / "apiserver.key").write_bytes((self.pki / "admin.key").read_bytes())
        self.assertIn("is not the key of apiserver.crt", self.refused("apiserver.key"))

    def test_ended_authority(self) -> None:
        """An authority past its end is named with the day."""
        self.start()
        self.assertIn("expired on 2035-12-30", self.refused("ca.crt", now=NOW + certificates.CA_LIFE))

    def test_empty_folder_is_a_first_start(self) -> None:
        """An empty `pki` folder holds nothing to lose."""
        self.pki.mkdir(parents=True)
        self.start()
        self.assertIn("ca.crt", self.contents())

    def test_crash_leaves_nothing(self) -> None:
        """A first start that dies before its last step leaves no `pki` folder, so the next one is a first start."""
        with mock.patch.object(Path, "rename", side_effect=OSError(28, "No space left on device")):
            self.assertRaises(ConfigError, self.start)
        self.assertFalse(self.pki.exists())
        self.start()

    def test_data_folder_is_a_file(self) -> None:
        """A data folder that cannot be made is one clear line."""
        self.data.write_text("")
        self.refused(str(self.data))

    def warnings(self) -> list[str]:
        """Return a list to which later log lines are appended."""
        lines: list[str] = []

        @implementer(ILogObserver)
        def observe(event: LogEvent) -> None:
            lines.append(formatEvent(event))

        globalLogPublisher.addObserver(observe)
        self.addCleanup(globalLogPublisher.removeObserver, observe)
        return lines

    def test_keys_of_others(self) -> None:
        """A key on which group or world has any right ends the start; what to type to mend it is in the line."""
        self.start()
        for name in PRIVATE:
            for mode in (0o640, 0o604, 0o620, 0o601):
                (self.pki / name).chmod(mode)
                path = self.pki.resolve() / name
                self.assertEqual(
                    self.refused(name),
                    f"{path}: other users have permissions on this private key (mode {mode:04o}); "
                    f"run: chmod 600 {path}",
                )
            (self.pki / name).chmod(0o400)
            self.start()

    def test_folder_of_others(self) -> None:
        """A folder on which others have rights is a warning that says what to type, and nothing is changed."""
        self.start()
        lines = self.warnings()
        self.start()
        self.assertEqual(lines, [])
        for folder in (self.data, self.pki):
            folder.chmod(0o750)
            self.start()
            path = folder.resolve()
            self.assertEqual(
                lines.pop(), f"{path}: other users have permissions on this folder (mode 0750); run: chmod 700 {path}"
            )
            self.assertEqual((lines, stat.S_IMODE(folder.stat().st_mode)), ([], 0o750))
            folder.chmod(0o700)

    def test_kubeconfig_of_others(self) -> None:
        """An administrator's file that others could read is theirs no more, and the log says so."""
        self.start()
        file = self.data / "admin.kubeconfig"
        content = file.read_bytes()
        file.chmod(0o644)
        lines = self.warnings()
        self.start()
        self.assertEqual((file.read_bytes(), stat.S_IMODE(file.stat().st_mode)), (content, 0o600))
        self.assertIn("removed other users' permissions on the administrator's", lines[0])

    def test_planted_links(self) -> None:
        """A link in place of a file or folder of ours is refused by name, and not followed."""
        self.start()
        for path in (self.pki, *self.pki.iterdir(), self.data / "admin.kubeconfig"):
            if path.suffix == ".pub":
                continue  # never read
            aside = Path(self.mktemp()).absolute()
            path.rename(aside)
            path.symlink_to(aside)
            self.assertIn("is a symbolic link, which is not followed", self.refused(path.name))
            path.unlink()
            aside.rename(path)
        self.start()

    def test_planted_pipe(self) -> None:
        """A pipe in place of a key is refused, not waited for."""
        self.start()
        (self.pki / "sa.key").unlink()
        os.mkfifo(self.pki / "sa.key", 0o600)
        self.assertIn("is not a regular file", self.refused("sa.key"))

    def test_replaced_by_a_link(self) -> None:
        """A file is written beside and renamed: a link in the way is replaced itself, or nothing is written."""
        self.data.mkdir()
        victim = self.data / "victim"
        victim.write_text("kept")
        for name in ("file", f".file.{os.getpid()}"):
            (self.data / name).symlink_to(victim.absolute())
            files.replace(self.data / "file", b"new", 0o600)
            self.assertEqual(((self.data / "file").read_bytes(), victim.read_text()), (b"new", "kept"))
            self.assertFalse((self.data / "file").is_symlink())

    def test_linked_data_folder(self) -> None:
        """The data folder itself may be a link: it is the operator who names it."""
        self.start()
        link = Path(self.mktemp())
        link.symlink_to(self.data.absolute())
        before = self.contents()
        pki = prepare(pki_options(Config.of(data_dir=link)), Naming.orch(), 6443, NOW)
        self.assertEqual((self.contents(), pki.kubeconfig), (before, link / "admin.kubeconfig"))

    def own(self, *, now: datetime = NOW) -> tuple[Path, Path, x509.Certificate]:
        """An operator's own authority's serving certificate, in files."""
        authority = certificates.new_authority("own", now)
        key = certificates.new_key()
        certificate = certificates.issue(authority, key, "own", certificates.SERVER, now, hosts=("own.example",))
        folder = Path(self.mktemp())
        folder.mkdir()
        (folder / "tls.crt").write_bytes(certificates.pem(certificate) + certificates.pem(authority.certificate))
        (folder / "tls.key").write_bytes(certificates.key_pem(key))
        return folder / "tls.crt", folder / "tls.key", certificate

    def test_given_certificate(self) -> None:
        """With --tls-cert-file that chain is served and is what the administrator's file trusts
        (reference DESIGN-20).
        """
        file, key, certificate = self.own()
        pki = self.start(tls_cert_file=file, tls_private_key_file=key)
        self.assertEqual((pki.serving_chain[0], len(pki.serving_chain)), (certificate, 2))
        trusted = base64.b64decode(self.kubeconfig()["clusters"][0]["cluster"]["certificate-authority-data"])
        self.assertEqual(trusted, file.read_bytes())

    def test_given_certificate_of_another_key(self) -> None:
        """A --tls-private-key-file that does not belong to the certificate is named."""
        file, _, _ = self.own()
        _, other, _ = self.own()
        self.refused(str(other), tls_cert_file=file, tls_private_key_file=other)

    def test_given_key_of_others(self) -> None:
        """A --tls-private-key-file in the data folder is for the owner only; elsewhere it is as given."""
        file, key, _ = self.own()
        link = key.with_name("link.key")
        link.symlink_to(key.name)
        key.chmod(0o644)
        self.start(tls_cert_file=file, tls_private_key_file=link)
        inside = self.data / "tls.key"
        inside.write_bytes(key.read_bytes())
        inside.chmod(0o640)
        line = self.refused(str(inside), tls_cert_file=file, tls_private_key_file=inside)
        self.assertIn("other users have permissions on this private key (mode 0640)", line)
        inside.chmod(0o600)
        self.start(tls_cert_file=file, tls_private_key_file=inside)

    def test_given_key_of_unknown_kind(self) -> None:
        """A key of a curve that nobody here knows is named, before and after its certificate is looked at."""
        file, key, _ = self.own()
        content = certificates.key_pem(certificates.new_key())
        der = base64.b64decode(b"".join(content.splitlines()[1:-1]))
        odd = base64.b64encode(der.replace(P256, PRIME239V1))
        key.write_bytes(b"-----BEGIN PRIVATE KEY-----\n" + odd + b"\n-----END PRIVATE KEY-----\n")
        line = self.refused(str(key), tls_cert_file=file, tls_private_key_file=key)
        self.assertIn("of an unsupported type", line)

    def test_client_authorities(self) -> None:
        """The generated CA is believed unless --client-ca-file names others (reference DESIGN-20)."""
        self.assertEqual(self.start().client_cas, files.read_certificates(self.pki / "ca.crt"))
        file, _, certificate = self.own()
        self.assertEqual(self.start(client_ca_file=file).client_cas[0], certificate)
        self.refused("/nonexistent", client_ca_file=Path("/nonexistent"))
