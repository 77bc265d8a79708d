"""Coverage-guided fuzzing of one format: `python -m tests.fuzz.run FORMAT [libFuzzer options]`.

Only this project's modules are instrumented: what libraries do inside is not what is looked for. A run ends at
the first input that is answered by anything but a documented error; move that input to cases/FORMAT/ once it
is mended.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["textcat"]):
    from tests.fuzz.targets import TARGETS, examine

HERE = Path(__file__).resolve().parent
LIMITS = ["-timeout=10", "-rss_limit_mb=2048", "-max_len=4096", "-print_final_stats=1", "-verbosity=0"]


def main() -> None:
    """Fuzz the format named first on the command line, starting from its kept cases."""
    name, *options = sys.argv[1:]
    if name not in TARGETS:
        sys.exit(f"there is no format {name!r}: choose of {', '.join(TARGETS)}")
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        scratch = Path(folder)
        grown = scratch / "corpus"
        grown.mkdir()
        work = scratch / "work"
        work.mkdir()

        def once(data: bytes) -> None:
            examine(name, data, work)

        words = f"-dict={HERE / 'dictionaries' / name}.dict"
        atheris.Setup([sys.argv[0], str(grown), str(HERE / "cases" / name), words, *LIMITS, *options], once)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
