"""The built-in admission plugins, one per file, and the registry of their names as the flags spell them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from orchtw.admission.chain import Plugin
from orchtw.admission.configuration import Given
from orchtw.admission.host import Host
from orchtw.admission.plugins.certificate_approval import CertificateApproval
from orchtw.admission.plugins.certificate_signing import CertificateSigning
from orchtw.admission.plugins.certificate_subject_restriction import CertificateSubjectRestriction
from orchtw.admission.plugins.default_ingress_class import DefaultIngressClass
from orchtw.admission.plugins.mutating_webhook import MutatingWebhook
from orchtw.admission.plugins.namespace_lifecycle import NamespaceLifecycle
from orchtw.admission.plugins.priority import Priority
from orchtw.admission.plugins.service_account import ServiceAccountPlugin
from orchtw.admission.plugins.validating_webhook import ValidatingWebhook
from orchtw.config import Config

PLUGINS: Mapping[str, Callable[[Host, Config, Given | None], Plugin]] = {
    "NamespaceLifecycle": lambda host, config, given: NamespaceLifecycle.of(host),
    "CertificateApproval": lambda host, config, given: CertificateApproval.of(host),
    "CertificateSigning": lambda host, config, given: CertificateSigning.of(host),
    "CertificateSubjectRestriction": lambda host, config, given: CertificateSubjectRestriction.of(host),
    "DefaultIngressClass": lambda host, config, given: DefaultIngressClass.of(host),
    "Priority": lambda host, config, given: Priority.of(host),
    "ServiceAccount": lambda host, config, given: ServiceAccountPlugin.of(host),
    "MutatingAdmissionWebhook": lambda host, config, given: MutatingWebhook(host, given),
    "ValidatingAdmissionWebhook": lambda host, config, given: ValidatingWebhook(host, given),
}
"""What `--enable-admission-plugins` can name; they run in the order of `selection.ORDER`.

A factory is given the plugin's own configuration, if there is one, and raises ConfigError for what is wrong in it.
"""
