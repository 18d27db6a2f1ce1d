"""Certificates: what is to be signed, by whom, and the orders and challenges on the way."""

from __future__ import annotations

from orchtw.wire.objects import Object
from tests.definitions.build import (
    AGE,
    PRESERVE,
    Schema,
    choice,
    column,
    definition,
    duration,
    flag,
    keyed,
    listed,
    mapped,
    moment,
    one_of,
    part,
    ready_column,
    text,
    version,
    whole,
)
from tests.definitions.workloads import affinity, conditions, key_of, label_selector, object_reference, tolerations

GROUP, ACME_GROUP = "certificates.example.com", "acme.certificates.example.com"
USAGES = ("signing", "digital signature", "key encipherment", "server auth", "client auth", "code signing", "any")


def definitions() -> list[Object]:
    """Six kinds, ten versions."""
    issuing = [column("Issuer", ".spec.issuerRef.name", priority=1), AGE]
    status_text = column("Status", '.status.conditions[?(@.type=="Ready")].message', priority=1)
    return [
        definition(
            GROUP, "Certificate", [
                version("v1alpha2", _certificate(), _certificate_status(), served=False, deprecated=True),
                version(
                    "v1beta1", _certificate(), _certificate_status(), deprecated=True,
                    deprecationWarning="certificates.example.com/v1beta1 Certificate goes next spring; use v1",
                ),
                version(
                    "v1", _certificate(), _certificate_status(), description="A pair of keys that is kept signed.",
                    additionalPrinterColumns=[
                        ready_column(), column("Secret", ".spec.secretName"), status_text, *issuing,
                    ],
                ),
            ],
            short="cert certs", category="certificates-all",
        ),
        definition(
            GROUP, "CertificateRequest", [
                version(
                    "v1", _request(), part(
                        conditions=conditions(), certificate=text(format="byte"), ca=text(format="byte"),
                        failureTime=moment(),
                    ),
                    additionalPrinterColumns=[ready_column("Approved"), ready_column("Denied"), ready_column(), AGE],
                ),
            ],
            short="cr crs", category="certificates-all",
        ),
        definition(GROUP, "Issuer", [_issuer("v1beta1"), _issuer("v1")], category="certificates-all"),
        definition(GROUP, "ClusterIssuer", [_issuer("v1")], cluster=True, category="certificates-all"),
        definition(
            ACME_GROUP, "Order", [
                version(
                    "v1", part(
                        "request", "issuerRef", request=text(format="byte"), issuerRef=_issuer_reference(),
                        commonName=text(), dnsNames=listed(text()), ipAddresses=listed(text()), duration=duration(),
                    ),
                    part(
                        state=_acme_state(), url=text(), finalizeURL=text(), reason=text(), certificate=text(),
                        failureTime=moment(), authorizations=listed(part(
                            "url", url=text(), identifier=text(), wildcard=flag(), initialState=_acme_state(),
                            challenges=listed(part("url", "token", "type", url=text(), token=text(), type=text())),
                        )),
                    ),
                    additionalPrinterColumns=[column("State", ".status.state"), *issuing],
                ),
            ],
            category="certificates-all",
        ),
        definition(
            ACME_GROUP, "Challenge", [
                version(
                    "v1", part(
                        "url", "token", "key", "type", "solver", "issuerRef", url=text(), authorizationURL=text(),
                        dnsName=text(), wildcard=flag(), type=choice("HTTP-01", "DNS-01"), token=text(), key=text(),
                        solver=_solver(), issuerRef=_issuer_reference(),
                    ),
                    part(processing=flag(), presented=flag(), reason=text(), state=_acme_state()),
                    additionalPrinterColumns=[
                        column("State", ".status.state"), column("Domain", ".spec.dnsName"), AGE,
                    ],
                ),
            ],
            category="certificates-all",
        ),
    ]  # fmt: skip


