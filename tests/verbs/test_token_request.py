"""Requests for tokens, and the issuer's discovery (reference AUTHN-28 to AUTHN-31)."""

from __future__ import annotations

import time
from typing import Any, ClassVar

import jwt
import msgspec

from orchtw.testing.in_process import ClientAnswer
from orchtw.wire.objects import Object
from tests.emulated import since
from tests.verbs.served import DEFAULT, ServedCase

ACCOUNT = "serviceaccounts/sa"
ISSUER = "https://orch.default.svc.cluster.local"
REVIEWS = "/apis/authentication.orch.io/v1/tokenreviews"


class TokenCase(ServedCase):
    def setUp(self) -> None:
        super().setUp()
        self.account = self.done("POST", "serviceaccounts", {"metadata": {"name": "sa"}})

    def ask(self, spec: Object | None = None, **more: Any) -> ClientAnswer:
        return self.send("POST", f"{ACCOUNT}/token", {"spec": spec or {}, **more})

    def issued(self, **spec: Any) -> tuple[Object, Object]:
        """An answer and the claims of its token."""
        answer = self.ask(spec)
        self.assertEqual(answer.code, 201, answer.body)
        token = answer.json["status"]["token"]
        return answer.json, jwt.decode(token, options={"verify_signature": False})

    def assertRefused(self, answer: ClientAnswer, code: int, message: str) -> None:
        self.assertEqual((answer.code, answer.json["message"]), (code, message))

    def pod(self, name: str, account: str = "sa") -> Object:
        spec = {"serviceAccountName": account, "containers": [{"name": "c", "image": "i"}]}
        return self.done("POST", "pods", {"metadata": {"name": name}, "spec": spec})

    def reference(self, kind: str, name: str, **more: str) -> Object:
        return {"boundObjectRef": {"kind": kind, "apiVersion": "v1", "name": name, **more}}

    def code_with(self, token: str) -> int:
        return self.code("GET", "/api", headers={"authorization": f"Bearer {token}"})


class IdentityTests(TokenCase):
    """Ids and nodes in tokens and their users, since release 1.29."""

    def whoami(self, token: str) -> Any:
        url = "/apis/authentication.orch.io/v1/selfsubjectreviews"
        review = self.send("POST", url, {}, headers={"authorization": f"Bearer {token}"})
        self.assertEqual(review.code, 201)
        return review.json["status"]["userInfo"].get("extra")

    @since((1, 29))
    def test_id(self) -> None:
        """A token has an id, which its user carries (reference AUTHN-61)."""
        (answer, claims), (_, other) = self.issued(), self.issued()
        self.assertRegex(claims["jti"], "^[0-9a-f]{8}-[0-9a-f-]{27}$")
        self.assertNotEqual(claims["jti"], other["jti"])
        extra = {"authentication.orch.io/credential-id": [f"JTI={claims['jti']}"]}
        self.assertEqual(self.whoami(answer["status"]["token"]), extra)

    @since((1, 29))
    def test_node_of_a_pod(self) -> None:
        """A pod's token names the pod's node, with the uid of one that exists (reference AUTHN-61)."""
        pod = self.pod("p")
        binding = {"target": {"kind": "Node", "name": "n"}, "metadata": {"name": "p"}}
        self.assertEqual(self.code("POST", "pods/p/binding", binding), 201)
        _, claims = self.issued(**self.reference("Pod", "p"))
        self.assertEqual(claims["orch.io"]["node"], {"name": "n"})
        node = self.done("POST", "/api/v1/nodes", {"metadata": {"name": "n"}})
        answer, claims = self.issued(**self.reference("Pod", "p"))
        self.assertEqual(claims["orch.io"]["node"], {"name": "n", "uid": node["metadata"]["uid"]})
        extra = self.whoami(answer["status"]["token"])
        prefix = "authentication.orch.io/"
        found = {key.removeprefix(prefix): values for key, values in extra.items()}
        del found["credential-id"]
        uids = {"pod-uid": [pod["metadata"]["uid"]], "node-uid": [node["metadata"]["uid"]]}
        self.assertEqual(found, {"pod-name": ["p"], "node-name": ["n"], **uids})
        self.assertEqual(self.code("DELETE", "/api/v1/nodes/n"), 200)
        self.whoami(answer["status"]["token"])

    @since((1, 29))
    def test_node(self) -> None:
        """A token that is bound to a node ends with it (reference AUTHN-61)."""
        self.assertEqual(self.ask(self.reference("Node", "n")).code, 404)
        node = self.done("POST", "/api/v1/nodes", {"metadata": {"name": "n"}})
        answer, claims = self.issued(**self.reference("Node", "n"))
        self.assertEqual(claims["orch.io"]["node"], {"name": "n", "uid": node["metadata"]["uid"]})
        self.assertEqual(self.whoami(answer["status"]["token"])["authentication.orch.io/node-name"], ["n"])
        self.assertEqual(self.code("DELETE", "/api/v1/nodes/n"), 200)
        self.assertEqual(self.code_with(answer["status"]["token"]), 401)


