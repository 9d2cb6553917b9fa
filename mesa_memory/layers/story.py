"""The story so far: what has left the newest steps, in a few sentences."""

from mesa_memory.layers.consolidation import Consolidation, OverTokens
from mesa_memory.layers.summary import RunningSummary
from mesa_memory.layers.window import Window
from mesa_memory.tasks import STORY


class Story(RunningSummary):
    """Merges the oldest entries of a window into a story of fewer than five sentences.

    Once the window has more than ``tokens`` tokens, all but its last ``keep_last``
    entries go into the story. So do the oldest that the section lacks room for.

    Args:
        window: the newest steps, word for word.
        tokens: of the entries that are not in the story.
        keep_last: how many entries stay word for word.
        chars: longest accepted story.
    """

    name = kind = "story"
    heading = "The story so far"
    task = STORY

    def __init__(
        self, window: Window, tokens: int = 1500, keep_last: int = 4, chars: int = 800
    ) -> None:
        policy = OverTokens(tokens, keep_last)
        super().__init__(window, Consolidation(keep_last, None, policy))
        self.summary_chars = chars
