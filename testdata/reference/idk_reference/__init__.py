"""Reference implementation of the idk blob format, version 1.

Written only from the format description, to be read as much as to be run.
Read the modules in this order:

    errors        the error codes, in the order in which a reader checks
    bech32        recipients and identities as text
    cbor_profile  the small, strict subset of CBOR
    keys          every derived key, and wrapping a key for a recipient
    envelope      magic, header, body: what every blob looks like
    padme         how much padding a writer adds
    tree          how long content is cut, and the shape of its tree
    root          the plaintext of a root blob, metadata included
    store         where blobs are kept
    reader        from an address to content, releasing only verified bytes
    encodings     content stored compressed
    writer        from content to an address
    armor         binary files as text
    keyfile       a secret key protected by a passphrase
"""
