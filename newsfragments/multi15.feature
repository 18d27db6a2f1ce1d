Several servers on one etcd cluster are one API, whose watches outlast a rolling restart; `--endpoint-reconciler-type` and `--apiserver-count` say whom the endpoints of Service `orch` name.
