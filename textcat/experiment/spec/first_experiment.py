"""The first experiment file for a user's own documents, with a comment on all that one may want to change."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined

from textcat.corpora.own.inspect import Inspection


def render_first_experiment(inspection: Inspection, title: str, path: str) -> str:
    """An experiment file as text; `path` leads from it to the documents."""
    source = files("textcat.experiment").joinpath("first_file.yaml.in").read_text(encoding="utf-8")
    # What comes out is YAML, in which every value is quoted by `quoted`.
    layout = {"trim_blocks": True, "lstrip_blocks": True, "keep_trailing_newline": True}
    environment = Environment(undefined=StrictUndefined, **layout)  # type: ignore[arg-type] # noqa: S701
    template = environment.from_string(source)
    return template.render(inspection=inspection, title=title, path=path, quoted=_quote)


def _quote(value: Any) -> str:
    """JSON is YAML; a plain word needs no quotes, but what YAML reads as something else does."""
    return json.dumps(value, ensure_ascii=False)
