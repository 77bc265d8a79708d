"""A page of documentation as steps: files that it shows, commands with what they print, Python.

```yaml mine.yaml        the file mine.yaml is written with the block's contents
```console               lines after "$ " are commands; other lines are what they print, "..." for any text
```python                is run
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import PROJECT

BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILES_OF = re.compile(r"^<!-- files: (\S+) -->$", re.MULTILINE)
COMMENT = re.compile(r"\s+# .*$")


@dataclass(frozen=True)
class Step:
    """One thing to do: `kind` is file, command or python; `printed` is what a command is shown to print."""

    kind: str
    text: str
    line: int
    name: str = ""
    printed: str = ""


def steps(page: Path) -> Iterator[Step]:
    """What a page has its reader do, in order."""
    text = page.read_text(encoding="utf-8")
    for other in FILES_OF.findall(text):
        yield from (step for step in steps(PROJECT / other) if step.kind == "file")
    for block in BLOCK.finditer(text):
        language, name, content = block.group(1), block.group(2), block.group(3)
        line = text.count("\n", 0, block.start()) + 2
        if language == "console":
            yield from _commands(content, line)
        elif language == "python" and name is None:
            yield Step("python", content, line)
        elif name is not None:
            yield Step("file", content, line, name)


def _commands(content: str, first_line: int) -> Iterator[Step]:
    command, line, printed = "", first_line, list[str]()
    for number, each in enumerate(content.splitlines(), first_line):
        if each.startswith("$ "):
            if command:
                yield Step("command", command, line, printed="\n".join(printed))
            command, line, printed = COMMENT.sub("", each.removeprefix("$ ")), number, []
        elif command.endswith("\\"):
            command = f"{command}\n{each}"
        else:
            printed.append(each)
    if command:
        yield Step("command", command, line, printed="\n".join(printed))
