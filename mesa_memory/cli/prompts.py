"""``mesa-memory prompts``: what models are asked, for an example."""

import json
from typing import Any

import click

from mesa_memory.cli.output import flag, option


@click.command()
@option("--task", "Only this task.  [default: all]", metavar="NAME")
@option("--language", "Such as es.", "en", metavar="NAME")
@option(
    "--folder",
    "Your own prompt files, as in configure(prompts=).",
    type=click.Path(exists=True, file_okay=False),
)
@flag("--source", "Print the prompt file, to change it.")
def prompts(task: str | None, language: str, folder: str | None, source: bool) -> None:
    """Prints what a model would be asked, for an example, or the file behind it.

    The words of all requests are in files; a folder with files of the same names takes
    the place of some: configure(model, prompts=FOLDER).
    """
    from mesa_memory.core.wording import Wording

    wording = Wording(language, folder)
    known = wording.files if source else examples()
    if task is not None and task not in known:
        names = ", ".join(known)
        raise click.BadParameter(f"there is no {task!r}; the names are: {names}")
    for name in known if task is None else [task]:
        if source:
            print(wording.files[name].text)
        else:
            for heading, text in asked(name, wording):
                print(f"[{name}: {heading}]\n{text}\n")


def examples() -> dict[str, dict[str, Any]]:
    """Inputs of each task, for an example."""
    from mesa_memory.core.prompt_files import FOLDER

    return json.loads((FOLDER / "examples.json").read_text(encoding="utf-8"))


def asked(name: str, wording: Any) -> list[tuple[str, str]]:
    """System text, prompt and schema of the request of a task, for its example."""
    from mesa_memory.llm.schemas import schema_of
    from mesa_memory.tasks import registered

    whose = {"wording": wording, "me": "Ada", "role": "You are Ada, the miller."}
    request = registered()[name].request(whose | examples()[name], agent="Ada", step=3)
    parts = [("system", request.system), ("prompt", request.prompt)]
    if request.schema is not None:
        schema = json.dumps(schema_of(request.schema), ensure_ascii=False, indent=1)
        parts.append(("schema", schema))
    return parts
