"""How often Python looks for garbage while a run is recorded.

Its collector starts whenever some hundred more objects were made than freed. Records
that wait for the writer look like that: it would go through them again and again, and
find nothing. Reference counts free nearly everything here without it.
"""

import gc

#: number of new objects after which garbage is collected; it takes about 10 ms
COLLECT_EVERY = 100_000

_before: list[tuple[int, int, int]] = []


def look_less() -> None:
    """Until ``look_as_before``; a collector that is off or rarer yet stays so."""
    first, second, third = gc.get_threshold()
    if 0 < first < COLLECT_EVERY and not _before:
        _before.append((first, second, third))
        gc.set_threshold(COLLECT_EVERY, second, third)


def look_as_before() -> None:
    """Takes back ``look_less``, unless somebody else has changed it since."""
    if _before:
        before = _before.pop()
        if gc.get_threshold()[0] == COLLECT_EVERY:
            gc.set_threshold(*before)
