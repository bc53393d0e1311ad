"""Writes the test vectors: python make_vectors.py [DIRECTORY]"""

import sys
from collections import Counter
from pathlib import Path

from suite import (
    group_body, group_cbor, group_enc, group_envelope, group_header, group_keyfile,
    group_ok, group_range, group_recipients, group_root, group_text, group_tree,
)
from suite.collect import Suite

GROUPS = (
    group_envelope, group_cbor, group_header, group_recipients, group_body, group_root,
    group_tree, group_range, group_enc, group_keyfile, group_text, group_ok,
)
DEFAULT_DIRECTORY = Path(__file__).resolve().parent.parent / "v1"


def build() -> Suite:
    suite = Suite()
    for group in GROUPS:
        group.add(suite)
    return suite


def main() -> None:
    directory = Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_DIRECTORY
    suite = build()
    suite.write(directory)
    groups = Counter(name.partition("-")[0] for name in suite.vectors)
    print(", ".join(f"{group} {count}" for group, count in groups.items()))
    print(f"{len(suite.vectors)} vectors")


if __name__ == "__main__":
    main()
