"""Is a difference between the arms of a study real? Paired tests on seeds.

All of it works on a DataFrame such as ``study.results().runs``, and needs no store.
"""
