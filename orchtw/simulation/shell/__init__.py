"""A shell of a few commands, which stands for what containers run: pure, its driver waits and reads (SIM-21)."""
