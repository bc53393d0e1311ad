"""One exception class; the code identifies the fault.

The codes of a failed read are listed in the order in which a reader checks:
if a blob has two faults, the result is the code of the earlier check.
"""

READ_CODES = (
    "limit",       # larger than any blob of its kind can be
    "address",     # the bytes do not hash to the requested address
    "format",      # envelope or header malformed, or the wrong kind of blob
    "no-match",    # none of the identities opens any slot
    "commit",      # the key does not match the commitment in the header
    "auth",        # the body does not open
    "root",        # the root's plaintext is malformed
    "tree",        # a child has the wrong length, or padding that is not zero
)

OTHER_CODES = (
    "not-found",   # the store has no such blob
    "encoding",    # the content does not decode as its metadata requires
    "usage",       # the call is wrong, such as a malformed address
    "key",         # malformed recipient, identity or key file
    "passphrase",  # a well-formed key file with the wrong passphrase
    "head",        # snapshots: a head is malformed, or does not count
)


class IdkError(Exception):
    def __init__(self, code: str, message: str):
        assert code in READ_CODES or code in OTHER_CODES, code
        super().__init__(f"{code}: {message}")
        self.code = code
