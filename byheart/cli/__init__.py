"""The command line: one file per command.

Importing it imports nothing but the standard library: what takes longer is imported by `main`,
where Ctrl-C is an exit code and not a traceback.
"""

import json
import os
import sys
from collections.abc import Sequence

from .. import __version__
from ..errors import ByheartError, DisagreementError, flags
from ..machine.interrupts import Interrupts
from ..machine.words import printable

HOLDS, DISAGREES, REFUSED, INTERRUPTED, NO_READER = 0, 1, 2, 130, 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 it holds, 1 it does not, 2 bad input or usage."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # not every terminal knows every letter
            stream.reconfigure(errors="replace" if stream is sys.stdin else "backslashreplace")
    with Interrupts() as interrupts:
        try:
            code = _run(arguments)
            if sys.stdout is not None:  # closed by the caller
                sys.stdout.flush()
            return code
        except KeyboardInterrupt:
            return INTERRUPTED
        except BrokenPipeError:
            pass
        except SystemExit as stop:
            if not isinstance(stop.__context__, BrokenPipeError):
                return int(stop.code or 0)
        except Exception:  # an import that is interrupted may fail with any error
            if interrupts.noted:
                return INTERRUPTED
            raise
    # whoever read our output has gone; the interpreter must not complain about it again
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno() if sys.__stdout__ else 1)
    return NO_READER


def _run(arguments: Sequence[str] | None) -> int:
    """The exit code of a command; an error is one sentence on standard error."""
    if (sys.argv[1:] if arguments is None else [*arguments]) == ["--version"]:
        print(f"byheart {__version__}")  # typer would take longer to import than all of this
        return HOLDS
    import typer

    from .app import app

    command = typer.main.get_command(app)
    try:
        return command.main(arguments, prog_name="byheart", standalone_mode=False) or HOLDS
    except ByheartError as error:
        code = DISAGREES if isinstance(error, DisagreementError) else REFUSED
        return _say(flags(error), code, arguments, type(error).__name__)
    except typer.TyperException as error:
        message = error.format_message()
        if not message or type(error).__name__ == "NoArgsIsHelpError":
            return REFUSED  # no command at all has shown the help
        context = getattr(error, "ctx", None)
        path = context.command_path if context else "byheart"
        said = f"{message.rstrip('.')}; see {path} --help."
        return _say(said, REFUSED, arguments, "UsageError")
    except typer.Abort:
        return INTERRUPTED
    except MemoryError:
        return _say("this needs more memory than there is.", REFUSED, arguments, "MemoryError")
    except BrokenPipeError:
        raise
    except OSError as error:
        name = f"{error.filename}: " if error.filename else ""
        return _say(f"{name}{error.strerror or error}.", REFUSED, arguments, "OSError")


def _say(sentence: str, code: int, arguments: Sequence[str] | None, kind: str) -> int:
    """A sentence for people on standard error and, with --json, an object on standard output."""
    said = printable(" ".join(sentence.split()))
    print(f"byheart: {said}", file=sys.stderr)
    words = list(sys.argv[1:] if arguments is None else arguments)
    if "--json" in words[: words.index("--") if "--" in words else None]:
        print(json.dumps({"error": {"kind": kind, "message": said, "exit": code}}))
    return code
