With the gate `ShardedListAndWatch`, `shardSelector` lets each replica of a controller list and watch its part of the objects.
