"""Certificates, tokens and their union: which credentials authenticate which user."""
# covers: orchtw.authn.audiences, orchtw.authn.bearer_token, orchtw.authn.x509, orchtw.authn.method
# covers: orchtw.authn.token_file, orchtw.authn.union

from __future__ import annotations

from collections.abc import Awaitable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256
from twisted.internet.defer import Deferred
from twisted.logger import ILogObserver, LogEvent, capturedLogs, globalLogPublisher
from twisted.trial.unittest import SynchronousTestCase
from zope.interface import implementer

from orchtw.authn import token_file
from orchtw.authn.audiences import ForThisAPI
from orchtw.authn.bearer_token import BearerTokens, bearer_token
from orchtw.authn.method import ANONYMOUS, ShownToken, authenticated
from orchtw.authn.metrics import AuthenticationMetrics
from orchtw.authn.union import AuthenticatorUnion, chain
from orchtw.authn.x509 import ClientCertificates, user_of
from orchtw.config import Config
from orchtw.errors import ConfigError, Unauthorized
from orchtw.pki import certificates
from orchtw.request import UNREADABLE, Peer, Request, UserInfo
from tests.authn.hosts import a_host
from tests.serving.malformed import malformed

NOW = datetime(2026, 1, 1, tzinfo=UTC)
KEY = bytes(32)
ALICE = UserInfo(name="alice", groups=("dev",))


def request(
    authorization: str = "", *, certificate: x509.Certificate | None = None, verified: bool = False
) -> Request:
    """A request with these credentials."""
    headers = {"authorization": authorization} if authorization else {}
    peer = Peer(address="127.0.0.1", port=1, certificate=certificate, verified=verified)
    return Request(method="GET", path="/", headers=headers, peer=peer)


def certificate_of(name: str, *organizations: str) -> x509.Certificate:
    """A client certificate of a fresh authority."""
    authority = certificates.new_authority("test", NOW)
    return certificates.issue(
        authority, certificates.new_key(), name, certificates.CLIENT, NOW, organizations=organizations
    )


class CertificateTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.now = NOW.timestamp()
        self.method = ClientCertificates(lambda: self.now, AuthenticationMetrics())

    def test_subject(self) -> None:
        """The common name is the user, every organization a group (reference AUTHN-13)."""
        shown = certificate_of("bob", "dev", "ops")
        user = self.method.authenticate(request(certificate=shown, verified=True))
        self.assertEqual(user, UserInfo(name="bob", groups=("dev", "ops", "system:authenticated")))

    def test_repeated(self) -> None:
        """The same certificate is read once and gives the same user."""
        shown = certificate_of("bob")
        first, second = (self.method.authenticate(request(certificate=shown, verified=True)) for _ in range(2))
        self.assertIs(first, second)

    def test_no_certificate(self) -> None:
        """A connection without a certificate does not concern this method."""
        self.assertIsNone(self.method.authenticate(request()))

    def test_stranger(self) -> None:
        """A certificate that the handshake did not verify is a 401, whatever its subject (reference AUTHN-14)."""
        shown = certificate_of("bob", "system:masters")
        self.assertRaises(Unauthorized, self.method.authenticate, request(certificate=shown))

    def test_ends_during_connection(self) -> None:
        """A certificate past its end is refused although the handshake verified it (reference AUTHN-14)."""
        shown = certificate_of("bob")
        asked = request(certificate=shown, verified=True)
        self.now = shown.not_valid_after_utc.timestamp()
        self.assertIsNotNone(self.method.authenticate(asked))
        self.now += 1
        self.assertRaises(Unauthorized, self.method.authenticate, asked)

    def test_unreadable(self) -> None:
        """A certificate or subject that cannot be decoded is a 401, not a server error."""
        peer = Peer(address="127.0.0.1", port=1, certificate=UNREADABLE, verified=True)
        asked = Request(method="GET", path="/", peer=peer)
        self.assertRaises(Unauthorized, self.method.authenticate, asked)
        authority = certificates.new_authority("test", NOW)
        shown = certificates.issue(authority, certificates.new_key(), "bob", certificates.CLIENT, NOW)
        pem = malformed(shown, authority.key, "bob")["name is no telex text"]
        asked = request(certificate=x509.load_pem_x509_certificate(pem), verified=True)
        self.assertRaises(Unauthorized, self.method.authenticate, asked)

    def test_no_common_name(self) -> None:
        """A subject without a common name says nothing (reference AUTHN-13)."""
        key = certificates.new_key()
        name = x509.Name([x509.NameAttribute(x509.NameOID.ORGANIZATION_NAME, "system:masters")])
        builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        builder = builder.serial_number(1).not_valid_before(NOW).not_valid_after(NOW)
        self.assertIsNone(user_of(builder.sign(key, SHA256())))