class OlderTokenTests(TokenCase):
    more: ClassVar[Any] = {"emulated_version": "1.28"}

    def test_without(self) -> None:
        """Before 1.29 tokens have neither an id nor a node, and are not bound to nodes (reference AUTHN-61)."""
        _, claims = self.issued()
        self.assertNotIn("jti", claims)
        self.done("POST", "/api/v1/nodes", {"metadata": {"name": "n"}})
        why = "cannot bind token to object of type /v1, Kind=Node"
        self.assertRefused(self.ask(self.reference("Node", "n")), 400, why)


class TokenRequestTests(TokenCase):
    def test_defaults(self) -> None:
        """Without more: an hour, for this API; name and namespace are filled in, and nothing is stored (AUTHN-28)."""
        answer, claims = self.issued()
        self.assertEqual((answer["kind"], answer["apiVersion"]), ("TokenRequest", "authentication.orch.io/v1"))
        meta = answer["metadata"]
        self.assertEqual((meta["name"], meta["namespace"], "uid" in meta), ("sa", "default", False))
        self.assertEqual(answer["spec"], {"audiences": [ISSUER], "expirationSeconds": 3600, "boundObjectRef": None})
        self.assertEqual((claims["aud"], claims["exp"] - claims["iat"]), ([ISSUER], 3600))
        self.assertEqual(claims["orch.io"]["serviceaccount"]["uid"], self.account["metadata"]["uid"])
        self.assertEqual(self.code("GET", f"{ACCOUNT}/token"), 405)

    def test_authenticates(self) -> None:
        """The token is the account's, until the account is deleted (AUTHN-23, CTRL-35)."""
        token = self.ask().json["status"]["token"]
        status = self.done("POST", REVIEWS, {"spec": {"token": token}})["status"]
        self.assertEqual(status["user"]["username"], "system:serviceaccount:default:sa")
        self.assertEqual(self.code_with(token), 200)
        self.done("DELETE", ACCOUNT)
        self.assertEqual(self.code_with(token), 401)

    def test_audiences(self) -> None:
        """Audiences are taken as given; a token for others does not work here (AUTHN-28, AUTHN-7)."""
        answer, claims = self.issued(audiences=["vault"])
        self.assertEqual(claims["aud"], ["vault"])
        self.assertEqual(self.code_with(answer["status"]["token"]), 401)

    def test_seconds(self) -> None:
        """From 10 minutes to 2^32 seconds (AUTHN-29)."""
        prefix = 'TokenRequest.authentication.orch.io "" is invalid: spec.expirationSeconds: Invalid value: '
        short = "may not specify a duration less than 10 minutes"
        long = "may not specify a duration larger than 2^32 seconds"
        self.assertRefused(self.ask({"expirationSeconds": 599}), 422, f"{prefix}599: {short}")
        self.assertRefused(self.ask({"expirationSeconds": (1 << 32) + 1}), 422, f"{prefix}4294967297: {long}")
        self.assertRefused(self.ask({"expirationSeconds": 0}), 422, f"{prefix}0: {short}")
        self.assertRefused(self.ask({"expirationSeconds": -1}), 422, f"{prefix}-1: {short}")
        for seconds in (600, 1 << 32):
            self.assertEqual(self.issued(expirationSeconds=seconds)[0]["spec"]["expirationSeconds"], seconds)

    def test_pod(self) -> None:
        """A token bound to a pod of the account ends with the pod (AUTHN-28, AUTHN-29)."""
        uid = self.pod("p")["metadata"]["uid"]
        answer, claims = self.issued(**self.reference("Pod", "p", uid=uid))
        self.assertEqual(claims["orch.io"]["pod"], {"name": "p", "uid": uid})
        self.assertEqual(self.code_with(answer["status"]["token"]), 200)
        self.done("DELETE", "pods/p?gracePeriodSeconds=0")
        self.assertEqual(self.code_with(answer["status"]["token"]), 401)

    def test_pod_of_another(self) -> None:
        """A pod must run as the account (AUTHN-29)."""
        self.pod("q", "else")
        why = "to pod running with different serviceaccount name."
        self.assertRefused(
            self.ask(self.reference("Pod", "q")), 400, f'cannot bind token for serviceaccount "sa" {why}'
        )

    def test_secret(self) -> None:
        """A token may be bound to a Secret (AUTHN-28)."""
        uid = self.done("POST", "secrets", {"metadata": {"name": "s"}})["metadata"]["uid"]
        claims = self.issued(**self.reference("Secret", "s"))[1]
        self.assertEqual(claims["orch.io"]["secret"], {"name": "s", "uid": uid})

    def test_other_uid(self) -> None:
        """The uid of what a token is bound to must be right where it is given (AUTHN-29)."""
        self.pod("p")
        why = "the UID in the bound object reference (x) does not match the UID in record. The object might have been"
        message = f'Operation cannot be fulfilled on Pod "p": {why} deleted and then recreated'
        self.assertRefused(self.ask(self.reference("Pod", "p", uid="x")), 409, message)

    def test_missing(self) -> None:
        """Account, pod and Secret must be there (AUTHN-29)."""
        answer = self.send("POST", "serviceaccounts/x/token", {"spec": {}})
        self.assertRefused(answer, 404, 'serviceaccounts "x" not found')
        self.assertRefused(self.ask(self.reference("Pod", "x")), 404, 'pods "x" not found')
        self.assertRefused(self.ask(self.reference("Secret", "x")), 404, 'secrets "x" not found')

    def test_other_kind(self) -> None:
        """Only Pods and Secrets of the core group (AUTHN-29)."""
        prefix = "cannot bind token to object of type"
        self.assertRefused(self.ask(self.reference("Event", "n")), 400, f"{prefix} /v1, Kind=Event")
        other = {"boundObjectRef": {"kind": "Pod", "apiVersion": "apps/v1", "name": "n"}}
        self.assertRefused(self.ask(other), 400, f"{prefix} apps/v1, Kind=Pod")

    def test_order(self) -> None:
        """The time is judged before what a token is bound to, and the pod's account before its uid (AUTHN-29)."""
        self.assertEqual(self.ask({"expirationSeconds": 1, **self.reference("Node", "n")}).code, 422)
        self.pod("q", "else")
        self.assertEqual(self.ask(self.reference("Pod", "q", uid="x")).code, 400)

    def test_secret_ends(self) -> None:
        """A token that is bound to a Secret ends with it, whatever takes its name (AUTHN-25)."""
        secret = {"metadata": {"name": "s"}}
        uid = self.done("POST", "secrets", secret)["metadata"]["uid"]
        token = self.issued(**self.reference("Secret", "s", uid=uid))[0]["status"]["token"]
        self.assertEqual(self.code_with(token), 200)
        self.done("DELETE", "secrets/s")
        self.assertEqual(self.code_with(token), 401)
        self.done("POST", "secrets", secret)
        self.assertEqual(self.code_with(token), 401)
        why = f"the UID in the bound object reference ({uid}) does not match the UID in record."
        answer = self.ask(self.reference("Secret", "s", uid=uid))
        self.assertEqual((answer.code, why in answer.json["message"]), (409, True))

    def test_dry_run(self) -> None:
        """Status and metadata of the server's own are not the client's to say; a dry run is answered (AUTHN-28)."""
        answer = self.ask(status={"token": "mine", "expirationTimestamp": None})
        self.assertNotEqual(answer.json["status"]["token"], "mine")
        self.assertEqual(self.send("POST", f"{ACCOUNT}/token?dryRun=All", {"spec": {}}).code, 201)

    def test_names(self) -> None:
        """A name or namespace that is given must be that of the path (AUTHN-28)."""
        self.assertEqual(self.ask(metadata={"name": "sa", "namespace": "default"}).code, 201)
        why = 'metadata.name: Invalid value: "x": must match the service account name if specified'
        prefix = 'TokenRequest.authentication.orch.io "sa" is invalid: '
        self.assertRefused(self.ask(metadata={"name": "x"}), 422, prefix + why)
        why = "the namespace of the provided object does not match the namespace sent on the request"
        self.assertRefused(self.ask(metadata={"namespace": "x"}), 400, why)

    def test_extended(self) -> None:
        """Tokens for node agents live a year, and name the short time (AUTHN-30)."""
        self.pod("p")
        answer, claims = self.issued(expirationSeconds=3607, **self.reference("Pod", "p"))
        self.assertEqual(claims["exp"] - claims["iat"], 365 * 24 * 3600)
        self.assertEqual(claims["orch.io"]["warnafter"] - claims["iat"], 3607)
        self.assertEqual(answer["spec"]["expirationSeconds"], 3607)


