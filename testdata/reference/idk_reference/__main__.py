"""python -m idk_reference read | write | batch | check"""

import argparse
import json
import sys
import traceback

from . import checking, commands


def main() -> int:
    arguments = _parser().parse_args()
    return arguments.run(arguments)


def _read(arguments) -> int:
    request = {
        "op": "read",
        "dir": arguments.dir,
        "address": arguments.address,
        "identities": arguments.identity,
        "range": arguments.range,
        "out": arguments.out,
    }
    _print(commands.answer(request))
    return 0


def _write(arguments) -> int:
    request = {
        "op": "write",
        "dir": arguments.dir,
        "recipients": arguments.recipient,
        "metadata": json.loads(arguments.metadata),
        "chunkSizeLog2": arguments.chunk_log2,
        "padding": "none" if arguments.no_padding else "padme",
        "dedupSecret": arguments.dedup_secret,
        "file": arguments.file,
    }
    _print(commands.answer(request))
    return 0


def _batch(arguments) -> int:
    """Print one response per request, so that one process can serve a whole test run."""
    for line in sys.stdin:
        if not line.strip():
            continue
        try:
            result = commands.answer(json.loads(line))
        except Exception as crash:  # the caller still needs a response
            traceback.print_exc()
            result = {"ok": False, "code": "crash", "message": repr(crash)}
        _print(result)
    return 0


def _check(arguments) -> int:
    mismatches = 0
    total = 0
    for name, problems in checking.check_directory(arguments.dir, arguments.skip_slow):
        total += 1
        mismatches += bool(problems)
        for problem in problems:
            print(f"{name}: {problem}")
    print(f"{total} vectors, {mismatches} with mismatches")
    return 1 if mismatches or not total else 0


def _print(result: dict) -> None:
    print(json.dumps(result), flush=True)


def _range(text: str) -> dict:
    start, _, end = text.partition("-")
    return {"start": int(start), "end": int(end)}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="idk_reference", description=__doc__)
    commands_ = parser.add_subparsers(required=True)

    read = commands_.add_parser("read", help="read the content of an address and digest it")
    read.add_argument("--dir", required=True)
    read.add_argument("--address", required=True)
    read.add_argument("--identity", action="append", default=[], help="IDK-SECRET-KEY-1…")
    read.add_argument("--range", type=_range, metavar="START-END", help="END is exclusive")
    read.add_argument("--out")
    read.set_defaults(run=_read)

    write = commands_.add_parser("write", help="write a file as blobs")
    write.add_argument("--dir", required=True)
    write.add_argument("--recipient", action="append", required=True, help="idk1…")
    write.add_argument("--metadata", default="{}", help='JSON: {"name": {"text": "a.txt"}}')
    write.add_argument("--chunk-log2", type=int, default=22)
    write.add_argument("--no-padding", action="store_true")
    write.add_argument("--dedup-secret", metavar="HEX")
    write.add_argument("file")
    write.set_defaults(run=_write)

    batch = commands_.add_parser("batch", help="answer JSON requests from stdin, one per line")
    batch.set_defaults(run=_batch)

    check = commands_.add_parser("check", help="check all vectors in a directory")
    check.add_argument("--skip-slow", action="store_true")
    check.add_argument("dir")
    check.set_defaults(run=_check)
    return parser


if __name__ == "__main__":
    sys.exit(main())
