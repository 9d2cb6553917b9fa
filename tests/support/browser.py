"""A dashboard in a process of its own, and a browser that looks at it, offline."""

import os
import shutil
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from mesa_memory.runs import open_run
from mesa_memory.viz.run_names import RunFacts
from tests.support.missing import missing
from tests.support.waiting import HUNG

ROOT = Path(__file__).resolve().parents[2]
SETTLED = Path(__file__).with_name("settled.js").read_text(encoding="utf-8")
#: frames in which nothing may happen before a page counts as settled
FRAMES = 8
#: true if the view that is drawn is one of these choices; null is what is not chosen
SHOWN = """(wanted) => {
  const panel = document.querySelector("[data-shows]");
  const shown = new URLSearchParams(panel ? panel.dataset.shows : "none");
  return panel && Object.entries(wanted).every(([name, value]) => shown.get(name) === value);
}"""
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
#: what the browser says about the libraries of others, not about us
KNOWN = ("Failed to evaluate Vue script",)


@contextmanager
def browser() -> Iterator:
    """Chromium, as Debian has it."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("playwright is missing (uv sync)")
    with sync_playwright() as playwright:
        started = launch(playwright.chromium)
        try:
            yield started
        finally:
            started.close()


def launch(kind: Any) -> Any:
    """One more browser of a kind, such as ``started.browser_type``."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        missing("chromium is missing (apt-get install chromium)")
    return kind.launch(executable_path=chromium, args=FLAGS)


@contextmanager
def served(*command: str, announces: str = "Open ") -> Iterator[str]:
    """A server's address, while it runs.

    Args:
        *command: arguments of Python, such as ``-m mesa_memory.cli dashboard``.
        announces: how the line begins that says where the page is.
    """
    environment = os.environ | {
        "PYTHONPATH": str(ROOT),
        "SOLARA_TELEMETRY_MIXPANEL_ENABLE": "false",
        # Nothing but this machine may be asked, by the server neither.
        "HTTPS_PROXY": "http://127.0.0.1:9",
        "HTTP_PROXY": "http://127.0.0.1:9",
    }
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", *command],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    said: list[str] = []
    # Somebody has to read on, or a server with much to say would stand still.
    reader = threading.Thread(target=_read, args=(process, said), daemon=True)
    reader.start()
    try:
        yield _address(process, said, announces)
    finally:
        process.terminate()
        try:
            process.wait(timeout=HUNG)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _read(process: subprocess.Popen, said: list[str]) -> None:
    assert process.stdout is not None
    said.extend(iter(process.stdout.readline, ""))


def _address(process: subprocess.Popen, said: list[str], announces: str) -> str:
    """Waits until the server says where it is, and answers there."""
    end = time.monotonic() + 2 * HUNG
    while time.monotonic() < end and process.poll() is None:
        for line in [line for line in said if announces in line]:
            found = next(word for word in line.split() if word.startswith("http"))
            with suppress(OSError):
                opener().open(at(found, "readyz"), timeout=5).close()
                return found.rstrip("/")
        time.sleep(0.1)
    raise RuntimeError(f"the server did not start: {''.join(said)}")


def opener() -> urllib.request.OpenerDirector:
    """Asks this machine, and keeps cookies, such as the one with a page's token."""
    return urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor()
    )


def at(base: str, place: str = "") -> str:
    """A path and query below the address of a server, with the token of that address."""
    parts, (path, _, query) = urlsplit(base), place.partition("?")
    rest = "&".join(filter(None, [parts.query, query]))
    address = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}/{path}"
    return f"{address}?{rest}" if rest else address


def run_key(place: str) -> str:
    """What stands for the newest run of a store in an address."""
    with open_run(place) as run:
        return RunFacts(run).key


