"""The one door to the packages around this one: what of them is private, or moves.

One file for each package. A name that is gone raises ``HostChanged``, which says what to
do; nothing here falls silent.
"""
