"""Carry out all attacks and print a table; with --write, keep it in docs/dev/faults.md.

python -m tests.faults
python -m tests.faults --only "killed runs" --tries 10
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from pathlib import Path

from tests.faults.attacks import ATTACKS, Setting
from tests.faults.kills import load_everything
from tests.faults.table import Outcome, format_table, read_outcomes, write_outcomes
from tests.faults.workplace import exit_code_of, make_place, textcat_in_child


def attack(names: list[str], tries: int | None, seed: int) -> list[Outcome]:
    """Carry out the attacks of these names, print each mismatch and return the outcomes."""
    load_everything()
    outcomes = []
    with tempfile.TemporaryDirectory() as top:
        finished = make_place(Path(top) / "finished")
        code = exit_code_of(textcat_in_child(finished.command("--offline"), Path(top) / "log"))
        if code:
            raise RuntimeError((Path(top) / "log").read_text())
        for name in names:
            function, usual = ATTACKS[name]
            folder = Path(top) / name.replace(" ", "-")
            folder.mkdir()
            setting = Setting(finished, folder, random.Random(f"{seed} {name}"))
            found = list(function(setting, tries or usual))
            for reason in filter(None, found):
                print(f"{name}: {reason}", flush=True)  # noqa: T201
            what = " ".join((function.__doc__ or "").split()).rstrip(".")
            outcomes.append(Outcome(name, what, len(found), sum(not reason for reason in found)))
            print(f"{name}: {outcomes[-1].survived} of {outcomes[-1].tries}", flush=True)  # noqa: T201
    return outcomes


def main() -> None:
    """Attack, print the table, and leave with 1 if there was a mismatch."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", action="append", choices=ATTACKS, help="only this attack")
    parser.add_argument("--tries", type=int, help="tries of each attack")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true", help="keep the outcomes in docs/dev/faults.md")
    options = parser.parse_args()
    outcomes = attack(options.only or list(ATTACKS), options.tries, options.seed)
    print(format_table(outcomes))  # noqa: T201
    if options.write:
        kept = {outcome.attack: outcome for outcome in read_outcomes()} | {
            each.attack: each for each in outcomes
        }
        write_outcomes([kept[name] for name in ATTACKS if name in kept])
    sys.exit(1 if any(outcome.mismatches for outcome in outcomes) else 0)


if __name__ == "__main__":
    main()
