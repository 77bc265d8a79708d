"""The `textcat` command: finds a subcommand's module, and turns errors into a message and an exit code."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem

import textcat
from textcat.errors import TextcatError

COMMANDS = {
    "fetch": "Bring a collection to this machine and verify it.",
    "tokenize": "Count the words of an experiment's documents.",
    "select": "Weight the counts and select features by category.",
    "train": "Train an experiment's learners and set their thresholds.",
    "evaluate": "Measure the trained learners on the test documents.",
    "report": "Write an experiment's tables, figures and page.",
    "run": "All stages of one or more experiments.",
    "check": "The gate: measured numbers against published and pinned ones.",
    "multiverse": "All defensible readings of a paper, and how far its numbers depend on them.",
    "list": "Corpora, experiments, tables, learners, stages.",
    "show": "One corpus, experiment, table or learner in full.",
    "predict": "Label new documents with a trained model.",
    "explain": "The words that decide a category or a document.",
    "export": "A collection's documents as JSON Lines.",
    "compare": "Two runs by category, with significance.",
    "cite": "BibTeX for textcat, a paper, a collection or an experiment.",
    "init": "Write an experiment file from a look at your own documents.",
    "generate": "Write a stand-in for a collection, of any size.",
    "completion": "A script that completes commands and names in your shell.",
}


STOPPED_MESSAGE = "Stopped. Finished stages are kept: run the same command again to go on."
OUT_OF_MEMORY_MESSAGE = (
    "Error: this machine's memory is used up.\nRun with --jobs 1, or with fewer documents or features."
)
DISK_HINT = "Free space or make the place readable and writable, then run again; finished stages are kept."
FAULT_HINT = "Run again with -vv to see where; finished stages are kept."


class LazyGroup(click.Group):
    """Imports a command's module when the command is asked for, so that `--help` stays quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order of the work, not of the alphabet."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command object, from the module named after it."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"textcat.cli.{cmd_name}_command").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As usual, with the nearest commands named when there is none of that name."""
        mistyped = bool(args) and args[0] not in COMMANDS and not args[0].startswith("-")
        if mistyped and not ctx.resilient_parsing:
            from difflib import get_close_matches

            near = get_close_matches(args[0], COMMANDS, n=2)
            hint = f" Did you mean {' or '.join(near)}?" if near else ""
            raise click.UsageError(f"There is no command {args[0]!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Commands that begin so, without importing any of them; then options."""
        names = [name for name in COMMANDS if name.startswith(incomplete)]
        return [
            *(CompletionItem(name, help=COMMANDS[name]) for name in names),
            *click.Command.shell_complete(self, ctx, incomplete),
        ]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands without importing any of them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(textcat.__version__, prog_name="textcat")
def group() -> None:
    """Do the published numbers of text categorization come out again?

    \b
    textcat run configs/reuters_modapte.yaml    one experiment, from the files to the tables
    textcat check results/reuters_modapte       its numbers against the printed ones

    Exit codes: 0 all well, 1 a number is out of tolerance, 2 usage or configuration error,
    3 data not available, 4 a stage failed.
    """


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with the documented code."""
    run_command(group, "textcat", arguments)


def run_command(command: click.Command, program: str, arguments: list[str] | None = None) -> None:
    """Run a command, print an error as one message, and exit with the documented code."""
    try:
        result: Any = command.main(
            args=arguments, prog_name=program, standalone_mode=False, color=_detect_colours()
        )
    except (click.exceptions.Abort, KeyboardInterrupt):
        _exit_with_message(STOPPED_MESSAGE, 130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except TextcatError as error:
        _print_traceback(error)
        _exit_with_message(f"Error: {error}", error.exit_code)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except OSError as error:
        _print_traceback(error)
        place = f"{error.filename}: " if error.filename else ""
        _exit_with_message(f"Error: {place}{error.strerror or error}\n{DISK_HINT}", 4)
    except MemoryError as error:
        _print_traceback(error)
        _exit_with_message(OUT_OF_MEMORY_MESSAGE, 4)
    except Exception as error:
        _print_traceback(error)
        _exit_with_message(
            f"Error: a fault in textcat itself: {type(error).__name__}: {error}\n{FAULT_HINT}", 4
        )
    sys.exit(result if isinstance(result, int) else 0)


def _detect_colours() -> bool | None:
    """False where NO_COLOR is set to anything (no-color.org); else click looks for a terminal."""
    return False if os.environ.get("NO_COLOR") else None


def _print_traceback(error: BaseException) -> None:
    """Show the traceback only to those who asked for everything (-vv)."""
    import logging

    if logging.getLogger("textcat").isEnabledFor(logging.DEBUG):
        import traceback

        traceback.print_exception(error)


def _exit_with_message(message: str, code: int) -> None:
    click.echo(message, err=True)
    sys.exit(code)
