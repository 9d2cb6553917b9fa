"""``mesa-memory doctor``: faults of this machine that stop a run, a page or a model."""

import asyncio
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import NamedTuple

import click
from pydantic import BaseModel

import mesa_memory.cli.output as options
from mesa_memory.cli.output import Output, flag, option, printed
from mesa_memory.core.text.redaction import scrub
from mesa_memory.errors import LLMError, StoreError

#: the Python versions that are tested
PYTHON = ((3, 12), (3, 14))
#: MB; below it a recording of a longer run may not fit
LITTLE_ROOM = 500
#: MB; above it a store is slow to copy and to open
LARGE_STORE = 2_000
#: seconds for the one request
PATIENCE_S = 60.0
OK, NOTE, WRONG = "ok", "note", "wrong"
#: providers on this machine, which need no key
LOCAL = frozenset({"ollama", "ollama_chat", "lm_studio", "llamafile", "hosted_vllm"})


class DaysReply(BaseModel):
    """The reply of the one request."""

    days: int


class Finding(NamedTuple):
    """The result of one check, and its cure.

    Attributes:
        what: names the check.
        state: ``"ok"``, ``"note"`` (works, but see ``cure``) or ``"wrong"``.
        found: how it is.
        cure: what to do; empty if all is well.
    """

    what: str
    state: str
    found: str
    cure: str = ""


@click.command()
@option(
    "--llm",
    "A language model to ask once, such as openai/gpt-4o-mini.",
    metavar="PROVIDER/MODEL",
)
@options.api_base
@option(
    "--store", "A store, or the place where one will be.", "run.sqlite", metavar="RUN"
)
@options.port
@flag("--offline", "Send nothing to the model.")
@printed
def doctor(
    llm: str | None,
    api_base: str | None,
    store: str,
    port: int,
    offline: bool,
    output: Output,
) -> None:
    """Looks for what keeps a run, a page or a model from working, and names the cure.

    Exits with 1 if anything is wrong. With --llm one short request is sent.
    """
    findings = [
        *(python(), *packages(), front_end(), free_port(port), *disk(store)),
        *(model(llm, api_base, offline) if llm else ()),
    ]
    findings = [Finding(*map(scrub, finding)) for finding in findings]
    told = "\n".join(map(_line, findings))
    output.report(told, findings=[finding._asdict() for finding in findings])
    if any(finding.state == WRONG for finding in findings):
        output.end()
        raise click.exceptions.Exit(1)


def _line(finding: Finding) -> str:
    what, state, found, cure = finding
    return f"{state:6} {what:10} {found}" + (f"  ->  {cure}" if cure else "")


def python() -> Finding:
    """Is this version of Python a tested one?"""
    oldest, newest = PYTHON
    found = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] < oldest:
        cure = "Make an environment of a newer one: uv venv --python 3.12"
        return Finding("Python", WRONG, found, cure)
    if sys.version_info[:2] > newest:
        return Finding("Python", NOTE, found, "Newer than the tested ones, up to 3.14.")
    return Finding("Python", OK, found)


def packages() -> Iterator[Finding]:
    """Is each required package here, in a version that fits?"""
    from packaging.requirements import Requirement

    try:
        needed = [Requirement(line) for line in requires("mesa-memory") or ()]
    except PackageNotFoundError:
        cure = (
            'Install it into this environment: pip install "path/to/clone[dashboard]"'
        )
        yield Finding("packages", WRONG, "mesa-memory is not installed", cure)
        return
    fits = []
    for each in needed:
        if each.marker and not each.marker.evaluate({"extra": ""}):
            continue
        wanted = f"{each.name}{each.specifier}"
        try:
            found = version(each.name)
        except PackageNotFoundError:
            found = ""
        if found and each.specifier.contains(found, prereleases=True):
            fits.append(f"{each.name} {found}")
            continue
        state = f"{found} does not fit" if found else "missing"
        yield Finding(each.name, WRONG, state, f'pip install "{wanted}"')
    yield Finding("packages", OK, f"{len(fits)} fit: {', '.join(fits)}")


def front_end() -> Finding:
    """Are the files of the page here?"""
    try:
        return Finding("front end", OK, f"solara-assets {version('solara-assets')}")
    except PackageNotFoundError:
        cure = 'For machines without a network: pip install "mesa-memory[dashboard]"'
        return Finding("front end", NOTE, "downloaded once, at the first page", cure)


def free_port(port: int) -> Finding:
    """Can the page be served at this port?"""
    from mesa_memory.viz.serving.server import listen

    try:
        place = listen(port=port)
    except OSError as error:
        return Finding("port", WRONG, str(error), "Give --port 0 to take a free one.")
    place.listening.close()
    return Finding("port", OK, f"{port or 'any'} is free")


