/**
 * What brings a cache from each version to the next; `user_version` is how many were done. A cache of a
 * later version is set aside. None of these is ever changed: what has to be different is one more.
 *
 * - states: what a session made of the folders; one is committed, one may be prepared, or be a part.
 * - records: those of a state, in the order of the walk, as the hashes of chunks.
 * - chunks: many records in a row. States share those that they have in common.
 * - packs: `held` is 0 for those of an interrupted session, 1 if a snapshot needs them, 2 if a part does.
 * - pieces: where a piece, a node or a piece list is stored, by a hash that names it, and how often the
 *   committed state has it. `items` is what a piece list lists.
 * - uses: what a prepared state adds to that.
 * - kept: the packs that a prepared state needs.
 * - sessions: session key blobs, which nothing here can open.
 */
export const MIGRATIONS: readonly string[] = [
  `CREATE TABLE states (
     id INTEGER PRIMARY KEY,
     status TEXT NOT NULL UNIQUE CHECK (status IN ('committed', 'prepared', 'part')),
     marker BLOB NOT NULL,
     value BLOB NOT NULL
   );
   CREATE TABLE records (
     state INTEGER NOT NULL,
     number INTEGER NOT NULL,
     chunk BLOB NOT NULL,
     PRIMARY KEY (state, number)
   );
   CREATE TABLE packs (
     id INTEGER PRIMARY KEY,
     row BLOB NOT NULL UNIQUE,
     stored INTEGER NOT NULL,
     held INTEGER NOT NULL DEFAULT 0
   );
   CREATE TABLE pieces (
     hash BLOB PRIMARY KEY,
     pack INTEGER NOT NULL,
     offset INTEGER NOT NULL,
     stored INTEGER NOT NULL,
     length INTEGER NOT NULL,
     encoding INTEGER NOT NULL,
     items BLOB,
     uses INTEGER NOT NULL
   ) WITHOUT ROWID;
   CREATE INDEX pieces_by_place ON pieces (pack, offset);
   CREATE TABLE uses (
     pack INTEGER NOT NULL,
     offset INTEGER NOT NULL,
     change INTEGER NOT NULL,
     PRIMARY KEY (pack, offset)
   ) WITHOUT ROWID;
   CREATE TABLE kept (pack INTEGER PRIMARY KEY);
   CREATE TABLE sessions (id BLOB PRIMARY KEY, key BLOB NOT NULL) WITHOUT ROWID;`,
  // Chunks apart from the records that have them. What was there is stored anew.
  `CREATE TABLE IF NOT EXISTS chunks (hash BLOB PRIMARY KEY, bytes BLOB NOT NULL);
   DELETE FROM records;
   DELETE FROM states;`,
];
