"""Questions about tokens (reference AUTHN-44)."""

from __future__ import annotations

from orchtw.testing.in_process import TOKEN
from tests.validation import case
from tests.validation.examples import GONE, Base, Refused, Shown, Stored

V1 = "authentication.orch.io/v1"
REVIEW = {"apiVersion": V1, "kind": "TokenReview", "metadata": {}, "spec": {"token": TOKEN}}


class AuthenticationTests(case.EntryCase):
    file = "authentication.json"
    bases = {"TokenReview": Base(path=f"/apis/{V1}/tokenreviews", obj=REVIEW)}
    examples = {
        0: Refused(change={"spec.token": ""}, code=400, detail="token is required for TokenReview in authentication"),
        1: Refused(change={"metadata.namespace": "x"}, code=400, detail="namespace is not allowed on this type: x"),
        2: (
            Stored(expected={"status.authenticated": True, "metadata.uid": GONE}),
            Shown(f"{__name__}.AuthenticationTests.test_nothing_is_stored"),
        ),
    }

    def test_nothing_is_stored(self) -> None:
        """A review can only be asked for: 201, and there is nothing to read."""
        path = f"/apis/{V1}/tokenreviews"
        self.assertEqual(self.code("POST", path, REVIEW), 201)
        self.assertEqual((self.code("GET", path), self.code("GET", f"{path}/a")), (405, 405))
