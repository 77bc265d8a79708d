"""Problems in a user's own documents: counted by kind, and handled by a policy for each kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from textcat.errors import BadDataError, UsageError

# The actions for each kind of problem; the first is the default.
POLICIES: dict[str, tuple[str, ...]] = {
    "encoding": ("replace", "skip", "error"),
    "malformed": ("error", "skip"),
    "long-field": ("keep",),
    "missing": ("error", "skip"),
    "unknown-label": ("drop", "skip", "error"),
    "unknown-side": ("error", "skip"),
    "duplicate-id": ("skip", "rename", "error"),
    "empty": ("keep", "skip", "error"),
}
PROBLEM_DESCRIPTIONS = {
    "encoding": "bytes that are not in the stated encoding",
    "malformed": "a line that cannot be parsed",
    "long-field": "a field of more than 50 lines (is a quote not closed?)",
    "missing": "a document that lacks a required column",
    "unknown-label": "a label that is not in the list of categories",
    "unknown-side": "a word that names no side of a split",
    "duplicate-id": "an id that an earlier document has",
    "empty": "a document without any text",
}
_MAX_EXAMPLES = 10


@dataclass
class Problems:
    """Problems met while reading: counts by kind, the first few with their places, and the policy.

    `hint` replaces the advice in errors, for readers that have no policy to change.
    """

    policy: dict[str, str] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)
    hint: str = ""

    @classmethod
    def with_policy(cls, wanted: Mapping[str, str] | None, hint: str = "") -> Problems:
        """Return the default policy changed by `wanted`; `{"all": "error"}` makes every problem an error."""
        wanted = dict(wanted or {})
        everything = wanted.pop("all", None)
        if everything not in (None, "error"):
            raise UsageError(
                f"the policy for all problems can only be 'error', not {everything!r}",
                hint="Write `all: error`, or a policy for each kind.",
            )
        policy = {
            kind: everything if everything in allowed else allowed[0] for kind, allowed in POLICIES.items()
        }
        for kind, action in wanted.items():
            if kind not in POLICIES:
                raise UsageError(f"unknown kind of problem {kind!r}", hint=f"Known: {', '.join(POLICIES)}.")
            if action not in POLICIES[kind]:
                raise UsageError(
                    f"the policy for {kind} cannot be {action!r}",
                    hint=f"Choose from {', '.join(POLICIES[kind])}.",
                )
            policy[kind] = action
        return cls(policy, hint=hint)

    def report(self, kind: str, what: str, where: str, hint: str = "") -> str:
        """Count a problem and return the action to take; raise an error, with this hint, if that is the policy."""
        action = self.policy[kind]
        if action == "error":
            others = " or ".join(each for each in POLICIES[kind] if each != "error")
            hint = self.hint or hint or f"Fix it, or set the policy for {kind} to {others}."
            raise BadDataError(what, where=where, hint=hint)
        self.counts[kind] += 1
        if len(self.examples) < _MAX_EXAMPLES:
            self.examples.append(f"{where}: {what} ({action})")
        return action

    def summary(self) -> str:
        """Return the counts by kind and the first places, as text."""
        lines = [
            f"{number} x {PROBLEM_DESCRIPTIONS[kind]}: {self.policy[kind]}"
            for kind, number in sorted(self.counts.items())
        ]
        return "\n".join([*lines, *(f"  {example}" for example in self.examples)])
