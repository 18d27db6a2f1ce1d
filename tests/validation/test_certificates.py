"""Certificate signing requests (reference CSR-2 to CSR-10)."""
# covers: orchtw.registry.groups.certificates.request_validation, orchtw.registry.groups.certificates.requests
# covers: orchtw.registry.groups.certificates.status_validation, orchtw.registry.groups.certificates.usages

from __future__ import annotations

from base64 import b64decode, b64encode
from datetime import UTC, datetime
from unittest.mock import patch

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding

from orchtw.registry.groups.certificates import requests
from orchtw.rules.pem import blocks
from orchtw.wire.objects import Object
from tests.end_to_end.minimal import signing_request
from tests.registry.unchecked import without_rules
from tests.validation import case
from tests.validation.examples import GONE, Accepted, Base, Refused, Shown, Stored
from tests.validation.paths import changed

V1 = "certificates.orch.io/v1"
REQUESTS = f"/apis/{V1}/certificatesigningrequests"
PEM = signing_request()
REQUEST = {
    "apiVersion": V1,
    "kind": "CertificateSigningRequest",
    "metadata": {"name": "a"},
    "spec": {"request": PEM, "signerName": "example.com/s", "usages": ["client auth"]},
}
APPROVED = {"type": "Approved", "status": "True", "reason": "Checked"}
DENIED = {"type": "Denied", "status": "True"}
FAILED = {"type": "Failed", "status": "True"}
OTHER = {"type": "Seen", "status": "Unknown"}
THEN = "2020-01-02T03:04:05Z"
CONDITIONS, SIGNER, CERTIFICATE = "status.conditions", "spec.signerName", "status.certificate"


def encoded(text: bytes) -> str:
    return b64encode(text).decode()


def block_of(body: bytes, kind: bytes = b"CERTIFICATE") -> str:
    return encoded(b"-----BEGIN %b-----\n%b\n-----END %b-----\n" % (kind, body, kind))


def certificate() -> bytes:
    """A self-signed one in PEM."""
    name, key = x509.Name([]), ec.generate_private_key(ec.SECP256R1())
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(1).not_valid_before(datetime(2026, 1, 1, tzinfo=UTC))
    signed = builder.not_valid_after(datetime(2036, 1, 1, tzinfo=UTC)).sign(key, SHA256())
    return signed.public_bytes(Encoding.PEM)


ISSUED = certificate()
USAGES = (
    "signing, digital signature, content commitment, key encipherment, key agreement, data encipherment, cert sign, "
    "crl sign, encipher only, decipher only, any, server auth, client auth, code signing, email protection, s/mime, "
    "ipsec end system, ipsec tunnel, ipsec user, timestamping, ocsp signing, microsoft sgc, netscape sgc"
)


def forged() -> str:
    """A request with another key than the one that signed it."""
    (block,) = blocks(b64decode(PEM))
    der = block.content[:-1] + bytes([block.content[-1] ^ 1])
    return encoded(
        b"-----BEGIN CERTIFICATE REQUEST-----\n" + b64encode(der) + b"\n-----END CERTIFICATE REQUEST-----\n"
    )


