import type { Connection } from "./connection.ts";
import type { Place } from "./place.ts";

/** Where one call is carried out, and what has been learned there. */
export interface Session {
  readonly connection: Connection;
  readonly place: Place;
  readonly learned: Learned;
}

/** What calls find out about a place, and later ones go by. */
export interface Learned {
  /** Whether uploads carry `x-amz-checksum-sha256`. */
  checksums: boolean;
  /** Whether the store checks it, so that what it keeps can be believed. */
  attests: boolean;
  /** Whether the bucket has been seen to exist. */
  bucketSeen: boolean;
}

export type Signal = AbortSignal | undefined;

/** One blob as messages name it. */
export function blobAt(place: Place, name: string): string {
  return `the blob ${place.bucket}/${place.folder}${name}`;
}

/** What an answer says of the length of the object. */
export function lengthIn(headers: Headers): number | undefined {
  const text = headers.get("content-length");
  return text === null || !/^\d{1,15}$/u.test(text) ? undefined : Number(text);
}