class TokenFileTests(SynchronousTestCase):
    def load(self, text: str) -> token_file.StaticTokens:
        """The tokens of a file with this content."""
        self.path = self.mktemp()
        Path(self.path).write_bytes(text.encode("latin-1"))
        return token_file.load(Path(self.path), KEY)

    def refused(self, text: str) -> str:
        """The one line that a start with this file ends with."""
        error: ConfigError = self.assertRaises(ConfigError, self.load, text)
        (problem,) = error.problems
        self.assertIn(self.path, problem)
        return problem

    def test_columns(self) -> None:
        """A line is token, user, uid and optional groups in one quoted column (reference AUTHN-17)."""
        found = self.load('t1,alice,1,"dev,ops"\nt2,bob,2\nt3,carol,3,dev\n')
        self.assertEqual(
            found.find("t1"), UserInfo(name="alice", uid="1", groups=("dev", "ops", "system:authenticated"))
        )
        self.assertEqual(found.find("t2"), UserInfo(name="bob", uid="2", groups=("system:authenticated",)))
        self.assertEqual(found.find("t3"), UserInfo(name="carol", uid="3", groups=("dev", "system:authenticated")))
        self.assertIsNone(found.find("t4"))
        self.assertIsNone(found.find(""))

    def test_blank_lines(self) -> None:
        """Empty lines and Windows line ends do not matter; `#` begins no comment (reference AUTHN-17)."""
        found = self.load("\r\nt1,alice,1\r\n\r\n#t2,bob,2\r\n")
        self.assertEqual([bool(found.find(token)) for token in ("t1", "#t2")], [True, True])

    def test_byte_order_mark(self) -> None:
        """A byte-order mark, as editors on Windows write it, is not part of the first token."""
        found = self.load("\xef\xbb\xbft1,alice,1\r\nt2,bob,2\r\n")
        self.assertEqual([bool(found.find(token)) for token in ("t1", "t2")], [True, True])

    def test_not_ascii(self) -> None:
        """Tokens, users and groups may have any characters of Unicode, those that end lines elsewhere too."""
        token, name = "schl\u00fcssel\u2028\x85\u00e0", "J\u00fcrgen \u0416"
        found = self.load(f'{token},{name},1,"\u00e4,\u00f6"\n'.encode().decode("latin-1"))
        user = UserInfo(name=name, uid="1", groups=("\u00e4", "\u00f6", "system:authenticated"))
        self.assertEqual(found.find(token), user)
        header = f"Bearer {token}".encode().decode("latin-1")
        bearer = BearerTokens([ForThisAPI(found, ())])
        self.assertEqual(bearer.authenticate(request(header)), user)
        self.assertRaises(Unauthorized, bearer.authenticate, request("Bearer schl\xfcssel"))

    def test_short_line(self) -> None:
        """A line with fewer than three columns ends the start, with its number (reference AUTHN-18)."""
        self.assertEqual(
            self.refused("t1,alice,1\nt2,bob\n"),
            f"--token-auth-file: token file '{self.path}' must have at least 3 columns "
            "(token, user name, user uid), found 2 on line 2",
        )

    def test_unreadable(self) -> None:
        """Files that are missing, no UTF-8 or no CSV end the start in one line."""
        self.assertIn("line 1", self.refused('t1,"alice"x,1\n'))
        self.assertIn("is not UTF-8", self.refused("t1,\xe4,1\n"))
        error = self.assertRaises(ConfigError, token_file.load, Path("/nonexistent"), KEY)
        self.assertEqual(error.problems, ("--token-auth-file: token file '/nonexistent': No such file or directory",))

    def test_warnings(self) -> None:
        """A repeated token counts as given last, an empty one not at all; the log names lines, never tokens."""
        events: list[LogEvent] = []

        @implementer(ILogObserver)
        def observe(event: LogEvent) -> None:
            events.append(event)

        globalLogPublisher.addObserver(observe)
        self.addCleanup(globalLogPublisher.removeObserver, observe)
        found = self.load("secret,alice,1\n,bob,2\nsecret,carol,3\n")
        user = found.find("secret")
        assert user is not None
        self.assertEqual(user.name, "carol")
        self.assertEqual([event["line"] for event in events], [2, 3])
        self.assertNotIn("secret", repr(events) + repr(vars(found)))


