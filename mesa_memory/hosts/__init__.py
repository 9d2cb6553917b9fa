"""The one door to the packages around this one, for names that are private or move.

One file for each package. A name that is gone raises ``HostChanged``, which says what to
do; nothing here falls silent.
"""
