"""A stand-in for the version of Mesa-LLM that is to come, as far as memories meet it.

Written from what its public discussions say of its behaviour; nothing of it is theirs.
It runs on Mesa 3.5 and on Mesa 4.
"""

__version__ = "0.4.0.dev0"
