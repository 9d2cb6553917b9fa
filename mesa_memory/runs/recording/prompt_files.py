"""The prompt files that a run uses, each recorded once with its text."""

from typing import Any

import sqlalchemy as sa

from mesa_memory.core.text.redaction import logger as logger_of
from mesa_memory.core.wording import Wordings
from mesa_memory.runtime.services import Services
from mesa_memory.stores.schema import prompt_files
from mesa_memory.stores.sql import Store

logger = logger_of(__name__)

#: language and name -> hash of the text
type Hashes = dict[tuple[str, str], str]


class PromptFileLog:
    """Notes which files were used for the first time, or with another text."""

    def __init__(self) -> None:
        self._run: int | None = None
        self._known: Hashes = {}

    def rows(self, recorder: Any, step: float) -> list[dict[str, Any]]:
        """Rows of ``prompt_files`` for what is new; of a model that is gone, none."""
        if (model := recorder.model) is None:
            return []
        if self._run != recorder.run:  # a run that goes on has some already
            self._run = recorder.run
            self._known = recorded(recorder.store, self._run)
        found = []
        for wording in Services.of(model).wordings.known.values():
            for name in sorted(wording.used):
                file, key = wording.files[name], (wording.language, name)
                if self._known.get(key) == file.hash:
                    continue
                if key in self._known:
                    logger.warning(
                        "the prompt file %s/%s.md is not what it was when the run began; "
                        "its new text is recorded from step %g on",
                        *key,
                        step,
                    )
                self._known[key] = file.hash
                row = {"language": wording.language, "name": name, "step": step}
                found.append(row | {"hash": file.hash, "text": file.text})
        return found


def recorded(store: Store, run: int | None) -> Hashes:
    """The hash of each file that a run has used; of several, the last one."""
    columns = prompt_files.c
    wanted = sa.select(columns.language, columns.name, columns.hash)
    with store.reading() as on:
        rows = on.execute(wanted.filter_by(run=run).order_by(columns.step))
        return {(language, name): found for language, name, found in rows}


def changed_files(store: Store, run: int, wordings: Wordings) -> list[str]:
    """The files of a run whose text is another one now, such as ``"en/grade.md"``."""
    return [
        f"{language}/{name}.md"
        for (language, name), found in sorted(recorded(store, run).items())
        if language in wordings.known
        and (
            (now := wordings.known[language].files.get(name)) is None
            or now.hash != found
        )
    ]
