"""Padmé: padding that hides a length at a cost of at most about 12 %.

A padded length keeps only its highest bits, as many as are needed to write the
exponent; so a length L leaks O(log log L) bits.
"""


def padme(length: int) -> int:
    if length < 2:
        return length
    exponent = length.bit_length() - 1
    kept_bits = exponent.bit_length()
    step = 1 << (exponent - kept_bits)
    return -(-length // step) * step
