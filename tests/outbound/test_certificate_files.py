"""Certificates of files beside other credentials (reference CLIENT-14)."""

from __future__ import annotations

import attrs
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.outbound.certificate_files import CertificateFiles
from orchtw.outbound.credentials import ShownHeaders, bearer
from orchtw.outbound.policy import TLSPolicy
from tests.outbound.test_kubeconfig import CERTIFICATE, KEY_PEM

POLICY = TLSPolicy(certificate=CERTIFICATE, key=KEY_PEM)
OWN = ShownHeaders(certificate=b"own", key=b"key")


class Others:
    """Credentials set by the test, which record the refused ones."""

    def __init__(self, shown: ShownHeaders) -> None:
        self.shown = shown
        self.refusals: list[ShownHeaders] = []

    async def current(self) -> ShownHeaders:
        return self.shown

    def refused(self, shown: ShownHeaders) -> bool:
        self.refusals.append(shown)
        return True


class CertificateFilesTests(SynchronousTestCase):
    def current(self, files: CertificateFiles) -> ShownHeaders:
        try:
            files.current().send(None)
        except StopIteration as end:
            found: ShownHeaders = end.value
            return found
        raise AssertionError("there is something to wait for")

    def test_with_others(self) -> None:
        """Both credentials are shown; on a refusal the others are told of their own."""
        others = Others(bearer("t"))
        files = CertificateFiles(lambda: POLICY, others, Clock().seconds)
        shown = self.current(files)
        self.assertEqual(shown, attrs.evolve(bearer("t"), certificate=CERTIFICATE, key=KEY_PEM))
        self.assertTrue(files.refused(shown))
        self.assertEqual(others.refusals, [bearer("t")])

    def test_their_own(self) -> None:
        """A certificate of the others comes first, and its refusal is theirs."""
        others = Others(OWN)
        files = CertificateFiles(lambda: POLICY, others, Clock().seconds)
        self.assertEqual(self.current(files), OWN)
        self.assertTrue(files.refused(OWN))
        self.assertEqual(others.refusals, [OWN])

    def test_older(self) -> None:
        """A certificate shown before the last look at the files is worth a retry."""
        files = CertificateFiles(lambda: POLICY, None, Clock().seconds)
        self.assertTrue(files.refused(OWN))
        self.assertFalse(files.refused(self.current(files)))
