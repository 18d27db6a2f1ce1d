"""The built-in admission plugins, one per file, and the registry of their names as the flags spell them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from orchtw.admission.chain import Plugin
from orchtw.admission.host import Host
from orchtw.admission.plugins.certificate_approval import CertificateApproval
from orchtw.admission.plugins.certificate_signing import CertificateSigning
from orchtw.admission.plugins.certificate_subject_restriction import CertificateSubjectRestriction
from orchtw.admission.plugins.default_ingress_class import DefaultIngressClass
from orchtw.admission.plugins.namespace_lifecycle import NamespaceLifecycle
from orchtw.admission.plugins.priority import Priority
from orchtw.admission.plugins.service_account import ServiceAccountPlugin
from orchtw.config import Config

PLUGINS: Mapping[str, Callable[[Host, Config], Plugin]] = {
    "NamespaceLifecycle": lambda host, config: NamespaceLifecycle.of(host),
    "CertificateApproval": lambda host, config: CertificateApproval.of(host),
    "CertificateSigning": lambda host, config: CertificateSigning.of(host),
    "CertificateSubjectRestriction": lambda host, config: CertificateSubjectRestriction.of(host),
    "DefaultIngressClass": lambda host, config: DefaultIngressClass.of(host),
    "Priority": lambda host, config: Priority.of(host),
    "ServiceAccount": lambda host, config: ServiceAccountPlugin.of(host),
}
"""What `--enable-admission-plugins` can name; they run in the order of `selection.ORDER`."""
