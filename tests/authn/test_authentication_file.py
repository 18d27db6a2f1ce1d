"""File of `--authentication-config`: mistakes, claims in expressions, anonymous requests, and following it."""
# covers: orchtw.authn.claim_mapping, orchtw.authn.identity_expressions, orchtw.authn.issuers

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
from twisted.trial.unittest import SynchronousTestCase

from orchtw.authn.authentication_file import AuthenticationFile, read
from orchtw.authn.issuers import Issuers, from_file
from orchtw.authn.oidc_claims import BadToken
from orchtw.config import Config
from orchtw.errors import ConfigError
from orchtw.outbound.followed_file import INTERVAL_S
from orchtw.request import UserInfo
from orchtw.schema.cel.environment import environment
from orchtw.values.names import dns_subdomain
from tests.authn.hosts import a_host
from tests.authn.issuer import NOW, signed
from tests.authn.oidc_case import OIDCCase

URL = "https://issuer.example"
CLAIMS = {"iss": URL, "aud": "api", "exp": 2_000, "sub": "ann", "email": "ann@example.com", "roles": ["cook", "maid"]}


def issuer(**more: Any) -> dict[str, Any]:
    """An element of `jwt`."""
    mappings = {"username": {"claim": "sub", "prefix": "x:"}}
    return {"issuer": {"url": URL, "audiences": ["api"]}, "claimMappings": mappings, **more}


class FileCase(SynchronousTestCase):
    def file(self, *jwt: Any, **more: Any) -> Path:
        path = Path(self.mktemp())
        kind = {"apiVersion": "apiserver.config.orch.io/v1", "kind": "AuthenticationConfiguration"}
        path.write_bytes(orjson.dumps({**kind, "jwt": jwt, **more}))
        return path

    def read(self, path: Path, *, paths: bool = True) -> AuthenticationFile:
        return read(path, environment((1, 36)), ("https://own",), paths=paths)

    def user(self, claims: dict[str, Any], **more: Any) -> UserInfo:
        """The user of claims by the rules of one issuer."""
        (found,) = self.read(self.file(issuer(**more))).issuers
        found.mapping.check(claims, 1_000)
        return found.mapping.user(claims)


