"""The dashboard's own parts, rendered without a browser; and its command."""

from types import SimpleNamespace

import ipywidgets
import solara
from click.testing import CliRunner

from mesa_memory.cli import main
from mesa_memory.errors import StoreUnavailable
from mesa_memory.viz.dashboard import Controls, Guarded, Tabs
from mesa_memory.viz.explorer import open_feeds
from mesa_memory.viz.selection import Choice, Selection
from mesa_memory.viz.views import Group, View, decisions


def texts(widget):
    """Every text below a widget."""
    for child in getattr(widget, "children", ()):
        if isinstance(child, str):
            yield child
        elif isinstance(child, ipywidgets.Widget):
            yield from texts(child)


def test_the_head_of_the_page_has_the_class_of_the_chosen_agents_memory(town_file):
    feeds = open_feeds([(town_file, 1)])
    rows = feeds[0].run.agents(as_records=True)
    for row in rows:
        held = solara.Reactive(Choice(agent=str(row["agent"])))
        head = Controls(feeds, feeds[0], feeds[0].source, Selection(held))
        box, context = solara.render(head, handle_error=False)
        shown = list(texts(box))
        context.close()
        assert shown[shown.index("memory") - 1] == row["memory"]
    assert len({row["memory"] for row in rows}) == 6
    feeds[0].close()


def test_another_step_does_not_describe_all_decisions_anew(town_file, monkeypatch):
    feeds, made = open_feeds([(town_file, 1)]), []
    prepared = decisions.ui.prepared
    monkeypatch.setattr(
        decisions.ui, "prepared", lambda *g: made.append(g) or prepared(*g)
    )
    held = solara.Reactive(Choice(step=2.0))
    view = View("decisions", "Decisions", decisions.DecisionsView)
    head = Guarded(view, feeds[0].source, Selection(held))
    box, context = solara.render(head, handle_error=False)
    for step in (2, 3, 4):
        held.value = Choice(step=float(step))
        assert any(f"In step {step}," in text for text in texts(box))
    context.close()
    feeds[0].close()
    assert len(made) == 1


def test_a_view_that_fails_says_why_and_works_again_with_another_choice():
    held = solara.Reactive(Choice(step=1.0))
    source = SimpleNamespace(stamp=(2, 2.0), steps=[1.0, 2.0], agent_ids=[1])

    @solara.component
    def Fragile(focus):
        if focus.step == 1.0:
            raise StoreUnavailable("is gone. Bring it back.", location="run.sqlite")
        solara.Text("all is well")

    view = View("fragile", "Fragile", Fragile)
    box, context = solara.render(
        Guarded(view, source, Selection(held)), handle_error=False
    )
    try:
        assert "run.sqlite: is gone. Bring it back." in list(texts(box))
        held.value = Choice(step=2.0)
        assert "all is well" in list(texts(box))
    finally:
        context.close()


def panels(widget):
    """What is said of each panel below a widget."""
    attributes = getattr(widget, "attributes", None) or {}
    if attributes.get("role") == "tabpanel":
        yield attributes
    for child in getattr(widget, "children", ()):
        yield from panels(child)


def test_a_panel_says_which_view_run_step_and_agent_it_shows():
    source = SimpleNamespace(
        stamp=(2, 2.0), steps=[1.0, 2.0], agent_ids=[7, "b"], key="town-1",
        of=lambda _: {}, all=[],
    )  # fmt: skip

    @solara.component
    def Plain(focus):
        solara.Text("all is well")

    groups = [Group(key, (View(key, key.title(), Plain),)) for key in ("facts", "cost")]
    held = solara.Reactive(Choice(options=(("thread", "5"),)))
    box, context = solara.render(
        Tabs(source, Selection(held), groups), handle_error=False
    )
    try:
        (panel,) = panels(box)
        shown = "view=facts&run=town-1&step=2&agent=7&thread=5"
        assert (panel["aria-label"], panel["data-shows"]) == ("View Facts", shown)
        held.value = Choice(view="cost", step=1.0, agent="b", text="a & b")
        (panel,) = panels(box)
        shown = "view=cost&run=town-1&step=1&agent=b&text=a+%26+b"
        assert (panel["aria-label"], panel["data-shows"]) == ("View Cost", shown)
    finally:
        context.close()


def test_the_command_says_in_one_line_that_there_is_no_run(tmp_path):
    missing = str(tmp_path / "none.sqlite")
    found = CliRunner().invoke(main, ["dashboard", missing, "--no-open"])
    assert found.exit_code == 2
    assert "none.sqlite" in found.output
    assert len(found.output.strip().splitlines()) == 1
