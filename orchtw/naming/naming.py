"""All identifiers that contain the product's name, as one value: `Naming` (reference DESIGN-6, VOC-1).

The API's own texts, the protos and the store's keys are written in the neutral spelling (`orch`); a `Naming`
translates it to the served vocabulary. The composition root selects one and passes it on; no other code spells such
names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache

import msgspec

from orchtw.errors import ConfigError
from orchtw.naming.vocabulary import PAIRS

VOCABULARIES = ("orch", "kubernetes")

_API, _API_KUBERNETES = "orch.io", "k8s.io"
_LABELS_KUBERNETES = "kubernetes.io"

# Prefixes of families whose members the pairs list only in part.
_FAMILIES = (
    ("X-Orch-", "X-Kubernetes-"),
    ("ORCH_", "KUBERNETES_"),
    ("OrchAPI", "KubernetesAPI"),
    ("io.orch.", "io.k8s."),
    ("io.orch.orch-aggregator.", "io.k8s.kube-aggregator."),
)
_VERSION = re.compile(r"v\d+(?:(?:alpha|beta)\d+)?")
_GROUP = re.compile(r"[a-z0-9-]+(?:\.[a-z0-9-]+)*\.orch\.io")
# An identifier in a sentence, without the full stop that may follow it.
_IN_TEXT = re.compile(r"[\w./*-]*[oO]rch[\w./*-]*(?<!\.)")
# Component names inside longer ones: users, roles, hooks, signers and namespaces (reference VOC-1).
_COMPONENT = re.compile(
    r"(?<![a-z])(?:orch-(?=apiserver|controller-manager|scheduler|proxy|aggregator|dns|system|public|node-lease)"
    r"|orch(?=let|ctl))"
)
_GROUP_KUBERNETES = re.compile(r"[a-z0-9-]+(?:\.[a-z0-9-]+)*\.k8s\.io")
_COMPONENT_KUBERNETES = re.compile(_COMPONENT.pattern.replace("orch", "kube"))


class Naming(msgspec.Struct, frozen=True, kw_only=True):
    """The names of one vocabulary; the defaults are the neutral spelling.

    Names that code uses have an attribute each; names in data (protos, role tables) go through `translate` or, if
    they are API groups, through `group`.
    """

    vocabulary: str = "orch"

    product: str = "orch"  # also the name of the API's own Service in the default namespace
    api_domain: str = _API  # of API groups
    label_domain: str = "orch.io"  # of labels, annotations and token claims
    component_prefix: str = "orch-"
    extension_prefix: str = "x-orch-"  # of OpenAPI and schema extensions
    header_prefix: str = "X-Orch-"
    environment_prefix: str = "ORCH_"

    default_namespace: str = "default"
    system_namespace: str = "orch-system"
    public_namespace: str = "orch-public"
    node_lease_namespace: str = "orch-node-lease"
    namespace_finalizer: str = "orch"
    namespace_name_label: str = "orch.io/metadata.name"
    root_ca_config_map: str = "orch-root-ca.crt"

    protobuf_media_type: str = "application/vnd.orch.protobuf"
    protobuf_watch_media_type: str = "application/vnd.orch.protobuf;stream=watch"
    meta_group: str = "meta.orch.io"
    authentication_group: str = "authentication.orch.io"
    flow_schema_header: str = "X-Orch-Pf-Flowschema-Uid"
    priority_level_header: str = "X-Orch-Pf-Prioritylevel-Uid"

    api_server: str = "orch-apiserver"
    controller_manager: str = "orch-controller-manager"
    scheduler: str = "orch-scheduler"
    node_agent: str = "orchlet"
    node_proxy: str = "orch-proxy"
    client: str = "orchctl"
    admission_user_agent: str = "orch-apiserver-admission"
    controller_manager_user: str = "system:orch-controller-manager"
    scheduler_user: str = "system:orch-scheduler"
    api_server_user: str = "system:apiserver"
    administrator_user: str = "orch-admin"
    administrators_group: str = "system:masters"

    admission_hook: str = "start-orch-apiserver-admission-initializer"
    aggregator_hook: str = "start-orch-aggregator-informers"
    autoregistration_hook: str = "orch-apiserver-autoregistration"

    service_host: str = "orch.default.svc"
    service_account_issuer: str = "orch/serviceaccount"  # of tokens kept in Secrets
    service_account_token_type: str = "orch.io/service-account-token"
    service_account_name_annotation: str = "orch.io/service-account.name"
    service_account_uid_annotation: str = "orch.io/service-account.uid"

    initial_events_annotation: str = "orch.io/initial-events-end"

    issued_credential_annotation: str = "authentication.orch.io/issued-credential-id"
    deprecated_annotation: str = "orch.io/deprecated"  # these six: audit annotations
    removed_release_annotation: str = "orch.io/removed-release"
    decision_annotation: str = "authorization.orch.io/decision"
    reason_annotation: str = "authorization.orch.io/reason"
    faults_annotation: str = "faults.orch.io/rule"

    product_title: str = "Orch"
    legacy_types: str = "legacy types"  # in a condition of namespaces under deletion
    build_info_metric: str = "orch_build_info"
    git_version: str = "v1.24.0"

    @property
    def release(self) -> str:
        """The release whose API is served, such as "1.24"."""
        return ".".join(self.git_version.removeprefix("v").split(".")[:2])

    def signing_key(self, token_id: str, token_secret: str) -> str:
        """Return the signing key of a bootstrap token (reference AUTHN-45).

        It is the whole token, or its secret half for Kubernetes clients.
        """
        return f"{token_id}.{token_secret}" if self.vocabulary == "orch" else token_secret

    @classmethod
    def orch(cls) -> Naming:
        """Return the specification's own vocabulary, which is also the neutral spelling."""
        return cls()

    @classmethod
    @cache
    def kubernetes(cls) -> Naming:
        """Return Kubernetes' own names: its tools and clients work unmodified."""
        names = {name: _kubernetes(value) for name, value in msgspec.structs.asdict(cls.orch()).items()}
        return cls(
            **{
                **names,
                "vocabulary": "kubernetes",
                "label_domain": _LABELS_KUBERNETES,
                "component_prefix": "kube-",
                "administrator_user": "kubernetes-admin",
                "product_title": "Kubernetes",
                "legacy_types": "legacy kube types",
            }
        )

    @classmethod
    def of(cls, vocabulary: str) -> Naming:
        """Return the naming of `--vocabulary`. Raises ConfigError on an unknown one."""
        if vocabulary == "orch":
            return cls.orch()
        if vocabulary == "kubernetes":
            return cls.kubernetes()
        raise ConfigError(f"--vocabulary: unknown vocabulary {vocabulary!r}, expected orch or kubernetes")

    def translate(self, identifier: str) -> str:
        """Translate a neutral identifier; one without the product's name is returned unchanged.

        Pairs come first, then group versions, then the longest prefix, then the rules: groups
        (`<name>.orch.io`) are under the API domain, labels and the like under the label domain, and components
        are renamed inside users, roles, hooks and signers. Alone, `orch.io` and `node.orch.io` count as API names.
        """
        if self.vocabulary == "orch":
            return identifier
        return _kubernetes(identifier) if len(identifier) <= _CACHED_CHARACTERS else _to_kubernetes(identifier)

    def translate_text(self, text: str) -> str:
        """Translate each neutral identifier in a text."""
        if self.vocabulary == "orch" or "rch" not in text:  # the search costs 25 µs a text, 60 ms for a document
            return text
        return _IN_TEXT.sub(lambda match: _kubernetes(match[0]), text)

    def group(self, neutral: str) -> str:
        """Translate an API group: `node.orch.io` may be `node.k8s.io`; `apps` and "" stay."""
        return neutral if self.vocabulary == "orch" else _kubernetes_group(neutral)

    def api_version(self, neutral: str) -> str:
        """Translate an apiVersion ("v1", "apps/v1", "node.orch.io/v1")."""
        group, slash, version = neutral.rpartition("/")
        return f"{self.group(group)}{slash}{version}"

    def neutral(self, group: str) -> str:
        """Return the neutral spelling of a built-in API group, as in store keys: the inverse of `group`.

        Custom resources' groups belong to their authors and are translated in neither direction.
        """
        if self.vocabulary == "orch":
            return group
        known = _neutral_groups().get(group)
        if known is not None:
            return known
        return _moved(group, _API_KUBERNETES, _API)

    def untranslated(self, identifier: str) -> str:
        """Return the neutral identifier of one in this vocabulary: the inverse of `translate`.

        An identifier without a neutral one is returned unchanged, and so are members of domains that the pairs do not
        list (`app.kubernetes.io/name`): those belong to their authors.
        """
        if self.vocabulary == "orch":
            return identifier
        return _neutral(identifier) if len(identifier) <= _CACHED_CHARACTERS else _to_neutral(identifier)

    @property
    def counterpart(self) -> Naming:
        """The naming of the other vocabulary."""
        return Naming.kubernetes() if self.vocabulary == "orch" else Naming.orch()

    def foreign(self, group: str) -> str:
        """Return a hint for an API group that is spelled in the other vocabulary; empty for any other group."""
        known = _neutral_groups()
        own = known.get(group, "") if self.vocabulary == "orch" else ""
        if self.vocabulary == "kubernetes" and group in known.values():
            own = self.group(group)
        if not own or own == group:
            return ""
        return (
            f"{group} is {own} here: this server speaks the {self.vocabulary} vocabulary; "
            f"start it with --vocabulary {self.counterpart.vocabulary}"
        )


