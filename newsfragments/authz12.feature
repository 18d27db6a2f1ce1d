Large roles and bindings count from the moment their writer is answered, without holding up anybody else; aggregated ClusterRoles are kept by server-side apply, as `clusterrole-aggregation-controller`.
A webhook authorizer or authenticator that refuses connections is a refusal at once, not after four seconds.
