"""Draw the README's picture of a report: python -m tests.documents.picture results/reuters_modapte/report.html.

The file holds the hash of the results that it shows, so that a test finds it out of date.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from PIL.PngImagePlugin import PngInfo

from tests.browser import OPTIONS, find_browser
from tests.conftest import PROJECT
from textcat.store.files import hash_file

PICTURE = PROJECT / "docs" / "images" / "report.png"
RESULTS = PROJECT / "results" / "reuters_modapte" / "results.json"
KEY = "results"
WIDTH, HEIGHT = 900, 1000
# Where the table of categories begins on the page.
CATEGORIES = 4515
DARK = "--blink-settings=preferredColorScheme=0"


def capture_page(page: Path, height: int, *options: str) -> Image.Image:
    """Return a picture of the upper part of a page."""
    with tempfile.TemporaryDirectory() as scratch:
        target = Path(scratch) / "page.png"
        size = f"--window-size={WIDTH},{height}"
        shared = [*OPTIONS, f"--user-data-dir={scratch}/profile", "--hide-scrollbars", size]
        subprocess.run(
            [find_browser(), *shared, *options, f"--screenshot={target}", page.as_uri()], check=True
        )
        return Image.open(target).convert("RGB")


def draw_picture(page: Path) -> None:
    """Write the picture: the first tables in light colours, categories and mistakes in dark ones."""
    drawn = Image.new("RGB", (2 * WIDTH + 10, HEIGHT), "gray")
    drawn.paste(capture_page(page, HEIGHT), (0, 0))
    dark = capture_page(page, CATEGORIES + HEIGHT, DARK)
    drawn.paste(dark.crop((0, CATEGORIES, WIDTH, CATEGORIES + HEIGHT)), (WIDTH + 10, 0))
    small = drawn.resize((1512, 1512 * HEIGHT // drawn.width), Image.Resampling.LANCZOS).quantize(128)
    information = PngInfo()
    information.add_text(KEY, hash_file(RESULTS))
    small.save(PICTURE, optimize=True, pnginfo=information)


if __name__ == "__main__":
    draw_picture(Path(sys.argv[1]).resolve())