@cache
def _exact() -> dict[str, str]:
    first: dict[str, str] = {}
    for neutral, kubernetes in PAIRS:
        first.setdefault(neutral, kubernetes)
    return first


@cache
def _prefixes() -> tuple[tuple[str, str], ...]:
    pairs = [(a.removesuffix("*"), b.removesuffix("*")) for a, b in PAIRS if a.endswith(("/", "-", ".", "/*"))]
    return tuple(sorted([*pairs, *_FAMILIES], key=lambda pair: -len(pair[0])))


@cache
def _api_label_domains() -> frozenset[str]:
    """Return label domains whose listed members are all under the API domain: `authorization.orch.io`."""
    under: dict[str, set[bool]] = {}
    for neutral, kubernetes in PAIRS:
        domain, slash, _ = neutral.partition("/")
        if slash:
            under.setdefault(domain, set()).add(kubernetes.partition("/")[0].endswith(_API_KUBERNETES))
    return frozenset(domain for domain, found in under.items() if found == {True})


@cache
def _neutral_groups() -> dict[str, str]:
    groups: Iterable[tuple[str, str]] = ((a, b) for a, b in PAIRS if _GROUP.fullmatch(a))
    return {kubernetes: neutral for neutral, kubernetes in groups}


def _moved(name: str, old: str, new: str) -> str:
    """Return `name` with domain `old` at its end replaced by `new`."""
    return name.removesuffix(old) + new if name.endswith(f".{old}") else name