def disk(location: str) -> Iterator[Finding]:
    """Can the store be read, and its folder be written with a write-ahead log?"""
    from mesa_memory.stores.open import is_path, open_store, sqlite_path

    if not is_path(location):
        yield _opened(location, "a database")
        return
    path = Path(sqlite_path(location)).absolute()
    if path.exists():
        megabytes = path.stat().st_size / 1e6
        found = _opened(location, f"{megabytes:,.1f} MB")
        if found.state == OK and megabytes > LARGE_STORE:
            cure = "Copy single runs into files of their own: mesa-memory copy"
            found = found._replace(state=NOTE, cure=cure)
        yield found
    try:
        with (
            tempfile.TemporaryDirectory(dir=path.parent, prefix=".doctor-") as folder,
            closing(open_store(Path(folder) / "tried.sqlite")),
        ):
            log = any(name.endswith("-wal") for name in os.listdir(folder))
    except (OSError, StoreError) as error:
        cure = "Give a store in a folder that you may write: --store PATH"
        yield Finding("folder", WRONG, str(error), cure)
        return
    if not log:
        cure = "Readers wait while a step is written; a local disk is quicker."
        yield Finding("folder", NOTE, "no write-ahead log is possible here", cure)
    free = shutil.disk_usage(path.parent).free / 1e6
    cure = "Make room before a long run." if free < LITTLE_ROOM else ""
    yield Finding("room", NOTE if cure else OK, f"{free:,.0f} MB are free", cure)


def _opened(location: str, found: str) -> Finding:
    from mesa_memory.stores.open import open_store

    try:
        open_store(location, read_only=True).close()
    except (StoreError, ValueError, ImportError) as error:
        return Finding(
            "store", WRONG, str(error), "See the message; nothing was changed."
        )
    return Finding("store", OK, f"{found}, can be read")


def model(name: str, api_base: str | None, offline: bool) -> Iterator[Finding]:
    """Is the model known, with a key, an address and a price, and does it answer?"""
    from mesa_memory.llm import prices

    known = prices.price(name)
    cure = "Give prices={…} to configure; else a budget in dollars cannot be kept."
    per = 1_000_000
    found = (
        f"{known.prompt * per:.3g} and {known.reply * per:.3g} dollars per million tokens"
        if known
        else "unknown"
    )
    yield Finding("price", OK if known else NOTE, found, "" if known else cure)
    key = _key(name, api_base)
    yield key
    if key.state == OK and not offline:
        yield from _asked(name, api_base)


def _key(name: str, api_base: str | None) -> Finding:
    from mesa_memory.hosts.litellm import address_of, be_quiet, missing_keys

    be_quiet()
    try:
        address = address_of(name, api_base, None)
    except Exception as error:  # litellm raises a bare one for a name that it lacks
        said = str(error).partition("\n")[0]
        cure = "Write it as provider/model, such as openai/gpt-4o-mini."
        return Finding("model", WRONG, said, cure)
    where = address.base or "the provider's usual address"
    missing = missing_keys(name)
    if address.key or not missing or address.provider in LOCAL:
        return Finding("key", OK, f"{address.provider}, {where}")
    cure = f"Set {' and '.join(missing)} in the environment, never in the code."
    cure += " A server of your own takes any word." if api_base else ""
    return Finding("key", WRONG, f"none is known for {address.provider}", cure)


def _asked(name: str, api_base: str | None) -> Iterator[Finding]:
    """One request with a form and a seed."""
    from mesa_memory.core.requests import LLMRequest
    from mesa_memory.core.text.replies import Unusable, read
    from mesa_memory.llm.base import LLMSettings
    from mesa_memory.llm.client import ProviderClient
    from mesa_memory.llm.structured_output import PLAIN

    settings = LLMSettings(
        timeout=PATIENCE_S, attempts=1, deadline=PATIENCE_S, seed=1, temperature=0.0
    )
    request = LLMRequest(
        *("doctor", None, 0.0, "You answer in JSON."),
        'How many days has a week? Answer as JSON: {"days": a whole number}',
        DaysReply,
        model=name,
        api_base=api_base,
    )
    began = time.monotonic()
    try:
        reply = asyncio.run(ProviderClient(settings).acomplete(request))
    except LLMError as error:
        cure = "Is the server running, and its address right?" if error.passing else ""
        said = str(error).partition(f"{request.purpose}: ")[2] or str(error)
        yield Finding("request", WRONG, said, cure)
        return
    seconds = time.monotonic() - began
    answered = reply.answered or reply.model
    yield Finding("request", OK, f"answered by {answered} in {seconds:.1f} s")
    try:
        read(reply, DaysReply, max_chars=100)
    except Unusable as error:
        cure = "Take a larger model, or one that follows a schema: memories need it."
        yield Finding("form", WRONG, f"{reply.form}: {error}", cure)
    else:
        cure = "The schema stands in the prompt; more replies may have to be repaired."
        plain = reply.form == PLAIN
        yield Finding("form", NOTE if plain else OK, reply.form, cure if plain else "")
    left_out = [each for each in ("seed", "temperature") if each in reply.without]
    if left_out:
        cure = "Replies differ from run to run: record them, and replay the record."
        yield Finding("seed", NOTE, f"{' and '.join(left_out)} not accepted", cure)
    else:
        yield Finding("seed", OK, "sent, and not refused")
