"""TLS transports: OpenSSL directly on the accepted, non-blocking socket.

Twisted's own TLS moves every byte through two memory buffers and three Python layers. Here `write` hands
the caller's bytes to OpenSSL, which encrypts into one record buffer and sends: about half the CPU a write
(13 to 16 µs instead of 32 for 6 KiB to each of 1,000 connections), and less memory for an idle connection.
"""

# mypy: allow-untyped-calls
# Twisted's transports, which these extend, are not annotated.

from __future__ import annotations

import socket
from collections.abc import Iterable
from typing import Any

from OpenSSL import SSL
from twisted.internet import main, tcp
from twisted.internet.address import IPv6Address
from twisted.internet.interfaces import IDelayedCall, IHalfCloseableProtocol
from twisted.python.failure import Failure

from orchtw.request import Peer
from orchtw.serving.socket_options import tune

# One TLS record carries at most this much; a read never returns more.
RECORD_BYTES = 16384
# A read event takes at most this many full records before other connections get their turn.
READ_RECORDS = 4
# A producer is paused above this, as Twisted's own transports do.
BUFFER_BYTES = 65536
# A write event sends at most this before other connections get their turn (about 1 ms of encryption).
TURN_BYTES = 1 << 20
# How long a closing connection waits for its peer to close; without it, data in flight could reset the answer.
LINGER_S = 2.0
# What nothing is ever put into: what a connection keeps it keeps in a list of its own.
_NOTHING: list[bytes | memoryview] = []

_PLAIN_HTTP = b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"