class MistakeTests(FileCase):
    def assertMistakes(self, path: Path, *lines: str) -> None:
        error = self.assertRaises(ConfigError, self.read, path)
        self.assertEqual(error.problems, tuple(f"--authentication-config: {path}: {line}" for line in lines))

    def test_issuer(self) -> None:
        """Each mistake about an issuer has a line (reference AUTHN-62)."""
        where = "jwt[0].issuer"
        no_https = {"url": "http://a", "audiences": ["a", "b", "a", ""], "discoveryURL": "http://a/"}
        self.assertMistakes(
            self.file(issuer(issuer=no_https)),
            f'{where}.url: Invalid value: "http://a": URL scheme must be https',
            f'{where}.discoveryURL: Invalid value: "http://a/": discoveryURL must be different from URL',
            f'{where}.audienceMatchPolicy: Invalid value: "": '
            "audienceMatchPolicy must be MatchAny for multiple audiences",
            f'{where}.audiences[2]: Duplicate value: "a"',
            f"{where}.audiences[3]: Required value: audience can't be empty",
        )
        strange = {"url": "https://own", "audiences": ["a"], "certificateAuthority": "x"}
        error = self.assertRaises(ConfigError, self.read, self.file(issuer(issuer=strange)))
        own, authority = error.problems
        self.assertIn('"https://own": URL must not overlap with disallowed issuers: [https://own]', own)
        self.assertIn(f'{where}.certificateAuthority: Invalid value: "<omitted>": ', authority)
        self.assertMistakes(self.file(issuer(), issuer()), f'jwt[1].issuer.url: Duplicate value: "{URL}"')
        self.assertMistakes(self.file(*[issuer()] * 65), "jwt: Too many: 65: must have at most 64 items")

    def test_rules(self) -> None:
        """Rules and mappings have a claim or an expression, never both or neither (reference AUTHN-62)."""
        rules = [{}, {"claim": "a", "expression": "true"}, {"claim": "a", "message": "m"}, {"expression": "claims.a"}]
        mappings = {
            "username": {"claim": "sub"},
            "groups": {"expression": "claims.roles", "prefix": "p"},
            "uid": {"claim": "a", "expression": "claims.a"},
            "extra": [
                {"key": "a", "valueExpression": "claims.a"},
                {"valueExpression": ""},
                {"key": "a.orch.io/b", "valueExpression": "''"},
                {"key": "kubernetes.io/b", "valueExpression": "''"},
                {"key": "-/b", "valueExpression": "''"},
            ],
        }
        both = "claim and expression can't both be set"
        reserved = "orch.io, k8s.io, kubernetes.io and their subdomains are reserved"
        prefix = "prefix is required when claim is set. It can be set to an empty string to disable prefixing"
        self.assertMistakes(
            self.file(
                issuer(claimValidationRules=rules, claimMappings=mappings, userValidationRules=[{"message": "m"}])
            ),
            "jwt[0].claimValidationRules[0]: Required value: claim or expression is required",
            f'jwt[0].claimValidationRules[1]: Invalid value: "a": {both}',
            'jwt[0].claimValidationRules[2].message: Invalid value: "m": message can\'t be set when claim is set',
            f"jwt[0].claimMappings.username.prefix: Required value: {prefix}",
            'jwt[0].claimMappings.groups.prefix: Invalid value: "p": prefix can\'t be set when expression is set',
            f'jwt[0].claimMappings.uid: Invalid value: "": {both}',
            'jwt[0].claimMappings.extra[0].key: Invalid value: "a": '
            'must be a domain-prefixed path (such as "acme.io/foo")',
            "jwt[0].claimMappings.extra[1].key: Required value: key is required",
            "jwt[0].claimMappings.extra[1].valueExpression: Required value: valueExpression is required",
            f'jwt[0].claimMappings.extra[2].key: Invalid value: "a.orch.io/b": {reserved}',
            f'jwt[0].claimMappings.extra[3].key: Invalid value: "kubernetes.io/b": {reserved}',
            f'jwt[0].claimMappings.extra[4].key: Invalid value: "-": {dns_subdomain("-")[0]}',
            "jwt[0].userValidationRules[0].expression: Required value: expression is required",
        )

    def test_expressions(self) -> None:
        """An expression must compile, and have a value of the right type (reference AUTHN-62)."""
        compile_error = "compilation failed: ERROR: <input>:1:"
        for source, text in (("claims.", compile_error), ("true", "must evaluate to string")):
            path = self.file(issuer(claimMappings={"username": {"expression": source}}))
            error = self.assertRaises(ConfigError, self.read, path)
            self.assertIn(f'jwt[0].claimMappings.username.expression: Invalid value: "{source}": {text}', str(error))
        path = self.file(issuer(claimValidationRules=[{"expression": "[claims.a]"}]))
        self.assertIn("must evaluate to bool", str(self.assertRaises(ConfigError, self.read, path)))

    def test_email(self) -> None:
        """A name made of claim email needs an expression that reads claim email_verified (reference AUTHN-63)."""
        for source in (
            "claims.email",
            "claims . email",
            "claims['email']",
            "claims.?email.orValue('')",
            "claims.email // claims.email_verified",
            "claims.email + 'claims.email_verified'",
        ):
            path = self.file(issuer(claimMappings={"username": {"expression": source}}))
            error = self.assertRaises(ConfigError, self.read, path)
            self.assertIn("claims.email_verified must be used", str(error), source)
        for source, rules in (
            ("claims.email_verified ? claims.email : ''", []),
            ("claims.email", [{"expression": "claims.?email_verified.orValue(true) == true"}]),
            ("claims.email_address", []),
        ):
            mappings = {"username": {"expression": source}}
            self.read(self.file(issuer(claimMappings=mappings, claimValidationRules=rules)))

    def test_repeated_keys(self) -> None:
        """A key that comes twice is a mistake, not a choice of the last (reference AUTHN-62)."""
        path = self.file()
        path.write_text(path.read_text()[:-1] + ',"anonymous":{"enabled":false},"anonymous":{"enabled":true}}')
        self.assertMistakes(path, 'line 1: key "anonymous" already set in map')

    def test_shape(self) -> None:
        """Unknown fields, wrong types and another kind are mistakes (reference AUTHN-62)."""
        self.assertMistakes(self.file(issuer(more=1)), 'jwt[0]: unknown field "more"')
        self.assertMistakes(self.file(5), "jwt[0]: must be a mapping")
        self.assertMistakes(
            self.file(kind="Other"), "is not AuthenticationConfiguration of apiserver.config.orch.io/v1"
        )

    def test_anonymous(self) -> None:
        """Conditions are for what is enabled; without the gate there is nothing to say (reference AUTHN-64)."""
        path = self.file(anonymous={"enabled": False, "conditions": [{"path": "/livez"}]})
        why = "enabled should be set to true when conditions are defined"
        self.assertIn(why, str(self.assertRaises(ConfigError, self.read, path)))
        path = self.file(anonymous={"enabled": True})
        error = self.assertRaises(ConfigError, lambda: self.read(path, paths=False))
        self.assertIn("anonymous is not supported when AnonymousAuthConfigurableEndpoints", str(error))


