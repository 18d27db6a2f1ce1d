The gates `HPAScaleToZero` (autoscalers may have a minimum of 0), `ConsistentListFromCache`, `CBORServingAndStorage` and `MultiCIDRServiceAllocator` are known to `--feature-gates`.
