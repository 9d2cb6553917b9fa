"""Recognition: how well old is told from new, apart from a bias to say yes."""

from statistics import NormalDist


def d_prime(hits: int, old: int, false_alarms: int, new: int) -> float:
    """D' of signal detection, with the log-linear correction (Hautus 1995).

    Args:
        hits: old items that were called old, 0 to ``old``.
        old, new: numbers of items.
        false_alarms: new items that were called old, 0 to ``new``.

    Returns:
        z(hit rate) - z(false alarm rate); 0 for answers by chance.
    """
    z = NormalDist().inv_cdf
    return z((hits + 0.5) / (old + 1)) - z((false_alarms + 0.5) / (new + 1))
