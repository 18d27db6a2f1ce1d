`--vocabulary kubernetes` serves everything under the names that unmodified Kubernetes tools look for; the default, `orch`, is neutral.
