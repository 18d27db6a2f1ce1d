"""Webhooks made ready to be matched and called (reference HOOK-1, HOOK-2, ADM-13)."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path
from typing import Any

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.admission.configuration import Given
from orchtw.admission.webhooks.credentials import Identities, identities_of
from orchtw.errors import ConfigError
from orchtw.naming.naming import Naming
from orchtw.outbound.credentials import Credentials, Fixed, bearer
from tests.admission.webhooks.hooks import configuration, hook, rule, webhook

USERS = """
users:
- name: a.b.svc
  user: {token: of-443}
- name: a.b.svc:8443
  user: {username: u, password: p}
- name: nobody
  user: {}
"""


def token(text: str) -> Credentials:
    return Fixed(bearer(text))


class HookTests(SynchronousTestCase):
    def test_defaults(self) -> None:
        """Absent fields have the release's defaults (reference HOOK-2)."""
        made = hook(rule("pods"))
        self.assertEqual(
            (made.patient, made.equivalent, made.timeout_s, made.again, made.harmless, made.review, made.broken),
            (False, True, 10, False, True, "v1", ""),
        )
        self.assertTrue(made.namespaces.empty and made.objects.empty)

    def test_settings(self) -> None:
        """Every choice of a configuration counts."""
        made = hook(
            rule("pods"),
            failurePolicy="Ignore",
            matchPolicy="Exact",
            timeoutSeconds=3,
            reinvocationPolicy="IfNeeded",
            sideEffects="Some",
            admissionReviewVersions=["v2", "v1beta1", "v1"],
            namespaceSelector={"matchLabels": {"a": "b"}},
            objectSelector={"matchExpressions": [{"key": "c", "operator": "DoesNotExist"}]},
        )
        self.assertEqual(
            (made.patient, made.equivalent, made.timeout_s, made.again, made.harmless, made.review),
            (True, False, 3, True, False, "v1beta1"),
        )
        self.assertEqual((str(made.namespaces), str(made.objects)), ("a=b", "!c"))

    def test_broken(self) -> None:
        """A broken webhook says why, and is kept (reference HOOK-23)."""
        bundle = b64encode(b"-----BEGIN CERTIFICATE-----\nno\n-----END CERTIFICATE-----").decode()
        reviews = "could not create admission objects: webhook does not accept known AdmissionReview versions"
        for settings, why in (
            ({"admissionReviewVersions": ["v9"]}, f"{reviews} (v1, v1beta1)"),
            (
                {"clientConfig": {"url": "https://h", "caBundle": bundle}},
                "could not get REST client: unable to load root certificates: failed to parse certificate",
            ),
            (
                {"objectSelector": {"matchExpressions": [{"key": "c", "operator": "Like"}]}},
                '"Like" is not a valid label selector operator',
            ),
        ):
            made = hook(rule("pods"), **settings)
            self.assertTrue(made.broken.startswith(why), made.broken)

    def test_keys(self) -> None:
        """Webhooks of one name differ by their place among these."""
        made = configuration("c", webhook(name="a.b.c"), webhook(name="d.e.f"), webhook(name="a.b.c"))
        self.assertEqual([each.key for each in made.hooks], ["c/a.b.c/0", "c/d.e.f/0", "c/a.b.c/1"])

    def test_naming(self) -> None:
        """The webhooks that may be about a resource come in the order of their list."""
        made = configuration(
            "c",
            webhook(rule("*"), name="1.b.c"),
            webhook(rule("pods"), name="2.b.c"),
            webhook(rule("nodes"), rule("*/status"), name="3.b.c"),
            webhook(rule("nodes"), name="4.b.c"),
        )
        for plural, expected in (("pods", "123"), ("nodes", "134"), ("secrets", "13")):
            self.assertEqual("".join(each.name[0] for each in made.naming(plural)), expected)


