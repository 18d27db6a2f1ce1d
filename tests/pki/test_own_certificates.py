"""Serving certificates of the operator's own, which are never overwritten, and odd names of a machine."""
# covers: orchtw.pki.certificates

from __future__ import annotations

import socket
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import ifaddr
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from twisted.logger import ILogObserver, LogEvent, formatEvent, globalLogPublisher
from twisted.trial.unittest import SynchronousTestCase
from zope.interface import implementer

from orchtw.assembly.flags import parse
from orchtw.assembly.keys import pki_options
from orchtw.config import Config
from orchtw.errors import ConfigError
from orchtw.naming.naming import Naming
from orchtw.pki import certificates, machine
from orchtw.pki.first_start import Pki, prepare
from tests.pki.test_first_start import NOW


class ServingCase(SynchronousTestCase):
    """Starts on a data folder and a `--cert-dir` of the test's own."""

    def setUp(self) -> None:
        self.data = Path(self.mktemp()).absolute()
        self.place = Path(self.mktemp()).absolute()
        self.crt, self.key = self.place / "apiserver.crt", self.place / "apiserver.key"

    def start(self, *flags: str, now: datetime = NOW, naming: Naming | None = None) -> Pki:
        """One start of a server."""
        config = parse([f"--data-dir={self.data}", *flags])
        return prepare(pki_options(config), naming or Naming.orch(), 6443, now)

    def in_place(self, *flags: str, **others: Any) -> Pki:
        """One start of a server whose certificate lies in the folder."""
        return self.start(f"--cert-dir={self.place}", *flags, **others)

    def refused(self, *flags: str) -> str:
        """The one line that a start ends with."""
        (problem,) = self.assertRaises(ConfigError, self.start, *flags).problems
        return str(problem)

    def logged(self) -> list[str]:
        """Return a list to which later log lines are appended."""
        lines: list[str] = []

        @implementer(ILogObserver)
        def observe(event: LogEvent) -> None:
            lines.append(formatEvent(event))

        globalLogPublisher.addObserver(observe)
        self.addCleanup(globalLogPublisher.removeObserver, observe)
        return lines

    def supply(self, folder: Path, authority: certificates.Authority, name: str, *, hosts: tuple[str, ...]) -> bytes:
        """Put a pair of the operator's into a folder; returns the certificate."""
        key = certificates.new_key()
        content = certificates.pem(
            certificates.issue(authority, key, name, certificates.SERVER, NOW, hosts=hosts)
        )
        folder.mkdir(exist_ok=True)
        (folder / "apiserver.crt").write_bytes(content)
        (folder / "apiserver.key").write_bytes(certificates.key_pem(key))
        (folder / "apiserver.key").chmod(0o600)
        return content


def hosts(pki: Pki) -> frozenset[str]:
    """Return the hosts for which the serving certificate is valid."""
    return certificates.hosts_of(pki.serving_chain[0])


class NameTests(ServingCase):
    """Names that a certificate is made for (reference FLAG-17)."""

    def test_case(self) -> None:
        """The case of a name makes no new certificate."""
        first = self.start("--tls-san=API.example.com")
        self.assertEqual(self.start("--tls-san=api.Example.com").serving_chain, first.serving_chain)
        self.assertIn("api.example.com", hosts(first))

    def test_external_hostname(self) -> None:
        """The name in URLs is in the certificate, without its port."""
        cases = ("a.example", "a.example"), ("b.example:443", "b.example"), ("[2001:db8::2]:1", "2001:db8::2")
        for text, host in cases:
            self.assertIn(host, hosts(self.start(f"--external-hostname={text}")))

    def test_zone(self) -> None:
        """An address with a zone is not taken for a new one at every start."""
        first = self.start("--bind-address=fe80::1%eth0")
        self.assertEqual(self.start("--bind-address=fe80::1%eth0").serving_chain, first.serving_chain)
        self.assertIn("fe80::1", hosts(first))


