Both vocabularies understand both names of the Protobuf media type, so that `kubectl create` works under either; who asks for a group by its other name is told how to start the server for it.
