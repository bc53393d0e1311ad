import { ADDRESS_AT, type Row, decodeRow, encodeRow } from "../../format/packs/row.ts";
import { ADDRESS_LENGTH, ROW_LENGTH, UUID_LENGTH } from "../../format/limits.ts";
import type { PackSort } from "../../format/packs/pack.ts";
import { column, keyTable } from "./key-table.ts";

/** The packs that trees refer to, by numbers, at about 80 bytes each. */
export interface PackTable {
  readonly length: number;
  /** How many of them are packs of metadata. */
  readonly metadataPacks: number;
  /** Whether a pack may have two numbers, because it was named as one of data and as one of metadata. */
  readonly hasTwins: boolean;
  /** The number of a pack of a sort, which is new if it was not seen before. */
  numberOf(row: Row, sort: PackSort): number;
  row(number: number): Row;
  /** Its address, 32 bytes, a view. */
  address(number: number): Uint8Array;
  /** The session that its row names, 16 bytes, a view. */
  session(number: number): Uint8Array;
  sortOf(number: number): PackSort;
  /** Takes back all but the first. */
  truncate(length: number): void;
}

export function packTable(): PackTable {
  // By all of the row and the sort: another snapshot may claim that the same pack is of another session, or
  // that a pack of data is one of metadata, which is not read to check data.
  const rows = keyTable(ROW_LENGTH + 1);
  const isMetadata = column(Int32Array);
  let metadataPacks = 0;
  let hasTwins = false;
  const keyOf = (row: Row, sort: PackSort): Uint8Array => {
    const key = new Uint8Array(ROW_LENGTH + 1);
    key.set(encodeRow(row));
    key[ROW_LENGTH] = sort === "meta" ? 1 : 0;
    return key;
  };
  return {
    get hasTwins() {
      return hasTwins;
    },
    get length() {
      return rows.length;
    },
    get metadataPacks() {
      return metadataPacks;
    },
    numberOf(row, sort) {
      const number = rows.add(keyOf(row, sort));
      if (number === isMetadata.length) {
        hasTwins ||= rows.find(keyOf(row, sort === "meta" ? "data" : "meta")) !== undefined;
        isMetadata.push(sort === "meta" ? 1 : 0);
        metadataPacks += isMetadata.at(number);
      }
      return number;
    },
    address: (number) => rows.key(number).subarray(ADDRESS_AT, ADDRESS_AT + ADDRESS_LENGTH),
    session: (number) => rows.key(number).subarray(0, UUID_LENGTH),
    row: (number) => decodeRow(rows.key(number).slice(0, ROW_LENGTH)),
    sortOf: (number) => (isMetadata.at(number) === 1 ? "meta" : "data"),
    truncate(length) {
      for (let number = length; number < rows.length; number++)
        metadataPacks -= isMetadata.at(number);
      rows.truncate(length);
      isMetadata.truncate(length);
    },
  };
}
