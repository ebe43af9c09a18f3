"""What of a source partition is on its way to other partitions than its copy."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain

from flows.source.send.outgoing_batch import BatchOwner
from flows.source.send.send_queue import PartitionSender


@dataclass(slots=True, eq=False)
class RoutedCopies:
    """
    The senders of these copies, which other source partitions may use, too.

    Attributes:
        owners: what learns of the batches in each sender that was ever used.
    """

    owners: dict[PartitionSender, BatchOwner] = field(default_factory=dict)

    @property
    def first_missing(self) -> int | None:
        """The first source offset of which the target does not have all these copies."""
        missing = (
            batch.offsets[0]
            for sender, owner in self.owners.items()
            for batch in chain(sender.flying, sender.queue)
            if batch.owner is owner
        )
        return min(missing, default=None)
