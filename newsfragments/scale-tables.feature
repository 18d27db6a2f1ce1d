`kubectl get --subresource=scale` shows Desired and Available, `/version` under Kubernetes' names is filled as release 1.24 fills it, and a 405 of a sub-resource says what is missing.