@cache
def _neutral_exact() -> dict[str, str]:
    return {kubernetes: neutral for neutral, kubernetes in PAIRS}


@cache
def _neutral_prefixes() -> tuple[tuple[str, str], ...]:
    return tuple(sorted([(b, a) for a, b in _prefixes()], key=lambda pair: -len(pair[0])))


@cache
def _neutral_label_domains() -> dict[str, tuple[str, ...]]:
    """Return the neutral domains with listed members, by the domain of these at Kubernetes."""
    found: dict[str, dict[str, None]] = {}
    for neutral, kubernetes in PAIRS:
        if "/" in neutral:
            found.setdefault(kubernetes.partition("/")[0], {})[neutral.partition("/")[0]] = None
    return {domain: tuple(names) for domain, names in found.items()}


def _to_neutral(identifier: str) -> str:
    """Return the first candidate whose translation is `identifier`: the rules overlap, so each is verified."""
    exact = _neutral_exact().get(identifier)
    if exact is not None:
        return exact
    return next((each for each in _candidates(identifier) if _to_kubernetes(each) == identifier), identifier)


def _candidates(identifier: str) -> Iterator[str]:
    domain, slash, rest = identifier.partition("/")
    if _VERSION.fullmatch(rest):
        yield f"{_neutral_groups().get(domain, domain)}/{rest}"
    for prefix, replacement in _neutral_prefixes():
        if identifier.startswith(prefix):
            yield replacement + identifier[len(prefix) :]
    if slash:
        for neutral in _neutral_label_domains().get(domain, ()):
            yield f"{neutral}/{rest}"
        return
    known = _neutral_groups()
    groups = _GROUP_KUBERNETES.sub(lambda match: known.get(match[0], match[0]), identifier)
    yield _COMPONENT_KUBERNETES.sub(lambda match: match[0].replace("kube", "orch"), groups)


def _to_kubernetes(identifier: str) -> str:
    exact = _exact().get(identifier)
    if exact is not None:
        return exact
    domain, slash, rest = identifier.partition("/")
    if _VERSION.fullmatch(rest):
        return f"{_kubernetes_group(domain)}/{rest}"
    for prefix, replacement in _prefixes():
        if identifier.startswith(prefix):
            return replacement + identifier[len(prefix) :]
    if slash and domain.endswith(f".{_API}"):
        return f"{_kubernetes_label_domain(domain)}/{rest}"
    return _components(_GROUP.sub(lambda match: _kubernetes_group(match[0]), identifier))


# The identifiers of the code and its data are a few thousand. When a store is rewritten, the names and keys of its
# objects come here too: clients choose those, so long ones are not cached.
_CACHED_CHARACTERS = 128
_kubernetes = lru_cache(maxsize=8192)(_to_kubernetes)
_neutral = lru_cache(maxsize=8192)(_to_neutral)


def _components(text: str) -> str:
    return _COMPONENT.sub(lambda match: match[0].replace("orch", "kube"), text)


def _kubernetes_label_domain(domain: str) -> str:
    if domain in _api_label_domains():
        return _kubernetes_group(domain)
    return _components(_moved(domain, _API, _LABELS_KUBERNETES))


def _kubernetes_group(group: str) -> str:
    exact = _exact().get(group) if "." in group else None
    return exact if exact is not None else _moved(group, _API, _API_KUBERNETES)
