"""Tables that commands write into pages, between markers."""

from __future__ import annotations


def fill(text: str, name: str, block: str) -> str:
    r"""Put a block between its markers.

    >>> fill("before\n<!-- made: a -->\nold\n<!-- end -->\nafter\n", "a", "new")
    'before\n<!-- made: a -->\nnew\n<!-- end -->\nafter\n'
    """
    marker, end = f"<!-- made: {name} -->\n", "<!-- end -->"
    if text.count(marker) != 1 or end not in text.partition(marker)[2]:
        raise ValueError(f"The page must have {marker.strip()!r} once, and {end!r} behind it.")
    before, _, rest = text.partition(marker)
    return before + marker + block + "\n" + end + rest.partition(end)[2]
