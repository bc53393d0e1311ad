import { createHash } from "node:crypto";
import type { Address } from "@idk/storage";
import type { Catalog, ListOptions, Page, Put } from "../../../src/catalog/catalog.ts";
import type {
  Bucket,
  ContentRoot,
  ExportedRow,
  ObjectRecord,
  Part,
} from "../../../src/catalog/records.ts";

/** An empty catalog for one test. */
export interface Fixture {
  readonly catalog: Catalog;
  /** Opens another catalog over the same database, as another process would. */
  reopen(): Promise<Catalog>;
  /** Closes all of them and removes the database. */
  cleanup(): Promise<void>;
}

export type OpenFixture = () => Promise<Fixture>;

/** A time, so that tests need no clock. */
export const NOW = 1_700_000_000_000;
export const [SECOND, HOUR, DAY] = [1000, 3_600_000, 86_400_000] as const;

/** Runs a test with a fixture of its own. */
export function using<Opened extends Fixture>(
  open: () => Promise<Opened>,
  body: (fixture: Opened & { bucket: Bucket }) => Promise<void>,
): () => Promise<void> {
  return async () => {
    const fixture = await open();
    try {
      await body({ ...fixture, bucket: await makeBucket(fixture.catalog, "bucket") });
    } finally {
      await fixture.cleanup();
    }
  };
}

export async function makeBucket(catalog: Catalog, name: string): Promise<Bucket> {
  const { bucket } = await catalog.createBucket({
    name,
    owner: "owner",
    region: "eu-north-1",
    time: NOW,
  });
  return bucket;
}

export function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

export function text(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

/** Some address: the same for the same name. */
export function address(name: string): Address {
  return createHash("sha256").update(name).digest("hex") as Address;
}

export function root(name: string, size = 100): ContentRoot {
  return { address: address(name), size, md5: createHash("md5").update(name).digest("hex") };
}

/** An inline object. */
export function inline(seq: number, more: Partial<ObjectRecord> = {}): ObjectRecord {
  return {
    seq,
    kind: "inline",
    root: address(`root ${seq}`),
    size: 5,
    etag: `etag-${seq}`,
    time: NOW,
    checksums: { crc32: "AAAAAA==" },
    headers: { "content-type": "text/plain", "x-amz-meta-name": "ü\u0000\ud800" },
    tags: [["a", "b"]],
    ...more,
  };
}

export function part(number: number, seq: number, size = 100): Part {
  return { number, seq, size, etag: `part-${seq}`, time: NOW, checksums: {} };
}

/** Puts an inline object as a gateway does. */
export async function put(
  catalog: Catalog,
  bucket: Bucket,
  key: string,
  more: Partial<ObjectRecord> = {},
): Promise<ObjectRecord> {
  const object = inline(await catalog.nextSeq(), more);
  const { outcome } = await catalog.commitPut(putOf(bucket, key, object));
  if (outcome !== "stored") throw new Error(`the put was not stored but ${outcome}`);
  return object;
}

export function putOf(
  bucket: Bucket,
  key: string,
  object: ObjectRecord,
  more: Partial<Put> = {},
): Put {
  return { bucket: bucket.id, key: bytes(key), object, contents: [], now: NOW, ...more };
}

/** Adds many objects without content to a catalog, faster than puts would. */
export async function fill(
  catalog: Catalog,
  bucket: Bucket,
  keys: readonly Uint8Array[],
): Promise<void> {
  for (let at = 0; at < keys.length; at += 1000) {
    const first = await catalog.nextSeq();
    const rows = keys.slice(at, at + 1000).map((key, i): ExportedRow => {
      const object = { ...inline(first + i + 1), bucket: bucket.id, key, parts: 0 };
      return { type: "object", object, contents: [], parts: [] };
    });
    await catalog.importRows(rows);
  }
}

/** Puts an object with content roots. */
export async function putManifest(
  catalog: Catalog,
  bucket: Bucket,
  key: string,
  names: readonly string[],
  more: Partial<Put> = {},
): Promise<ObjectRecord> {
  const object = inline(await catalog.nextSeq(), { kind: "manifest", size: names.length * 100 });
  const contents = names.map((name) => ({ ...root(name), part: 1 }));
  const { outcome } = await catalog.commitPut(putOf(bucket, key, object, { contents, ...more }));
  if (outcome !== "stored") throw new Error(`the put was not stored but ${outcome}`);
  return object;
}

/** What a call that should fail rejects with. */
export function failureOf(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => new Error("it did not fail"),
    (error: unknown) => error,
  );
}

/** The addresses of all garbage, also of what is not due yet. */
export async function garbage(catalog: Catalog): Promise<string[]> {
  const found = await catalog.dueGarbage(Number.MAX_SAFE_INTEGER, 100_000);
  return found.map(({ address }) => address).toSorted();
}

export function addresses(...names: string[]): string[] {
  return names.map((name) => address(name)).toSorted();
}

/** All pages of a listing, as texts. */
export async function listAll<Entry extends { readonly key: Uint8Array }>(
  list: (options: ListOptions & { afterId?: string }) => Promise<Page<Entry>>,
  options: Omit<ListOptions, "limit">,
  limit: number,
): Promise<{ keys: string[]; prefixes: string[]; pages: number }> {
  const result = { keys: [] as string[], prefixes: [] as string[], pages: 0 };
  let place: Page<Entry>["next"];
  do {
    const page: Page<Entry> = await list({ ...options, ...place, limit });
    result.keys.push(...page.entries.map(({ key }) => text(key)));
    result.prefixes.push(...page.prefixes.map(text));
    result.pages++;
    place = page.next;
  } while (place !== undefined);
  return result;
}
