"""The test vectors: every one is written down here, with the reason for it.

    forge      builds blobs, sound ones and ones with a single planted fault
    salsa      XSalsa20 and Poly1305 in plain arithmetic, to attack them with
    collision  one ciphertext that opens under two keys
    collect    gathers vectors and writes them as JSON
    group_*    the vectors, one module for every prefix of names

Nothing here draws randomness: every key comes from the name of its vector.
"""
