"""Dialogues and crowds: neighbouring records of one step, by their speakers.

In a dialogue of two, turns lean on each other, and a name is mostly a word of address.
In a crowd, what stands beside a remark is by chance, and who is named is spoken of.
"""

from typing import NamedTuple

import numpy as np

#: no speaker has a number as high as this
NO_SPEAKER = np.iinfo(np.int32).max


class DialogueContext(NamedTuple):
    """Records in order of arrival, as runs of the ones that have the same place.

    Attributes:
        run: for each record, the number of its run, shape (n,), ascending.
        crowd: for each run, whether more than two speak in it.
        joined: for each record but the first, 1 if it belongs to the one before: both
            are in one run that is not a crowd; else 0. Shape (n - 1,), float32; None if
            none does.
    """

    run: np.ndarray
    crowd: np.ndarray
    joined: np.ndarray | None

    @classmethod
    def of(cls, places: np.ndarray, who: np.ndarray) -> "DialogueContext":
        """From the place and the speaker's number of each record; 0 stands for none."""
        first = np.ones(len(places), dtype=bool)
        np.not_equal(places[1:], places[:-1], out=first[1:])
        starts, run = first.nonzero()[0], first.cumsum() - 1
        high = np.maximum.reduceat(who, starts)
        low = np.minimum.reduceat(np.where(who > 0, who, NO_SPEAKER), starts)
        # More than two speak if somebody's number lies between two others.
        between = (who > low[run]) & (who < high[run])
        crowd = np.logical_or.reduceat(between, starts)
        joined = ~(first | crowd[run])[1:]
        return cls(run, crowd, joined.astype(np.float32) if joined.any() else None)

    def named(self, speaks: np.ndarray, mentions: np.ndarray) -> np.ndarray:
        """Positions of the records by or about a speaker whom the query names.

        Args:
            speaks, mentions: for each record, whether it is theirs, and whether their
                name is in it. In a dialogue of theirs it is an address and does not
                count.

        Returns:
            Positions, ascending.
        """
        theirs = np.zeros(len(self.crowd), dtype=bool)
        theirs[self.run[speaks]] = True
        addressed = (theirs & ~self.crowd)[self.run]
        return (speaks | (mentions & ~addressed)).nonzero()[0]
