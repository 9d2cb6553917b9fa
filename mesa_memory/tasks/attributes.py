"""Names of attributes: which of them mean the same, and which may."""

from mesa_memory.core.content import words

#: what an attribute is called here, and what else it is often called
_NAMES = {
    "home": "address domicile dwell dwelling dwells home house live lives living reside "
    "residence resides",
    "place": "at location place position spot stays whereabouts",
    "work": "career employment job occupation profession trade vocation work works",
    "office": "office post rank role title",
    "holder": "held holder incumbent officeholder",
    "mood": "emotion emotional feel feeling feelings feels mood spirits temper",
    "owner": "belong belonging belongs keeper owned owner possessor",
    "belongings": "belongings has have own owns possession possessions possesses",
    "state": "condition is state status",
}
_SAME = {word: name for name, others in _NAMES.items() for word in others.split()}
#: words that say nothing of what an attribute is
_FORM = frozenset(
    [
        "a",
        "an",
        "and",
        "as",
        "by",
        "current",
        "currently",
        "for",
        "from",
        "her",
        "his",
        "in",
        "its",
        "my",
        "new",
        "now",
        "of",
        "on",
        "or",
        "present",
        "s",
        "the",
        "their",
        "to",
        "with",
        "your",
    ]
)


def canonical(attribute: str) -> str:
    """The name under which an attribute is kept: ``"lives in"`` is ``"home"``."""
    said = [word for word in words(attribute) if word not in _FORM]
    if len(said) == 1:
        return _SAME.get(said[0], said[0])
    kinds = {_SAME.get(word, word) for word in said}
    if len(kinds) == 1:
        return kinds.pop()
    return " ".join(said) or " ".join(words(attribute)) or attribute.strip().lower()


def known(attribute: str) -> bool:
    """True for the name of an attribute that most simulations have."""
    return attribute in _NAMES


def related(one: str, other: str) -> bool:
    """True if two canonical names share a word, so that they may mean the same."""
    return not _stems(one).isdisjoint(_stems(other))


def _stems(attribute: str) -> set[str]:
    said = set(attribute.split())
    return {_SAME.get(word, word.removesuffix("s")) for word in said}
