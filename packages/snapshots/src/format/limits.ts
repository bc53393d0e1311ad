/** Every number that the format of snapshots fixes (docs/snapshots.md). Bytes, unless it says otherwise. */

/** The plaintext of a data pack that is not a session's last. */
export const DATA_PACK: number = 2 ** 22;
/** The plaintext of a metadata pack that is not a session's last, and the most of any. */
export const METADATA_PACK: number = 2 ** 20;
/** The plaintext of any pack. */
export const LAST_PACK_MIN: number = 4096;
/** What the frame of a metadata pack decodes to. */
export const FRAME_DECODED_MAX: number = 2 ** 22;
/** The window of a zstd frame, as a power of two: 8 MiB. */
export const ZSTD_WINDOW_LOG_MAX = 23;

/** A row: session, address and salt of a pack. */
export const ROW_LENGTH = 64;
export const UUID_LENGTH = 16;
export const CHAIN_LENGTH = 16;
export const SALT_LENGTH = 16;
export const ADDRESS_LENGTH = 32;
export const SECRET_LENGTH = 32;
export const HASH_LENGTH = 32;
export const SIGNATURE_LENGTH = 64;
export const PUBLIC_KEY_LENGTH = 32;

/** A piece of a file. Files are cut at multiples of it. */
export const PIECE_MAX: number = 2 ** 20;
/** Pieces, holes and lists of one file's entry or of one piece list. */
export const PIECES_MAX = 4096;
/** Levels of piece lists below a file's entry. */
export const LIST_LEVELS_MAX = 2;

/** How deep the directories of a tree may be nested. */
export const DEPTH_MAX = 4096;
/** The name of an entry. */
export const ENTRY_NAME_MAX = 255;
/** The target of a symbolic link. */
export const LINK_TARGET_MAX = 65_535;
/** The lower 12 bits: permissions, set-id bits and the sticky bit. */
export const MODE_MAX = 0o7777;
export const USER_ID_MAX: number = 2 ** 32 - 1;

/** Nodes that a writer makes. Readers take longer ones. */
export const NODE_MAX: number = 2 ** 19;
/** Different packs that a writer's node refers to, so that their rows and the node fit one pack. */
export const NODE_PACKS_MAX = 6144;
/** Entries from which on a directory is cut into several nodes. */
export const NODE_ENTRIES_MAX = 1024;
/** Entries that a node has before it is cut at a name. */
export const NODE_ENTRIES_MIN = 128;
/** One name in so many is one to cut after. */
export const CUT_ONE_IN = 512;

/** The name of a chain, in UTF-8. */
export const CHAIN_NAME_MAX = 255;
/** A snapshot, keys or head: so that each is one blob. */
export const RECORD_MAX: number = 2 ** 20;
/** Both lists of a reach together. */
export const REACH_MAX: number = 2 ** 30;
/** Earlier reaches that one refers to. */
export const REACH_PARENTS_MAX = 32;
/** Sessions whose keys a snapshot has. */
export const SESSIONS_MAX = 512;
/** Heads that a head names as those before it. */
export const PREVIOUS_MAX = 64;
/** Markers that one head forgets. */
export const FORGOTTEN_MAX = 8192;
/** An hour, in seconds: the shortest grace period. */
export const GRACE_MIN = 3600;
/** How far ahead of the store's time a marker may be, in milliseconds. */
export const AHEAD_MAX_MS: number = 24 * 60 * 60 * 1000;
