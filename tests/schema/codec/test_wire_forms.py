"""Messages of single values in Protobuf (reference ENC-19)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.schema.codec.wire_forms import (
    duration_message,
    int_or_string_message,
    micro_time_message,
    quantity_message,
    read_duration,
    read_int_or_string,
    read_micro_time,
    read_quantity,
    read_time,
    time_message,
)


class WireFormTests(SynchronousTestCase):
    """Values whose message differs from their JSON."""

    def test_round_trips(self) -> None:
        """Values in canonical form come back as they were."""
        self.assertEqual(read_time(time_message("2024-01-02T03:04:05Z")), "2024-01-02T03:04:05Z")
        micro = "2024-01-02T03:04:05.000006Z"
        self.assertEqual(read_micro_time(micro_time_message(micro)), micro)
        self.assertEqual(read_duration(duration_message("1m30s")), "1m30s")
        self.assertEqual(read_quantity(quantity_message("100Mi")), "100Mi")
        for value in (8080, "http", -1, ""):
            self.assertEqual(read_int_or_string(int_or_string_message(value)), value)

    def test_no_time(self) -> None:
        """A time that is not set is an empty message."""
        self.assertEqual((time_message(None), read_time(b"")), (b"", None))