def objects() -> list[Object]:
    """Return an object of each kind of a certificate manager."""
    issuer = {"name": "letters", "kind": "ClusterIssuer"}
    certificate = {
        "secretName": "web-tls", "dnsNames": ["shop.example.com", "*.shop.example.com"], "issuerRef": issuer,
        "duration": "2160h", "renewBefore": "360h", "usages": ["server auth", "digital signature"],
        "privateKey": {"algorithm": "ECDSA", "size": 256}, "subject": {"organizations": ["shop"]},
    }  # fmt: skip
    solver = {"selector": {"dnsZones": ["example.com"]}, "http01": {"ingress": {"class": "public"}}}
    hook = {"groupName": "dns.example.com", "solverName": "own", "config": {"zone": {"id": 7, "tags": ["a"]}}}
    acme = {
        "server": "https://acme.example.com/directory", "privateKeySecretRef": {"name": "account"},
        "solvers": [solver, {"dns01": {"webhook": hook}}],
    }  # fmt: skip
    order = {"request": "cmVxdWVzdA==", "issuerRef": issuer, "dnsNames": ["shop.example.com"]}
    challenge = {"url": "https://acme.example.com/7", "token": "t", "key": "k", "type": "HTTP-01", "solver": solver}
    return [
        _obj(f"{GROUP}/v1", "Certificate", certificate),
        _obj(f"{GROUP}/v1", "CertificateRequest", {"request": "cmVxdWVzdA==", "issuerRef": issuer, "isCA": False}),
        _obj(f"{GROUP}/v1", "Issuer", {"ca": {"secretName": "root"}}),
        _obj(f"{GROUP}/v1", "ClusterIssuer", {"acme": acme}),
        _obj(f"{ACME_GROUP}/v1", "Order", order),
        _obj(f"{ACME_GROUP}/v1", "Challenge", {**challenge, "issuerRef": issuer}),
    ]


def _obj(api_version: str, kind: str, spec: Object) -> Object:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "sample"}, "spec": spec}


def _acme_state() -> Schema:
    return choice("valid", "ready", "pending", "processing", "invalid", "expired", "errored")


def _issuer_reference() -> Schema:
    return part("name", name=text(), kind=text(default="Issuer"), group=text(default=GROUP))


def _certificate() -> Schema:
    keystore = part("create", "passwordSecretRef", create=flag(), passwordSecretRef=key_of(), alias=text())
    subject = {
        name: listed(text())
        for name in (
            "organizations",
            "countries",
            "organizationalUnits",
            "localities",
            "provinces",
            "streetAddresses",
        )
    }
    return part(
        "secretName", "issuerRef", secretName=text(minLength=1), issuerRef=_issuer_reference(),
        commonName=text(maxLength=64), dnsNames=listed(text()), ipAddresses=listed(text()), uris=listed(text()),
        emailAddresses=listed(text(format="email")), duration=duration(), renewBefore=duration(), isCA=flag(),
        usages=listed(choice(*USAGES)), encodeUsagesInRequest=flag(), revisionHistoryLimit=whole(1),
        subject=part(**subject, serialNumber=text()), literalSubject=text(),
        privateKey=part(
            rotationPolicy=choice("Never", "Always", default="Never"), encoding=choice("PKCS1", "PKCS8"),
            algorithm=choice("RSA", "ECDSA", "Ed25519"), size=whole(0, 8192),
        ),
        keystores=part(jks=keystore, pkcs12=part(
            "create", "passwordSecretRef", create=flag(), passwordSecretRef=key_of(),
            profile=choice("LegacyRC2", "LegacyDES", "Modern2023"),
        )),
        secretTemplate=part(annotations=mapped(), labels=mapped()),
        otherNames=listed(part(oid=text(), utf8Value=text())),
        additionalOutputFormats=listed(part("type", type=choice("DER", "CombinedPEM"))),
        nameConstraints=part(critical=flag(), permitted=_names(), excluded=_names()),
    )  # fmt: skip


def _names() -> Schema:
    return part(**{each: listed(text()) for each in ("dnsDomains", "ipRanges", "emailAddresses", "uriDomains")})


def _certificate_status() -> Schema:
    return part(
        conditions=conditions(), lastFailureTime=moment(), notBefore=moment(), notAfter=moment(),
        renewalTime=moment(), revision=whole(), nextPrivateKeySecretName=text(), failedIssuanceAttempts=whole(),
    )  # fmt: skip


def _request() -> Schema:
    return part(
        "request", "issuerRef", request=text(format="byte"), issuerRef=_issuer_reference(), duration=duration(),
        isCA=flag(), usages=listed(choice(*USAGES)), username=text(), groups=listed(text()), uid=text(),
        extra=mapped(listed(text())),
    )  # fmt: skip


