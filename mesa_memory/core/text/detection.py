"""The language of the texts an agent gets, for ``language="auto"``."""

from functools import cache, lru_cache
from typing import Any

from mesa_memory.core.wording import AUTO, FIRST_LANGUAGE, Wording, Wordings, languages
from mesa_memory.errors import MissingExtra

#: letters from which a guess is worth something
SHORTEST_TEXT = 20


def wording_for(agent: Any, wordings: Wordings) -> Wording:
    """In which words an agent is told: by its ``language``, or else the run's.

    Raises:
        PromptFileError: see ``Wording``.
        MissingExtra: if the language is to be detected and py3langid is not installed.
    """
    named = getattr(agent, "language", None)
    if not isinstance(named, str):
        named = wordings.language
    return wordings.of(_detected(agent) if named == AUTO else named)


def _detected(agent: Any) -> str:
    """The language of an agent's ``system_prompt`` and ``step_prompt``, by py3langid.

    One of ``wording.languages()``; English if there is little to go by.
    """
    told = (getattr(agent, name, None) for name in ("system_prompt", "step_prompt"))
    text = " ".join(part for part in told if isinstance(part, str))
    if len(text) < SHORTEST_TEXT and text.isascii():
        return FIRST_LANGUAGE
    return _classified(text)


@lru_cache(maxsize=1000)
def _classified(text: str) -> str:
    return str(_identifier().classify(text)[0])


@cache
def _identifier() -> Any:
    try:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier
    except ModuleNotFoundError as error:
        raise MissingExtra("py3langid", "languages") from error
    identifier = LanguageIdentifier.from_model_file(MODEL_FILE)
    identifier.set_languages(languages())
    return identifier