class CertDirTests(ServingCase):
    """Serving certificates in `--cert-dir` (reference FLAG-17)."""

    def test_made_again(self) -> None:
        """A generated certificate is kept while it is valid, and reissued for the same key when it is not."""
        first = self.in_place()
        self.assertEqual(self.in_place().serving_chain, first.serving_chain)
        key = self.key.read_bytes()
        self.assertIn("x.example", hosts(self.in_place("--tls-san=x.example", naming=Naming.kubernetes())))
        later = self.in_place(now=NOW + certificates.LEAF_LIFE)
        self.assertEqual(later.serving_chain[0].not_valid_after_utc, NOW + 2 * certificates.LEAF_LIFE)
        self.assertEqual(self.key.read_bytes(), key)

    def test_supplied(self) -> None:
        """The operator's pair is served, trusted by the kubeconfig and never overwritten; the log says what it lacks.

        A name that kubeadm gives its own makes no difference.
        """
        other = certificates.new_authority("kubernetes-ca", NOW)
        content = self.supply(self.place, other, "kube-apiserver", hosts=("*.example.com", "10.0.0.9"))
        lines = self.logged()
        flags = "--tls-san=api.example.com,10.0.0.9,b.c.example.com", "--external-hostname=elsewhere:443"
        pki = self.in_place(*flags, now=NOW + certificates.LEAF_LIFE, naming=Naming.kubernetes())
        self.assertEqual((self.crt.read_bytes(), certificates.pem(pki.serving_chain[0])), (content, content))
        self.assertEqual(pki.ca_pem, content)
        self.assertEqual(lines, [
            f"{self.crt}: does not cover elsewhere, b.c.example.com, and is kept: "
            "the server replaces only certificates that it generated"
        ])

    def test_supplied_by_our_authority(self) -> None:
        """A certificate that the operator had the folder's authority sign for a name of their own stays, too."""
        own = self.start().own
        content = self.supply(self.place, own, "front.example.com", hosts=("front.example.com",))
        self.in_place("--tls-san=new.example.com")
        self.assertEqual(self.crt.read_bytes(), content)

    def test_supplied_in_pki(self) -> None:
        """The operator's pair in the data folder stays as well, of whatever kind its key is."""
        self.start()
        key = rsa.generate_private_key(65537, 2048)
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "own")])
        builder = x509.CertificateBuilder(name, name, key.public_key(), 7, NOW, NOW + timedelta(days=9))
        content = certificates.pem(builder.sign(key, hashes.SHA256()))
        (self.data / "pki/apiserver.crt").write_bytes(content)
        (self.data / "pki/apiserver.key").write_bytes(certificates.key_pem(key))
        pki = self.start("--tls-san=new.example.com")
        self.assertEqual((self.data / "pki/apiserver.crt").read_bytes(), content)
        self.assertEqual(pki.serving_files and pki.serving_files.paths[0], self.data / "pki/apiserver.crt")

    def test_links(self) -> None:
        """Files there may be links, as renewing programs leave them, and others may read the key: it is not ours."""
        elsewhere = Path(self.mktemp()).absolute()
        content = self.supply(elsewhere, certificates.new_authority("own", NOW), "own", hosts=())
        (elsewhere / "apiserver.key").chmod(0o644)
        self.place.mkdir()
        for path in (self.crt, self.key):
            path.symlink_to(elsewhere / path.name)
        self.assertEqual(certificates.pem(self.in_place().serving_chain[0]), content)

    def test_half(self) -> None:
        """One file without the other ends the start, and nothing is made."""
        for missing, other in ((self.crt, self.key), (self.key, self.crt)):
            self.in_place()
            missing.unlink()
            before = other.read_bytes()
            self.assertIn(f"--cert-dir: {missing}: No such file", self.refused(f"--cert-dir={self.place}"))
            self.assertEqual((missing.exists(), other.read_bytes()), (False, before))
            other.unlink()

    def test_unusable(self) -> None:
        """An unusable file is one line that names the flag and the file."""
        self.in_place()
        self.key.write_bytes(certificates.key_pem(certificates.new_key()))
        self.assertEqual(self.refused(f"--cert-dir={self.place}"), f"{self.key}: is not the key of {self.crt}")
        self.key.write_text("nothing")
        self.assertTrue(self.refused(f"--cert-dir={self.place}").startswith(f"--cert-dir: {self.key}: holds no"))
        self.assertTrue(self.refused(f"--cert-dir={self.key}").startswith(f"--cert-dir: {self.key}: "))

    def test_pki_folder(self) -> None:
        """The data folder's own `pki` is the default."""
        first = self.start()
        second = self.start(f"--cert-dir={self.data / 'pki'}")
        self.assertEqual((second.serving_chain, second.serving_files), (first.serving_chain, None))

    def test_relative(self) -> None:
        """The folder is taken from where the server was started."""
        self.assertEqual(Config.of(cert_dir=Path("certs")).rooted(Path("/x")).serving.cert_dir, Path("/x/certs"))


class MachineTests(SynchronousTestCase):
    """Names and addresses of the machine."""

    def adapters(self, *addresses: Any) -> None:
        """Let the machine have one interface with these."""
        ips = [type("IP", (), {"ip": each}) for each in addresses]
        self.patch(ifaddr, "get_adapters", lambda: [type("Adapter", (), {"ips": ips})])

    def test_addresses(self) -> None:
        """They are those of all interfaces, without those of one link, in an order that does not change."""
        self.adapters(("2001:db8::1", 0, 0), "192.0.2.9", "169.254.1.1", ("fe80::1", 0, 2), "127.0.0.1")
        self.assertEqual(machine.addresses(), ("127.0.0.1", "192.0.2.9", "2001:db8::1"))

    def test_many(self) -> None:
        """No more than MOST_ADDRESSES are taken."""
        self.adapters(*(f"10.0.{each // 256}.{each % 256}" for each in range(1000)))
        self.assertEqual(len(machine.addresses()), machine.MOST_ADDRESSES)

    def test_this_machine(self) -> None:
        """This machine's loopback is found."""
        self.assertIn("127.0.0.1", machine.addresses())

    def test_host_name(self) -> None:
        """A name that DNS could not have is left out."""
        for name, found in (("box.example", ("box.example",)), ("my box", ()), ("", ())):
            self.patch(socket, "gethostname", lambda name=name: name)
            self.assertEqual(machine.host_names(), found)
