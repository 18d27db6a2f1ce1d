"""Lifetime of issued tokens (reference AUTHN-30)."""

from __future__ import annotations

import msgspec
from twisted.trial.unittest import SynchronousTestCase

from orchtw.authn.service_accounts.issuer import AccountTokens
from orchtw.authn.service_accounts.lifetime import EXTENDED_S, token_lifetime
from orchtw.naming.naming import Naming


class TokenLifetimeTests(SynchronousTestCase):
    """Extension of tokens that node agents request (`token_lifetime`)."""

    def test_lifetime(self) -> None:
        """Only what node agents ask for is extended: a pod's, for 3607 s and this API (AUTHN-30)."""
        tokens = msgspec.structs.replace(AccountTokens.default(Naming.orch()), audiences=["api"])
        self.assertEqual(token_lifetime(tokens, 3607, ["api"], pod_bound=True), (EXTENDED_S, 3607))
        for asked_s, audience, pod in ((3606, "api", True), (3607, "x", True), (3607, "api", False)):
            self.assertEqual(token_lifetime(tokens, asked_s, [audience], pod_bound=pod), (asked_s, 0))
        plain = msgspec.structs.replace(tokens, extends=False)
        self.assertEqual(token_lifetime(plain, 3607, ["api"], pod_bound=True), (3607, 0))
