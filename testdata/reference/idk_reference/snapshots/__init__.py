"""Reference implementation of the idk snapshot format, version 1.

Written only from docs/snapshots.md and, below it, docs/format.md, to be read as
much as to be run. "Section 7" in a docstring is a section of docs/snapshots.md.
Read the modules in this order:

    cbor_t        the blob format's CBOR, with arrays, negative numbers and null
    ed25519       signatures, and which of them to refuse
    writer_keys   the owner's key, writers' keys as text and in files
    identities    identity files
    names         chains and markers
    location      the folder `repo/` on a disk
    frames        one zstd frame or LZ4 block, exactly
    packs         rows, data packs and metadata packs
    checks        the shape of decoded values
    content       pieces, holes, piece lists
    entries       entries, nodes, tree ids
    records       snapshot, reach, keys, head
    counting      which heads count
    repository    finding the repository, its heads and its snapshots
    tree          going through a tree of strangers
    restore       from a snapshot to a folder
    cutting       how a writer cuts a large directory
    session       packs on their way to the store
    backup        from folders to a snapshot

The reader is complete. The writer sends everything each time and reuses nothing
of earlier sessions, which the protocol always allows.
"""
