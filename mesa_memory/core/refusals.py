"""Tells a model's refusal from what an agent may remember in the first person.

"I'm sorry, but I can't help with that request" is a refusal, "I'm sorry that I could
not help Agent 4" is a memory. A refusal says that it cannot do, and then names nothing
but the request itself.
"""

import re

#: a refusal stands at the beginning; this much is looked at
LOOKED_AT = 400

_SORRY = (
    r"(?:i am (?:\w+ )?sorry|(?:my )?apologies|sorry|i apologi[sz]e|unfortunately|no)"
)
_AN_AI = r"as an? (?:ai|(?:large )?language model)(?: (?:language )?model| assistant)?"
_UNABLE = (
    r"i (?:can'?t|can ?not|could ?n'?t|could not|won'?t|will not"
    r"|am (?:unable|not (?:able|allowed|permitted|comfortable|going))"
    r"|(?:must|have to)(?= (?:\w+ly )?(?:decline|refuse)\b))\b"
)
#: the first word of all of them
_FIRST = re.compile(r"\W*(?:i|my|apologies|sorry|unfortunately|no|as)\b")
_INABILITY = re.compile(
    rf"\W*(?:{_SORRY}\W+(?:but\W+|however\W+)?)?(?:{_AN_AI}\W+)?{_UNABLE}(?P<rest>.*)"
)
_NO_PERSON = re.compile(
    rf"\W*(?:{_SORRY}\W+(?:but\W+)?)?{_AN_AI}\W+i (?:can|do|am|have|must|will|won)"
    r"(?:not|n'?t|'t| not| no| unable)\b"
)
_ONLY_SORRY = re.compile(rf"\W*{_SORRY}\W*")
_THE_REQUEST = re.compile(r"\b(?:this|that|your|such an?) (?:\w+ )?requests?\b")
#: where what is said about the request ends
_CLAUSE = re.compile(r"[.!?;:…—–]|,? (?:as|because|since|due|at this time)\b")
#: words that, where no others stand, can only mean the request
_WORDS = """a able activities an and answer anyone anything assist assistance assisting be
by carry comply complying content contents continue continuing conversation create
creating decline discuss discussion do doing engage engaging event events for from fulfil
fulfill further generate generating give grade grades grading help helping impression
impressions in information instruction instructions it kind like material memories memory
of offer on or out participate politely process produce prompt provide providing rate
rating ratings refuse request requests respectfully respond response so sort summaries
summarise summarising summarization summarize summarizing summary support task text that
the these this those to topic topics type with write writing you your"""
_GENERIC = frozenset(_WORDS.split())


def refuses(text: str) -> bool:
    """True if ``text`` is a refusal of the request, not an answer to it."""
    start = text[:LOOKED_AT].lower()
    if not _FIRST.match(start):  # as nearly always
        return False
    start = " ".join(start.replace("’", "'").split())
    start = start.replace("i'm", "i am")
    if _ONLY_SORRY.fullmatch(start) or _NO_PERSON.match(start):
        return True
    unable = _INABILITY.match(start)
    if not unable:
        return False
    said = _CLAUSE.split(unable["rest"], maxsplit=1)[0]
    words = re.findall(r"[^\W_]+", said)
    return _GENERIC.issuperset(words) or bool(_THE_REQUEST.search(said))
