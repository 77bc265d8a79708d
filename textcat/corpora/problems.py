"""What is wrong with a user's documents: told with file and line, counted, and handled by a stated policy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from textcat.errors import BadDataError, UsageError

# What may be done about each kind of problem; the first is the default.
POLICIES: dict[str, tuple[str, ...]] = {
    "encoding": ("replace", "skip", "error"),
    "malformed": ("error", "skip"),
    "missing": ("error", "skip"),
    "unknown-label": ("drop", "skip", "error"),
    "unknown-side": ("error", "skip"),
    "duplicate-id": ("skip", "rename", "error"),
    "empty": ("keep", "skip", "error"),
}
MEANINGS = {
    "encoding": "bytes that are not of the stated encoding",
    "malformed": "a line that cannot be parsed",
    "missing": "a document without a needed column",
    "unknown-label": "a label that is not in the stated list of categories",
    "unknown-side": "a word that names no side of a split",
    "duplicate-id": "an id that an earlier document has",
    "empty": "a document without any text",
}
_KEPT_EXAMPLES = 10


@dataclass
class Problems:
    """The problems of one reading: counts by kind, the first few with their places, and the policy."""

    policy: dict[str, str] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)

    @classmethod
    def with_policy(cls, wanted: Mapping[str, str] | None) -> Problems:
        """The defaults, changed where `wanted` says so; `{"all": "error"}` makes every problem an error."""
        wanted = dict(wanted or {})
        everything = wanted.pop("all", None)
        if everything not in (None, "error"):
            raise UsageError(
                f"the policy for all problems can only be 'error', not {everything!r}",
                hint="Write `all: error`, or a policy for each kind.",
            )
        policy = {kind: everything or allowed[0] for kind, allowed in POLICIES.items()}
        for kind, action in wanted.items():
            if kind not in POLICIES:
                raise UsageError(f"there is no problem {kind!r}", hint=f"There are {', '.join(POLICIES)}.")
            if action not in POLICIES[kind]:
                hint = f"Choose of {', '.join(POLICIES[kind])}."
                raise UsageError(f"the policy for {kind} cannot be {action!r}", hint=hint)
            policy[kind] = action
        return cls(policy)

    def meet(self, kind: str, what: str, where: str) -> str:
        """Note a problem and say what is to be done; an error is raised at once."""
        action = self.policy[kind]
        if action == "error":
            hint = f"Mend it, or set the policy for {kind} to {' or '.join(POLICIES[kind])}."
            raise BadDataError(what, where=where, hint=hint)
        self.counts[kind] += 1
        if len(self.examples) < _KEPT_EXAMPLES:
            self.examples.append(f"{where}: {what} ({action})")
        return action

    def summary(self) -> str:
        """Counts by kind and the first places, for a person."""
        lines = [
            f"{number} x {MEANINGS[kind]}: {self.policy[kind]}"
            for kind, number in sorted(self.counts.items())
        ]
        return "\n".join([*lines, *(f"  {example}" for example in self.examples)])
