"""Uses what an extra of the package adds; for ``install_check``, in its environment.

Arguments: the extra, and a recorded run.
"""

import os
import re
import subprocess
import sys
import urllib.request
from pathlib import Path

from mesa_memory import open_run
from mesa_memory.errors import EmbedderError, MissingExtra, StoreUnavailable

MINILM = "sentence-transformers/all-MiniLM-L6-v2"
COMMAND = [sys.executable, "-W", "ignore", "-m", "mesa_memory.cli"]


def dashboard(run: str) -> None:
    """The page comes, and all that it loads comes from this machine."""
    command = [*COMMAND, "dashboard", run, "--port", "0", "--no-open"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        address = server.stdout.readline().split()[1]  # with a token, kept as a cookie
        base, page = address.partition("/?")[0], _read(address).decode()
        parts = sorted(set(re.findall(r'(?:src|href)="(/[^"]+\.(?:js|css))"', page)))
        parts += sorted(set(re.findall(r"/_solara/cdn/[^\"'` ]+\.(?:js|css)", page)))
        assert [part for part in parts if "/cdn/" in part], page
        for part in parts:
            assert _read(base + part), part
        assert "https://cdn" not in page
    finally:
        server.terminate()
        server.wait(timeout=20)


OPENER = urllib.request.build_opener(
    urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor()
)


def _read(address: str) -> bytes:
    with OPENER.open(address, timeout=20) as answer:
        return answer.read()


def fastembed(run: str) -> None:
    """Embeds with the model on this machine; where none is, says so and asks nobody."""
    from mesa_memory.embedders.local import FastEmbedder

    folder = os.environ.get("MESA_MEMORY_MINILM")
    embedder = FastEmbedder(MINILM, folder=folder)
    if folder:
        assert embedder.embed(["rain", "snow"]).shape == (2, 384)
        return
    try:
        embedder.embed(["rain"])
    except MissingExtra:
        raise
    except EmbedderError as error:
        assert "from the files on this machine" in str(error), error


def minilm(run: str) -> None:
    """Embeds with the weights of the package."""
    from mesa_memory.embedders import embedder

    assert embedder("minilm").embed(["rain", "snow"]).shape == (2, 384)


def multilingual(run: str) -> None:
    """Embeds with the weights of the package."""
    from mesa_memory.embedders import embedder

    assert embedder("multilingual").embed(["Regen", "neige"]).shape == (2, 384)


def languages(run: str) -> None:
    """Detects the language of an agent's prompt."""
    from types import SimpleNamespace

    from mesa_memory.core.wording import Wordings

    agent = SimpleNamespace(system_prompt="Eres la molinera del pueblo y hablas poco.")
    assert Wordings("auto").of_agent(agent).language == "es"


def postgres(run: str) -> None:
    """The driver is there, and says that no server is."""
    try:
        open_run("postgresql://nobody@127.0.0.1:9/nothing")
    except StoreUnavailable:
        return
    raise AssertionError("a server answered where there is none")


def dask(run: str) -> None:
    """A worker of a cluster on this machine opens a run."""
    from distributed import Client

    with Client(n_workers=1, processes=False, dashboard_address=None) as client:
        executor = client.get_executor()
        assert executor.submit(_steps, run).result(timeout=60) == 4


def parquet(run: str) -> None:
    """Panel data of a run, as Parquet."""
    with open_run(run) as found:
        path = found.panel(Path(run).with_name("panel.parquet"))
    assert path.stat().st_size > 0


def _steps(run: str) -> int:
    with open_run(run) as found:
        return len(found.steps)


def _call(*arguments: str) -> str:
    done = subprocess.run(
        [*COMMAND, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


extra, recorded = sys.argv[1:]
EXTRAS = (
    dashboard,
    fastembed,
    minilm,
    multilingual,
    languages,
    postgres,
    dask,
    parquet,
)
{f.__name__: f for f in EXTRAS}[extra](recorded)
print(f"{extra}: installed, and used without a network.")
