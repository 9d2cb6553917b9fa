"""A rumour, and later its correction, go round a town by word of mouth."""

#: the memories in which the example differs most
MEMORIES = ("short_term", "stlt", "long_term", "episodic", "impression", "none")
#: what ``memory=`` may be, too, besides installed ones and ``module:class``
MORE_MEMORIES = (
    "fact", "conversation", "narrative", "layered", "unimatrix", "story_engine", "session",
    "generative_agent",
)  # fmt: skip
