`orchtw completion bash` (or `zsh`, `fish`) prints a script that completes all commands, their flags and the flags' values; `orchtw man DIR` writes their man pages.
