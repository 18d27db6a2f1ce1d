"""`orchtw completion` and `orchtw man`: shell completion and man pages of all commands, from the texts of `--help`.

`description` is the model of a command line, `programs` fills it in for every installed command; `bash`, `zsh`,
`fish` and `manual` render it.
"""

from typing import Final

COMMANDS: Final = ("completion", "man")
"""First arguments of the server's program that are not flags."""