class ShortTokenTests(TokenCase):
    more: ClassVar[dict[str, Any]] = {"service_account_max_token_expiration_s": 7200.0}

    def test_cut(self) -> None:
        """Longer expirations are cut to the longest, with a warning (AUTHN-30)."""
        answer = self.ask({"expirationSeconds": 9000})
        self.assertEqual(answer.json["spec"]["expirationSeconds"], 7200)
        self.assertIn("requested expiration of 9000 seconds shortened to 7200 seconds", answer.headers["warning"])


class DiscoveryTests(TokenCase):
    def test_documents(self) -> None:
        """A stranger finds the keys by the issuer's document, and verifies a token with them (AUTHN-31)."""
        found = self.send("GET", "/.well-known/openid-configuration")
        self.assertEqual((found.headers["cache-control"], found.json["issuer"]), ("public, max-age=3600", ISSUER))
        self.assertEqual(found.json["jwks_uri"], "https://127.0.0.1:6443/openid/v1/jwks")
        self.assertEqual(found.json["id_token_signing_alg_values_supported"], ["ES256"])
        keys = self.send("GET", "/openid/v1/jwks")
        self.assertEqual(keys.headers["content-type"], "application/jwk-set+json")
        token = self.ask().json["status"]["token"]
        known = jwt.PyJWKSet.from_json(keys.body.decode())[jwt.get_unverified_header(token)["kid"]]
        self.assertEqual(jwt.decode(token, known, audience=ISSUER, issuer=ISSUER)["iss"], ISSUER)


