On a terminal, `orch-store` and the rewrite of a store at start show the progress of work that takes over a second, with the rate and, where the total is known, the time left.
