With the gate `OrderedNamespaceDeletion`, the pods of a deleted namespace go before everything else in it.
