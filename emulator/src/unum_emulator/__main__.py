"""`python -m unum_emulator`: run the emulator in the foreground until a signal arrives."""

import argparse
from pathlib import Path

from unum_emulator.server import Options, serve


def main() -> None:
    """Parse the command line and serve."""
    parser = argparse.ArgumentParser(prog="unum_emulator", description="A local AWS for workflows of Lambda functions.")
    parser.add_argument("--port", type=int, default=0, help="port on the loopback interface; 0: a free port (default)")
    parser.add_argument("--auth", action="store_true", help="enforce IAM policies")
    parser.add_argument("--ready-file", type=Path, help="file for the announcement (also printed to stdout)")
    parser.add_argument("--logs", type=Path, help="directory with one log file per function")
    parser.add_argument("--history", type=Path, help="file for everything that tables, Lambda and queues see")
    parser.add_argument("--parent", type=int, help="process id of the parent; exit when it ends")
    parser.add_argument("--max-processes", type=int, default=24, help="maximum of function processes (default: 24)")
    serve(Options(**vars(parser.parse_args())))


if __name__ == "__main__":
    main()
