"""Built-in admission plugins, one per module or package, and the registry of their names in flags.

Large ones that are off by default are imported if the flags name them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from orchtw.admission.chain import ChainPlugin
from orchtw.admission.configuration import Given
from orchtw.admission.host import AdmissionHost
from orchtw.admission.plugins.always import AlwaysAdmit, AlwaysDeny
from orchtw.admission.plugins.always_pull_images import AlwaysPullImages
from orchtw.admission.plugins.certificate_approval import CertificateApproval
from orchtw.admission.plugins.certificate_signing import CertificateSigning
from orchtw.admission.plugins.certificate_subject_restriction import CertificateSubjectRestriction
from orchtw.admission.plugins.default_ingress_class import DefaultIngressClass
from orchtw.admission.plugins.default_storage_class import DefaultStorageClass
from orchtw.admission.plugins.default_toleration_seconds import DefaultTolerationSeconds
from orchtw.admission.plugins.deny_exec import DenyExec
from orchtw.admission.plugins.deny_service_external_ips import DenyServiceExternalIPs
from orchtw.admission.plugins.extended_resource_toleration import ExtendedResourceToleration
from orchtw.admission.plugins.limit_pod_hard_anti_affinity_topology import LimitPodHardAntiAffinityTopology
from orchtw.admission.plugins.limit_ranger import LimitRanger
from orchtw.admission.plugins.mutating_webhook import MutatingWebhook
from orchtw.admission.plugins.namespace_auto_provision import NamespaceAutoProvision
from orchtw.admission.plugins.namespace_exists import NamespaceExists
from orchtw.admission.plugins.namespace_lifecycle import NamespaceLifecycle
from orchtw.admission.plugins.owner_references_permission_enforcement import OwnerReferencesPermissionEnforcement
from orchtw.admission.plugins.persistent_volume_claim_resize import PersistentVolumeClaimResize
from orchtw.admission.plugins.persistent_volume_label import PersistentVolumeLabel
from orchtw.admission.plugins.pod_resize_validator import PodResizeValidator
from orchtw.admission.plugins.pod_security.plugin import PodSecurity
from orchtw.admission.plugins.pod_topology_labels import PodTopologyLabels
from orchtw.admission.plugins.priority import Priority
from orchtw.admission.plugins.resource_quota.plugin import ResourceQuota
from orchtw.admission.plugins.runtime_class import RuntimeClassPlugin
from orchtw.admission.plugins.security_context_deny import SecurityContextDeny
from orchtw.admission.plugins.service_account import ServiceAccountPlugin
from orchtw.admission.plugins.storage_object_in_use_protection import StorageObjectInUseProtection
from orchtw.admission.plugins.taint_nodes_by_condition import TaintNodesByCondition
from orchtw.admission.plugins.validating_webhook import ValidatingWebhook
from orchtw.config.admission import AdmissionOptions


def _event_rate_limit(host: AdmissionHost, options: AdmissionOptions, given: Given | None) -> ChainPlugin:
    from orchtw.admission.plugins.event_rate_limit import EventRateLimit

    return EventRateLimit.of(host, given)


def _image_policy(host: AdmissionHost, options: AdmissionOptions, given: Given | None) -> ChainPlugin:
    from orchtw.admission.plugins.image_policy.plugin import ImagePolicyWebhook

    return ImagePolicyWebhook.of(host, given)


def _node_restriction(host: AdmissionHost, options: AdmissionOptions, given: Given | None) -> ChainPlugin:
    from orchtw.admission.plugins.node_restriction.plugin import NodeRestriction

    return NodeRestriction.of(host)


def _pod_node_selector(host: AdmissionHost, options: AdmissionOptions, given: Given | None) -> ChainPlugin:
    from orchtw.admission.plugins.pod_node_selector import PodNodeSelector

    return PodNodeSelector.of(host, given)


def _pod_security_policy(host: AdmissionHost, options: AdmissionOptions, given: Given | None) -> ChainPlugin:
    from orchtw.admission.plugins.pod_security_policy.plugin import PodSecurityPolicy

    return PodSecurityPolicy.of(host)


def _pod_tolerations(host: AdmissionHost, options: AdmissionOptions, given: Given | None) -> ChainPlugin:
    from orchtw.admission.plugins.pod_toleration_restriction import PodTolerationRestriction

    return PodTolerationRestriction.of(host, given)


def _mutating_policy(host: AdmissionHost, options: AdmissionOptions, given: Given | None) -> ChainPlugin:
    from orchtw.admission.plugins.mutating_policy import MutatingPolicy

    return MutatingPolicy(host)


def _validating_policy(host: AdmissionHost, options: AdmissionOptions, given: Given | None) -> ChainPlugin:
    from orchtw.admission.plugins.validating_policy import ValidatingPolicy

    return ValidatingPolicy(host)


PLUGINS: Mapping[str, Callable[[AdmissionHost, AdmissionOptions, Given | None], ChainPlugin]] = {
    "AlwaysAdmit": lambda host, options, given: AlwaysAdmit(),
    "AlwaysDeny": lambda host, options, given: AlwaysDeny(host.naming.api_server_user),
    "AlwaysPullImages": lambda host, options, given: AlwaysPullImages(),
    "CertificateApproval": lambda host, options, given: CertificateApproval.of(host),
    "CertificateSigning": lambda host, options, given: CertificateSigning.of(host),
    "CertificateSubjectRestriction": lambda host, options, given: CertificateSubjectRestriction.of(host),
    "DefaultIngressClass": lambda host, options, given: DefaultIngressClass.of(host),
    "DefaultStorageClass": lambda host, options, given: DefaultStorageClass.of(host),
    "DefaultTolerationSeconds": lambda host, options, given: DefaultTolerationSeconds.of(host, options),
    "DenyEscalatingExec": lambda host, options, given: DenyExec.escalating(host),
    "DenyExecOnPrivileged": lambda host, options, given: DenyExec.privileged(host),
    "DenyServiceExternalIPs": lambda host, options, given: DenyServiceExternalIPs(),
    "PodTopologyLabels": lambda host, options, given: PodTopologyLabels.of(host),
    "PodResizeValidator": lambda host, options, given: PodResizeValidator.of(host),
    "EventRateLimit": _event_rate_limit,
    "ExtendedResourceToleration": lambda host, options, given: ExtendedResourceToleration.of(host),
    "ImagePolicyWebhook": _image_policy,
    "LimitPodHardAntiAffinityTopology": lambda host, options, given: LimitPodHardAntiAffinityTopology.of(host),
    "LimitRanger": lambda host, options, given: LimitRanger.of(host),
    "NamespaceAutoProvision": lambda host, options, given: NamespaceAutoProvision.of(host),
    "NamespaceExists": lambda host, options, given: NamespaceExists.of(host),
    "NamespaceLifecycle": lambda host, options, given: NamespaceLifecycle.of(host),
    "NodeRestriction": _node_restriction,
    "OwnerReferencesPermissionEnforcement": (
        lambda host, options, given: OwnerReferencesPermissionEnforcement.of(host)
    ),
    "PersistentVolumeClaimResize": lambda host, options, given: PersistentVolumeClaimResize.of(host),
    "PersistentVolumeLabel": lambda host, options, given: PersistentVolumeLabel(),
    "PodNodeSelector": _pod_node_selector,
    "PodSecurity": lambda host, options, given: PodSecurity.of(host, given),
    "PodSecurityPolicy": _pod_security_policy,
    "PodTolerationRestriction": _pod_tolerations,
    "Priority": lambda host, options, given: Priority.of(host),
    "ResourceQuota": lambda host, options, given: ResourceQuota.of(host, given),
    "RuntimeClass": lambda host, options, given: RuntimeClassPlugin.of(host),
    "SecurityContextDeny": lambda host, options, given: SecurityContextDeny.of(host),
    "ServiceAccount": lambda host, options, given: ServiceAccountPlugin.of(host),
    "MutatingAdmissionPolicy": _mutating_policy,
    "MutatingAdmissionWebhook": lambda host, options, given: MutatingWebhook(host, given),
    "ValidatingAdmissionPolicy": _validating_policy,
    "ValidatingAdmissionWebhook": lambda host, options, given: ValidatingWebhook(host, given),
    "StorageObjectInUseProtection": lambda host, options, given: StorageObjectInUseProtection.of(host),
    "TaintNodesByCondition": lambda host, options, given: TaintNodesByCondition.of(host),
}
"""Factories of plugins by their names in flags; the plugins run in the order of `selection.ORDER`.

A factory gets the plugin's own configuration, if there is one, and raises ConfigError for errors in it.
"""
