"""A button that copies the address of what is shown."""

import solara


@solara.component_vue("copylink.vue")
def CopyLink() -> None:
    """Copies the browser's address, which stands for run, step, agent, view and all else."""
