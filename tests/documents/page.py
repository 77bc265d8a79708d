"""Read a page of documentation as steps: files to write, commands to run with their output, Python to run.

```yaml mine.yaml        write the file mine.yaml with the contents of the block
```console               lines after "$ " are commands; the other lines are their output, "..." matches any text
```python                run the block
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import PROJECT

BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"\s+# .*$")
PAGES = [PROJECT / "README.md", *sorted((PROJECT / "docs").rglob("*.md"))]


@dataclass(frozen=True)
class Step:
    """One step of a page. `kind` is file, command or python; `printed` is the output that the page shows."""

    kind: str
    text: str
    line: int
    name: str = ""
    printed: str = ""


def read_steps(page: Path) -> Iterator[Step]:
    """Yield the steps of a page in order."""
    text = page.read_text(encoding="utf-8")
    for block in BLOCK.finditer(text):
        language, name, content = block.group(1), block.group(2), block.group(3)
        line = text.count("\n", 0, block.start()) + 2
        if language == "console":
            yield from _read_commands(content, line)
        elif language == "python" and name is None:
            yield Step("python", content, line)
        elif name is not None:
            yield Step("file", content, line, name)


def _read_commands(content: str, first_line: int) -> Iterator[Step]:
    command, line, printed = "", first_line, list[str]()
    for number, text in enumerate(content.splitlines(), first_line):
        if text.startswith("$ "):
            if command:
                yield Step("command", command, line, printed="\n".join(printed))
            command, line, printed = COMMENT.sub("", text.removeprefix("$ ")), number, []
        elif command.endswith("\\"):
            command = f"{command}\n{text}"
        else:
            printed.append(text)
    if command:
        yield Step("command", command, line, printed="\n".join(printed))