class UserTests(FileCase):
    def test_claims(self) -> None:
        """Claims give names with their prefixes, and rules ask for values (reference AUTHN-63)."""
        mappings = {"username": {"claim": "sub", "prefix": "x:"}, "groups": {"claim": "roles", "prefix": "g:"}}
        rules = [{"claim": "sub", "requiredValue": "ann"}]
        user = self.user(CLAIMS, claimMappings={**mappings, "uid": {"claim": "email"}}, claimValidationRules=rules)
        groups = ("g:cook", "g:maid", "system:authenticated")
        self.assertEqual(user, UserInfo(name="x:ann", uid="ann@example.com", groups=groups))
        rules[0]["requiredValue"] = "bob"
        self.assertRaises(BadToken, self.user, CLAIMS, claimMappings=mappings, claimValidationRules=rules)

    def test_expressions(self) -> None:
        """Expressions give every part of a user, extra values without the empty ones (reference AUTHN-63)."""
        mappings = {
            "username": {"expression": "'a:' + claims.sub"},
            "groups": {"expression": "claims.roles.map(each, each + '!')"},
            "uid": {"expression": "string(claims.exp)"},
            "extra": [
                {"key": "a.b/all", "valueExpression": "claims.roles"},
                {"key": "a.b/one", "valueExpression": "claims.sub"},
                {"key": "a.b/none", "valueExpression": "''"},
            ],
        }
        user = self.user(CLAIMS, claimMappings=mappings)
        self.assertEqual((user.name, user.uid), ("a:ann", "2000"))
        self.assertEqual(user.groups, ("cook!", "maid!", "system:authenticated"))
        self.assertEqual(user.extra, {"a.b/all": ("cook", "maid"), "a.b/one": ("ann",)})

    def test_rules(self) -> None:
        """Rules about claims and users must hold, and have a value (reference AUTHN-63)."""
        claim_rules = [{"expression": "claims.exp > 1000", "message": "too short"}]
        user_rules = [{"expression": "!user.username.startsWith('system:')", "message": "reserved"}]
        given: dict[str, Any] = {"claimValidationRules": claim_rules, "userValidationRules": user_rules}
        plain = {"claimMappings": {"username": {"claim": "sub", "prefix": ""}}}
        self.assertEqual(self.user(CLAIMS, **given, **plain).name, "ann")
        for claims, text in (
            ({**CLAIMS, "exp": 1_000}, "too short"),
            ({**CLAIMS, "sub": "system:admin"}, "reserved"),
        ):
            error = self.assertRaises(BadToken, self.user, claims, **given, **plain)
            self.assertIn(text, str(error))
        missing = [{"expression": "claims.nothing == 1"}]
        self.assertIn(
            "no such key", str(self.assertRaises(BadToken, self.user, CLAIMS, claimValidationRules=missing))
        )

    def test_audiences(self) -> None:
        """A token for one of the audiences is enough (reference AUTHN-63)."""
        several = {"url": URL, "audiences": ["b", "api"], "audienceMatchPolicy": "MatchAny"}
        self.assertEqual(self.user(CLAIMS, issuer=several).name, "x:ann")
        self.assertRaises(BadToken, self.user, {**CLAIMS, "aud": "other"}, issuer=several)


class AnonymousTests(FileCase):
    def allowed(self, anonymous: Any) -> list[bool]:
        made = Issuers.__new__(Issuers)
        made.anonymous = self.read(self.file(**({"anonymous": anonymous} if anonymous is not None else {}))).anonymous
        return [made.allows_anonymous(path, otherwise=True) for path in ("/livez", "/livez/ping", "/api")]

    def test_paths(self) -> None:
        """Conditions name exact paths; without the section the flag decides (reference AUTHN-64)."""
        self.assertEqual(self.allowed({"enabled": True, "conditions": [{"path": "/livez"}]}), [True, False, False])
        self.assertEqual(self.allowed({"enabled": True}), [True, True, True])
        self.assertEqual(self.allowed({"enabled": False}), [False, False, False])
        self.assertEqual(self.allowed(None), [True, True, True])


class IssuersTests(OIDCCase):
    """Two issuers, of which one answers, and the file changed while the server runs."""

    def write(self, *jwt: Any, **more: Any) -> None:
        kind = {"apiVersion": "apiserver.config.k8s.io/v1beta1", "kind": "AuthenticationConfiguration"}
        self.path.write_bytes(orjson.dumps({**kind, "jwt": jwt, **more}))

    async def test_tokens(self) -> None:
        """Each issuer has its own rules, and a file that has changed its new ones (reference AUTHN-62)."""
        self.path = Path(self.mktemp())
        ca = self.issuer.server.ca_pem.decode()
        own = {"url": self.issuer.url, "audiences": ["client"], "certificateAuthority": ca}
        self.write(issuer(), issuer(issuer=own))
        host = a_host(clock=self.time, caller=self.caller, seconds=lambda: self.now)
        method = from_file(host, Config.of(authentication_config=self.path).authn)
        host.services.startService()
        self.addCleanup(host.services.stopService)
        self.method = method  # type: ignore[assignment]

        def ready() -> Any:
            return method._issuers[self.issuer.url]._keys.keys

        await self.settled(ready)
        token = signed(self.issuer.claims(sub="ann"))
        self.assertEqual((await self.found(token)).name, "x:ann")
        self.assertIsNone(await self.found(signed(self.issuer.claims(iss="https://other"))))
        self.write(issuer(issuer=own, claimMappings={"username": {"expression": "claims.sub + '!'"}}))
        self.time.clock.advance(INTERVAL_S)
        self.assertEqual((await self.found(token)).name, "ann!")  # with the keys that were known before
        await self.settled(ready)
        self.assertEqual((await self.found(token)).name, "ann!")
        self.write(5)
        self.time.clock.advance(INTERVAL_S)
        self.assertEqual((await self.found(token)).name, "ann!")
        self.assertEqual(float(NOW), self.now)
