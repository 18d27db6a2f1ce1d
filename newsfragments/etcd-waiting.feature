A start that cannot reach etcd says so in the log at once, and every five seconds until it gives up.
