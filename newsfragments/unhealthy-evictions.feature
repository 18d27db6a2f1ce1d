Evictions obey `unhealthyPodEvictionPolicy: AlwaysAllow` of a PodDisruptionBudget: pods that are not ready can be evicted whatever the budget allows.
