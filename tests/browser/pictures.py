"""Golden pictures: compare what the browser paints with pictures under ``golden/``.

The browser has one font, which its package ships, so the fonts of the machine change nothing (`conftest.py`). Remake
the pictures after a wanted change: ``UNUM_WRITE_GOLDEN=1 .venv/bin/python -m pytest tests/browser -k golden``.
"""

import os
from pathlib import Path

from PIL import Image, ImageChops

REMAKE = "If the change is wanted: UNUM_WRITE_GOLDEN=1 .venv/bin/python -m pytest tests/browser -k golden"
COLOURS = 256
"""The most colours that a palette of a PNG file holds."""
STEP = 17
"""Golden pictures have 16 levels of each colour: a picture differs from its golden one by half of a step at least."""
TOLERANCE = 20
"""Levels of 255 by which a pixel may differ: the rounding, and what another processor's rasterizer adds."""
PIXELS = 40
"""Pixels that may differ by more; a bar of the Gantt chart that moves by two pixels changes 48."""


def check_picture(actual: Path, golden: Path, *, remake: bool = True) -> None:
    """Raise AssertionError if the picture differs from the golden one, and leave the difference beside it.

    With ``UNUM_WRITE_GOLDEN=1`` in the environment, write the golden picture instead.
    """
    picture = Image.open(actual).convert("RGB")
    if remake and os.environ.get("UNUM_WRITE_GOLDEN"):
        quantize(picture).save(golden, optimize=True)
        return
    wanted = Image.open(golden).convert("RGB")
    difference = actual.with_name(f"{actual.stem}-difference.png")
    difference.unlink(missing_ok=True)
    sizes = f"{actual} is {picture.size}, {golden} is {wanted.size}. {REMAKE}"
    assert picture.size == wanted.size, sizes
    marks = differing(picture, wanted)
    count = marks.histogram()[255]
    if count > PIXELS:
        pale = Image.blend(picture, Image.new("RGB", picture.size, "white"), 0.7)
        pale.paste((255, 0, 255), mask=marks)
        pale.save(difference)
        where = f"{count} pixels differ inside {marks.getbbox()}; {PIXELS} may."
        raise AssertionError(f"{where} Compare {actual} with {golden}; {difference} marks them. {REMAKE}")


def differing(picture: Image.Image, wanted: Image.Image) -> Image.Image:
    """Return a mask with 255 at each pixel of which a colour differs by more than TOLERANCE."""
    red, green, blue = ImageChops.difference(picture, wanted).split()
    largest = ImageChops.lighter(ImageChops.lighter(red, green), blue)
    return largest.point([255 if level > TOLERANCE else 0 for level in range(256)])


def quantize(picture: Image.Image) -> Image.Image:
    """Return the picture with 16 levels of each colour, as a palette, which keeps its file small."""
    rounded = picture.point([round(level / STEP) * STEP for level in range(256)] * 3)
    return rounded.quantize(COLOURS, dither=Image.Dither.NONE)
