"""One store for several processes of a machine: its owner's side, `Hub`, and a worker's, `RemoteStore`.

They speak frames over a stream socket (`frames.py`, `messages.py`). A write is told to every process before anybody
is told that it has happened (`hub.py`), so what a worker keeps is read without asking the owner. No processes are
started here: `orchtw.workers` does that.
"""
