"""The dashboard's own parts, rendered without a browser; and its command."""

from types import SimpleNamespace

import ipywidgets
import solara
from click.testing import CliRunner

from mesa_memory import Services, open_run
from mesa_memory.cli import main
from mesa_memory.errors import StoreUnavailable
from mesa_memory.viz.dashboard import Guarded
from mesa_memory.viz.run_feed import Feed
from mesa_memory.viz.selection import Choice, Selection
from mesa_memory.viz.views import View
from tests.support.recorded_town import RecordedTown


def texts(widget):
    """Every text below a widget."""
    for child in getattr(widget, "children", ()):
        if isinstance(child, str):
            yield child
        elif isinstance(child, ipywidgets.Widget):
            yield from texts(child)


def test_a_view_that_fails_says_why_and_works_again_with_another_choice():
    held = solara.Reactive(Choice(step=1.0))
    source = SimpleNamespace(stamp=(2, 2.0), steps=[1.0, 2.0])

    @solara.component
    def Fragile(source, selection):
        if selection.step(source) == 1.0:
            raise StoreUnavailable("is gone. Bring it back.", location="run.sqlite")
        solara.Text("all is well")

    view = View("fragile", "Fragile", "mdi-alert", Fragile)
    box, context = solara.render(
        Guarded(view, source, Selection(held)), handle_error=False
    )
    try:
        assert "run.sqlite: is gone. Bring it back." in list(texts(box))
        held.value = Choice(step=2.0)
        assert "all is well" in list(texts(box))
    finally:
        context.close()


def test_a_feed_of_a_run_that_has_ended_is_not_looked_at_again():
    town = RecordedTown("", record=True, n=3)
    recorder = Services.of(town).recorder
    town.step()
    feed = Feed(open_run(recorder.store), "town")
    assert feed.live
    recorder.close()
    assert feed.refresh().steps == [1.0]
    assert not feed.live


def test_the_command_says_in_one_line_that_there_is_no_run(tmp_path):
    missing = str(tmp_path / "none.sqlite")
    found = CliRunner().invoke(main, ["dashboard", missing, "--no-open"])
    assert found.exit_code == 2
    assert "none.sqlite" in found.output
    assert len(found.output.strip().splitlines()) == 1


def test_the_command_listens_to_this_machine_unless_told_otherwise():
    found = CliRunner().invoke(main, ["dashboard", "--help"])
    assert found.exit_code == 0
    assert "127.0.0.1" in found.output
