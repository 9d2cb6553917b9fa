"""A rumour, and later its correction, go round a town by word of mouth."""

#: what ``memory=`` of the model may be, besides installed ones and ``module:class``
MEMORIES = ("short_term", "stlt", "long_term", "episodic", "impression", "none")
