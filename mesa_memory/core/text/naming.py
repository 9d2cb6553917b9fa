"""The key of a name: one for all forms in which people and programs write the name."""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import lru_cache

#: apostrophes and quotes, hyphens and dashes, by their plain form. Before NFKC, which
#: splits an accent that stands alone into a space and a mark.
_SIGNS = str.maketrans(
    dict.fromkeys("\u2018\u2019\u201b\u02bc\u02b9\u02bb\u2032\uff07\ua78c`\u00b4", "'")
    | dict.fromkeys("\u201c\u201d\u201f\u2033\u00ab\u00bb\uff02", '"')
    | dict.fromkeys(
        "\u2010\u2011\u2012\u2013\u2014\u2015\u2043\u2212\ufe58\ufe63\uff0d", "-"
    )
)
#: characters without a width (joiners, marks of direction, selectors, soft hyphens), and
#: the same as ``content.one_line`` writes them
_WIDTHLESS = re.compile(
    r"[\u00ad\u034f\u061c\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    r"\ufe00-\ufe0f\ufeff\U000e0000-\U000e01ef]"
    r"|\\x(?:61c|180e|200[b-f]|202[a-e]|206[0-9a-f]|fe0[0-9a-f]|feff|e0[01][0-9a-f]{2})"
)


def name_key(name: str) -> str:
    """The text by which two names are compared.

    Composed and decomposed letters, full and half width, case, straight and curly
    apostrophes, hyphens and dashes, spaces, and characters without a width make no
    difference. A name is always shown as it was written.
    """
    return " ".join(folded(name).split())


def with_name[T](names: Mapping[T, str], name: str) -> list[T]:
    """The keys of all names that are the same as ``name``, in order."""
    wanted = name_key(name)
    return [key for key, known in names.items() if name_key(known) == wanted]


def names_one_of(text: str, names: Iterable[str]) -> bool:
    """True if a text has one of these names as a word, or within a script without spaces."""
    return any(_whole(name_key(name)).search(folded(text)) for name in names if name)


@lru_cache(maxsize=10_000)
def _whole(name: str) -> re.Pattern[str]:
    letters = r"[^\W_]" if not name.isascii() else "[a-z0-9\u00df-\u024f]"
    spaced = name < "\u0530"  # Latin, Greek and Cyrillic letters
    told = re.escape(name)
    return re.compile(f"(?<!{letters}){told}(?!{letters})" if spaced else told)


def folded(text: str) -> str:
    """``text`` in the form in which its words are compared; see ``name_key``."""
    plain = text.isascii() and "`" not in text and "\\x" not in text
    return text.lower() if plain else _folded(text)


def plainly_spelled(text: str) -> str:
    """``text`` with one form of each letter, sign and width; its case stays."""
    return unicodedata.normalize("NFKC", _WIDTHLESS.sub("", text.translate(_SIGNS)))


@lru_cache(maxsize=10_000)
def _folded(text: str) -> str:
    text = _WIDTHLESS.sub("", text.translate(_SIGNS))
    # The compatibility caseless form of Unicode 3.13, D146: ß is ss, final sigma is sigma.
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    if "\u0307" in (text := unicodedata.normalize("NFD", text)):
        text = text.replace("i\u0307", "i")
    # Turkish writes dotless i as I in capitals, and dotted i as \u0130.
    return unicodedata.normalize("NFC", text).replace("\u0131", "i")