class TLSServer(tcp.Server):
    """Accepted TLS connection.

    A peer may end its own side, by TLS or by TCP, and still take what is written: the protocol is told by
    `readConnectionLost` and closes when it has answered.

    `write` sends at once when nothing waits, and keeps bytes that the socket does not accept: references to the
    caller's, not copies. `unsent` counts the kept bytes. `waiting`: the peer has to read before more can be sent;
    `progress` counts how often it did, so that a sweep can find peers that read nothing.
    """

    server: Any  # a TLSPort
    client: Any
    protocol: Any
    producer: Any
    reactor: Any
    # All that a connection has is in slots, and what all have alike on the class: idle connections are many.
    __slots__ = (
        *("_closing", "_linger", "_offset", "_peer", "_pieces", "_read_ended", "client", "connected", "disconnected"),
        *("disconnecting", "fileno", "handshaken", "producer", "producerPaused", "progress", "protocol", "reactor"),
        *("server", "socket", "streamingProducer", "tls", "unsent"),
    )
    logstr = repstr = "TLSServer"

    def __init__(
        self,
        sock: socket.socket,
        protocol: Any,
        client: tuple[Any, ...],
        server: Any,
        sessionno: int,
        reactor: Any,
    ) -> None:
        # Not Twisted's constructor, which makes every connection buffers and names of its own.
        self.tls = SSL.Connection(server.tls.context, sock)
        self.tls.set_accept_state()
        sock.setblocking(False)
        self.socket = sock
        self.fileno = sock.fileno
        self.protocol = protocol
        self.client = client
        if len(client) != 2:
            self._addressType = IPv6Address
        self.server = server
        self.reactor = reactor
        self.producer = None
        self.streamingProducer = self.producerPaused = False
        self.handshaken = self.disconnecting = self._closing = self._read_ended = False
        self.unsent = self.progress = self._offset = self.disconnected = 0
        self.connected = 1
        self._linger: IDelayedCall | None = None
        self._peer: Peer | None = None
        self._pieces: list[bytes | memoryview] = _NOTHING
        tune(sock, server.stall_s)
        server.transports.add(self)
        self.startReading()

    # Values

    def peer(self) -> Peer:
        """Return address and certificate of the client; complete once the handshake is."""
        if self._peer is None:
            certificate, verified = self.server.tls.identity_of(self.tls)
            self._peer = Peer(
                address=self.client[0], port=self.client[1], certificate=certificate, verified=verified
            )
        return self._peer

    def speaks(self) -> bytes:
        """Return the protocol negotiated in the handshake; empty: the client has not asked for one."""
        return bytes(self.tls.get_alpn_proto_negotiated())

    @property
    def waiting(self) -> bool:
        """Report whether bytes, or a pull producer that has more, wait for the socket to take data again."""
        return self.unsent > 0 or (self.producer is not None and not self.streamingProducer)

    # Reading

    def doRead(self) -> Any:
        """Read one burst of plain text for the protocol: the socket is readable."""
        if self._closing:
            return self._discard()
        if not self.handshaken:
            return self._handshake()
        received = []
        ended = False
        try:
            for _ in range(READ_RECORDS):
                data = self.tls.recv(RECORD_BYTES)
                received.append(data)
                if len(data) < RECORD_BYTES:
                    break
        except (SSL.WantReadError, SSL.WantWriteError):
            pass
        except SSL.ZeroReturnError:
            ended = True
        except SSL.Error:
            if not received:
                return main.CONNECTION_LOST
        if received:
            self.protocol.dataReceived(received[0] if len(received) == 1 else b"".join(received))
        if ended and self.connected and not self._closing:
            # The socket stays readable from now on: nothing more is read.
            self._read_ended = True
            self.stopReading()
            return self._tell_read_ended()
        return None

    def _tell_read_ended(self) -> Any:
        # What an upgraded connection speaks need not know half-closed ones.
        if not IHalfCloseableProtocol.providedBy(self.protocol):
            return main.CONNECTION_DONE
        self.protocol.readConnectionLost()
        return None

    def _handshake(self) -> Any:
        try:
            self.tls.do_handshake()
        except SSL.WantReadError:
            self.stopWriting()
            return None
        except SSL.WantWriteError:
            self.startWriting()
            return None
        except SSL.Error as problem:
            return self._refuse(problem)
        self.handshaken = True
        self.tls._alpn_select_callback_args = None  # OpenSSL has a copy of the name by now
        if self._pieces:
            self.startWriting()
        else:
            self.stopWriting()
        self.protocol.handshakeCompleted()
        return None

    def _refuse(self, problem: SSL.Error) -> Any:
        self.server.failed_handshakes += 1
        # The reference server's answer to plain HTTP, in plain HTTP, word for word.
        if any("http request" in str(part) for part in problem.args):
            try:
                self.socket.send(_PLAIN_HTTP)
            except OSError:
                return main.CONNECTION_LOST
            self.disconnecting = True
            self.stopWriting()
            self._end_sending()
            return None
        return main.CONNECTION_LOST

    def _discard(self) -> Any:
        # Closing: what still comes is not worth decrypting.
        try:
            return None if self.socket.recv(BUFFER_BYTES) else main.CONNECTION_DONE
        except BlockingIOError:
            return None
        except OSError:
            return main.CONNECTION_LOST

    # Writing

    def write(self, data: bytes | memoryview) -> None:
        """Send `data`, at once as far as the socket takes it; may pause a push producer before it returns.

        A view is kept as such: what waits is shared bytes and a position.
        """
        if self._pieces or not self.handshaken:
            self._keep(data, 0)
            return
        if self.disconnecting or not self.connected or not data:
            return
        sent, size = 0, len(data)
        try:
            sent = self.tls.send(data)
            while sent < size:
                sent += self.tls.send(memoryview(data)[sent:])
        except (SSL.WantWriteError, SSL.WantReadError):
            self._keep(data, sent)
        except SSL.Error:
            self.abortConnection()
        else:
            if self.producer is not None and not self.streamingProducer:
                self.startWriting()

    def writeSequence(self, iovec: Iterable[bytes]) -> None:
        """Send the joined pieces."""
        self.write(b"".join(iovec))

    def _keep(self, data: bytes | memoryview, offset: int) -> None:
        if self.disconnecting or not self.connected or not data:
            return
        if not self._pieces:
            self._offset = offset
            self._pieces = []
        self._pieces.append(data)
        self.unsent += len(data) - offset
        self.startWriting()
        if self.unsent > BUFFER_BYTES and self.streamingProducer and self.producer is not None:
            if not self.producerPaused:
                self.producerPaused = True
                self.producer.pauseProducing()

    def doWrite(self) -> Any:
        """Send the kept bytes, then let the producer make more: the socket is writable."""
        if not self.handshaken:
            return self._handshake()
        self.progress += 1
        if self._pieces:
            try:
                self._flush()
            except (SSL.WantWriteError, SSL.WantReadError):
                pass
            except SSL.Error:
                return main.CONNECTION_LOST
            if self._pieces:
                return None
        self._drained()
        return None

    def _flush(self) -> None:
        pieces, budget = self._pieces, TURN_BYTES
        while pieces and budget > 0:
            first = pieces[0]
            if len(pieces) > 1 and len(first) - self._offset < RECORD_BYTES:
                first = self._join_small()
            sent = self.tls.send(memoryview(first)[self._offset :])
            self._offset += sent
            self.unsent -= sent
            budget -= sent
            if self._offset == len(first):
                del pieces[0]
                self._offset = 0

    def _join_small(self) -> bytes:
        # A retried write must start with the bytes of the first try and be no shorter: appending is safe.
        total, count = -self._offset, 0
        for piece in self._pieces:
            total += len(piece)
            count += 1
            if total >= BUFFER_BYTES:
                break
        joined = b"".join([memoryview(self._pieces[0])[self._offset :], *self._pieces[1:count]])
        self._pieces[:count] = [joined]
        self._offset = 0
        return joined

    def _drained(self) -> None:
        producer = self.producer
        if producer is not None and (self.producerPaused or not self.streamingProducer):
            self.producerPaused = False
            producer.resumeProducing()
        if self._pieces or not self.connected:
            return
        if self.producer is None or self.streamingProducer:
            self.stopWriting()
        if self.disconnecting and self.producer is None and not self._closing:
            self._close()

    # Producers

    def registerProducer(self, producer: Any, streaming: bool) -> None:
        """Register a producer, as Twisted's transports do; a pull producer is first asked when nothing is unsent."""
        if self.producer is not None:
            raise RuntimeError("a producer is already registered")
        if not self.connected or self.disconnecting:
            producer.stopProducing()
            return
        self.producer = producer
        self.streamingProducer = streaming
        self.producerPaused = False
        if streaming:
            if self.unsent > BUFFER_BYTES:
                self.producerPaused = True
                producer.pauseProducing()
        elif self._pieces or not self.handshaken:
            self.startWriting()
        else:
            producer.resumeProducing()

    def unregisterProducer(self) -> None:
        """Forget the producer, which is done; a connection that only waited for it closes."""
        self.producer = None
        self.producerPaused = False
        if self.connected and not self._pieces:
            self.stopWriting()
            if self.disconnecting and not self._closing:
                self._close()

    def be_patient(self) -> None:
        """Let the peer take nothing for as long as it likes; by default the system ends such connections too."""
        try:
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 0)
        except OSError:
            pass  # the peer is gone: the first read will say so

    # Closing

    def loseConnection(self, *_reason: Any) -> None:
        """Send what is kept, then TLS' close, then wait up to LINGER_S for the peer's."""
        if self.connected and not self.disconnecting:
            self.disconnecting = True
            if not self._pieces and self.producer is None:
                self._close()

    def _close(self) -> None:
        if not self.handshaken:
            self._closing = True
            self.abortConnection()
            return
        try:
            self.tls.shutdown()
        except SSL.Error:
            pass
        self._end_sending()

    def _end_sending(self) -> None:
        # Closed at once, the socket would answer what it has not read with a reset, which overtakes what was sent.
        self._closing = True
        try:
            self.socket.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        self._linger = self.reactor.callLater(LINGER_S, self.abortConnection)
        self.startReading()

    def resumeProducing(self) -> None:
        """Resume reading from the socket."""
        if self.connected and not self.disconnecting and not self._read_ended:
            self.startReading()

    def readConnectionLost(self, reason: Failure) -> None:
        """Handle the reactor's CONNECTION_DONE. Protocols learn from `doRead` alone that a peer sends no more."""
        self.connectionLost(reason)

    def connectionLost(self, reason: Failure) -> None:
        """Notify the protocol once and release every buffer: the socket is gone, or given up."""
        if self._linger is not None and self._linger.active():
            self._linger.cancel()
        self._linger = None
        self._pieces = _NOTHING
        self.unsent = 0
        server = self.server
        super().connectionLost(reason)
        server.forget(self)