class LaterTokens:
    """Source of tokens that answers when the test says so."""

    def __init__(self) -> None:
        self.answer: Deferred[UserInfo | None] = Deferred()

    def find(self, shown: ShownToken) -> Awaitable[UserInfo | None]:
        """The answer to come."""
        return self.answer


class BearerTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.tokens = ForThisAPI(token_file.StaticTokens([("t", ALICE)], KEY), ("api", "more"))

    def test_header(self) -> None:
        """The scheme's case and spaces around do not matter; other schemes are not tokens (reference AUTHN-8)."""
        for header, token in (
            ("Bearer t", "t"),
            ("bearer t", "t"),
            ("  BEARER t  ", "t"),
            ("Bearer t more", "t"),
            ("Bearer ", ""),
            ("Bearer", ""),
            ("Bearer  t", ""),
            ("Basic dDp0", ""),
            ("", ""),
        ):
            self.assertEqual(bearer_token(header), token, header)

    def test_known(self) -> None:
        """A known token identifies its user and is removed from the request (reference AUTHN-10)."""
        asked = request("Bearer t")
        self.assertEqual(BearerTokens([self.tokens]).authenticate(asked), authenticated(ALICE))
        self.assertNotIn("authorization", asked.headers)

    def test_unknown(self) -> None:
        """An unknown token is a 401, also when no source is configured (reference AUTHN-9)."""
        for sources in ((), (self.tokens,)):
            self.assertRaises(Unauthorized, BearerTokens(sources).authenticate, request("Bearer x"))

    def test_later_sources(self) -> None:
        """A source that takes time is waited for, and those behind it are asked when it knows nothing."""
        for answer, after, user in (
            (ALICE, [], "alice"),
            (None, [ForThisAPI(token_file.StaticTokens([("x", UserInfo(name="bob"))], KEY), ())], "bob"),
        ):
            later = LaterTokens()
            pending: Any = BearerTokens([self.tokens, later, *after]).authenticate(request("Bearer x"))
            done = Deferred.fromCoroutine(pending)
            self.assertNoResult(done)
            later.answer.callback(answer)
            self.assertEqual(self.successResultOf(done).name, user)

    def test_later_unknown(self) -> None:
        """A token that the last source does not know either is a 401."""
        later = LaterTokens()
        pending: Any = BearerTokens([later, self.tokens]).authenticate(request("Bearer x"))
        done = Deferred.fromCoroutine(pending)
        later.answer.callback(None)
        self.failureResultOf(done, Unauthorized)


    def whose(self, token: str, *audiences: str) -> Any:
        """The user's name and the audiences, or None."""
        bearer = BearerTokens([self.tokens], ("api", "more"))

        async def found() -> Any:
            try:
                user, accepted = await bearer.whose(token, audiences)
            except Unauthorized:
                return None
            return user.name, accepted

        return self.successResultOf(Deferred.fromCoroutine(found()))

    def test_audiences(self) -> None:
        """A token without an audience is valid for all of this API's, and for no other (reference AUTHN-51)."""
        self.assertEqual(self.whose("t"), ("alice", ("api", "more")))
        self.assertEqual(self.whose("t", "more", "x"), ("alice", ("more",)))
        self.assertIsNone(self.whose("t", "x"))
        self.assertIsNone(self.whose("u"))

    def test_blank(self) -> None:
        """A token that no header could carry matches no user and is never anonymous (reference AUTHN-44)."""
        for token in (" ", "\n", " t", "t u"):
            self.assertIsNone(self.whose(token), token)


