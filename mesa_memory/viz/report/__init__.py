"""A report to send: one HTML file that plays a recorded run without server or network.

from mesa_memory import open_run
from mesa_memory.viz.report import write_report

with open_run("run.sqlite") as run:
    write_report(run, "report.html")
"""

from mesa_memory.viz.report.page import Written, write_report

__all__ = ["Written", "write_report"]
