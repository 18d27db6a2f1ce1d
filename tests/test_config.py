"""Flags and settings: reading, defaults, and the report of everything that is wrong."""

from __future__ import annotations

from pathlib import Path

import attrs
from twisted.trial.unittest import SynchronousTestCase

from orchtw.assembly.flags import FLAGS, parse
from orchtw.config import Config, host_and_port
from orchtw.config.cipher_suites import openssl_names
from orchtw.errors import ConfigError
from orchtw.flags.flag import help_text

RELEASE_FLAGS = (
    "add-dir-header alsologtostderr azure-container-registry-config cloud-config cloud-provider "
    "cloud-provider-gce-l7lb-src-cidrs cloud-provider-gce-lb-src-cidrs "
    "kubelet-read-only-port kubernetes-service-node-port log-backtrace-at log-dir "
    "log-file log-file-max-size log-flush-frequency log-json-info-buffer-size log-json-split-stream logtostderr "
    "master-service-namespace one-output skip-headers skip-log-headers stderrthreshold tracing-config-file"
).split()


class ParseTests(SynchronousTestCase):
    def problems(self, *arguments: str) -> tuple[str, ...]:
        """Return the problems that `parse` finds."""
        error: ConfigError = self.assertRaises(ConfigError, parse, arguments)
        return error.problems

    def test_no_flags_are_the_contract(self) -> None:
        """Without flags the server is the one of reference DESIGN-20."""
        config = parse([])
        self.assertEqual(
            (config.data_dir, config.bind_address, config.secure_port, config.authorization_mode, config.vocabulary),
            (Path("orch-data"), "127.0.0.1", 6443, ("Node", "RBAC"), "orch"),
        )
        self.assertEqual(config, Config())

    def test_both_spellings(self) -> None:
        """`--flag=value` and `--flag value` say the same (reference FLAG-1)."""
        self.assertEqual(parse(["--secure-port=0"]), parse(["--secure-port", "0"]))

    def test_value_with_equals(self) -> None:
        """Only the first equals sign ends the name."""
        self.assertEqual(
            parse(["--feature-gates=APIListChunking=false"]).feature_gates, (("APIListChunking", "false"),)
        )

    def test_boolean(self) -> None:
        """A boolean alone is true, takes a value only behind `=`, and never eats the next word."""
        self.assertTrue(parse(["--anonymous-auth"]).anonymous_auth)
        self.assertFalse(parse(["--anonymous-auth=false"]).anonymous_auth)
        self.assertEqual(self.problems("--anonymous-auth", "false"), ('unexpected argument "false"',))

    def test_short_flag(self) -> None:
        """`-v 3`, `-v=3` and `-v3` are `--v=3` (reference FLAG-1)."""
        for spelling in (["-v", "3"], ["-v=3"], ["-v3"], ["--v=3"]):
            self.assertEqual(parse(spelling).v, 3)

    def test_last_value_counts(self) -> None:
        """A flag given twice has its last value."""
        self.assertEqual(parse(["--secure-port=1", "--secure-port=2"]).secure_port, 2)

    def test_lists_gather(self) -> None:
        """A list given in one word or in several is the same list."""
        once = parse(["--runtime-config=batch/v1=false,apps/v1"])
        twice = parse(["--runtime-config=batch/v1=false", "--runtime-config", "apps/v1"])
        self.assertEqual(once.runtime_config, (("batch/v1", "false"), ("apps/v1", "true")))
        self.assertEqual(once, twice)

    def test_other_names(self) -> None:
        """A flag that bears a component's name has that of the other vocabulary too, in files as well."""
        file = Path(self.mktemp())
        file.write_text("kubelet-timeout: 7s\n")
        made = parse(["--kubelet-port=1", "--orchlet-https=false", "--config", str(file)])
        self.assertEqual((made.orchlet_port, made.orchlet_https, made.orchlet_timeout_s), (1, False, 7.0))

    def test_durations(self) -> None:
        """Durations are Go's, in seconds (reference FLAG-1)."""
        for text, seconds in (("5m0s", 300.0), ("1h30m", 5400.0), ("0", 0.0), ("250ms", 0.25), ("1.5h", 5400.0)):
            self.assertEqual(parse(["--etcd-compaction-interval", text]).etcd_compaction_interval_s, seconds)
        for text in ("5", "m", "-1s", "", "5m x", "99999999h"):
            (problem,) = self.problems(f"--request-timeout={text}")
            self.assertIn(f'invalid argument "{text}" for "--request-timeout" flag', problem)

    def test_unknown_flag(self) -> None:
        """An unknown flag is named as the reference server names it, its value not taken for another mistake."""
        self.assertEqual(self.problems("--x"), ("unknown flag: --x",))
        self.assertEqual(self.problems("--x", "y"), ("unknown flag: --x",))
        self.assertEqual(self.problems("--x=y", "-z"), ("unknown flag: --x", "unknown flag: -z"))

    def test_missing_value(self) -> None:
        """A flag at the end without its value is told apart from an unknown one."""
        self.assertEqual(self.problems("--data-dir"), ("flag needs an argument: --data-dir",))

    def test_all_problems_together(self) -> None:
        """Every problem of flags, values and file is reported at once, a line each (reference FLAG-2)."""
        file = self.mktemp()
        Path(file).write_text("nonsense: 1\nsecure-port: many\n")
        problems = self.problems("--x", "--config", file, "--vocabulary=latin", "--tls-cert-file=c", "stray")
        self.assertEqual(
            problems,
            (
                "unknown flag: --x",
                'unexpected argument "stray"',
                f"--config {file}: unknown key: nonsense",
                'invalid argument "many" for "--secure-port" flag: must be an integer of zero or more',
                '--vocabulary: "latin" is not one of orch, kubernetes',
                "--tls-cert-file and --tls-private-key-file must be given together",
            ),
        )

    def test_no_seats(self) -> None:
        """Priority and fairness needs a seat; without it, 0 means no limit (reference FLOW-1, FLOW-2)."""
        none = "--max-requests-inflight=0", "--max-mutating-requests-inflight=0"
        [problem] = self.problems(*none)
        self.assertIn("they must add up to something positive", problem)
        self.assertEqual(parse([*none, "--enable-priority-and-fairness=false"]).max_requests_inflight, 0)
        self.assertEqual(parse([none[0]]).max_mutating_requests_inflight, 200)

    def test_refused_values(self) -> None:
        """Values that can be read but not served are refused, naming the flag."""
        for argument, text in (
            ("--secure-port=65536", "--secure-port: 65536 must be between 0 and 65535"),
            ("--bind-address=localhost", '--bind-address: "localhost" is not an IP address'),
            ("--advertise-address=x", '--advertise-address: "x" is not an IP address'),
            ("--storage-backend=bolt", '--storage-backend: "bolt" is not one of sqlite, etcd3'),
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
            self.assertEqual(config.service_node_ports, (30000, last))

    def test_authorization_modes(self) -> None:
        """Misspelt and repeated modes are two different errors; any order will do (reference AUTHZ-7)."""
        for modes in (("AlwaysAllow",), ("RBAC",), ("RBAC", "Node"), ("Node", "AlwaysDeny", "AlwaysAllow")):
            self.assertEqual(parse([f"--authorization-mode={','.join(modes)}"]).authorization_mode, modes)
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
        self.assertEqual(parse(good).oidc_signing_algs, ("ES256", "PS512"))
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
            (["--oidc-issuer-url=https://[", "--oidc-client-id=c"], '--oidc-issuer-url: "https://[" is no URL'),
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
        self.assertEqual(parse(every).authorization_mode, modes)
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
        self.assertEqual(given.cors_allowed_origins, ("//a.example$", "//b.example$", "localhost"))
        for pattern in ("(", "a{2000}", "(?=a)"):
            (problem,) = self.problems(f"--cors-allowed-origins={pattern}")
            self.assertTrue(problem.startswith(f'--cors-allowed-origins: "{pattern}" is not a regular expression: '))

    def test_cipher_suites(self) -> None:
        """IANA names keep their order in OpenSSL's spelling."""
        config = parse(
            ["--tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"]
        )
        self.assertEqual(
            openssl_names(config.tls_cipher_suites), "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-AES128-GCM-SHA256"
        )


class FeatureGateTests(SynchronousTestCase):
    def test_defaults(self) -> None:
        """GA and beta gates are on, alpha gates off (reference OPS-24)."""
        gates = Config().gates
        self.assertTrue(gates["APIListChunking"] and gates["WatchBookmark"])
        self.assertFalse(gates["StorageVersionAPI"])

    def test_single_wins_over_stage(self) -> None:
        """A gate set by name keeps its value beside AllBeta, in either order (reference OPS-23)."""
        for value in ("AllBeta=false,APIListChunking=true", "APIListChunking=true,AllBeta=false"):
            gates = parse([f"--feature-gates={value}"]).gates
            self.assertTrue(gates["APIListChunking"])
            self.assertFalse(gates["RemainingItemCount"])

    def test_refusals(self) -> None:
        """Unknown and locked gates end the start with the reference server's texts (reference OPS-23)."""
        error = self.assertRaises(ConfigError, parse, ["--feature-gates=OpenAPIV3"])
        self.assertIn("missing bool value for OpenAPIV3", str(error))
        error = self.assertRaises(ConfigError, parse, ["--feature-gates=X=true,WatchBookmark=false,DryRun=x"])
        self.assertEqual(
            error.problems,
            (
                "--feature-gates: unrecognized feature gate: X",
                "--feature-gates: cannot set feature gate WatchBookmark to false, feature is locked to true",
                "--feature-gates: invalid value of DryRun=x, must be true or false",
            ),
        )


class ConfigFileTests(SynchronousTestCase):
    def file(self, text: str) -> str:
        """A file with this content."""
        path: str = self.mktemp()
        Path(path).write_text(text)
        return path

    def test_same_keys(self) -> None:
        """The file holds flags as keys, in YAML's own types or as text."""
        path = self.file(
            "secure-port: 0\nanonymous-auth: false\nrequest-timeout: 30s\nauthorization-mode: [Node, RBAC]\n"
            "feature-gates:\n  APIListChunking: false\nruntime-config: batch/v1=false\n"
        )
        config = parse([f"--config={path}"])
        self.assertEqual((config.secure_port, config.anonymous_auth, config.request_timeout_s), (0, False, 30.0))
        self.assertFalse(config.gates["APIListChunking"])
        self.assertEqual(config.runtime_config, (("batch/v1", "false"),))

    def test_command_line_wins(self) -> None:
        """A flag on the command line replaces the file's value, lists too (reference FLAG-1)."""
        path = self.file("secure-port: 1\nruntime-config: [apps/v1=false]\n")
        config = parse(["--secure-port=2", "--config", path, "--runtime-config=batch/v1=false"])
        self.assertEqual((config.secure_port, config.runtime_config), (2, (("batch/v1", "false"),)))

    def test_bad_files(self) -> None:
        """A missing, malformed or differently shaped file is one line that names it."""
        for path, text in (
            ("/nonexistent/file", "No such file or directory"),
            (self.file("a: ["), "not valid YAML"),
            (self.file("- secure-port"), "must be a mapping"),
            (self.file("secure-port:\n  - [1]"), 'invalid value for key "secure-port"'),
            (self.file("config: other"), "unknown key: config"),
        ):
            (problem,) = self.assertRaises(ConfigError, parse, ["--config", path]).problems
            self.assertIn(text, problem)
            self.assertIn(path, problem)
            self.assertNotIn("\n", problem)

    def test_empty_file(self) -> None:
        """An empty file changes nothing."""
        path = self.file("")
        self.assertEqual(attrs.evolve(parse(["--config", path]), config=None), Config())


class MetricsTests(SynchronousTestCase):
    """The flags of metrics (reference METRIC-3)."""

    def problems(self, *arguments: str) -> tuple[str, ...]:
        return self.assertRaises(ConfigError, parse, arguments).problems

    def test_hidden(self) -> None:
        """Only the previous release's hidden metrics can be shown."""
        self.assertEqual(parse(["--show-hidden-metrics-for-version=1.23"]).show_hidden_metrics_for_version, "1.23")
        for version in ("1.24", "1.22", "1", "all"):
            self.assertEqual(
                self.problems(f"--show-hidden-metrics-for-version={version}"),
                (
                    "--show-hidden-metrics-for-version must be omitted or have the value '1.23'. Only the previous "
                    "minor version is allowed",
                ),
            )

    def test_allowed_labels(self) -> None:
        """Values of a label, of several in quotes, and of several flags."""
        for arguments, expected in (
            (["a_total,x=1,2"], {("a_total", "x"): {"1", "2"}}),
            (['"a,x=1,2"'], {("a", "x"): {"1", "2"}}),
            (['"a,x=1,2","b,y=3"'], {("a", "x"): {"1", "2"}, ("b", "y"): {"3"}}),
            (["a,x=1", "b,y=2"], {("a", "x"): {"1"}, ("b", "y"): {"2"}}),
            (["a,x=1, 2"], {("a", "x"): {"1", "2"}}),
        ):
            config = parse([f"--allow-metric-labels={argument}" for argument in arguments])
            self.assertEqual(config.allowed_labels, expected)

    def test_wrong_labels(self) -> None:
        """A key that is no metric and label is refused in one line, as the release words it."""
        text = (
            "--allow-metric-labels must has a list of kv pair with format "
            "`metricName:labelName=labelValue, labelValue,...`"
        )
        for key in ("a", "a,", "a,1x", "a,x,y", "a b,x", ",x"):
            self.assertEqual(self.problems(f"--allow-metric-labels={key}=1"), (text,))
        for texts in ("a,x", '"a,x=1","b,y=2","c"', "a,x=1,b,y=2,c"):
            [problem] = self.problems(f"--allow-metric-labels={texts}")
            self.assertIn("must be formatted as key=value", problem)

    def test_shown(self) -> None:
        """A printed value parses to the same value."""
        given = parse(["--allow-metric-labels=a,x=1,2", "--allow-metric-labels=b,y=3"]).allow_metric_labels
        [flag] = [flag for flag in FLAGS if flag.name == "allow-metric-labels"]
        self.assertEqual(flag.kind.parse([flag.kind.show(given)]), given)


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
            self.assertEqual(parse(arguments).public_address, address)

    def test_host_and_port(self) -> None:
        """IPv6 addresses are written in brackets."""
        self.assertEqual(host_and_port("::1", 1), "[::1]:1")
        self.assertEqual(host_and_port("127.0.0.1", 1), "127.0.0.1:1")

    def test_share(self) -> None:
        """Each of several processes has its share of the server's limits (reference STORE-35)."""
        limits = ["--max-requests-inflight=5", "--max-mutating-requests-inflight=0", "--max-connections=100"]
        config = parse([*limits, "--workers=2"]).share()
        self.assertEqual((config.max_requests_inflight, config.max_mutating_requests_inflight), (3, 0))
        self.assertEqual((config.max_connections, config.max_inflight_bytes), (50, 128 << 20))
        self.assertEqual(parse(["--workers=64"]).share().max_inflight_bytes, 64 << 20)
        self.assertEqual(parse(["--workers=2", "--max-inflight-bytes=40000000"]).share().max_inflight_bytes, 40000000)
        self.assertEqual(parse(limits).share(), parse(limits))

    def test_rooted(self) -> None:
        """Relative paths are taken from the folder; absolute ones and those not given stay."""
        config = parse(["--token-auth-file=/etc/tokens"]).rooted(Path("/srv"))
        self.assertEqual(config.data_dir, Path("/srv/orch-data"))
        self.assertEqual(config.token_auth_file, Path("/etc/tokens"))
        self.assertIsNone(config.client_ca_file)


class HelpTests(SynchronousTestCase):
    def test_every_flag_with_default(self) -> None:
        """The help shows every flag, and its default as it would be written (reference FLAG-13)."""
        text = help_text(FLAGS)
        for flag in FLAGS:
            self.assertIn(f"--{flag.name} ", text)
        for shown in ("(default 6443)", "(default 5m0s)", "(default Node,RBAC)", "(default true)", "(default 0s)"):
            self.assertIn(shown, text)

    def test_by_section(self) -> None:
        """Flags are listed below the heading of their section."""
        text = help_text(FLAGS)
        sections = [line for line in text.splitlines() if line.endswith(" flags:")]
        self.assertEqual(sections, [f"{name} flags:" for name in dict.fromkeys(flag.section for flag in FLAGS)])
        self.assertLess(text.index("Authentication flags:"), text.index("--token-auth-file"))


class NoteTests(SynchronousTestCase):
    """Flags of the release that mean nothing here (reference FLAG-14, FLAG-15)."""

    def test_without_effect(self) -> None:
        """They are taken, and the start says that they have no effect and what stands in their place."""
        config = parse(["--watch-cache=false", "--default-watch-cache-size", "7"])
        self.assertEqual(config.notes, (
            "Flag --watch-cache has no effect: All objects are kept at hand.",
            "Flag --default-watch-cache-size has no effect: All objects are kept at hand.",
        ))
        self.assertRaises(ConfigError, parse, ["--watch-cache=maybe"])

    def test_flags_of_the_release(self) -> None:
        """Each flag of release 1.24 that the server does not have is taken with its default, and said to do nothing
        (reference FLAG-14).
        """
        for name in RELEASE_FLAGS:
            (flag,) = (flag for flag in FLAGS if name in flag.names)
            config = parse([f"--{name}={flag.kind.show(flag.default)}"])
            (note,) = config.notes
            self.assertTrue(note.startswith(f"Flag --{flag.name} has no effect: "), note)

    def test_values_without_effect(self) -> None:
        """Their values are read all the same: one that cannot be is one line."""
        for argument, text in (
            ("--logtostderr=maybe", "must be true or false"),
            ("--log-file-max-size=-1", "must be an integer of zero or more"),
            ("--log-flush-frequency=5", "must be a duration"),
            ("--stderrthreshold=LOUD", "must be a severity"),
            ("--stderrthreshold=4", "must be a severity"),
            ("--log-backtrace-at=here", "expect file.go:234"),
            ("--log-json-info-buffer-size=much", "a quantity is a number"),
            ("--cloud-provider-gce-l7lb-src-cidrs=10.0.0.0", '"10.0.0.0" has no prefix length'),
            ("--cloud-provider-gce-l7lb-src-cidrs=x/1", "does not appear to be"),
            ("--kubelet-read-only-port=x", 'for "--orchlet-read-only-port" flag'),
            ("--kubernetes-service-node-port=x", 'for "--orch-service-node-port" flag'),
        ):
            error: ConfigError = self.assertRaises(ConfigError, parse, [argument])
            self.assertEqual((len(error.problems), text in error.problems[0]), (1, True), error.problems)
        for good in ("--stderrthreshold=warning", "--stderrthreshold=2", "--log-backtrace-at=a.go:7",
                     "--log-json-info-buffer-size=1Mi", "--cloud-provider-gce-l7lb-src-cidrs=10.0.0.0/8,fd00::/8"):
            self.assertEqual(len(parse([good]).notes), 1)

    def test_protection_that_is_not_there(self) -> None:
        """A flag that asks for protection which there is not is refused, unless it is empty."""
        error: ConfigError = self.assertRaises(ConfigError, parse, ["--egress-selector-config-file=x.yaml"])
        self.assertEqual(error.problems, (
            "--egress-selector-config-file: not supported: connections to nodes, webhooks and etcd would bypass the "
            "proxies that it names",
        ))
        self.assertEqual(parse(["--egress-selector-config-file="]), Config())

    def test_deprecated(self) -> None:
        """Flags that will be removed take effect, with a warning."""
        config = parse(["--enable-logs-handler=false"])
        self.assertFalse(config.enable_logs_handler)
        self.assertEqual([note[:48] for note in config.notes], ["Flag --enable-logs-handler has been deprecated, "])

    def test_stable_gates(self) -> None:
        """Each stable gate that is set by name is said to go, once (reference OPS-23)."""
        config = parse(["--feature-gates=DryRun=false,AllBeta=true,OpenAPIV3=true,WatchBookmark=true,DryRun=true"])
        self.assertEqual(config.notes, (
            "Setting GA feature gate DryRun=true. It will be removed in a future release.",
            "Setting GA feature gate WatchBookmark=true. It will be removed in a future release.",
        ))