class Method:
    """An authentication method with a fixed answer."""

    def __init__(self, answer: UserInfo | Exception | Deferred[UserInfo | None] | None) -> None:
        self.answer = answer

    def authenticate(self, request: Request) -> UserInfo | None | Awaitable[UserInfo | None]:
        """Return or raise the fixed answer."""
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class UnionTests(SynchronousTestCase):
    def ask(self, *answers: Any, anonymous: bool = True) -> Any:
        """Return the answer of the union of methods with these answers."""
        return AuthenticatorUnion([Method(answer) for answer in answers], anonymous=anonymous).authenticate(request())

    def test_first_success(self) -> None:
        """The first method to succeed ends the search, also after a refusal (reference AUTHN-3)."""
        self.assertEqual(self.ask(None, Unauthorized(), ALICE, UserInfo(name="bob")).name, "alice")

    def test_group(self) -> None:
        """Every success brings group system:authenticated, once (reference AUTHN-4)."""
        for user in (ALICE, authenticated(ALICE)):
            self.assertEqual(self.ask(user).groups, ("dev", "system:authenticated"))

    def test_anonymous(self) -> None:
        """No credentials are system:anonymous in system:unauthenticated, if allowed (reference AUTHN-39)."""
        self.assertEqual(self.ask(None), UserInfo(name="system:anonymous", groups=("system:unauthenticated",)))
        self.assertRaises(Unauthorized, self.ask, None, anonymous=False)

    def test_wrong_is_not_anonymous(self) -> None:
        """Wrong credentials are a 401 although anonymous requests are allowed (reference AUTHN-9)."""
        self.assertRaises(Unauthorized, self.ask, Unauthorized(), None)

    def later(self, answer: Any, *rest: Any) -> Deferred[UserInfo]:
        """The union's answer when its first method takes time and then says `answer`."""
        asked: Deferred[UserInfo | None] = Deferred()
        done: Deferred[UserInfo] = Deferred.fromCoroutine(self.ask(asked, *rest))
        self.assertNoResult(done)
        asked.errback(answer) if isinstance(answer, Exception) else asked.callback(answer)
        return done

    def test_later(self) -> None:
        """A method that takes time counts like one that does not."""
        self.assertEqual(self.successResultOf(self.later(ALICE)), authenticated(ALICE))
        self.assertEqual(self.successResultOf(self.later(None, Unauthorized(), ALICE)).name, "alice")
        self.assertEqual(self.successResultOf(self.later(Unauthorized(), ALICE)).name, "alice")
        self.assertEqual(self.successResultOf(self.later(None)), ANONYMOUS)
        self.failureResultOf(self.later(Unauthorized(), None), Unauthorized)


class ChainTests(SynchronousTestCase):
    def setUp(self) -> None:
        path = self.mktemp()
        Path(path).write_text("t,alice,1\n")
        self.path = Path(path)

    def ask(self, asked: Request, **settings: Any) -> Any:
        """Return the answer of the chain that these flags make."""
        config = Config.of(**settings)
        return chain(a_host(seconds=NOW.timestamp), config.authn, modes=config.authz.mode).authenticate(asked)

    def test_certificate_before_token(self) -> None:
        """A verified certificate decides before a token does (reference AUTHN-3)."""
        asked = request("Bearer t", certificate=certificate_of("bob"), verified=True)
        self.assertEqual(self.ask(asked, token_auth_file=self.path).name, "bob")

    def test_token_beside_strange_certificate(self) -> None:
        """A stranger's certificate does not spoil a good token, and alone is a 401 (reference AUTHN-3, AUTHN-14)."""
        shown = certificate_of("bob")
        self.assertEqual(self.ask(request("Bearer t", certificate=shown), token_auth_file=self.path).name, "alice")
        self.assertRaises(Unauthorized, self.ask, request(certificate=shown))

    def test_anonymous_flag(self) -> None:
        """Anonymous requests end with --anonymous-auth=false and with AlwaysAllow alone (reference AUTHN-39)."""
        self.assertEqual(self.ask(request()), ANONYMOUS)
        self.assertRaises(Unauthorized, self.ask, request(), anonymous_auth=False)
        with capturedLogs() as events:
            self.assertRaises(Unauthorized, self.ask, request(), authorization_mode=("AlwaysAllow",))
        self.assertIn("not allowed with authorization mode AlwaysAllow", events[0]["log_format"])
