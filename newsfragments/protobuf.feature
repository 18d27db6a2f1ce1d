Objects, lists and watches are served in Protobuf as well as in JSON, byte for byte as the reference implementation encodes them; bodies may be JSON, YAML or Protobuf.
