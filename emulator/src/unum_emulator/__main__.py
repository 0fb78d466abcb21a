"""`python -m unum_emulator`: run the emulator in the foreground until a signal comes."""

import argparse
from pathlib import Path

from unum_emulator.server import Options, serve


def main() -> None:
    """Read the command line and serve."""
    parser = argparse.ArgumentParser(prog="unum_emulator", description="A local AWS for workflows of Lambda functions.")
    parser.add_argument("--port", type=int, default=0, help="port on the loopback interface; 0: a free one (default)")
    parser.add_argument("--auth", action="store_true", help="IAM denies what a role was not granted")
    parser.add_argument("--ready-file", type=Path, help="receives the line that is printed when the emulator answers")
    parser.add_argument("--logs", type=Path, help="directory for one log file per function")
    parser.add_argument("--parent", type=int, help="end when the process with this id is no longer the parent")
    parser.add_argument("--max-processes", type=int, default=24, help="bound for function processes (default: 24)")
    arguments = parser.parse_args()
    serve(
        Options(
            port=arguments.port,
            auth=arguments.auth,
            ready_file=arguments.ready_file,
            logs=arguments.logs,
            parent=arguments.parent,
            max_processes=arguments.max_processes,
        )
    )


if __name__ == "__main__":
    main()