class OwnAddressTests(TokenCase):
    more: ClassVar[dict[str, Any]] = {
        "service_account_issuer": ("https://now.example.com", "https://before.example.com"),
        "service_account_jwks_uri": "https://keys.example.com/jwks",
        "api_audiences": ("api", "other"),
    }

    def test_documents(self) -> None:
        """The document names the first issuer, and where the keys are as the flag says (AUTHN-31)."""
        found = self.send("GET", "/.well-known/openid-configuration")
        self.assertEqual(found.headers["content-type"], "application/json")
        self.assertEqual(
            found.json,
            {
                "issuer": "https://now.example.com",
                "jwks_uri": "https://keys.example.com/jwks",
                "response_types_supported": ["id_token"],
                "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": ["ES256"],
            },
        )
        keys = self.send("GET", "/openid/v1/jwks")
        self.assertEqual((keys.code, keys.headers["cache-control"]), (200, "public, max-age=3600"))
        self.assertEqual([each["use"] for each in keys.json["keys"]], ["sig"])

    def test_issuers(self) -> None:
        """The first issuer signs; tokens of the other are accepted, those of others are not (AUTHN-25)."""
        answer, claims = self.issued()
        self.assertEqual((claims["iss"], claims["aud"]), ("https://now.example.com", ["api", "other"]))
        self.assertEqual(self.code_with(answer["status"]["token"]), 200)
        tokens = self.server.instance.membership.accounts
        for issuer, code in (("https://before.example.com", 200), ("https://never.example.com", 401)):
            other = msgspec.structs.replace(tokens, issuers=(issuer,))
            token = other.bound(self.account, ["api"], int(time.time()), (600, 0), None)
            self.assertEqual(self.code_with(token), code)

    def test_one_audience(self) -> None:
        """One of the API's audiences is enough (AUTHN-7)."""
        token = self.issued(audiences=["other", "vault"])[0]["status"]["token"]
        self.assertEqual(self.code_with(token), 200)

    def test_not_extended(self) -> None:
        """A token for anybody beside this API is not extended, nor one for another time or no pod (AUTHN-30)."""
        self.pod("p")
        bound = self.reference("Pod", "p")
        for spec, extended in (
            ({"expirationSeconds": 3607, "audiences": ["api"], **bound}, True),
            ({"expirationSeconds": 3607, "audiences": ["api", "vault"], **bound}, False),
            ({"expirationSeconds": 3606, **bound}, False),
            ({"expirationSeconds": 3607}, False),
        ):
            claims = self.issued(**spec)[1]
            self.assertEqual(claims["exp"] - claims["iat"] > 3607, extended, spec)
            self.assertEqual("warnafter" in claims["orch.io"], extended, spec)


