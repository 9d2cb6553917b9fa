"""Names of attributes: which are the same, and which may mean the same."""

from collections.abc import Set

from mesa_memory.core.content import words

#: words for one attribute; a judge is asked about them, and no rule joins them
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
_ARTICLES = frozenset(["a", "an", "the"])
#: words that do not tell one attribute from another
_FORM_TEXT = """
and as current currently her his in its my new now of on or present s their
with your
"""
_FORM = _ARTICLES | frozenset(_FORM_TEXT.split())


def canonical(attribute: str) -> str:
    """The form by which two names are the same: without case, article and plural."""
    said = [_singular(word) for word in words(attribute) if word not in _ARTICLES]
    return " ".join(said) or attribute.strip().lower()


def related(one: str, other: str, names: Set[str] = frozenset()) -> bool:
    """True if two names share a word, or synonyms, so that they may mean the same.

    Args:
        names: words that do not count, such as names of people.
    """
    return not _stems(one, names).isdisjoint(_stems(other, names))


def covers(one: str, other: str) -> bool:
    """True if one of two names has all words of the other, or synonyms of them."""
    first, second = _stems(one), _stems(other)
    return bool(first and second) and (first <= second or second <= first)


def _stems(attribute: str, names: Set[str] = frozenset()) -> set[str]:
    said = {w for w in words(attribute) if w not in _FORM and w not in names}
    return {_SAME.get(word, _singular(word)) for word in said or words(attribute)}


def _singular(word: str) -> str:
    return word if len(word) < 4 or word.endswith("ss") else word.removesuffix("s")
