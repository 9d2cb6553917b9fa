"""Separates a model's answer from its thinking and from marks of its chat template.

Only marks at structural positions count: thinking at the beginning, a closing tag after
it, and template marks around the answer. A mark inside a sentence is data.
"""

import re

_NAMES = r"(?:seed:)?(?:think(?:ing)?|thoughts?|reasoning|reflection|scratchpad)"
#: the beginning of all marks: other text is as it was
MARKED = re.compile(r"[<\[◁]")
#: thinking begins: <think>, [THINK], ◁think▷, <|begin_of_thought|>, <|START_THINKING|>
_OPENED = re.compile(
    rf"<{_NAMES}>|\[think\]|◁think▷|<\|(?:begin_of_thought|start_thinking)\|>",
    re.IGNORECASE,
)
_CLOSED = re.compile(
    rf"</{_NAMES}>|\[/think\]|◁/think▷|<\|(?:end_of_thought|end_thinking)\|>",
    re.IGNORECASE,
)
#: a channel of gpt-oss: its name, and where its text begins
_CHANNEL = re.compile(
    r"<\|channel\|>\s*(\w+)[^<]{0,80}(?:<\|constrain\|>[^<]{0,40})?<\|message\|>"
)
_MARK = (
    r"(?:<\|[\w ]{1,40}\|>|<｜[\w▁ ]{1,40}｜>|</?s>|\[/?INST\]|<(?:start|end)_of_turn>"
    r"|<eos>|<bos>|<pad>)"
)
#: marks before an answer, with the role that may stand between them
_BEFORE = re.compile(
    rf"(?:{_MARK}\s*(?:(?:assistant|model)\b\s*(?=\n|<|\|)|(?:assistant|model)\n)?\s*)+"
)
#: the end of an answer, and what a model may go on to write for the next turn
_AFTER = re.compile(rf"\s*{_MARK}(?:\s*(?:{_MARK}|$)|\s*\n.*$|\s*$)", re.DOTALL)


def answers(text: str) -> list[str]:
    """The text after the thinking, and a second reading of it: at most two texts.

    Some servers send only the closing tag; an answer may also quote one.
    """
    if not MARKED.search(text):
        return [text.strip()]
    text = _unmarked(text)
    opened = _OPENED.match(text)
    closed = [match.end() for match in _CLOSED.finditer(text)]
    if not closed:
        return ["" if opened else text]
    first = closed[0] if opened else 0
    return [_unmarked(text[closed[-1] :]), _unmarked(text[first:])]


def decision(text: str, own: bool) -> str:
    """A text without the thinking that it begins with.

    Args:
        own: the text is a model's own, such as a plan: thinking without its beginning
            or its end is left out, too, and template marks around the answer.
    """
    if own:
        found = answers(text)[0]
        return text if found == text.strip() else found
    start = text.lstrip()
    opened = _OPENED.match(start)
    closed = _CLOSED.search(start) if opened else None
    return (start[closed.end() :].strip() if closed else "") or text


def thinks_only(text: str) -> bool:
    """True for thinking that does not end."""
    start = text.lstrip()
    return bool(_OPENED.match(start)) and not _CLOSED.search(start)


def _unmarked(text: str) -> str:
    """A text without template marks around it, and of several channels the last."""
    text = text.strip()
    if "<|channel|>" in text[:2000] and (found := [*_CHANNEL.finditer(text)]):
        if found[-1][1] != "final":
            return ""
        text = text[found[-1].end() :]
    if before := _BEFORE.match(text):
        text = text[before.end() :]
    if after := _AFTER.search(text):
        text = text[: after.start()]
    return text.strip()
