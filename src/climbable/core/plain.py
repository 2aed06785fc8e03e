"""Text and values that a model wrote, made harmless and short for a terminal or a page."""

from __future__ import annotations


def plain(text: object, most: int = 0) -> str:
    r"""`text` with everything escaped that does not print, cut to `most` characters (0: not cut).

    Escape sequences that rewrite a screen, marks that turn the direction of writing and lone surrogates become visible
    as ``\x1b`` or ``\u202e``; line ends and tabs stay.
    """
    safe = "".join(c if c.isprintable() or c in "\n\t" else ascii(c)[1:-1] for c in str(text))
    return safe if not most or len(safe) <= most else safe[: most - 1] + "…"


def short(item: object) -> str:
    """A check's expected or measured value in a few characters."""
    if item is None:
        return "–"
    if isinstance(item, float):
        return f"{item:.4g}"
    if isinstance(item, list | tuple):
        return "[" + ", ".join(short(part) for part in item[:8]) + (", …]" if len(item) > 8 else "]")
    return plain(item, 60)
