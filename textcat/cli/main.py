"""The `textcat` command: find the module of a subcommand, and turn errors into messages and exit codes."""

from __future__ import annotations

import logging
import os
import sys
import traceback
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem

import textcat
from textcat.cli.output import guard_standard_streams, print_text, restore_broken_pipes
from textcat.errors import TextcatError

COMMANDS = {
    "fetch": "Download collections and verify them.",
    "tokenize": "Count the words of the documents.",
    "select": "Weight the counts and select features per category.",
    "train": "Train the learners and set their thresholds.",
    "evaluate": "Evaluate the trained learners on the test documents.",
    "report": "Write tables, figures and an HTML page.",
    "run": "Run all stages of one or more experiments.",
    "check": "Compare measured numbers with published and pinned ones.",
    "multiverse": "Run all defensible readings of a paper and compare their numbers.",
    "tune": "Find the best model for your documents within a time limit.",
    "list": "List corpora, experiments, tables, learners or methods.",
    "show": "Show a corpus, experiment, paper, table or method in detail, or its BibTeX.",
    "predict": "Label new documents with a trained model.",
    "explain": "Show the words behind a category or a decision.",
    "export": "Write the documents of a collection as JSON Lines.",
    "compare": "Compare two runs per category and test for significance.",
    "init": "Write an experiment file for your own documents.",
    "copy": "Copy an experiment to one complete file of your own, to change it.",
    "cache": "Show the size of the cache, or clear it.",
}
# Modules with several commands. Every other command has its own module, such as `cache_command`.
SHARED_MODULES = {
    "stage_commands": ("tokenize", "select", "train", "evaluate", "report", "run"),
    "collection_commands": ("fetch", "export"),
    "list_commands": ("list", "show"),
    "model_commands": ("predict", "explain"),
}


STOPPED_MESSAGE = "Stopped. Finished stages are kept; run the same command again to continue."
OUT_OF_MEMORY_MESSAGE = "Error: out of memory.\nRun with --jobs 1, or with fewer documents or features."
DISK_HINT = (
    "Free disk space or make the path readable and writable, then run again; finished stages are kept."
)
FAULT_HINT = "Run again with -vv for a traceback; finished stages are kept."


class LazyGroup(click.Group):
    """Command group that imports a command's module only when it is called, so that `--help` is fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order of use."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command."""
        if cmd_name not in COMMANDS:
            return None
        shared = (module for module, names in SHARED_MODULES.items() if cmd_name in names)
        module = import_module(f"textcat.cli.{next(shared, f'{cmd_name}_command')}")
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve a command; for an unknown name, suggest the nearest ones."""
        mistyped = bool(args) and args[0] not in COMMANDS and not args[0].startswith("-")
        if mistyped and not ctx.resilient_parsing:
            from difflib import get_close_matches

            near = get_close_matches(args[0], COMMANDS, n=2)
            hint = f" Did you mean {' or '.join(near)}?" if near else ""
            raise click.UsageError(f"Unknown command {args[0]!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete commands, without importing them, and options."""
        names = [name for name in COMMANDS if name.startswith(incomplete)]
        return [
            *(CompletionItem(name, help=COMMANDS[name]) for name in names),
            *click.Command.shell_complete(self, ctx, incomplete),
        ]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(textcat.__version__, prog_name="textcat")
def group() -> None:
    """Reproduce published results of text categorization, and classify your own documents.

    \b
    Examples:
    textcat run configs/reuters_modapte.yaml    run an experiment, from files to tables
    textcat check reuters_modapte               compare its numbers with the paper
    textcat init documents.csv                  start with your own documents

    Exit codes: 0 success, 1 a number is out of tolerance, 2 usage or configuration error,
    3 data not available, 4 a stage failed.
    """


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with the documented code."""
    run_command(group, "textcat", arguments)


def run_command(command: click.Command, program: str, arguments: list[str] | None = None) -> None:
    """Run a command, print an error as one message, and exit with the documented code."""
    with guard_standard_streams():
        sys.exit(_run_command(command, program, arguments))


def _run_command(command: click.Command, program: str, arguments: list[str] | None) -> int:
    """Run a command, print an error as one message, and return the exit code."""
    try:
        with restore_broken_pipes():
            # NO_COLOR: see no-color.org; with None click checks for a terminal.
            color = False if os.environ.get("NO_COLOR") else None
            result: Any = command.main(args=arguments, prog_name=program, standalone_mode=False, color=color)
    except BrokenPipeError:
        raise
    except (click.exceptions.Abort, KeyboardInterrupt):
        return _print_error(STOPPED_MESSAGE, 130)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except Exception as error:
        if logging.getLogger("textcat").isEnabledFor(logging.DEBUG):
            traceback.print_exception(error)
        return _print_error(*_describe_error(error))
    return result if isinstance(result, int) else 0


def _describe_error(error: Exception) -> tuple[str, int]:
    """Return the message and the exit code for an error."""
    if isinstance(error, TextcatError):
        return f"Error: {error}", error.exit_code
    if isinstance(error, OSError):
        path = f"{error.filename}: " if error.filename else ""
        return f"Error: {path}{error.strerror or error}\n{DISK_HINT}", 4
    if isinstance(error, MemoryError):
        return OUT_OF_MEMORY_MESSAGE, 4
    return f"Error: internal error in textcat: {type(error).__name__}: {error}\n{FAULT_HINT}", 4


def _print_error(message: str, code: int) -> int:
    print_text(message, err=True)
    return code
