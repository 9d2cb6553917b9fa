"""Intrusions: sentences of a memory that state what no event does.

The rule compares names, numbers and negation. A sentence is an intrusion if it has a name
or number that was never heard; if a clause joins names and numbers that no event joins;
or if it denies what events only state, or states what they only deny. It does not see a
false word between right names: "Ada sold Bo 5 fish" for "Ada gave Bo 5 fish".
"""

import re
from collections.abc import Iterable, Sequence

from mesa_memory.runs.claims.clauses import clauses, is_question, sentences
from mesa_memory.runs.claims.mentions import Token, is_name, tokens

#: numbers of steps, of lines and of times
_COUNTED = re.compile(
    r"(?:\w+\s)?(?:step|steps|schritt|étape|paso|passo|ステップ|第)\s*\d+"
    r"(?:\s*(?:-|–|to|bis|à|a)\s*\d+)?|\[\d+\]|^\W*\d+[.)]\s"
    r"|\d+\s*(?:times|mal|fois|veces|vezes|回|次)",
    re.IGNORECASE,
)
#: what begins like a sentence
_PIECE = re.compile(r"[:•\"“”«»„]\s*")
#: the owner, as its own memory calls it
_OWNER_TEXT = "you your i me my du dir dich ich mir tu vous je te yo eu"
_OWNER = frozenset(_OWNER_TEXT.split())


class Heard:
    """The messages of an agent, by the names and numbers that stand together.

    Messages of the same words are one, said by several.

    Args:
        names: of those who speak.
        owner: name of the agent itself, which joins nothing.
        noun_capitals: all nouns have a capital, as in German; then a word that was never
            heard is not taken for a name.

    Attributes:
        said: texts and speakers, oldest first.
    """

    def __init__(
        self, names: Iterable[str] = (), owner: str = "", noun_capitals: bool = False
    ) -> None:
        self.said: list[tuple[str, str]] = []
        self._owner, self._noun_capitals = owner, noun_capitals
        self._known = {name for each in names for name in anchors(each, set())}
        self._places: dict[str, int] = {}
        self._joined: dict[str, set[int]] = {}
        self._stances: list[tuple[set[str], bool]] = []

    def add(self, text: str, speaker: str) -> None:
        """A message that was heard."""
        self.said.append((text, speaker))
        place = self._places.setdefault(text, len(self._places))
        begins = {
            words[0].word
            for each in sentences(text)
            if (words := tokens(each)) and is_name(words, 0)
        }
        said = anchors(text, self._known | begins) + anchors(speaker, self._known)
        for anchor in said:
            self._joined.setdefault(anchor, set()).add(place)
            self._known.add(anchor)
        for sentence in sentences(text):
            for clause in clauses(sentence):
                held = set(anchors(clause.text, self._known))
                self._stances.append((held, clause.denied))

    def judged(self, text: str) -> list[bool]:
        """For each sentence with a name or number, whether it is an intrusion."""
        found = []
        for sentence in sentences(text):
            plain = _COUNTED.sub(" ", sentence.replace(self._owner or "\0", "you"))
            held = anchors(plain, self._known)
            if held and not is_question(sentence):
                found.append(self._invents(plain, held))
        return found

    def _invents(self, sentence: str, held: Sequence[str]) -> bool:
        unknown = [each for each in held if each not in self._joined]
        if self._noun_capitals:
            unknown = [each for each in unknown if each[0].isdigit()]
        if unknown:
            return True
        for clause in clauses(sentence):
            own = set(anchors(clause.text, self._known)) & self._joined.keys()
            scope = own if len(own) > 1 else set(held) & self._joined.keys()
            if len(scope) < 2:
                continue
            if any(not self._meets(each, scope - {each}) for each in own):
                return True
            if len(own) > 1 and self._turned(own, clause.denied):
                return True
        return False

    def _meets(self, anchor: str, others: set[str]) -> bool:
        places = self._joined[anchor]
        return any(not places.isdisjoint(self._joined[other]) for other in others)

    def _turned(self, own: set[str], denied: bool) -> bool:
        """True if all events that join these have the other stance."""
        stances = {stance for held, stance in self._stances if len(held & own) > 1}
        return bool(stances) and denied not in stances


def anchors(text: str, known: Iterable[str]) -> list[str]:
    """The names and numbers of a text, in order, each once.

    Args:
        known: words that are names here also at the beginning of a sentence.
    """
    found = [
        token.number or token.word
        for piece in _PIECE.split(text)
        if (said := tokens(piece))
        for n, token in enumerate(said)
        if token.number or token.word in known or _is_new_name(said, n)
    ]
    return [each for each in dict.fromkeys(found) if each not in _OWNER]


def _is_new_name(said: Sequence[Token], n: int) -> bool:
    """A capital within a sentence; at its beginning only of a name that owns something."""
    possessive = said[1:2] and said[1].word == "s"
    return is_name(said, n) and bool(n or possessive or len(said) == 1)
