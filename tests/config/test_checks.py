"""Checks of settings: refused values, and settings that do not fit together (reference FLAG-2)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.assembly.flags import parse
from orchtw.errors import ConfigError
from tests.emulated import since


class CheckTests(SynchronousTestCase):
    """Values that can each be read, held against each other and against what is served."""

    def problems(self, *arguments: str) -> tuple[str, ...]:
        """Return the problems that `parse` finds."""
        error: ConfigError = self.assertRaises(ConfigError, parse, arguments)
        return error.problems

    def test_no_seats(self) -> None:
        """Priority and fairness needs a seat; without it, 0 means no limit (reference FLOW-1, FLOW-2)."""
        none = "--max-requests-inflight=0", "--max-mutating-requests-inflight=0"
        [problem] = self.problems(*none)
        self.assertIn("they must add up to something positive", problem)
        self.assertEqual(parse([*none, "--enable-priority-and-fairness=false"]).requests.max_requests_inflight, 0)
        self.assertEqual(parse([none[0]]).requests.max_mutating_requests_inflight, 200)

    def test_faults(self) -> None:
        """Fault rules are counted by one process, so several are refused in one line."""
        [problem] = self.problems("--enable-faults", "--workers=2")
        self.assertTrue(problem.startswith("--enable-faults: not with --workers above 1"), problem)
        self.assertTrue(parse(["--enable-faults"]).generic.enable_faults)

    def test_refused_values(self) -> None:
        """Values that can be read but not served are refused, naming the flag."""
        for argument, text in (
            ("--secure-port=65536", "--secure-port: 65536 must be between 0 and 65535"),
            ("--bind-address=localhost", '--bind-address: "localhost" is not an IP address'),
            ("--advertise-address=x", '--advertise-address: "x" is not an IP address'),
            ("--storage-backend=bolt", '--storage-backend: "bolt" is not one of sqlite, etcd3, memory'),
            ("--tls-min-version=VersionTLS10", "is not one of VersionTLS12, VersionTLS13"),
            ("--tls-san=a_b", '--tls-san: "a_b" is neither a DNS name nor an IP address'),
            ("--tls-san=*", '--tls-san: "*" is neither'),
            ("--external-hostname=*.example.com", '--external-hostname: "*.example.com" is neither'),
            ("--tls-cipher-suites=TLS_NULL", '--tls-cipher-suites: "TLS_NULL" is not one of'),
            ("--request-timeout=0s", "--request-timeout: must be greater than 0"),
            ("--orchlet-timeout=0s", "--orchlet-timeout: must be greater than 0"),
            ("--orchlet-port=0", "--orchlet-port: 0 must be between 1 and 65535"),
            ("--orchlet-client-key=k", "--orchlet-client-key must be given together"),
            ("--cluster-signing-key-file=k", "--cluster-signing-key-file must be given together"),
            (
                "--cluster-signing-kubelet-serving-cert-file=c",
                "--cluster-signing-orchlet-serving-cert-file and --cluster-signing-orchlet-serving-key-file must be",
            ),
            ("--cluster-signing-duration=0", "--cluster-signing-duration: must be greater than 0"),
            ("--proxy-client-cert-file=c", "--proxy-client-key-file must be given together"),
            ("--requestheader-client-ca-file=c", "--requestheader-username-headers must be given together"),
            ("--orchlet-preferred-address-types=MAC", '--orchlet-preferred-address-types: "MAC" is not one of'),
            ("--namespace-sync-period=0s", "--namespace-sync-period: must be greater than 0"),
            ("--service-cluster-ip-range=10.0.0.0", "the prefix length is missing, as in 10.0.0.0/16"),
            ("--service-cluster-ip-range=10.0.0.0/30", "must hold at least 8 addresses"),
            ("--service-cluster-ip-range=10.0.0.0/8", "its prefix must be /12 or longer"),
            ("--service-cluster-ip-range=10.0.0.1/24", "has host bits set"),
            ("--service-cluster-ip-range=10.0.0.0/24,10.1.0.0/24", "one of each IP version"),
            ("--service-node-port-range=30000-", "is not a range of ports"),
            ("--service-node-port-range=30001-30000", "must lie between 1 and 65535"),
            ("--service-node-port-range=65000+536", "must lie between 1 and 65535"),
            ("--service-node-port-range=0-5", "must lie between 1 and 65535"),
            ("--max-connections=0", "--max-connections: must be greater than 0"),
            ("--workers=0", "--workers: must be between 1 and 64"),
            ("--workers=65", "--workers: must be between 1 and 64"),
            ("--write-stall-timeout=0s", "--write-stall-timeout: must be greater than 0"),
            ("--max-inflight-bytes=33554431", "--max-inflight-bytes: must be at least 33554432"),
            ("--data-dir=", "--data-dir: must not be empty"),
            ("--anonymous-auth=maybe", "must be true or false"),
            ("--allow-metric-labels=a", "a must be formatted as key=value"),
            ("--endpoint-reconciler-type=x", '"x" is not one of master-count, lease, none'),
            ("--apiserver-count=0", "--apiserver-count should be a positive number, but value '0' provided"),
            ("--etcd-healthcheck-timeout=0s", "--etcd-healthcheck-timeout: must be greater than 0"),
        ):
            (problem,) = self.problems(argument)
            self.assertIn(text, problem)

    def test_audit(self) -> None:
        """Modes, formats and versions of audit are known ones, sizes that count are not 0 (reference AUDIT-14)."""
        for backend in ("log", "webhook"):
            flag, batch = f"--audit-{backend}", f"--audit-{backend}-mode=batch"
            cut = f"{flag}-truncate-enabled"
            for arguments, text in (
                ((f"{flag}-mode=x",), "invalid mode \"x\", allowed modes are batch, blocking, blocking-strict"),
                ((f"{flag}-version=audit.orch.io/v1beta1",), f"{flag}-version: invalid version"),
                ((batch, f"{flag}-batch-buffer-size=0"), f"{flag}-batch-buffer-size: must be greater than 0"),
                ((batch, f"{flag}-batch-max-size=0"), f"{flag}-batch-max-size: must be greater than 0"),
                (
                    (batch, f"{flag}-batch-throttle-enable", f"{flag}-batch-throttle-qps=0"),
                    f"{flag}-batch-throttle-qps: must be greater than 0",
                ),
                (
                    (batch, f"{flag}-batch-throttle-enable", f"{flag}-batch-throttle-burst=0"),
                    f"{flag}-batch-throttle-burst: must be greater than 0",
                ),
                ((cut, f"{flag}-truncate-max-event-size=0"), "-truncate-max-event-size: must be greater than 0"),
                (
                    (cut, f"{flag}-truncate-max-event-size=9", f"{flag}-truncate-max-batch-size=8"),
                    f"{flag}-truncate-max-batch-size: must be not lower than the size of an event (9)",
                ),
            ):
                self.assertIn(text, " ".join(self.problems(*arguments)))
            parse([f"{flag}-mode=blocking", f"{flag}-batch-buffer-size=0", f"{flag}-truncate-max-event-size=0"])
            parse([batch, f"{flag}-batch-throttle-enable=false", f"{flag}-batch-throttle-qps=0"])
            for version in ("audit.orch.io/v1", "audit.k8s.io/v1"):
                parse([f"{flag}-version={version}"])
        (problem,) = self.problems("--audit-log-format=xml")
        self.assertEqual(problem, '--audit-log-format: invalid format "xml", allowed formats are legacy, json')

    def test_store_in_memory(self) -> None:
        """`--storage` is `--storage-backend`; the memory of one process is not that of several (STORE-39)."""
        self.assertEqual(parse(["--storage=memory"]).storage.backend, "memory")
        self.assertEqual(parse(["--storage-backend", "memory"]).storage.backend, "memory")
        [problem] = self.problems("--storage=memory", "--workers=2")
        self.assertEqual(problem, "--workers: not with --storage memory, which is the memory of one process")
        [problem] = self.problems("--storage=memory", "--join-secret-file=x")
        self.assertIn("only where servers share the store", problem)
        [problem] = self.problems("--storage=memory", "--etcd-servers=http://a:1")
        self.assertIn("only for --storage-backend=etcd3", problem)

    def test_signing_authorities(self) -> None:
        """One authority signs for all, or each signer has its own (reference CSR-15)."""
        common = ("--cluster-signing-cert-file=c", "--cluster-signing-key-file=k")
        own = ("--cluster-signing-legacy-unknown-cert-file=c", "--cluster-signing-legacy-unknown-key-file=k")
        (problem,) = self.problems(*common, *own)
        others = "--cluster-signing-{cert,key}-file and other --cluster-signing-*-file flags"
        self.assertEqual(problem, f"cannot specify {others} at the same time")

    def test_node_ports(self) -> None:
        """A range of ports has an end, a length, or one port."""
        for text, last in (("30000-30005", 30005), ("30000+5", 30005), ("30000", 30000)):
            config = parse([f"--service-node-port-range={text}"])
            self.assertEqual(config.cluster.service_node_ports, (30000, last))

    def test_authorization_modes(self) -> None:
        """Misspelt and repeated modes are two different errors; any order will do (reference AUTHZ-7)."""
        for modes in (("AlwaysAllow",), ("RBAC",), ("RBAC", "Node"), ("Node", "AlwaysDeny", "AlwaysAllow")):
            self.assertEqual(parse([f"--authorization-mode={','.join(modes)}"]).authz.mode, modes)
        for value, text in (
            ("RBCA", '"RBCA" is not a valid mode'),
            ("RBAC,RBAC", "has mode specified more than once"),
            ("", "at least one mode must be given"),
        ):
            (problem,) = self.problems(f"--authorization-mode={value}")
            self.assertIn(text, problem)

    def test_token_flags(self) -> None:
        """Bad flags of ID tokens and of the token webhook are refused (reference AUTHN-32, AUTHN-36)."""
        good = ["--oidc-issuer-url=https://h/p", "--oidc-client-id=c", "--oidc-signing-algs=ES256,PS512"]
        self.assertEqual(parse(good).authn.oidc.signing_algs, ("ES256", "PS512"))
        for flags, why in (
            (["--oidc-issuer-url=https://h"], "--oidc-issuer-url and --oidc-client-id must be given together"),
            (["--oidc-client-id=c"], "--oidc-issuer-url and --oidc-client-id must be given together"),
            (
                ["--oidc-issuer-url=http://h", "--oidc-client-id=c"],
                "'oidc-issuer-url' (\"http://h\") has invalid scheme (\"http\"), require 'https'",
            ),
            (
                ["--oidc-issuer-url=https://h?a=b", "--oidc-client-id=c"],
                '--oidc-issuer-url: "https://h?a=b" must be a URL such as https://host:port/path',
            ),
            (["--oidc-issuer-url=https://[", "--oidc-client-id=c"], '--oidc-issuer-url: "https://[" is not a URL'),
            (
                ["--oidc-required-claim=hd"],
                'invalid argument "hd" for "--oidc-required-claim" flag: malformed pair, expect string=string',
            ),
            (
                ["--service-account-issuer=http://a b"],
                "--service-account-issuer: \"http://a b\" contains a ':' and is not a valid URL",
            ),
            (
                ["--authentication-token-webhook-version=v2"],
                '--authentication-token-webhook-version: "v2" is not one of v1beta1, v1',
            ),
        ):
            self.assertEqual(self.assertRaises(ConfigError, parse, flags).problems, (why,))
        for name in ("none", "HS256", "EdDSA"):
            self.assertRaises(ConfigError, parse, [f"--oidc-signing-algs={name}"])

    def test_files_of_modes(self) -> None:
        """A mode without its file, and a file without its mode, end the start in one line (reference AUTHZ-36)."""
        policies, webhook = "--authorization-policy-file=p", "--authorization-webhook-config-file=w"
        modes = ("AlwaysDeny", "Webhook", "RBAC", "ABAC", "Node", "AlwaysAllow")
        every = (f"--authorization-mode={','.join(modes)}", policies, webhook)
        self.assertEqual(parse(every).authz.mode, modes)
        for given, text in (
            (
                ("--authorization-mode=ABAC,RBAC",),
                "--authorization-mode: mode ABAC needs --authorization-policy-file",
            ),
            (
                ("--authorization-mode=Webhook",),
                "--authorization-mode: mode Webhook needs --authorization-webhook-config-file",
            ),
            ((policies,), "--authorization-policy-file: cannot be given without mode ABAC in --authorization-mode"),
            (
                (webhook,),
                "--authorization-webhook-config-file: cannot be given without mode Webhook in --authorization-mode",
            ),
            (
                ("--authorization-webhook-version=v2",),
                '--authorization-webhook-version: "v2" is not one of v1beta1, v1',
            ),
        ):
            self.assertEqual(self.problems(*given), (text,))

    def test_origins(self) -> None:
        """Each origin is a regular expression; a malformed one is one line that names the flag (reference REQ-28)."""
        given = parse(["--cors-allowed-origins=//a.example$,//b.example$", "--cors-allowed-origins", "localhost"])
        self.assertEqual(given.serving.cors_allowed_origins, ("//a.example$", "//b.example$", "localhost"))
        for pattern in ("(", "a{2000}", "(?=a)"):
            (problem,) = self.problems(f"--cors-allowed-origins={pattern}")
            self.assertTrue(problem.startswith(f'--cors-allowed-origins: "{pattern}" is not a regular expression: '))

    @since((1, 30))
    def test_configuration_files(self) -> None:
        """Files exclude the flags that they replace, and need their gates (reference AUTHN-62, AUTHZ-40)."""
        for arguments, text in (
            (
                ("--authentication-config=a", "--oidc-issuer-url=https://a", "--oidc-client-id=b"),
                "authentication-config file and oidc-* flags are mutually exclusive",
            ),
            (
                ("--authorization-config=a", "--authorization-mode=RBAC"),
                "--authorization-config can not be specified when --authorization-mode or "
                "--authorization-webhook-* flags are defined",
            ),
            (
                ("--authentication-config=a", "--emulated-version=1.28"),
                "--authentication-config needs feature gate StructuredAuthenticationConfiguration",
            ),
            (
                ("--authorization-config=a", "--feature-gates=StructuredAuthorizationConfiguration=false"),
                "--authorization-config needs feature gate StructuredAuthorizationConfiguration",
            ),
            (
                (
                    "--requestheader-client-ca-file=a",
                    "--requestheader-username-headers=X-Remote-User",
                    "--requestheader-uid-headers=X-Remote-Uid",
                    "--emulated-version=1.31",
                ),
                "--requestheader-uid-headers needs feature gate RemoteRequestHeaderUID",
            ),
        ):
            self.assertEqual(self.problems(*arguments), (text,))
