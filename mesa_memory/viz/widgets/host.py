"""Additions to the page around a dashboard: Solara's own, or Mesa's."""

import solara


@solara.component_vue("host.vue")
def HostPage() -> None:
    """Names the buttons of the page's bar, and closes a drawer that covers the page.

    Invisible. Solara's drawer is 400 pixels wide and open at first; on a small screen it
    hides everything, with no room beside it for the click that closes it.
    """
