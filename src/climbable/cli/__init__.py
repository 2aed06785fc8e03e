"""The command ``climb``: one file a verb, each imported only when it is used.

A verb is a click command called ``command`` in the module of its name; it returns the exit status: 0 done, 1 the answer
is no, 2 the caller's mistake, 3 our fault. Errors become exit statuses here and nowhere else.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence

import click

from climbable import __version__
from climbable.core.errors import ClimbableError, nearest

VERBS = {
    "doctor": "what this machine has, what each lack costs, and what to type",
    "skills": "the skills and their families",
    "tasks": "the tasks of a skill",
    "verify": "the score of completions, check by check",
    "attack": "try a skill's cheats and its honest controls on the verifier",
    "gate": "is the reward climbable for this policy? go or no-go, with reasons",
    "fit": "does a recipe fit a GPU? predicted peak memory, and what to change",
    "warmup": "teach a little by examples, so that the reward can be climbed",
    "pilot": "a few GRPO steps that must move the weights",
    "train": "GRPO",
    "terms": "which terms of the objective act in a recipe, and why",
    "eval": "a policy on test tasks of trained and held-out families",
    "run": "all stages of a recipe, in order, stopping where one says no",
    "report": "a run as one HTML file that opens offline",
    "serve": "the verifier over HTTP",
}
"""Each verb with the first line of its help, so that ``climb --help`` imports none of them."""


class Verbs(click.Group):
    """A group whose commands are the modules of this package."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The verbs in the order of a first day with Climbable."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Imports the verb's module."""
        if cmd_name not in VERBS:
            raise click.UsageError(f"there is no verb {cmd_name!r}: {nearest(cmd_name, VERBS)}", ctx)
        command: click.Command = importlib.import_module(f"climbable.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The verbs with a line each, from `VERBS` alone."""
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))


@click.group(
    cls=Verbs,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Start with `climb doctor`, then `climb run recipes/quickstart.toml`.",
)
@click.version_option(__version__, prog_name="climb", message="%(prog)s %(version)s")
def climb() -> None:
    """Teach a small language model a skill that a program can check."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs `climb` with `arguments` (default: those of the process) and returns the exit status."""
    try:
        status = climb.main(
            list(arguments) if arguments is not None else None, prog_name="climb", standalone_mode=False
        )
        sys.stdout.flush()
        return status if isinstance(status, int) else 0
    except click.ClickException as error:
        error.show()
        return 2
    except ClimbableError as error:
        print(f"climb: {error}", file=sys.stderr)
        return error.exit_status
    except (KeyboardInterrupt, click.Abort):
        print("climb: interrupted; a run goes on from where it was with `climb run RECIPE --resume`", file=sys.stderr)
        return 130
    except BrokenPipeError:  # whoever read our output has gone, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 141
    except Exception:  # left alone, Python would exit with 1, which here means that the answer is no
        import traceback

        traceback.print_exc()
        print("climb: this is a fault of Climbable; please report the lines above", file=sys.stderr)
        return 3
