"""How often Python looks for garbage while a run is recorded.

Its collector starts whenever some hundred more objects were made than freed. Records
that wait for the writer look like that: it would go through them again and again, and
find nothing. Reference counts free nearly everything here without it.
"""

import gc

#: so many more objects than before are looked through, in about 10 ms
AT_ONCE = 100_000

_before: list[tuple[int, int, int]] = []


def look_less() -> None:
    """Until ``look_as_before``; a collector that is off or rarer yet stays so."""
    first, second, third = gc.get_threshold()
    if 0 < first < AT_ONCE and not _before:
        _before.append((first, second, third))
        gc.set_threshold(AT_ONCE, second, third)


def look_as_before() -> None:
    """Takes back ``look_less``, unless somebody else has changed it since."""
    if _before:
        before = _before.pop()
        if gc.get_threshold()[0] == AT_ONCE:
            gc.set_threshold(*before)
