"""Drop-ins for the binaries of controller-runtime's envtest: `kube-apiserver`, `etcd`, and the folder they are in.

`etcd` only keeps a folder for the server's store. Both are started through the scripts that `assets` writes.
"""
