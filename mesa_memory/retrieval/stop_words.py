"""English function words, which do not tell the subject of a text."""

_FUNCTION_WORDS = """
a about above after again all am an and any are as at be because been before being
below between both but by can could did do does doing down during each few for from
further had has have having he her here hers him his how i if in into is it its itself
just me more most my no nor not now of off on once only or other our out over own s
same say says she should so some such t than that the their them then there these they
this those through to too under until up very was we were what when where which while
who whom why will with would you your
"""
STOP_WORDS = frozenset(_FUNCTION_WORDS.split())
