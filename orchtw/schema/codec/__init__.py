"""Objects as JSON, YAML and Protobuf: codecs compiled from schema nodes, and their shared parts."""
