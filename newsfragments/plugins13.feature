Admission plugins NodeRestriction, OwnerReferencesPermissionEnforcement, RuntimeClass (on by default), PodNodeSelector,
PodTolerationRestriction, EventRateLimit, ImagePolicyWebhook, NamespaceExists and NamespaceAutoProvision, with their
configurations in the file of `--admission-control-config-file`.
