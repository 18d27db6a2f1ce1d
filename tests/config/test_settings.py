"""Settings that others are computed from, and the shares of several processes."""

from __future__ import annotations

from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from orchtw.assembly.flags import parse
from orchtw.config import host_and_port


class ConfigTests(SynchronousTestCase):
    def test_public_address(self) -> None:
        """Clients are sent to the advertised address, else the bound one, else loopback."""
        for arguments, address in (
            ([], "127.0.0.1"),
            (["--bind-address=10.0.0.1"], "10.0.0.1"),
            (["--bind-address=0.0.0.0"], "127.0.0.1"),
            (["--bind-address=::"], "::1"),
            (["--bind-address=0.0.0.0", "--advertise-address=10.0.0.2"], "10.0.0.2"),
        ):
            self.assertEqual(parse(arguments).serving.public_address, address)

    def test_host_and_port(self) -> None:
        """IPv6 addresses are written in brackets."""
        self.assertEqual(host_and_port("::1", 1), "[::1]:1")
        self.assertEqual(host_and_port("127.0.0.1", 1), "127.0.0.1:1")

    def test_share(self) -> None:
        """Each of several processes has its share of the server's limits (reference STORE-35)."""
        limits = ["--max-requests-inflight=5", "--max-mutating-requests-inflight=0", "--max-connections=100"]
        config = parse([*limits, "--workers=2"]).share()
        requests = config.requests
        self.assertEqual((requests.max_requests_inflight, requests.max_mutating_requests_inflight), (3, 0))
        self.assertEqual((config.serving.max_connections, config.serving.max_inflight_bytes), (50, 128 << 20))
        self.assertEqual(parse(["--workers=64"]).share().serving.max_inflight_bytes, 64 << 20)
        small = parse(["--workers=2", "--max-inflight-bytes=40000000"]).share()
        self.assertEqual(small.serving.max_inflight_bytes, 40000000)
        self.assertEqual(parse(limits).share(), parse(limits))

    def test_rooted(self) -> None:
        """Relative paths are taken from the folder; absolute ones and those not given stay."""
        config = parse(["--token-auth-file=/etc/tokens"]).rooted(Path("/srv"))
        self.assertEqual(config.generic.data_dir, Path("/srv/orch-data"))
        self.assertEqual(config.authn.token_auth_file, Path("/etc/tokens"))
        self.assertIsNone(config.authn.client_ca_file)
