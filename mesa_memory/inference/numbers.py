"""Numbers as a paper prints them."""


def number(value: float) -> str:
    """A number with three digits, such as 0.0231 and 12.3; no exponent if avoidable."""
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def signed(value: float) -> str:
    """The same with its sign."""
    return f"+{number(value)}" if value > 0 else number(value)


def p_of(p: float) -> str:
    """A p value with three decimals, or ``<0.001``."""
    return f"{p:.3f}" if p >= 0.001 else "<0.001"


def said_p(p: float) -> str:
    """The same as ``p = 0.012`` or ``p < 0.001``."""
    return f"p = {p_of(p)}" if p >= 0.001 else "p < 0.001"
