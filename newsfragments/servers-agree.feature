Servers on one etcd compare their keys, ranges and settings: one that does not fit those that were there before is not ready and says in what and from whom it differs, instead of fighting with them.