class CertificatesTests(case.EntryCase):
    file = "certificates.json"
    bases = {"CertificateSigningRequest": Base(path=REQUESTS, obj=REQUEST)}
    examples = {
        0: Refused(change={"metadata.name": "a/b"}, accepts={"metadata.name": "System:a b"}),
        1: (
            Refused(change={"spec.request": block_of(b"YQ==", b"X")}),
            Refused(change={"spec.request": encoded(b"text")}),
            Refused(
                change={"spec.request": PEM[:40]},
                detail=r"^Invalid value: \[\]byte\{0x2d, 0x2d, 0x2d, 0x2d, 0x2d, 0x42, .*\}: PEM block type must be",
            ),
            Refused(
                change={"spec.request": block_of(b"YQ==", b"CERTIFICATE REQUEST")},
                detail="the request cannot be read: ",
            ),
        ),
        2: Refused(change={"spec.request": forged()}, detail="the signature of the request is invalid"),
        3: (Refused(change={"spec.usages": []}), Refused(change={"spec.usages": GONE})),
        4: Refused(
            change={"spec.usages": ["any", "all"]},
            accepts={"spec.usages": ["any", "s/mime", "netscape sgc"]},
            field="spec.usages[1]",
            detail='supported values: "any", "cert sign", "client auth"',
        ),
        5: Refused(change={"spec.usages": ["any", "any"]}, field="spec.usages[1]"),
        6: Refused(change={SIGNER: ""}),
        7: Refused(change={SIGNER: "orch.io/legacy-unknown"}, accepts={SIGNER: "orch.io/orchlet-serving"}),
        8: (Refused(change={SIGNER: "example.com"}), Refused(change={SIGNER: "example.com/a/b"})),
        9: Refused(change={SIGNER: "a." * 126 + "aa/b"}, accepts={SIGNER: "a." * 126 + "a/b"}, detail="253"),
        10: Refused(change={SIGNER: "Example.com/a"}, detail='"Example.com": validating label "Example": a'),
        11: Refused(change={SIGNER: "example/a"}),
        12: Refused(change={SIGNER: "example.com/a_b"}, detail='"a_b": validating label "a_b": a'),
        13: Refused(
            change={SIGNER: "example.com/" + "a" * 250 + ("." + "a" * 250) * 2},
            accepts={SIGNER: "example.com/" + "a" * 250 + "." + "a" * 250},
            detail="at most 571",
        ),
        14: Refused(change={"spec.expirationSeconds": 599}, accepts={"spec.expirationSeconds": 600}),
        15: (
            Refused(on="status", change={CONDITIONS: [{"type": "", "status": "True"}]}),
            Shown(f"{__name__}.CertificatesTests.test_stored_flaws"),
        ),
        16: Refused(on="status", change={CONDITIONS: [{"type": "Seen", "status": ""}]}),
        17: Refused(on="approval", change={CONDITIONS: [{**APPROVED, "status": "False"}]}),
        18: Refused(
            on="status",
            change={CONDITIONS: [{**OTHER, "status": "Maybe"}]},
            accepts={CONDITIONS: [OTHER]},
            detail='supported values: "False", "True", "Unknown"',
        ),
        19: (
            Refused(on="approval", change={CONDITIONS: [APPROVED, DENIED]}, field=f"{CONDITIONS}[1].type"),
            Shown(f"{__name__}.CertificatesTests.test_stored_flaws"),
        ),
        20: (
            Refused(on="approval", change={CONDITIONS: [APPROVED, APPROVED]}, field=f"{CONDITIONS}[1].type"),
            Shown(f"{__name__}.CertificatesTests.test_stored_flaws"),
        ),
        21: (
            Refused(
                on="status",
                change={CERTIFICATE: block_of(b"YQ==", b"X")},
                detail='Invalid value: "<certificate data>": only CERTIFICATE PEM blocks are allowed, found "X"',
            ),
            Refused(
                on="status",
                change={CERTIFICATE: block_of(b"a: b\n\nYQ==")},
                detail="no PEM block headers are permitted",
            ),
            Refused(
                on="status",
                change={CERTIFICATE: encoded(b"text")},
                detail="must contain at least one CERTIFICATE PEM block",
            ),
            Refused(
                on="status",
                change={CERTIFICATE: encoded(b"-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----")},
                detail="found CERTIFICATE PEM block containing 0 certificates",
            ),
            Refused(
                on="status",
                change={CERTIFICATE: block_of(b"YQ==")},
                accepts={CERTIFICATE: encoded(ISSUED + ISSUED)},
                detail="a certificate cannot be read",
            ),
        ),
        22: Stored(change={"spec": {"request": "", "signerName": ""}}, expected={"spec.signerName": "example.com/s"}),
        23: Shown(f"{__name__}.CertificatesTests.test_conditions_stay"),
        24: (
            Refused(on="status", change={CONDITIONS: [APPROVED]}),
            Refused(
                on="status", change={CONDITIONS: [DENIED]}, detail='updates may not add a condition of type "Denied"'
            ),
            Accepted(on="status", change={CONDITIONS: [FAILED]}),
        ),
        25: Shown(f"{__name__}.CertificatesTests.test_decisions_are_restored"),
        26: (
            Stored(on="approval", change={CERTIFICATE: encoded(ISSUED)}, expected={CERTIFICATE: GONE}),
            Stored(on="update", change={CERTIFICATE: encoded(ISSUED)}, expected={CERTIFICATE: GONE}),
            Shown(f"{__name__}.CertificatesTests.test_certificate_is_issued_once"),
        ),
        27: Shown(f"{__name__}.CertificatesTests.test_certificate_is_issued_once"),
        28: Stored(
            change={"spec.username": "eve", "spec.uid": "1", "spec.groups": ["a"], "spec.extra": {"a": ["b"]}},
            expected={
                "spec.username": "admin",
                "spec.groups": ["system:masters", "system:authenticated"],
                "spec.extra": GONE,
            },
        ),
        29: Stored(change={CONDITIONS: [APPROVED]}, expected={"status": {}}),
        30: Stored(
            change={"spec.usages": ["any"], CONDITIONS: [APPROVED], "metadata.labels": {"a": "b"}},
            expected={"spec.usages": ["client auth"], "status": {}, "metadata.labels": {"a": "b"}},
        ),
        31: Stored(change={"spec.usages": ["any"]}, expected={"spec.usages": ["client auth"]}),
        32: Shown(f"{__name__}.CertificatesTests.test_decisions_are_restored"),
        33: Shown(f"{__name__}.CertificatesTests.test_times"),
        34: Stored(
            on="approval",
            change={"spec.usages": ["any"], CONDITIONS: [FAILED], CERTIFICATE: encoded(ISSUED)},
            expected={"spec.usages": ["client auth"], f"{CONDITIONS}[0].type": "Failed", CERTIFICATE: GONE},
        ),
        35: Shown(f"{__name__}.CertificatesTests.test_times"),
        36: (
            Stored(
                on="status",
                change={"metadata.labels": {"a": "b"}, "metadata.annotations": {"a": "b"}, CONDITIONS: [FAILED]},
                expected={
                    "metadata.labels": {"a": "b"},
                    "metadata.annotations": {"a": "b"},
                    f"{CONDITIONS}[0].type": "Failed",
                },
            ),
            Stored(
                on="approval",
                change={"metadata.annotations": {"a": "b"}},
                expected={"metadata.annotations": {"a": "b"}},
            ),
        ),
        37: (
            Shown("tests.admission.plugins.test_certificate_plugins.CertificatePluginTests.test_approve"),
            Shown("tests.admission.plugins.test_certificate_plugins.CertificatePluginTests.test_sign"),
            Shown("tests.admission.plugins.test_certificate_plugins.CertificatePluginTests.test_administrators"),
        ),
        38: Stored(expected={"metadata.generation": GONE}),
    }

    def made(self, *conditions: Object) -> Object:
        """A request with these conditions, which approval sets."""
        stored = self.done("POST", REQUESTS, changed(REQUEST, self.fresh_name(REQUEST)))
        return self.put(stored, "/approval", {CONDITIONS: list(conditions)})

    def put(self, stored: Object, sub: str, changes: Object) -> Object:
        return self.done("PUT", f"{REQUESTS}/{stored['metadata']['name']}{sub}", changed(stored, changes))

    def refusals(self, stored: Object, sub: str, changes: Object) -> list[str]:
        path = f"{REQUESTS}/{stored['metadata']['name']}{sub}"
        answer = self.send("PUT", path, changed(stored, changes))
        self.assertEqual(answer.code, 422, answer.body)
        return [f"{cause['field']}: {cause['message']}" for cause in answer.json["details"]["causes"]]

    def test_every_usage(self) -> None:
        """All that certificates are known to be for may be asked for, each once (reference CSR-4)."""
        usages = [*USAGES.split(", ")]
        self.assertEqual(len(usages), 23)
        made = self.done("POST", REQUESTS, changed(REQUEST, {**self.fresh_name(REQUEST), "spec.usages": usages}))
        self.assertEqual(made["spec"]["usages"], usages)

    def test_states(self) -> None:
        """The last column of a request is its state (reference CSR-1, CSR-11)."""
        issued = {CERTIFICATE: encoded(ISSUED)}
        for expected, conditions, more in (
            ("Pending", [], {}),
            ("Pending", [OTHER], {}),
            ("Approved", [APPROVED], {}),
            ("Denied", [DENIED], {}),
            ("Approved,Issued", [APPROVED], issued),
            ("Approved,Failed", [APPROVED, FAILED], {}),
            ("Pending,Failed", [FAILED], {}),
            ("Denied,Failed", [DENIED, FAILED], {}),
        ):
            stored = self.made(*conditions)
            if more:
                self.put(stored, "/status", more)
            path = f"{REQUESTS}/{stored['metadata']['name']}"
            table = self.done("GET", path, None, {"accept": "application/json;as=Table;v=v1;g=meta.orch.io"})
            self.assertEqual(table["columnDefinitions"][-1]["name"], "Condition")
            self.assertEqual(table["rows"][0]["cells"][-1], expected)

    def test_sub_resources(self) -> None:
        """Both sub-resources are read, replaced and patched, and nothing else (reference CSR-1)."""
        stored = self.made()
        path = f"{REQUESTS}/{stored['metadata']['name']}"
        merge = {"content-type": "application/merge-patch+json"}
        for sub in ("approval", "status"):
            self.assertEqual(self.done("GET", f"{path}/{sub}"), stored)
            for method in ("POST", "DELETE"):
                self.assertEqual(self.send(method, f"{path}/{sub}", {}).code, 405)
        self.done("PATCH", f"{path}/approval", {"status": {"conditions": [APPROVED]}}, merge)
        self.done("PATCH", f"{path}/status", {"status": {"certificate": encoded(ISSUED)}}, merge)
        found = self.done("GET", path)["status"]
        self.assertEqual((found["certificate"], len(found["conditions"])), (encoded(ISSUED), 1))
        again = {"status": {"conditions": [APPROVED, DENIED]}}
        answer = self.send("PATCH", f"{path}/approval", again, merge)
        why = 'type: Invalid value: "Denied": Approved and Denied conditions are mutually exclusive'
        self.assertEqual((answer.code, answer.json["message"].endswith(why)), (422, True), answer.body)

    def test_conditions_stay(self) -> None:
        """Final conditions cannot be removed, neither decisions nor failures (reference CSR-7)."""
        stored = self.made(APPROVED, FAILED)
        for sub in ("/status", "/approval"):
            for kept, gone in (([FAILED], "Approved"), ([APPROVED], "Failed")):
                expected = f'status.conditions: Forbidden: updates may not remove a condition of type "{gone}"'
                self.assertEqual(self.refusals(stored, sub, {CONDITIONS: kept}), [expected])
        self.assertEqual(self.put(stored, "", {CONDITIONS: []})["status"], stored["status"])
        self.put(self.made(OTHER), "/status", {CONDITIONS: []})

    def test_decisions_are_restored(self) -> None:
        """A write to /status that knows of a decision leaves it as it is, whatever it says (reference CSR-9)."""
        stored = self.made(APPROVED)
        after = self.put(stored, "/status", {CONDITIONS: [OTHER, {**APPROVED, "status": "False", "reason": "No"}]})
        self.assertEqual(after["status"]["conditions"][1], stored["status"]["conditions"][0])
        after = self.put(after, "/approval", {CONDITIONS: [{**APPROVED, "reason": "Other"}]})
        self.assertEqual(after["status"]["conditions"][0]["reason"], "Other")

    def test_certificate_is_issued_once(self) -> None:
        """A certificate comes through /status, and stays (reference CSR-9, CSR-10)."""
        stored = self.put(self.made(APPROVED), "/status", {CERTIFICATE: encoded(ISSUED)})
        self.assertEqual(stored["status"]["certificate"], encoded(ISSUED))
        for changes in ({CERTIFICATE: encoded(ISSUED + ISSUED)}, {CERTIFICATE: GONE}):
            expected = "status.certificate: Forbidden: updates may not modify existing certificate content"
            self.assertEqual(self.refusals(stored, "/status", changes), [expected])
        after = self.put(stored, "/approval", {CERTIFICATE: encoded(ISSUED + ISSUED)})
        self.assertEqual(after["status"]["certificate"], encoded(ISSUED))

    def test_times(self) -> None:
        """Conditions get the times that they lack; one from before keeps that of its change (reference CSR-8)."""
        for sub, condition in (("/approval", APPROVED), ("/status", OTHER)):
            stored = self.made()
            given = {**condition, "lastTransitionTime": THEN}
            after = self.put(stored, sub, {CONDITIONS: [given]})
            (found,) = after["status"]["conditions"]
            self.assertEqual(found["lastTransitionTime"], THEN)
            self.assertNotEqual(found["lastUpdateTime"], THEN)
            after = self.put(after, sub, {CONDITIONS: [{**condition, "message": "again"}]})
            (found,) = after["status"]["conditions"]
            self.assertEqual(found["lastTransitionTime"], THEN)
            if sub == "/status":
                after = self.put(after, sub, {CONDITIONS: [{**condition, "status": "True"}]})
                self.assertNotEqual(after["status"]["conditions"][0]["lastTransitionTime"], THEN)

    def test_stored_flaws(self) -> None:
        """Conditions without a type, of equal types, and that contradict each other may stay where they are so."""
        stored = self.done("POST", REQUESTS, REQUEST)
        flawed = [{"type": "", "status": "True"}, APPROVED, DENIED, OTHER, OTHER]
        with patch.object(requests, "status_causes", lambda *args, **more: []):
            stored = self.put(stored, "/approval", {CONDITIONS: flawed})
        self.put(stored, "/status", {CONDITIONS: [*stored["status"]["conditions"], FAILED]})

    def test_spec_from_before(self) -> None:
        """A request that would not be taken any more can still be changed."""
        with without_rules():
            stored = self.done("POST", REQUESTS, changed(REQUEST, {"spec.usages": ["all"], "spec.request": "YQ=="}))
        self.put(stored, "", {"metadata.labels": {"a": "b"}})
        self.put(stored, "/approval", {CONDITIONS: [APPROVED], "metadata.resourceVersion": GONE})
