`examples/cluster/chart/` is a Helm chart of the servers in a cluster, with an etcd cluster of its own or of yours; `examples/cluster/orchtw.yaml` has the same objects.