class NotExtendedTests(TokenCase):
    more: ClassVar[dict[str, Any]] = {"service_account_extend_token_expiration": False}

    def test_short(self) -> None:
        """`--service-account-extend-token-expiration=false`: tokens live as long as they say (AUTHN-30)."""
        self.pod("p")
        claims = self.issued(expirationSeconds=3607, **self.reference("Pod", "p"))[1]
        self.assertEqual((claims["exp"] - claims["iat"], "warnafter" in claims["orch.io"]), (3607, False))


class NoDiscoveryTests(ServedCase):
    more: ClassVar[dict[str, Any]] = {"service_account_issuer": ("kept",)}

    def test_none(self) -> None:
        """An issuer that is not an https URL has no documents (AUTHN-31)."""
        for path in ("/.well-known/openid-configuration", "/openid/v1/jwks"):
            self.assertEqual(self.code("GET", path), 404)
        self.assertEqual(self.code("GET", DEFAULT), 200)


class QueryDiscoveryTests(NoDiscoveryTests):
    more: ClassVar[dict[str, Any]] = {"service_account_issuer": ("https://a.example.com/?x=y",)}


class FragmentDiscoveryTests(NoDiscoveryTests):
    more: ClassVar[dict[str, Any]] = {"service_account_issuer": ("https://a.example.com/#x",)}
