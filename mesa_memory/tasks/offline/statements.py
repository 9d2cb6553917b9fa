"""Statements of plain English sentences, by rules, for runs without a model.

Understood are sentences of a few forms, such as ``Ann lives in Rome``, ``Bob has moved to
the mill``, ``Carl is no longer the mayor``, ``The boat belongs to Dana`` and ``Eve is
sad``. Sentences about pronouns and questions are skipped.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

from mesa_memory.core.content import words

#: so many events without a statement are worth a warning
MIN_EVENTS = 12
#: the most sentences of one text that are looked at, and the longest
MAX_SENTENCES, SENTENCE_CHARS = 40, 240

_MOODS_TEXT = """
afraid angry annoyed anxious bored calm cheerful content curious depressed desperate
excited furious glad gloomy grumpy happy hopeful jealous joyful lonely melancholic
merry miserable nervous proud relaxed relieved sad scared sorry upset worried
"""
_MOODS = frozenset(_MOODS_TEXT.split())
_WORK_TEXT = """
apprentice baker barber blacksmith brewer butcher carpenter clerk cook doctor farmer
ferryman fisher fisherman guard healer hunter innkeeper judge mason merchant midwife
miller miner monk nurse painter potter priest sailor scribe servant shepherd shoemaker
smith soldier student tailor teacher trader watchman weaver
"""
_WORK = frozenset(_WORK_TEXT.split())
_PASSING = re.compile(
    r"\b(?:today|tonight|right now|just now|at the moment|for a moment|for now|"
    r"this (?:morning|evening|afternoon|minute)|a bit|a little)\b",
    re.IGNORECASE,
)
#: what may stand before a statement and says nothing of what it states
_LEAD = re.compile(
    r"^(?:(?:news of day \S+|on day \S+|did you know|as you know|you know|listen|well|oh|"
    r"yes|no(?=,)|by the way|they say|people say|everybody says|it is said|rumou?r has it|"
    r"i (?:think|believe|heard|hear|know|saw|am sure|swear)|we (?:heard|know|saw)|"
    r"(?!i\b)[\w' ]{1,40}? (?:told (?:me|us)|tells (?:me|us)|says|said)|and|but|so|also|"
    r"then|now|still|sadly|luckily|actually|yesterday|today|tonight)"
    r"(?: that)?[,:]? )+",
    re.IGNORECASE,
)
_BREAK = re.compile(r"(?<=[.!?;])\s+|\s*;\s*|\\n|\s•\s")
#: parts of a sentence; one without a subject has that of the part before it
_CLAUSE = re.compile(
    r",? (?:and|but) (?=(?:now |then |is |are |was |has |lives? |owns? ))|, (?:and|but) "
)
_VERB = re.compile(
    r"(?:(?P<now>now|then|still) )?(?P<verb>is|are|was|were|has|have|had|lives?|works?|"
    r"owns?|belongs?|feels?|became|moved|went|came|sold|bought|lost|found|gave) ",
    re.IGNORECASE,
)
_PAST = ("was", "were", "had")
_BECAUSE = re.compile(
    r"^(?:since|because|as|as long as) (?P<premise>[^,]+), (?P<rest>.+)$", re.I
)
_NOBODY_TEXT = """
if unless maybe perhaps whether he she it they we you this that these those there here
who what which where when how everybody somebody nobody everyone someone nothing
something all none no neither few both his her him its our their them us
"""
_NOBODY = frozenset(_NOBODY_TEXT.split())
#: what a form is written with: ``<s>`` is the subject, ``<v>`` the value
_PARTS = {
    "<s>": r"(?P<s>.+?)",
    "<v>": r"(?P<v>.+?)",
    "<the s>": r"(?P<s>(?:the|my|your|his|her|our|their) .+?)",
    "<office>": r"(?P<s>the (?:new )?\w+(?: of .+?)?)",
    "<of>": r"(?P<a>[a-z][a-z ]{0,40}?)",
    "<a v>": r"(?P<v>an? .+?)",
    "<now>": r"(?P<changed>now |meanwhile |again |from now on )?",
    "<has>": r"(?:has |have |had )?(?:just )?",
    "<is>": r"(?:is|are|am)",
    "<in>": r"(?:in|at|on|by|near)",
}
#: verbs whose object is a value
_VERBS = (
    "like|dislike|love|hate|fear|want|need|trust|owe|visit|know|buy|sell|help|avoid|"
    "admire|respect"
)
_ENDED: dict[str, Any] = {"holds": False, "changed": True}
_MOVED: dict[str, Any] = {"changed": True}
#: what passes
_STATES = ("place", "mood", "state")
_MANY: dict[str, Any] = {"several": True}

#: (form, attribute, what it says besides); the first that fits counts
_SENTENCES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("<s> <has>moved (?:house |home )?(?:in)?to <v>", "home", _MOVED),
    ("<s> <now>(?:lives?|resides?|dwells?) <in> <v>", "home", {}),
    ("<s> (?:lives?|resides?|dwells?) now <in> <v>", "home", _MOVED),
    ("<s> <now>belongs? to <v>", "owner", {}),
    (".+? <has>(?:gave|given|sold|handed|passed) <the s> to <v>", "owner", _MOVED),
    ("<v> <has>(?:lost|sold) <the s>", "owner", _ENDED),
    ("<v> <has>(?:bought|found|got|took|taken|won|inherited) <the s>", "owner", _MOVED),
    ("<v> <now>(?:owns?|has|have|keeps?|carries|carry) <the s>", "owner", {}),
    ("<s> (?:owns?|has|have) <a v>", "belongings", _MANY),
    ("<s> <has>(?:went|gone|came|come|travelled|returned) (?:back |over )?to <v>",
     "place", _MOVED),
    ("<s> (?:is|are|am|stands?|lies?|stays?) <now><in> <v>", "place", {}),
    ("<v> (?:was|has been) (?:made|elected|appointed|chosen|named)(?: as)? <office>",
     "holder", _MOVED),
    ("<v> <has>(?:became|become) <office>", "holder", _MOVED),
    (r"(?P<s>the new \w+) is <v>", "holder", _MOVED),
    (r"(?!the |that |this )<v> <is> <now><office>", "holder", {}),
    ("<s> (?:works?|is working|serves) (?:now )?as (?:an? |the )?<v>", "work", {}),
    ("<s> <has>(?:became|become) <a v>", "work", _MOVED),
    (f"<s> (?P<verb>(?:{_VERBS})s?) <v>", "", _MANY),
    ("<s>'s <of> <is> <now><v>", "", {}),
    (r"(?P<s>my|your) <of> <is> <now><v>", "", {}),
    ("<s> <has>(?:became|become|turned) <v>", "state", _MOVED),
    ("<s> (?:is|are|am|feels?|has been|was) <now><v>", "state", {}),
    ("<s> (?P<v>broke|burned down|burns|closed|opened|died|fell|sank)(?: .*)?",
     "state", _MOVED),
)  # fmt: skip


_PART = re.compile(r"(?<!\?P)<[a-z ]+>")


def _compiled(form: str) -> re.Pattern[str]:
    full = _PART.sub(lambda part: _PARTS[part[0]], form)
    return re.compile(full, re.IGNORECASE)


_FORMS = [(_compiled(form), name, besides) for form, name, besides in _SENTENCES]


#: words for people whom a sentence by itself does not name
_SOMEBODY = re.compile(r"\b(?:he|him|she|they|them|us|we)\b", re.I)
#: words for the people of a talk
_PEOPLE = re.compile(r"\b(?:me|myself|you|yourself|(?P<owner>my|your|our))\b", re.I)


class Voices(NamedTuple):
    """The people behind ``I`` and ``you`` in a text.

    Attributes:
        speaker: by name.
        listener: by name; empty unless it is one person.
    """

    speaker: str
    listener: str = ""

    def resolved(self, phrase: str) -> str:
        """The phrase with a name for ``I``, ``me``, ``my``, ``you`` and ``your``.

        Empty where it says ``our``, or ``you`` or ``your`` to several.
        """
        if phrase.casefold() == "i":
            return self.speaker
        people = {"m": self.speaker, "y": self.listener, "o": ""}
        meant = [
            (found, people[found[0][0].lower()]) for found in _PEOPLE.finditer(phrase)
        ]
        if not all(person for _, person in meant):
            return ""
        for found, person in reversed(meant):
            rest = phrase[found.end() :]
            owner = f"{person}'s" if found["owner"] and rest else person
            phrase = phrase[: found.start()] + owner + rest
        return phrase


@dataclass(frozen=True)
class Statement:
    """The statement of one sentence.

    Attributes:
        holds, changed, several, stable: see ``extract.StatedFact``.
        premise: what the sentence names as its reason.
    """

    subject: str
    attribute: str
    value: str
    holds: bool = True
    changed: bool = False
    several: bool = False
    stable: bool = True
    premise: "Statement | None" = None

    @classmethod
    def of(cls, sentence: str, voices: Voices) -> Self | None:
        """The statement of a sentence; None for a sentence of an unknown form.

        Args:
            voices: the people behind ``I`` and ``you``.
        """
        if (denial := _NEGATION.search(sentence)) and (
            made := cls._denied(sentence, denial, voices)
        ):
            return made
        return cls._first(sentence, voices)

    @classmethod
    def _first(cls, sentence: str, voices: Voices, place: int = -1) -> Self | None:
        """The statement by the first form that fits.

        Args:
            place: where a negation was taken out; no part of the form may span it.
        """
        for form, attribute, given in _FORMS:
            match = form.fullmatch(sentence)
            if match is None or any(
                start < place < end for start, end in map(match.span, match.groupdict())
            ):
                continue
            if made := cls._matched(match, attribute, given, voices):
                return made
        return None

    @classmethod
    def _denied(cls, sentence: str, denial: re.Match, voices: Voices) -> Self | None:
        """The statement of a sentence without its negation, denied."""
        before = sentence[: denial.start()] + (f"{denial['be']} " * bool(denial["be"]))
        after = _ANY_MORE.sub("", sentence[denial.end() :])
        made = cls._first(before + after, voices, len(before))
        if made is None:
            return None
        over = "no longer" in denial[0] or after != sentence[denial.end() :]
        return replace(made, holds=not made.holds, changed=over)

    @classmethod
    def _matched(
        cls, match: re.Match, attribute: str, given: Mapping[str, Any], voices: Voices
    ) -> Self | None:
        parts = match.groupdict()
        subject = _named(parts["s"], voices)
        value = voices.resolved(_bare(parts["v"]))
        if attribute in ("owner", "holder"):
            value = _named(parts["v"], voices) or ""
            subject = subject and _NEW.sub("the ", subject)
        said, positive = dict(given), _NOT.sub("", value or "")
        if positive != value:
            over = value.lower().startswith("no longer")
            said, value = said | {"holds": False, "changed": over}, positive
        if value and value.endswith(" now"):
            said, value = said | _MOVED, value.removesuffix(" now")
        if not subject or not value or len(words(subject)) > 6 or value in _NOBODY:
            return None
        if _SOMEBODY.search(value):
            return None
        if parts.get("changed"):
            said["changed"] = True
        if not attribute:
            verb = parts.get("verb")
            attribute = (
                parts["a"] if verb is None else f"{verb.lower().removesuffix('s')}s"
            )
        return cls(subject, attribute, value, **said)._kind()

    def _kind(self) -> Self:
        """A state as a mood or a trade, if that is what it is."""
        if self.attribute != "state":
            return self
        said = words(self.value)
        bare = [
            w for w in said if w not in ("very", "so", "quite", "really", "an", "a")
        ]
        if bare and bare[0] in _MOODS:
            return replace(self, attribute="mood", value=bare[0])
        if len(bare) == 1 and bare[0] in _WORK:
            return replace(self, attribute="work", value=bare[0])
        return self

    def says(self, fact: Mapping[str, Any]) -> bool:
        """True if a known fact says the same."""
        one = (self.subject, self.attribute, self.value)
        other = (fact["subject"], fact["attribute"], fact["value"])
        return [_key(text) for text in one] == [_key(text) for text in other] or (
            _key(self.value) == _key(fact["value"])
            and _key(self.attribute) == _key(fact["attribute"])
            and _key(self.subject) in _key(fact["subject"])
        )

    def as_dict(self) -> dict[str, Any]:
        """The fields of a ``StatedFact``, as far as a sentence says them."""
        names = ("subject", "attribute", "value", "holds", "changed", "several")
        return {name: getattr(self, name) for name in names} | {"stable": self.stable}


def statements(text: str, voices: Voices) -> Iterator[Statement]:
    """The statements of a text, sentence by sentence.

    Args:
        voices: the people behind ``I`` and ``you`` in it.
    """
    sentences = _BREAK.split(text.replace("\u2019", "'"))[:MAX_SENTENCES]
    for clause in [each for sentence in sentences for each in _clauses(sentence)]:
        if not clause or len(clause) > SENTENCE_CHARS:
            continue
        said = clause.rstrip(".!; ")
        passing = bool(_PASSING.search(said))
        said = " ".join(_PASSING.sub(" ", said).split()).strip(" ,")
        because = _BECAUSE.match(said)
        premise = None
        if because:
            premise = _stated(because["premise"], voices)
            said = because["rest"]
        if found := _stated(said, voices):
            # A deed of today lasts; a place, a mood and a state may not.
            lasts = found.changed and found.attribute not in _STATES
            yield replace(found, stable=lasts or not passing, premise=premise)


def _clauses(sentence: str) -> list[str]:
    """The parts of a sentence, each with a subject; empty for a question.

    What was so, before a part that says what is so now, is left out.
    """
    if sentence.rstrip().endswith("?"):
        return []
    found: list[str] = []
    subject = before = ""
    for clause in map(str.strip, _CLAUSE.split(sentence)):
        verb = _VERB.match(clause)
        if verb and subject:
            if before in _PAST:
                found.pop()
            now = " now" * ((verb["now"] or "").lower() == "now")
            said = clause[verb.start("verb") :].rstrip(".!; ")
            found.append(f"{subject} {said}{now}")
        else:
            if verb := _VERB.search(clause):
                subject = _LEAD.sub("", clause[: verb.start()]).strip(" ,")
            found.append(clause)
        before = verb["verb"].lower() if verb else ""
    return found


def _stated(said: str, voices: Voices) -> Statement | None:
    plain = _ADVERB.sub("", _LEAD.sub("", said).strip(" ,"), count=1)
    return Statement.of(plain, voices)


#: a negation between a subject and its verb, with the form of "be" or "have" that stays
_NEGATION = re.compile(
    r"\b(?:do|does|did)(?: not|n't) |"
    r"\b(?P<be>is|are|am|was|were|has|have|had)(?:n't| not| no longer| never) |"
    r"\b(?:no longer|never) "
)
_ANY_MORE = re.compile(r" any ?(?:more|longer)$")
_ADVERB = re.compile(
    r"(?<=\w) (?:really|truly|always|still|also|often|certainly|definitely|secretly|"
    r"deeply|actually)(?= [a-z])"
)
#: words that end no name: what follows them is not what the sentence says is so
_NO_NAME_TEXT = """
not never no nor neither hardly rarely seldom barely scarcely longer might may could
would should will shall must can cannot to used did does do has have had is are am was
were be been who that which
"""
_NO_NAME = frozenset(_NO_NAME_TEXT.split())
_NOT = re.compile(r"^(?:not|no longer|never|no) ", re.IGNORECASE)
_NEW = re.compile(r"^the (?:new )?", re.IGNORECASE)
_ARTICLE = re.compile(r"^(?:the|an?|his|her|their|our|its)\s+", re.IGNORECASE)


def _key(text: str) -> str:
    return _ARTICLE.sub("", text.strip().casefold())


def _bare(text: str) -> str:
    return text.strip(" ,.!\"'")


def _named(text: str, voices: Voices) -> str | None:
    """The person or thing that a phrase names; None if it does not name one."""
    said = _bare(text)
    low, parts = said.casefold(), said.split()
    if any(part in ("not", "never", "nor") or part.endswith("n't") for part in parts):
        return None
    if ":" in said or (parts and parts[-1] in _NO_NAME):
        return None  # before a colon stands what was done, and no name
    if low.split()[:1] == ["you"]:
        return None  # "you are welcome" says nothing of anybody
    resolved = voices.resolved(said)
    if resolved != said:
        return resolved
    if not said or low.split()[0] in _NOBODY:
        return None
    return said[0].lower() + said[1:] if low.startswith(("the ", "a ", "an ")) else said
