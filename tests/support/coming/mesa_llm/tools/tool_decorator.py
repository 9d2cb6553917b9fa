"""Functions as tools."""

import inspect


def parameters(fn):
    """The arguments of a function as a schema; the agent is filled in."""
    wanted = [name for name in inspect.signature(fn).parameters if name != "agent"]
    properties = {name: {"type": "string"} for name in wanted}
    return {"type": "object", "properties": properties, "required": wanted}


def tool(fn, *, tool_manager=None):
    """Makes a function a tool, of one manager or to be named by anybody."""
    function = {"name": fn.__name__, "description": inspect.getdoc(fn)}
    function["parameters"] = parameters(fn)
    fn.__tool_schema__ = {"type": "function", "function": function}
    if tool_manager is not None:
        tool_manager.register(fn)
    return fn
