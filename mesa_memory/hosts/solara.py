"""Solara and Mesa's pages: their server, the sessions of a page, Mesa's own controls."""

import sys
import warnings
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from mesa_memory.hosts import changed

#: what Mesa's pages show, and how they treat a model's parameters
_OF_MESAS_PAGES = (
    "ComponentsView", "split_model_params", "_check_model_params",
    "_build_model_init_kwargs",
)  # fmt: skip
#: kinds of fields for parameters
FIELD_KINDS = ("SliderInt", "SliderFloat", "Select", "Checkbox", "InputText")
#: what a session of Solara tells of its page
_OF_A_SESSION = ("closed_event", "page_status")


def mesa_pages() -> ModuleType:
    """Mesa's components; they bring matplotlib.

    Raises:
        HostChanged: if one of them is gone.
    """
    import mesa.visualization.solara_viz as pages

    _check("mesa", pages, _OF_MESAS_PAGES, "pip install 'mesa>=3.5.1,<4'")
    return pages


def adjustable(
    params: Mapping[str, Any],
) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Parameters as ``SolaraViz`` takes them: the fixed ones, and those with a field.

    Returns:
        Names and values; names and fields, each with ``label``, ``type`` (one of
        ``FIELD_KINDS``), ``value``, and what a field of this type needs.

    Raises:
        ValueError: for a type of field that Mesa does not have either.
    """
    from mesa.visualization.user_param import Slider

    free, fixed = mesa_pages().split_model_params(dict(params))
    fields = {}
    for name, given in free.items():
        one = given
        if isinstance(given, Slider):
            kind = "SliderFloat" if given.is_float_slider else "SliderInt"
            names = ("label", "value", "min", "max", "step")
            one = {key: getattr(given, key) for key in names} | {"type": kind}
        if one["type"] not in FIELD_KINDS:
            raise ValueError(
                f"the parameter {name!r} has the field {one['type']!r}; expected one of "
                f"{', '.join(FIELD_KINDS)}"
            )
        fields[name] = {"label": name, "step": 1, **one}
        fields[name]["label"] = fields[name]["label"] or name
    return fixed, fields


def check_model_params(model: Any, params: Mapping[str, Any]) -> None:
    """Looks whether another model of the class can be made with these parameters.

    Raises:
        ValueError: if one is missing, or unknown to the class.
    """
    mesa_pages()._check_model_params(model, dict(params))


def made_again(model: Any, params: Mapping[str, Any]) -> Any:
    """Another model of the class with these parameters, as Reset of Mesa's page makes it.

    Raises:
        HostChanged: if Mesa's page makes it in another way now.
    """
    given = mesa_pages()._build_model_init_kwargs(
        model,
        dict(params),
        add_scenario_when_empty=True,
        require_model_accepts_scenario=True,
    )
    return type(model)(**given)


def redraw() -> None:
    """Has everything on the page of this thread drawn anew that shows a model."""
    from mesa.visualization.utils import force_update

    force_update()


def redraws() -> int:
    """Read in a component, it has the component drawn anew by ``redraw``."""
    from mesa.visualization.utils import update_counter

    return update_counter.get()


def request_headers() -> Mapping[str, list[str]] | None:
    """The headers with which the page's socket was opened; None in a notebook."""
    from solara.lab.utils.headers import headers

    return headers.peek()


def cancelled() -> BaseException:
    """The error with which Solara ends the thread of a page that was closed."""
    from solara.util import CancelledError

    return CancelledError()


def server_runs() -> bool:
    """False where no page can be open, as in a notebook."""
    return _sessions() is not None


def current_session() -> Any:
    """The session of this thread; None without one.

    Raises:
        HostChanged: if a session does not say whether its page is open.
    """
    sessions = _sessions()
    if sessions is None or not sessions.has_current_context():
        return None
    session = sessions.get_current_context()
    _check("solara", session, _OF_A_SESSION, "pip install 'solara>=1.50'")
    return session


def is_closed(session: Any) -> bool:
    """True once the page of a session was closed."""
    return session.closed_event.is_set()


def is_seen(session: Any) -> bool:
    """True if a browser shows the page, or if none has opened it yet."""
    states = set(session.page_status.copy().values())
    return not states or _sessions().PageStatus.CONNECTED in states


def wait_closed(session: Any, seconds: float) -> None:
    """Waits until the page is closed, at most this number of seconds."""
    session.closed_event.wait(seconds)


def application(page: str, abandoned: str | None) -> Any:
    """Solara's server, with nothing of it that asks another one.

    Args:
        page: where the component is: ``"module:Name"``.
        abandoned: how long a session waits for its page to come back, such as
            ``"1m"``; None leaves that to Solara.
    """
    from solara.server import settings

    # Solara warns that its cookie is for this site alone, which is as it should be.
    warnings.filterwarnings("ignore", message="Cookies with samesite=none")
    settings.main.mode = "production"
    settings.telemetry.mixpanel_enable = False
    settings.theme.show_banner = False
    if abandoned is not None:
        settings.kernel.cull_timeout = abandoned
    import solara.server.starlette as pages
    from solara.server.app import AppScript, apps

    apps["__default__"] = AppScript(page)
    return pages.app


def _sessions() -> Any:
    """Solara's sessions; None where its server does not run."""
    return sys.modules.get("solara.server.kernel_context")


def _check(package: str, thing: Any, names: tuple[str, ...], known: str) -> None:
    gone = [name for name in names if not hasattr(thing, name)]
    if gone:
        raise changed(
            package,
            f"it has no {' and no '.join(gone)}",
            f"Use a supported version: {known}.",
        )
