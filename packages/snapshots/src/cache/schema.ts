/**
 * What brings a cache from each version to the next; `user_version` is how many were done. A cache of a
 * later version is set aside.
 *
 * - states: what a session made of the folders; one is committed, one may be prepared.
 * - records: those of a state, in the order of the walk, many in a row.
 * - pieces: where a piece is stored, by its hash, and how often the committed state has it.
 * - uses: what a prepared state adds to that.
 * - kept: the packs that a prepared state needs.
 * - sessions: session key blobs, which nothing here can open.
 */
export const MIGRATIONS: readonly string[] = [
  `CREATE TABLE states (
     id INTEGER PRIMARY KEY,
     status TEXT NOT NULL UNIQUE CHECK (status IN ('committed', 'prepared')),
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
     committed INTEGER NOT NULL DEFAULT 0
   );
   CREATE TABLE pieces (
     hash BLOB PRIMARY KEY,
     pack INTEGER NOT NULL,
     offset INTEGER NOT NULL,
     stored INTEGER NOT NULL,
     length INTEGER NOT NULL,
     encoding INTEGER NOT NULL,
     uses INTEGER NOT NULL DEFAULT 0
   ) WITHOUT ROWID;
   CREATE INDEX pieces_of_pack ON pieces (pack);
   CREATE TABLE uses (hash BLOB PRIMARY KEY, change INTEGER NOT NULL) WITHOUT ROWID;
   CREATE TABLE kept (pack INTEGER PRIMARY KEY);
   CREATE TABLE sessions (id BLOB PRIMARY KEY, key BLOB NOT NULL) WITHOUT ROWID;`,
];
