"""The lines of several sections that fit into a prompt, in tokens.

Each section has a share. What it does not need goes to the others. Within a section the
lowest rank goes first, of equal ranks the oldest. A record that two sections hold is
shown in one of them.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

#: rank of what is left out last, before any share is given
PERMANENT = math.inf


class Item(NamedTuple):
    """One line of a section.

    Attributes:
        size: tokens, 0 or more.
        rank: the lowest goes first; ``PERMANENT`` only if the whole budget is too small.
        keys: ids of the records that it tells of.
        group: what it stands under, such as a step; None stands alone.
    """

    size: int
    rank: float = 0.0
    keys: tuple[str, ...] = ()
    group: Hashable = None


@dataclass(frozen=True)
class Share:
    """A section's lines, and its part of the budget.

    Attributes:
        items: in the order in which they are shown, oldest first.
        weight: its part of the budget is this over the sum of all; above 0.
        frame: tokens of its heading and of the note on omitted lines.
        group_size: tokens of a group's heading.
    """

    items: Sequence[Item]
    weight: float = 1.0
    frame: int = 0
    group_size: int = 0


@dataclass(frozen=True)
class Fitted:
    """The lines of a section that are shown, as places among its items.

    Attributes:
        shown: in order.
        left_out: in order; without lines shown in another section.
        cut: the place of a line that is too long, and the tokens that there are for it.
        tokens: how many it takes, its frame included.
    """

    shown: tuple[int, ...] = ()
    left_out: tuple[int, ...] = ()
    cut: tuple[int, int] | None = None
    tokens: int = 0


def fit(shares: Sequence[Share], total: int) -> list[Fitted]:
    """The lines of each section that are shown, at most ``total`` tokens together.

    Args:
        shares: the first shows a record that others hold, too.
    """
    if whole := _whole(shares, total):
        return whole
    shown: set[str] = set()
    fillings = [_Filling(share, shown) for share in shares if share.items]
    room = total
    for filling in sorted(fillings, key=lambda filling: -filling.share.weight):
        filling.open = 0 <= filling.share.frame <= room
        room -= filling.share.frame * filling.open
    opened = [filling for filling in fillings if filling.open]
    for filling in opened:
        filling.credit = room
        filling.take(permanent=True)
        room, filling.credit = int(filling.credit), 0.0
    _give_out(opened, room)
    found = iter(fillings)
    return [next(found).result() if share.items else Fitted() for share in shares]


def _whole(shares: Sequence[Share], total: int) -> list[Fitted] | None:
    """All lines, as in most prompts; None if they do not fit or some tell the same."""
    keys = [key for share in shares for item in share.items for key in item.keys]
    if len(set(keys)) < len(keys):
        return None
    fitted = []
    for share in shares:
        sizes = [item.size for item in share.items]
        groups = {item.group for item in share.items} - {None}
        tokens = sum(sizes) + share.frame + share.group_size * len(groups)
        fitted.append(Fitted(tuple(range(len(sizes))), tokens=tokens if sizes else 0))
    return fitted if sum([each.tokens for each in fitted]) <= total else None


def _give_out(fillings: Sequence["_Filling"], room: float) -> None:
    """Gives each section its share, and the unused part to the others."""
    hungry = [filling for filling in fillings if filling.hungry()]
    while hungry and room > 0:
        weight = sum(filling.share.weight for filling in hungry)
        for filling in hungry:
            filling.credit += room * filling.share.weight / weight
        for filling in hungry:
            filling.take()
        fed = [filling for filling in hungry if not filling.hungry()]
        room = sum(filling.credit for filling in fed)
        for filling in fed:
            filling.credit = 0.0
        hungry = [filling for filling in hungry if filling.hungry()]
    # The next line of each is longer than what it has left: first those that show
    # nothing yet get what the others cannot use.
    spare = room + sum(f.credit for f in hungry if f.taken)
    for filling in sorted(hungry, key=lambda f: (bool(f.taken), -f.share.weight)):
        own = 0.0 if filling.taken else filling.credit
        filling.credit = own + spare
        filling.take()
        if filling.taken:
            spare, filling.credit = filling.credit, 0.0
        else:
            filling.room, spare = int(filling.credit), 0.0


@dataclass
class _Filling:
    """A section while the budget is given out.

    Attributes:
        shown: ids of the records that any section shows already.
        credit: tokens that it may still take.
        room: tokens for a line that is too long, if it shows nothing else.
    """

    share: Share
    shown: set[str]
    credit: float = 0.0
    open: bool = False
    room: int = 0
    taken: set[int] = field(default_factory=set)
    used: int = 0

    def __post_init__(self) -> None:
        items = self.share.items
        places = range(len(items))
        self.groups: set[Hashable] = set()
        self.queue = sorted(places, key=lambda p: (items[p].rank, p))

    def hungry(self) -> bool:
        """True if it has lines that no section shows."""
        while self.queue and self._known(self.queue[-1]):
            self.queue.pop()
        return bool(self.queue)

    def take(self, permanent: bool = False) -> None:
        """Takes lines, the highest rank first, as long as there is credit for them."""
        while self.hungry():
            item = self.share.items[self.queue[-1]]
            cost = item.size
            if item.group is not None and item.group not in self.groups:
                cost += self.share.group_size
            if cost > self.credit or (permanent and item.rank != PERMANENT):
                return
            self.taken.add(self.queue.pop())
            self.groups.add(item.group)
            self.shown.update(item.keys)
            self.credit -= cost
            self.used += cost

    def result(self) -> Fitted:
        """The lines that are shown."""
        if not self.open:
            return Fitted(left_out=self._left_out())
        cut = (self.queue[-1], self.room) if self.room and self.hungry() else None
        tokens = self.used + self.share.frame + (cut[1] if cut else 0)
        return Fitted(tuple(sorted(self.taken)), self._left_out(), cut, tokens)

    def _left_out(self) -> tuple[int, ...]:
        return tuple(sorted(place for place in self.queue if not self._known(place)))

    def _known(self, place: int) -> bool:
        keys = self.share.items[place].keys
        return bool(keys) and self.shown.issuperset(keys)