def _issuer(name: str) -> Object:
    signers = {
        "acme": _acme(), "ca": part("secretName", secretName=text(), crlDistributionPoints=listed(text())),
        "selfSigned": part(crlDistributionPoints=listed(text())), "vault": _vault(), "store": _store(),
    }  # fmt: skip
    status = part(
        conditions=conditions(), acme=part(uri=text(), lastRegisteredEmail=text(), lastPrivateKeyHash=text())
    )
    text_column = column("Status", '.status.conditions[?(@.type=="Ready")].message', priority=1)
    return version(
        name, part(**signers, more=one_of(*signers)), status,
        additionalPrinterColumns=[ready_column(), text_column, AGE], description="Somebody who signs certificates.",
    )  # fmt: skip


def _acme() -> Schema:
    binding = part(
        "keyID", "keySecretRef", keyID=text(), keySecretRef=key_of(), keyAlgorithm=choice("HS256", "HS384", "HS512")
    )
    return part(
        "server", "privateKeySecretRef", server=text(), email=text(), caBundle=text(format="byte"),
        skipTLSVerify=flag(), privateKeySecretRef=key_reference(), externalAccountBinding=binding,
        disableAccountKeyGeneration=flag(), enableDurationFeature=flag(), preferredChain=text(maxLength=64),
        solvers=listed(_solver()),
    )  # fmt: skip


def key_reference() -> Schema:
    """A secret, and perhaps a key in it."""
    return part("name", name=text(), key=text())


def _solver() -> Schema:
    meta = part(annotations=mapped(), labels=mapped())
    pod = part(
        affinity=affinity(), nodeSelector=mapped(), tolerations=tolerations(), priorityClassName=text(),
        serviceAccountName=text(), imagePullSecrets=keyed(part(name=text(default="")), "name"),
    )  # fmt: skip
    ingress = part(
        class_=text(), ingressClassName=text(), name=text(), serviceType=text(), ingressTemplate=part(metadata=meta),
        podTemplate=part(metadata=meta, spec=pod),
    )  # fmt: skip
    gateway = part(labels=mapped(), serviceType=text(), parentRefs=listed(object_reference("namespace", "kind")))
    providers = {
        "akamai": {"clientSecretSecretRef", "accessTokenSecretRef"},
        "azure": {"clientSecretSecretRef"},
        "cloud": {"serviceAccountSecretRef"},
        "flare": {"apiKeySecretRef", "apiTokenSecretRef"},
        "ocean": {"tokenSecretRef"},
        "route": {"accessKeyIDSecretRef", "secretAccessKeySecretRef"},
    }
    dns = {
        name: part(
            **{key: key_reference() for key in sorted(keys)}, email=text(), zone=text(), region=text(), project=text()
        )
        for name, keys in providers.items()
    }
    dns["rfc2136"] = part(
        "nameserver", nameserver=text(), tsigAlgorithm=text(), tsigKeyName=text(), tsigSecretSecretRef=key_reference()
    )
    dns["webhook"] = part("groupName", "solverName", groupName=text(), solverName=text(), config={PRESERVE: True})
    return part(
        selector=part(dnsNames=listed(text()), dnsZones=listed(text()), matchLabels=mapped()),
        http01=part(ingress=ingress, gatewayHTTPRoute=gateway),
        dns01=part(**dns, cnameStrategy=choice("None", "Follow")),
    )  # fmt: skip


def _vault() -> Schema:
    role = part("path", "roleId", "secretRef", path=text(), roleId=text(), secretRef=key_reference())
    account = part(
        "role", role=text(), mountPath=text(), secretRef=key_reference(),
        serviceAccountRef=part("name", name=text(), audiences=listed(text())),
    )  # fmt: skip
    return part(
        "auth", "path", "server", server=text(), path=text(), namespace=text(), caBundle=text(format="byte"),
        auth=part(tokenSecretRef=key_reference(), appRole=role, serviceAccount=account),
    )  # fmt: skip


def _store() -> Schema:
    return part(
        "zone", zone=text(), url=text(format="uri"), credentialsRef=part("name", name=text()),
        selector=label_selector(),
    )  # fmt: skip
