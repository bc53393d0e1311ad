"""One exception, told apart by its code.

The codes of a failed read are listed in the order in which a reader checks:
if a blob has two faults, the code of the earlier check is the answer.
"""

READ_CODES = (
    "limit",       # larger than any blob of its kind can be
    "address",     # the bytes do not hash to the name they were asked for by
    "format",      # envelope or header malformed, or the wrong kind of blob
    "no-match",    # none of the identities opens any slot
    "commit",      # the key does not match the commitment in the header
    "auth",        # the body does not open
    "root",        # the root's plaintext is malformed
    "tree",        # a child has the wrong length, or padding that is not zero
)

OTHER_CODES = (
    "not-found",   # the store has no such blob
    "encoding",    # the content does not decode as its metadata promises
    "usage",       # the caller asked for something that cannot be meant
    "key",         # malformed recipient, identity or key file
    "passphrase",  # a well-formed key file, and the wrong passphrase
)


class IdkError(Exception):
    def __init__(self, code: str, message: str):
        assert code in READ_CODES or code in OTHER_CODES, code
        super().__init__(f"{code}: {message}")
        self.code = code
