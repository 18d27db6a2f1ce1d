"""`python -m orchtw.workers FD`: a worker, as its owner starts it. Not for anybody else."""

from __future__ import annotations

import socket
import sys

from orchtw.workers.worker import run

if __name__ == "__main__":
    run(socket.socket(fileno=int(sys.argv[1])))
