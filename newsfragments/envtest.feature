`orch-envtest-assets DIR` writes drop-ins for the `kube-apiserver` and `etcd` of controller-runtime's envtest, in which namespaces are deleted and garbage is collected.
