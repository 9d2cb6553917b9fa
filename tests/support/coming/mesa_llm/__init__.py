"""A stand-in for the version of Mesa-LLM that is to come, as far as memories meet it.

Its names are those of the public source of August 2026, which still calls itself 0.3.2;
nothing of it is theirs. ``MESA_LLM_NEXT`` may name a checkout to be tested as well.
It runs on Mesa 3.5 and on Mesa 4.
"""

__version__ = "0.4.0.dev0"
