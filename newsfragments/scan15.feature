Workers, and servers on etcd, read large stores at their start several times as fast: pages are read ahead, and no longer have all that follows counted.
