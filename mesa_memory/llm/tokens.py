"""How many tokens a text has for a model."""

from functools import lru_cache

from mesa_memory.core.render import tokens_of

#: providers whose tokenizers litellm brings along, so that no network is needed
_KNOWN = ("openai", "azure", "text-completion-openai")
#: most lines whose counts are remembered
_REMEMBERED = 2**14


@lru_cache(_REMEMBERED)
def count_tokens(text: str, model: str | None = None) -> int:
    """The tokens of a text by the model's own tokenizer, where that is known.

    Of other models it is an estimate, a token for four bytes of UTF-8: as
    ``render.count_tokens`` for ASCII, and more for scripts that need more.

    Args:
        model: ``"provider/model"``.
    """
    if not text:
        return 0
    if (model or "").partition("/")[0] in _KNOWN:
        import litellm

        return litellm.token_counter(model=model or "", text=text)
    return tokens_of(len(text.encode("utf-8", "replace")))
