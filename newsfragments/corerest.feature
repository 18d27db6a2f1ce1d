Namespaces, secrets, config maps, service accounts, limit ranges, quotas, persistent volumes, claims, nodes and events are checked and completed as release 1.24 does.
