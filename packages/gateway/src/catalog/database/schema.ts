import { CatalogError } from "../catalog.ts";
import type { Dialect } from "./port.ts";

export function newerVersion(): CatalogError {
  return new CatalogError(
    "version",
    "the catalog was made by a newer version; update this program",
  );
}

/**
 * What brings a catalog from each version to the next; none of these is ever changed. Addresses are 32
 * bytes, times are milliseconds, `…_json` is JSON without NUL. An object's content roots and parts belong
 * to its `owner`: a number of the sequence, which stays the same when an upload becomes an object, so that
 * Complete moves no rows.
 *
 * - facts: one row: what `Lineage` describes.
 * - marks: the marks (objects/lineage/marks.ts) that this catalog has put into its store, the last ones.
 * - contents: which roots are an owner's content, in the order of part and place.
 * - shared: how many rows of `contents` have an address, if that was ever more than one.
 * - objects.reserved: the last write that reserved this version (`Claim`), also after it ended.
 * - claims: keys that a conditional write has claimed, with the seq of that write.
 * - tombstones: the last deletion of a key.
 * - completed: what uploads became, for a day.
 * - writes: writes that are not committed: running ones, and dead ones, which never will be. `upload` is
 *   that of a Complete.
 */
export function migrations(dialect: Dialect): readonly string[] {
  const { bytes, binary, clustered, createSequence } = dialect;
  return [
    `${createSequence};
     CREATE TABLE facts (
       id SMALLINT PRIMARY KEY CHECK (id = 1),
       uuid TEXT NOT NULL,
       store TEXT,
       is_complete SMALLINT NOT NULL,
       settled_seq BIGINT NOT NULL,
       snapshot_seq BIGINT,
       snapshot_time BIGINT,
       snapshot_name TEXT
     );
     CREATE TABLE marks (number BIGINT PRIMARY KEY, nonce TEXT NOT NULL);
     CREATE TABLE buckets (
       id BIGINT PRIMARY KEY,
       name TEXT ${binary} NOT NULL UNIQUE,
       owner TEXT NOT NULL,
       region TEXT NOT NULL,
       time BIGINT NOT NULL,
       is_stored SMALLINT NOT NULL
     );
     CREATE INDEX buckets_by_stored ON buckets (is_stored, id);
     CREATE TABLE objects (
       bucket BIGINT NOT NULL,
       key ${bytes} NOT NULL,
       seq BIGINT NOT NULL,
       kind SMALLINT NOT NULL,
       root ${bytes} NOT NULL,
       owner BIGINT,
       parts INTEGER NOT NULL,
       size BIGINT NOT NULL,
       etag TEXT NOT NULL,
       time BIGINT NOT NULL,
       checksums_json TEXT NOT NULL,
       tags_json TEXT NOT NULL,
       headers_json TEXT NOT NULL,
       PRIMARY KEY (bucket, key)
     ) ${clustered};
     CREATE INDEX objects_by_root ON objects (root);
     CREATE TABLE contents (
       owner BIGINT NOT NULL,
       part INTEGER NOT NULL,
       place INTEGER NOT NULL,
       address ${bytes} NOT NULL,
       size BIGINT NOT NULL,
       md5 TEXT NOT NULL,
       PRIMARY KEY (owner, part, place)
     ) ${clustered};
     CREATE INDEX contents_by_address ON contents (address);
     CREATE TABLE shared (address ${bytes} PRIMARY KEY, uses BIGINT NOT NULL) ${clustered};
     CREATE TABLE parts (
       owner BIGINT NOT NULL,
       number INTEGER NOT NULL,
       seq BIGINT NOT NULL,
       size BIGINT NOT NULL,
       etag TEXT NOT NULL,
       time BIGINT NOT NULL,
       checksums_json TEXT NOT NULL,
       PRIMARY KEY (owner, number)
     ) ${clustered};
     CREATE TABLE uploads (
       seq BIGINT PRIMARY KEY,
       secret TEXT NOT NULL,
       bucket BIGINT NOT NULL,
       key ${bytes} NOT NULL,
       owner TEXT NOT NULL,
       time BIGINT NOT NULL,
       tags_json TEXT NOT NULL,
       headers_json TEXT NOT NULL,
       options_json TEXT NOT NULL
     );
     CREATE UNIQUE INDEX uploads_by_key ON uploads (bucket, key, seq);
     CREATE TABLE completed (
       seq BIGINT PRIMARY KEY,
       secret TEXT NOT NULL,
       bucket BIGINT NOT NULL,
       key ${bytes} NOT NULL,
       completed BIGINT NOT NULL,
       object_seq BIGINT NOT NULL,
       size BIGINT NOT NULL,
       etag TEXT NOT NULL,
       time BIGINT NOT NULL,
       checksums_json TEXT NOT NULL
     );
     CREATE INDEX completed_by_time ON completed (completed);
     CREATE TABLE claims (
       bucket BIGINT NOT NULL,
       key ${bytes} NOT NULL,
       seq BIGINT NOT NULL UNIQUE,
       expires BIGINT NOT NULL,
       PRIMARY KEY (bucket, key)
     ) ${clustered};
     CREATE INDEX claims_by_expiry ON claims (expires);
     CREATE TABLE tombstones (
       bucket BIGINT NOT NULL,
       key ${bytes} NOT NULL,
       seq BIGINT NOT NULL,
       bucket_name TEXT NOT NULL,
       time BIGINT NOT NULL,
       is_stored SMALLINT NOT NULL,
       PRIMARY KEY (bucket, key)
     ) ${clustered};
     CREATE UNIQUE INDEX tombstones_by_seq ON tombstones (is_stored, seq);
     CREATE TABLE garbage (
       address ${bytes} PRIMARY KEY,
       kind SMALLINT NOT NULL,
       due BIGINT NOT NULL
     ) ${clustered};
     CREATE INDEX garbage_by_due ON garbage (due);
     CREATE TABLE writes (
       seq BIGINT PRIMARY KEY,
       started BIGINT NOT NULL,
       beat BIGINT NOT NULL,
       upload BIGINT,
       is_dead SMALLINT NOT NULL
     );
     CREATE INDEX writes_by_start ON writes (is_dead, started);
     CREATE INDEX writes_by_beat ON writes (is_dead, beat);
     CREATE INDEX writes_by_upload ON writes (upload);
     CREATE TABLE leases (name TEXT PRIMARY KEY, holder TEXT NOT NULL, expires BIGINT NOT NULL);`,
    "ALTER TABLE objects ADD COLUMN reserved BIGINT",
  ];
}
