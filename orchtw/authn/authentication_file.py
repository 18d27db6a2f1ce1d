"""File of `--authentication-config`: issuers of tokens, and anonymous requests (reference AUTHN-62)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import msgspec

from orchtw.authn.claim_mapping import ClaimMapping, Rule
from orchtw.authn.identity_expressions import CLAIMS, CONDITION, TEXT, TEXTS, USER, IdentityExpression
from orchtw.authn.oidc_claims import Mapping
from orchtw.errors import ConfigError
from orchtw.naming.naming import Naming
from orchtw.outbound.configuration_file import Mistakes, configuration
from orchtw.outbound.fields import Fields
from orchtw.outbound.policy import BadTLS, read_authorities
from orchtw.schema.cel.environment import Environment
from orchtw.schema.cel.types import Type
from orchtw.values.causes import duplicate, invalid, required, too_many
from orchtw.values.names import dns_subdomain

FLAG: Final = "--authentication-config"
KIND: Final = "AuthenticationConfiguration"
MOST_ISSUERS: Final = 64
MATCH_ANY: Final = "MatchAny"

_BOTH: Final = "claim and expression can't both be set"
_NEITHER: Final = "claim or expression is required"
_NO_PREFIX: Final = "prefix is required when claim is set. It can be set to an empty string to disable prefixing"
_UNVERIFIED: Final = (
    "claims.email_verified must be used in claimMappings.username.expression or "
    "claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when claims.email is used in "
    "claimMappings.username.expression"
)
_OWN_DOMAINS: Final = tuple(
    domain for naming in (Naming.orch(), Naming.kubernetes()) for domain in (naming.api_domain, naming.label_domain)
)
_RESERVED: Final = f"{', '.join(dict.fromkeys(_OWN_DOMAINS))} and their subdomains are reserved"


class Issuer(msgspec.Struct, frozen=True, kw_only=True):
    """An issuer of tokens: `authorities` are its CAs (PEM; empty: the system's)."""

    mapping: ClaimMapping
    discovery_url: str
    authorities: bytes


class AnonymousRequests(msgspec.Struct, frozen=True):
    """Requests that may be anonymous: those of exactly these `paths`; None: of all."""

    paths: frozenset[str] | None

    def allows(self, path: str) -> bool:
        """Report whether a request of this path may be anonymous."""
        return self.paths is None or path in self.paths


class AuthenticationFile(msgspec.Struct, frozen=True):
    """Contents of the file; `anonymous` is None if it says nothing of that."""

    issuers: Sequence[Issuer]
    anonymous: AnonymousRequests | None


def read(path: Path, environment: Environment, disallowed: Sequence[str], *, paths: bool) -> AuthenticationFile:
    """Return the contents of a file.

    `disallowed` are issuers of other tokens. `paths`: the file may say what may be anonymous. Raises ConfigError with
    one line for each mistake.
    """
    file = configuration(FLAG, path, KIND, "v1", "v1beta1", "v1alpha1")
    reader = _Reader(environment, disallowed)
    issuers: list[Issuer] = []
    anonymous = None
    with reader.part():
        file.only("apiVersion", "kind", "jwt", "anonymous")
        given = list(file.sections("jwt"))
        if len(given) > MOST_ISSUERS:
            reader.wrong(too_many("jwt", len(given), MOST_ISSUERS))
            given = []
        for each in given:
            with reader.part():
                issuers.append(reader.issuer(each))
        reader.check_unique([each.section("issuer") for each in given])
        if file.value.get("anonymous") is not None:
            with reader.part():
                anonymous = reader.anonymous(file.section("anonymous"), allowed=paths)
    reader.check(FLAG, path)
    return AuthenticationFile(tuple(issuers), anonymous)


class _Reader(Mistakes):
    """Reader of the file's parts, with the mistakes in them."""

    def __init__(self, environment: Environment, disallowed: Sequence[str]) -> None:
        super().__init__()
        self._environment = environment
        self._disallowed = tuple(disallowed)

    def issuer(self, jwt: Fields) -> Issuer:
        """Return one element of `jwt`. Raises ConfigError for a field of a wrong type."""
        jwt.only("issuer", "claimValidationRules", "claimMappings", "userValidationRules")
        issuer, mappings = jwt.section("issuer"), jwt.section("claimMappings")
        issuer.only(
            "url", "discoveryURL", "certificateAuthority", "audiences", "audienceMatchPolicy", "egressSelectorType"
        )
        mappings.only("username", "groups", "uid", "extra")
        self._urls(issuer)
        audiences = self._audiences(issuer)
        needed, rules = self._claim_rules(jwt)
        name, groups, uid = (mappings.section(each) for each in ("username", "groups", "uid"))
        username = self._mapped(name, TEXT, needed=True)
        grouped = self._mapped(groups, TEXTS, needed=False)
        uid.only("claim", "expression")
        if uid.text("claim") and uid.text("expression"):
            self.wrong(invalid(uid.where, "", _BOTH))
        extra = self._extra(mappings)
        if username is not None and "email" in username.members:
            uses = [username, *(each for _, each in extra), *(rule.expression for rule in rules)]
            if not any("email_verified" in each.members for each in uses):
                self.wrong(invalid(f"{name.where}.expression", username.source, _UNVERIFIED))
        plain = Mapping(
            issuer=issuer.text("url"),
            client_id=audiences[0] if audiences else "",
            username_claim=name.text("claim"),
            username_prefix=name.text("prefix"),
            groups_claim=groups.text("claim"),
            groups_prefix=groups.text("prefix"),
            required=needed,
        )
        mapping = ClaimMapping(
            plain=plain,
            audiences=audiences,
            claim_rules=rules,
            username=username,
            groups=grouped,
            uid_claim=uid.text("claim"),
            uid=self._expression(uid, "expression", CLAIMS, TEXT),
            extra=extra,
            user_rules=self._user_rules(jwt),
        )
        return Issuer(
            mapping=mapping, discovery_url=issuer.text("discoveryURL"), authorities=self._authorities(issuer)
        )

    def anonymous(self, section: Fields, *, allowed: bool) -> AnonymousRequests:
        """Return what may be anonymous."""
        section.only("enabled", "conditions")
        if not allowed:
            why = "anonymous is not supported when AnonymousAuthConfigurableEndpoints feature gate is disabled"
            raise ConfigError(f"{section.path}: anonymous: Forbidden: {why}")
        conditions = list(section.sections("conditions"))
        for each in conditions:
            each.only("path")
        paths = [each.text("path") for each in conditions]
        if not section.flag("enabled"):
            if paths:
                self.wrong(
                    invalid(
                        "anonymous.conditions", paths, "enabled should be set to true when conditions are defined"
                    )
                )
            return AnonymousRequests(frozenset())
        return AnonymousRequests(frozenset(paths) if paths else None)

    def check_unique(self, issuers: Sequence[Fields]) -> None:
        """Note URLs that two issuers have."""
        for name in ("url", "discoveryURL"):
            seen: set[str] = set()
            for each in issuers:
                url = each.text(name)
                if url in seen:
                    self.wrong(duplicate(f"{each.where}.{name}", url))
                if url:
                    seen.add(url)

    def _urls(self, issuer: Fields) -> None:
        where, url, discovery = f"{issuer.where}.url", issuer.text("url"), issuer.text("discoveryURL")
        if not url:
            self.wrong(required(where, "URL is required"))
        elif url in self._disallowed:
            shown = f"[{' '.join(self._disallowed)}]"
            self.wrong(invalid(where, url, f"URL must not overlap with disallowed issuers: {shown}"))
        else:
            self._url(where, url)
        where = f"{issuer.where}.discoveryURL"
        if discovery and discovery.rstrip("/") == url.rstrip("/"):
            self.wrong(invalid(where, discovery, "discoveryURL must be different from URL"))
        elif discovery:
            self._url(where, discovery)

    def _url(self, where: str, url: str) -> None:
        try:
            parts = urlsplit(url)
            good = bool(parts.hostname) and parts.port != 0
        except ValueError as error:
            self.wrong(invalid(where, url, str(error)))
            return
        for wrong, why in (
            (parts.scheme != "https", "URL scheme must be https"),
            (parts.username is not None, "URL must not contain a username or password"),
            (bool(parts.query), "URL must not contain a query"),
            (bool(parts.fragment), "URL must not contain a fragment"),
            (parts.scheme == "https" and not good, "URL must have a host"),
        ):
            if wrong:
                self.wrong(invalid(where, url, why))

    def _audiences(self, issuer: Fields) -> tuple[str, ...]:
        where, policy = f"{issuer.where}.audiences", issuer.text("audienceMatchPolicy")
        audiences = issuer.texts("audiences")
        if not audiences:
            self.wrong(required(where, f"at least one {where} is required"))
        if len(audiences) > 1 and policy != MATCH_ANY:
            why = "audienceMatchPolicy must be MatchAny for multiple audiences"
            self.wrong(invalid(f"{issuer.where}.audienceMatchPolicy", policy, why))
        if len(audiences) == 1 and policy not in ("", MATCH_ANY):
            why = "audienceMatchPolicy must be empty or MatchAny for single audience"
            self.wrong(invalid(f"{issuer.where}.audienceMatchPolicy", policy, why))
        for index, audience in enumerate(audiences):
            if not audience:
                self.wrong(required(f"{where}[{index}]", "audience can't be empty"))
            elif audience in audiences[:index]:
                self.wrong(duplicate(f"{where}[{index}]", audience))
        return audiences

    def _authorities(self, issuer: Fields) -> bytes:
        pem = issuer.text("certificateAuthority").encode()
        try:
            if pem:
                read_authorities(pem)
        except BadTLS as problem:
            self.wrong(invalid(f"{issuer.where}.certificateAuthority", "<omitted>", str(problem)))
        return pem

    def _claim_rules(self, jwt: Fields) -> tuple[list[tuple[str, str]], list[Rule]]:
        """Return the claims that tokens must have, with their values, and the rules about claims."""
        needed: list[tuple[str, str]] = []
        rules: list[Rule] = []
        sources: list[str] = []
        for each in jwt.sections("claimValidationRules"):
            each.only("claim", "requiredValue", "expression", "message")
            claim, source = each.text("claim"), each.text("expression")
            if claim and source:
                self.wrong(invalid(each.where, claim, _BOTH))
            elif claim:
                if message := each.text("message"):
                    self.wrong(invalid(f"{each.where}.message", message, "message can't be set when claim is set"))
                if claim in dict(needed):
                    self.wrong(duplicate(f"{each.where}.claim", claim))
                needed.append((claim, each.text("requiredValue")))
            elif source:
                if value := each.text("requiredValue"):
                    why = "requiredValue can't be set when expression is set"
                    self.wrong(invalid(f"{each.where}.requiredValue", value, why))
                rules += self._rule(each, CLAIMS, sources)
            else:
                self.wrong(required(each.where, _NEITHER))
        return needed, rules

    def _user_rules(self, jwt: Fields) -> list[Rule]:
        rules: list[Rule] = []
        sources: list[str] = []
        for each in jwt.sections("userValidationRules"):
            each.only("expression", "message")
            if not each.text("expression"):
                self.wrong(required(f"{each.where}.expression", "expression is required"))
            else:
                rules += self._rule(each, USER, sources)
        return rules

    def _rule(self, each: Fields, variable: str, sources: list[str]) -> list[Rule]:
        source = each.text("expression")
        if source in sources:
            self.wrong(duplicate(f"{each.where}.expression", source))
            return []
        sources.append(source)
        found = self._expression(each, "expression", variable, CONDITION)
        return [] if found is None else [Rule(found, each.text("message"))]

    def _mapped(self, fields: Fields, results: Sequence[Type], *, needed: bool) -> IdentityExpression | None:
        """Return the expression of a mapping that has a claim with a prefix, or an expression."""
        fields.only("claim", "prefix", "expression")
        claim, source, prefix = fields.text("claim"), fields.text("expression"), fields.value.get("prefix")
        fields.text("prefix")
        if claim and source:
            self.wrong(invalid(fields.where, "", _BOTH))
        elif source:
            if prefix is not None:
                self.wrong(invalid(f"{fields.where}.prefix", prefix, "prefix can't be set when expression is set"))
            return self._expression(fields, "expression", CLAIMS, results)
        elif claim:
            if prefix is None:
                self.wrong(required(f"{fields.where}.prefix", _NO_PREFIX))
        elif needed or prefix is not None:
            self.wrong(required(fields.where, _NEITHER))
        return None

    def _extra(self, mappings: Fields) -> list[tuple[str, IdentityExpression]]:
        found: list[tuple[str, IdentityExpression]] = []
        keys: list[str] = []
        for each in mappings.sections("extra"):
            each.only("key", "valueExpression")
            key = each.text("key")
            domain, slash, rest = key.partition("/")
            if not key:
                self.wrong(required(f"{each.where}.key", "key is required"))
            elif not (domain and slash and rest):
                why = 'must be a domain-prefixed path (such as "acme.io/foo")'
                self.wrong(invalid(f"{each.where}.key", key, why))
            elif errors := dns_subdomain(domain):
                self.wrong(invalid(f"{each.where}.key", domain, ", ".join(errors)))
            elif any(f".{domain}".endswith(f".{own}") for own in _OWN_DOMAINS):
                self.wrong(invalid(f"{each.where}.key", key, _RESERVED))
            elif key != key.lower():
                self.wrong(invalid(f"{each.where}.key", key, "key must be lowercase"))
            elif key in keys:
                self.wrong(duplicate(f"{each.where}.key", key))
            keys.append(key)
            if not each.text("valueExpression"):
                self.wrong(required(f"{each.where}.valueExpression", "valueExpression is required"))
            elif (expression := self._expression(each, "valueExpression", CLAIMS, TEXTS)) is not None:
                found.append((key, expression))
        return found

    def _expression(
        self, fields: Fields, name: str, variable: str, results: Sequence[Type]
    ) -> IdentityExpression | None:
        source = fields.text(name)
        if not source:
            return None
        found = IdentityExpression.of(source, variable, results, self._environment)
        if isinstance(found, str):
            self.wrong(invalid(f"{fields.where}.{name}", source, found))
            return None
        return found
