Compressed lists and the indexes of selectors count in `--watch-cache-bytes` too, and are in `orchtw_cache_held_bytes` by `what`, which takes the place of `orchtw_compressed_bytes`.