class IdentityTests(SynchronousTestCase):
    """Credentials of the server by webhook (reference ADM-13)."""

    def test_names(self) -> None:
        """The exact name comes first, then wildcards from the left, then everybody's."""
        names = ("svc.ns.svc:8443", "svc.ns.svc", "*.ns.svc", "*.svc", "h.example.com", "h.example.com:1", "*.com")
        for target, expected in (
            ("svc.ns.svc:443", "svc.ns.svc"),
            ("svc.ns.svc:8443", "svc.ns.svc:8443"),
            ("other.ns.svc:443", "*.ns.svc"),
            ("other.other.svc:443", "*.svc"),
            ("other.ns.svc:8443", "*"),
            ("h.example.com", "h.example.com"),
            ("h.example.com:1", "h.example.com:1"),
            ("g.example.com", "*.com"),
            ("localhost:1", "*"),
        ):
            identities = Identities({name: token(name) for name in (*names, "*")})
            self.assertEqual(identities.of(target), token(expected), target)
        self.assertIsNone(Identities({"a": token("a")}).of("b"))

    def test_of_hooks(self) -> None:
        """A service is asked for by name, namespace and port, a URL by its host."""
        identities = Identities({"s.n.svc": token("1"), "s.n.svc:8": token("2"), "h.example.com:9": token("3")})
        for client, expected in (
            ({"service": {"name": "s", "namespace": "n"}}, "1"),
            ({"service": {"name": "s", "namespace": "n", "port": 8}}, "2"),
            ({"url": "https://h.example.com:9/x"}, "3"),
        ):
            made = configuration("c", webhook(clientConfig=client), identities=identities).hooks[0]
            self.assertEqual(made.remote.credentials, token(expected))
        made = configuration("c", webhook(), identities=identities).hooks[0]
        self.assertIsNone(made.remote.credentials)

    def read(self, **obj: Any) -> Identities:
        folder = Path(self.mktemp())
        folder.mkdir()
        (folder / "users.yaml").write_text(USERS)
        given = Given(obj=obj, path="file", directory=str(folder))
        return identities_of(given, Naming.of("orch"), Clock())

    def test_file(self) -> None:
        """The users of a kubeconfig are read at the start, contexts and clusters do not matter."""
        for version, kind in (("v1", "WebhookAdmissionConfiguration"), ("v1alpha1", "WebhookAdmission")):
            read = self.read(
                apiVersion=f"apiserver.config.orch.io/{version}", kind=kind, kubeConfigFile="users.yaml"
            )
            found = read.of("a.b.svc:443")
            assert found is not None
            self.assertEqual(found, token("of-443"))
            shown = self.successResultOf(_shown(read.of("a.b.svc:8443")))
            self.assertEqual(shown.headers, (("Authorization", "Basic dTpw"),))
            self.assertIsNone(read.of("nobody"))

    def test_nothing(self) -> None:
        """Without a configuration, or a file in it, nothing is shown."""
        self.assertIsNone(identities_of(None, Naming.of("orch"), Clock()).of("a"))
        read = self.read(apiVersion="apiserver.config.orch.io/v1", kind="WebhookAdmissionConfiguration")
        self.assertIsNone(read.of("a"))

    def test_bad(self) -> None:
        """An invalid file is one line at the start (reference ADM-12)."""
        kind = {"apiVersion": "apiserver.config.orch.io/v1", "kind": "WebhookAdmissionConfiguration"}
        no_kind = "use WebhookAdmissionConfiguration of apiserver.config.orch.io/v1"
        for obj, why in (
            ({}, no_kind),
            ({**kind, "kind": "Other"}, no_kind),
            ({**kind, "kubeConfigFile": 1}, "kubeConfigFile: must be a string"),
            ({**kind, "kubeconfigFile": "x"}, 'unknown field "kubeconfigFile"'),
            ({**kind, "kubeConfigFile": "missing.yaml"}, "missing.yaml: No such file"),
        ):
            error = self.assertRaises(ConfigError, lambda obj=obj: self.read(**obj))
            self.assertIn(why, str(error))
            self.assertNotIn("\n", str(error))


def _shown(credentials: Credentials | None) -> Any:
    from twisted.internet.defer import Deferred

    assert credentials is not None
    return Deferred.fromCoroutine(credentials.current())
