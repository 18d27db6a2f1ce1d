Objects that lie in a store in any version since 1.16, in Protobuf or JSON, are read, listed, watched and updated.
