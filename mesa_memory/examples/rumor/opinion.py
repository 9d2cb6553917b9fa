"""The knowledge, belief and news of a person with a certain memory."""

from dataclasses import dataclass

from mesa_memory.examples.rumor.hearsay import CORRECTION, RUMOUR, Mention, mentions


@dataclass(frozen=True)
class Opinion:
    """Drawn from a memory's text alone.

    Attributes:
        me: the owner of the memory; its own words do not count as evidence.
        mentions: all that the memory says about the well.
    """

    me: str
    mentions: tuple[Mention, ...] = ()

    @classmethod
    def of(cls, memory: str, me: object) -> "Opinion":
        """The opinion of the agent ``me`` whose memory reads so."""
        return cls(str(me), tuple(mentions(memory)))

    def knows(self, what: str) -> bool:
        """True if the memory mentions it at all."""
        return any(mention.what == what for mention in self.mentions)

    def tellers(self, what: str) -> int:
        """The number of others who told it, as far as remembered."""
        told = [m.tellers for m in self.mentions if m.what == what]
        return len(frozenset().union(*told) - {self.me, "You"})

    @property
    def belief(self) -> str | None:
        """The story that more people have told; the correction if as many told both."""
        known = [what for what in (CORRECTION, RUMOUR) if self.knows(what)]
        return max(known, key=self.tellers, default=None)

    def news(self, today: int) -> Mention | None:
        """The newest news by its own day, believed or not."""
        dated = [m for m in self.mentions if m.day is not None and m.day <= today]
        return max(dated, key=lambda m: m.day or 0, default=None)
