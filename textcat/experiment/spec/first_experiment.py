"""Write the first experiment file for a user's own documents, with comments on what to change."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined

from textcat.corpora.own.inspect import Inspection


def render_first_experiment(inspection: Inspection, title: str, path: str) -> str:
    """Return an experiment file as text; `path` leads from the file to the documents."""
    source = files("textcat.experiment").joinpath("first_file.yaml.in").read_text(encoding="utf-8")
    # The result is YAML, so nothing is escaped for HTML; `quoted` quotes every value.
    layout = {"trim_blocks": True, "lstrip_blocks": True, "keep_trailing_newline": True}
    environment = Environment(undefined=StrictUndefined, **layout)  # type: ignore[arg-type] # noqa: S701
    template = environment.from_string(source)
    return template.render(inspection=inspection, title=title, path=path, quoted=_quote)


def _quote(value: Any) -> str:
    """Return a value as JSON, which is also YAML."""
    return json.dumps(value, ensure_ascii=False)
