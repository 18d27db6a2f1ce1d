With `--join-secret-file` a second server on etcd with an empty data folder takes the cluster's keys from the store, where they are sealed with the secret.
