"""Flags about serving whose values have a form of their own."""

from __future__ import annotations

from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from orchtw.assembly.flags import parse
from orchtw.errors import ConfigError


class ServingFlagTests(SynchronousTestCase):
    """Flags whose values have a form of their own."""

    def problem(self, *arguments: str) -> str:
        """The one problem of these arguments."""
        (problem,) = self.assertRaises(ConfigError, parse, arguments).problems
        return str(problem)

    def test_named_certificates(self) -> None:
        """`--tls-sni-cert-key` is two files and, behind a colon, names; it may be repeated (reference REQ-26)."""
        config = parse(["--tls-sni-cert-key=a.crt,a.key", "--tls-sni-cert-key", "b.crt,b.key:*.B,c"])
        first, second = config.rooted(Path("/x")).serving.tls.sni_cert_key
        self.assertEqual((first.certificate, first.key, first.names), (Path("/x/a.crt"), Path("/x/a.key"), ()))
        self.assertEqual(str(second), "/x/b.crt,/x/b.key:*.b,c")
        for bad in ("a", "a,", "a,b,c", ":x"):
            self.assertIn("expected comma separated certificate and key", self.problem(f"--tls-sni-cert-key={bad}"))
        self.assertIn("empty domain name", self.problem("--tls-sni-cert-key=a,b:"))

    def test_names(self) -> None:
        """`--tls-san` are DNS names, patterns of them and addresses, at most 100 (reference FLAG-17)."""
        config = parse(["--tls-san=a,*.b.example,my-host", "--tls-san", "::1"])
        self.assertEqual(config.serving.tls.san, ("a", "*.b.example", "my-host", "::1"))
        addresses = "a:6443", "10.0.0.256", "[::1]", "fe80::1%eth0"
        for bad in (*addresses, "a b", "https://a", "*", "a.*.b", "-a", "é", "a" * 64):
            text = f'--tls-san: "{bad}" is neither a DNS name nor an IP address'
            self.assertEqual(self.problem(f"--tls-san={bad}"), text)
        many = ",".join(f"n{number}" for number in range(101))
        self.assertIn("101 names are too many, at most 100", self.problem(f"--tls-san={many}"))

    def test_external_hostname(self) -> None:
        """`--external-hostname` is a name or an address, with or without a port; it goes before others in URLs."""
        for given, told in (
            ("", "10.0.0.1:6443"),
            ("api.example.com", "api.example.com:6443"),
            ("api.example.com:443", "api.example.com:443"),
            ("10.0.0.2", "10.0.0.2:6443"),
            ("2001:db8::1", "[2001:db8::1]:6443"),
            ("[2001:db8::1]:443", "[2001:db8::1]:443"),
        ):
            self.assertEqual(parse([f"--external-hostname={given}"]).serving.told_address("10.0.0.1", 6443), told)
        for bad in ("https://a", "a:0", "a:65536", "a:b", "a b", ":1", "[a]:1", "*.a"):
            self.assertIn("--external-hostname: ", self.problem(f"--external-hostname={bad}"))

    def test_transport_security(self) -> None:
        """Invalid HSTS directives are refused with the allowed values."""
        good = "--strict-transport-security-directives=max-age=31536000,includeSubDomains,preload"
        self.assertEqual(len(parse([good]).serving.strict_transport_security_directives), 3)
        for bad in ("max-age", "max-age=-1", "x\r\ny: z"):
            self.assertIn("allowed values: ", self.problem(f"--strict-transport-security-directives={bad}"))

    def test_goaway_chance(self) -> None:
        """A chance is a number between 0 and 0.02."""
        self.assertEqual(parse(["--goaway-chance=0.02"]).serving.goaway_chance, 0.02)
        self.assertIn("between 0 and 0.02", self.problem("--goaway-chance=0.021"))
        for bad in ("x", "-0.01", "nan", "1e-3"):
            self.assertIn("must be a number", self.problem(f"--goaway-chance={bad}"))

    def test_http2_streams(self) -> None:
        """The limit of requests over one HTTP/2 connection is between 0 and 1000 (reference LIMIT-20)."""
        config = parse(["--http2-max-streams-per-connection=1000"])
        self.assertEqual(config.serving.http2_max_streams_per_connection, 1000)
        self.assertIn("between 0 and 1000", self.problem("--http2-max-streams-per-connection=1001"))

    def test_log_flags(self) -> None:
        """Patterns with levels, and one of two formats."""
        self.assertEqual(parse(["--vmodule=a=1,b*=2"]).log.vmodule, (("a", 1), ("b*", 2)))
        for bad in ("a", "a=x", "=1"):
            self.assertIn("expect comma-separated list of filename=N", self.problem(f"--vmodule={bad}"))
        self.assertIn("is not one of text, json", self.problem("--logging-format=xml"))
