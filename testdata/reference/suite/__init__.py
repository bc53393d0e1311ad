"""The source of every test vector, with the reason for it.

    forge      builds blobs, valid or with a single planted fault
    salsa      XSalsa20 and Poly1305 in plain arithmetic, for attacks on them
    collision  one ciphertext that opens under two keys
    collect    gathers vectors and writes them as JSON
    group_*    the vectors, one module per name prefix

Nothing here is random: every key is derived from a label or from the plaintext.
"""