class Window:
    """A browser window with a session of its own, and all that went wrong in it.

    ``MESA_MEMORY_SLOW_BROWSER=6`` in the environment makes its page that many times slower.

    Args:
        started: the browser.
        base: address of the server.
        **context: of Playwright, such as ``color_scheme="dark"``.
    """

    def __init__(self, started, base: str, **context) -> None:
        size = {"width": 1300, "height": 1000}
        self._context = started.new_context(viewport=size, **context)
        self.base, self.page = base, self._context.new_page()
        if slower := os.environ.get("MESA_MEMORY_SLOW_BROWSER"):
            rate = {"rate": float(slower)}
            cdp = self._context.new_cdp_session(self.page)
            cdp.send("Emulation.setCPUThrottlingRate", rate)
        self.page.set_default_timeout(1000 * HUNG)
        self.faults: list[str] = []
        self.page.on("console", self._said)
        self.page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        self.page.on("requestfailed", self._failed)
        self.page.on("request", self._asked)
        self.page.on("response", self._answered)
        self.page.on("dialog", self._dialog)

    def _failed(self, request) -> None:
        """A font that was still loading when the page was left is no fault."""
        if request.failure != "net::ERR_ABORTED":
            self.faults.append(f"failed: {request.url} ({request.failure})")

    def __enter__(self) -> "Window":
        return self

    def __exit__(self, kind, *_: object) -> None:
        faults = list(self.faults)
        self._context.close()
        if kind is None:
            assert not faults, "\n".join(faults)

    def open(self, query: str = "", see: str = ".mm-section") -> "Window":
        """Goes to an address of the server; waits for ``see``, and until all is drawn."""
        self.page.goto(at(self.base, query))
        self.page.wait_for_selector(see)
        return self.settled()

    def settled(self) -> "Window":
        """Waits until the page rests: nothing moves, loads, is asked or is changed.

        A model that plays does not let it rest; see ``sometime``.
        """
        self.page.wait_for_function(SETTLED, arg=FRAMES, polling="raf")
        return self

    def shows(self, **choices: object) -> "Window":
        """Waits until the view says that it is the one of these choices, and rests.

        Args:
            **choices: as in the address, such as ``view``, ``run``, ``step``, ``agent``
                or ``thread``, of which the first four are known even if nobody has
                chosen them; None for what is not chosen.
        """
        wanted = {
            name: None if value is None else str(value)
            for name, value in choices.items()
        }
        try:
            self.page.wait_for_function(SHOWN, arg=wanted, polling="raf")
        except Exception as error:
            drawn = self.page.locator("[data-shows]").evaluate_all(
                "all => all.map(one => one.dataset.shows)"
            )
            raise AssertionError(f"{wanted} is not shown, but {drawn}") from error
        return self.settled()

    def text(self, selector: str = "body") -> str:
        """What one reads there."""
        return self.page.inner_text(selector)

    def until(self, what, told: str = "") -> None:
        """Waits until ``what()`` is true of the page at rest, which may go on by itself.

        So all else that a test looks at afterwards is of the same state.
        """
        self.sometime(lambda: self.settled() and what(), told or str(what))

    def sometime(self, what, told: str = "") -> None:
        """Waits until ``what()`` is true while the page may be in the midst of a change."""
        end = time.monotonic() + HUNG
        while not what():
            if time.monotonic() > end:
                raise AssertionError(f"{told or what} did not happen\n{self.text()}")
            self.page.wait_for_timeout(50)

    def step(self) -> str:
        """The step that the slider shows."""
        return self.text(".mm-step strong")

    def query(self) -> str:
        """The address behind the question mark."""
        return urlsplit(self.page.url).query

    def _said(self, message) -> None:
        known = any(text in message.text for text in KNOWN)
        if message.type in ("error", "warning") and not known:
            self.faults.append(f"console {message.type}: {message.text}")

    def _asked(self, request) -> None:
        address = urlsplit(request.url)
        own = urlsplit(self.base).netloc
        if address.scheme not in ("data", "blob") and address.netloc != own:
            self.faults.append(f"asked another host: {request.url}")

    def _answered(self, response) -> None:
        if response.status >= 400:
            self.faults.append(f"{response.status}: {response.url}")

    def _dialog(self, dialog) -> None:
        self.faults.append(f"a dialog: {dialog.message}")
        dialog.dismiss()
