Issued service account tokens have an id, name their pod's node, and may be bound to a node.
