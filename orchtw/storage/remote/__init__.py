"""One store for several processes of a machine: its owner's side, `Hub`, and a worker's, `RemoteStore`.

They speak frames over a stream socket (`frames.py`, `messages.py`). Every process receives a write before it is
acknowledged to anyone (`hub.py`), so a worker reads its own copy without asking the owner. No processes are started
here: `orchtw.workers` does that.
"""
