"""python -m idk_reference.snapshots list | tree | restore | backup | batch"""

import argparse
import getpass
import json
import sys

from ..errors import IdkError
from . import commands
from .identities import read_identity_file


def main() -> int:
    arguments = _parser().parse_args()
    if arguments.op == "batch":
        for line in filter(str.strip, sys.stdin):
            print(json.dumps(commands.answer(json.loads(line))), flush=True)
        return 0
    request = vars(arguments)
    request["identities"] = _identities(arguments.identity_file)
    result = commands.answer(request)
    print(json.dumps(result, indent=1))
    return 0 if result["ok"] else 1


def _identities(path: str) -> list[bytes]:
    try:
        return read_identity_file(path)
    except IdkError as fault:
        if fault.code != "passphrase":
            raise
        return read_identity_file(path, getpass.getpass("Passphrase: "))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="idk_reference.snapshots", description=__doc__)
    operations = parser.add_subparsers(required=True, dest="op")
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--store", required=True, help="the folder that has repo/")
    common.add_argument("--identity-file", required=True)

    operations.add_parser("list", parents=[common], help="list the snapshots")
    which = argparse.ArgumentParser(add_help=False)
    which.add_argument("--snapshot", default="latest", help="latest, a name, or an address")
    operations.add_parser("tree", parents=[common, which], help="every entry, verified")
    restore = operations.add_parser("restore", parents=[common, which])
    restore.add_argument("--target", required=True, help="a new or empty folder")
    restore.add_argument("--as-root", action="store_true", help="owners, set-id bits, devices too")
    backup = operations.add_parser("backup", parents=[common])
    backup.add_argument("--name", required=True)
    backup.add_argument("--compress", default="zstd", choices=("zstd", "lz4", "none"))
    backup.add_argument("--message")
    backup.add_argument("--tag", action="append", default=[], dest="tags")
    backup.add_argument("paths", nargs="+")
    operations.add_parser("batch", help="answer JSON requests from stdin, one a line")
    return parser


if __name__ == "__main__":
    sys.exit(main())
