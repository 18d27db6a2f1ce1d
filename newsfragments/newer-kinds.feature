IPAddresses, ServiceCIDRs, VolumeAttributesClasses, the kinds of `resource.orch.io` and flow control v1 are served; newer beta versions can be switched on by `--runtime-config`.
