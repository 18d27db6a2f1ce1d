"""The functions that expressions may call, by subject; each module lists its own."""
