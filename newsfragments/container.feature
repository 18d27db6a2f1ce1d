`examples/container/` has an image of the server, with examples for Compose and CI services, and `examples/cluster/` the manifests that run it in a cluster with etcd.
