"""Counts the tokens of a text for a model."""

from functools import lru_cache

from mesa_memory.core.render import tokens_of

#: providers whose tokenizers litellm brings along, so that no network is needed
_KNOWN = ("openai", "azure", "text-completion-openai")
#: most lines whose counts are remembered
_REMEMBERED = 2**14


@lru_cache(_REMEMBERED)
def count_tokens(text: str, model: str | None = None) -> int:
    """The tokens of a text for a model of OpenAI, as litellm counts them.

    For other models it is an estimate, a token for four bytes of UTF-8. For ASCII this is
    the same as ``render.count_tokens``; scripts that need more tokens count for more.

    Args:
        model: ``"provider/model"``, or the bare name of a model of OpenAI.
    """
    if not text:
        return 0
    known = model and _known_name(model)
    if known:
        import litellm

        return litellm.token_counter(model=known, text=text)
    return tokens_of(len(text.encode("utf-8", "replace")))


@lru_cache(256)
def _known_name(model: str) -> str | None:
    """The name by which litellm counts tokens; None if it lacks a tokenizer for it."""
    if model.partition("/")[0] in _KNOWN:
        return model
    from tiktoken.model import encoding_name_for_model

    name = model.rpartition("/")[2]
    try:
        encoding_name_for_model(name)
    except KeyError:
        return None
    return f"openai/{name}"
