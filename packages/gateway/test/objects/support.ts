import { createHash } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Backend, generateIdentity, type Identity } from "@idk/storage";
import { memory } from "@idk/storage/memory";
import { openCatalog } from "../../src/catalog/open-catalog.ts";
import type { Catalog } from "../../src/catalog/catalog.ts";
import type { Bucket, ExportedRow } from "../../src/catalog/records.ts";
import { createObjects, type ObjectsOptions } from "../../src/objects/create-objects.ts";
import {
  rebuildCatalog,
  type RebuildOptions,
  type RebuildReport,
} from "../../src/objects/rebuild/rebuild.ts";
import type { IncomingBody, Objects } from "../../src/objects/objects.ts";
import { copyOf, newPlace } from "./catalogs.ts";

/** One gateway's objects over one store and one catalog. */
export interface Rig extends AsyncDisposable {
  readonly backend: Backend;
  readonly catalog: Catalog;
  /** Of the catalog, as `openCatalog` takes it. */
  readonly place: string;
  /** Another one for a catalog. */
  newPlace(): Promise<string>;
  readonly identity: Identity;
  readonly objects: Objects;
  readonly bucket: Bucket;
  readonly warnings: string[];
  /** Milliseconds since 1970, for store and gateway; tests let days pass. */
  readonly clock: { now: number };
}

/** Chunks this short make content of a few MiB have several. */
export const CHUNK = 256 * 1024;

/** Opens objects over a memory backend, with a bucket `b`. Background work is off. */
export async function openRig(given: Partial<ObjectsOptions> = {}): Promise<Rig> {
  const clock = { now: Date.UTC(2026, 0, 1) };
  const now = (): number => clock.now;
  const folder = await mkdtemp(join(tmpdir(), "idk-gateway-objects-"));
  const place = await newPlace(folder);
  const catalog = given.catalog ?? (await openCatalog(place));
  const backend = given.backend ?? memory({ now });
  const identity = given.identities?.[0] ?? (await generateIdentity());
  const warnings: string[] = [];
  const objects = await createObjects({
    catalog,
    backend,
    recipients: [identity.recipient],
    identities: [identity],
    chunkSize: CHUNK,
    background: false,
    now,
    warn: (message, error) => warnings.push(`${message}: ${String(error)}`),
    ...given,
  });
  const { bucket } = await objects.createBucket({
    name: "b",
    owner: "me",
    region: "r",
    time: clock.now,
  });
  return {
    backend,
    catalog,
    place,
    newPlace: () => newPlace(folder),
    identity,
    objects,
    bucket,
    warnings,
    clock,
    async [Symbol.asyncDispose]() {
      await objects.close();
      if (given.catalog === undefined) await catalog.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export function md5Of(bytes: Uint8Array): string {
  return createHash("md5").update(bytes).digest("hex");
}

/** Bytes that look random, and are the same for the same seed. */
export function bytesOf(length: number, seed: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  let state = (seed * 2_654_435_761 + 1) >>> 0;
  for (let i = 0; i < length; i++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    bytes[i] = state >>> 24;
  }
  return bytes;
}

/** A body of these bytes, in pieces in one buffer that is used again, as a socket's may be. */
export function bodyOf(bytes: Uint8Array, pieceLength = 50_000): IncomingBody {
  async function* pieces(): AsyncGenerator<Uint8Array> {
    const buffer = new Uint8Array(pieceLength);
    for (let at = 0; at < bytes.length; at += pieceLength) {
      const piece = bytes.subarray(at, at + pieceLength);
      buffer.set(piece);
      yield buffer.subarray(0, piece.length);
    }
  }
  return {
    bytes: pieces(),
    length: bytes.length,
    digests: () => ({ md5: md5Of(bytes), checksums: {} }),
  };
}

export function keyOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** Puts bytes under a key. */
export function put(
  { objects, bucket }: Pick<Rig, "objects" | "bucket">,
  key: string,
  bytes: Uint8Array,
): ReturnType<Objects["putObject"]> {
  const headers = { "content-type": "text/plain", "x-amz-meta-a": "ä" };
  return objects.putObject({ bucket, key: keyOf(key), headers, body: bodyOf(bytes) });
}

/** The bytes of an object, or of a range of it; undefined if there is none. */
export async function read(
  { objects, bucket, catalog }: Pick<Rig, "objects" | "bucket" | "catalog">,
  key: string,
  range?: { start: number; end: number },
): Promise<Uint8Array | undefined> {
  const opened = await catalog.openObject(bucket.id, keyOf(key));
  if (opened === undefined) return undefined;
  return collect(objects.readObject(opened, range));
}

export async function collect(pieces: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  return new Uint8Array(Buffer.concat(all));
}

/** The error of a promise that has to be rejected. */
export async function failureOf(promise: Promise<unknown>): Promise<Error> {
  const outcome = await promise.then(
    () => new Error("nothing was thrown"),
    (error: unknown) => error,
  );
  return outcome instanceof Error ? outcome : new Error(String(outcome));
}

/** The names of all blobs. */
export async function blobsOf(backend: Backend): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of backend.list("")) names.push(name);
  return names.toSorted();
}

/** The rows of a catalog, but for uploads. */
export async function rowsOf(catalog: Catalog): Promise<ExportedRow[]> {
  const rows: ExportedRow[] = [];
  for await (const row of catalog.exportRows()) {
    if (row.type === "bucket" || row.type === "object") rows.push(row);
  }
  return rows;
}

export const [MIB, HOUR, DAY] = [2 ** 20, 60 * 60_000, 24 * 60 * 60_000] as const;

/** Another gateway over the same store and, unless given, the same catalog. */
export function objectsOf(
  { backend, catalog, identity, clock }: Rig,
  given: Partial<ObjectsOptions> = {},
): Promise<Objects> {
  return createObjects({
    backend,
    catalog,
    recipients: [identity.recipient],
    identities: [identity],
    chunkSize: CHUNK,
    background: false,
    now: () => clock.now,
    ...given,
  });
}

/** A catalog rebuilt from the store of a rig, and a gateway over it. */
export async function rebuiltOf(
  rig: Rig,
  options: Partial<RebuildOptions> = {},
): Promise<{ report: RebuildReport; catalog: Catalog; objects: Objects }> {
  const catalog = await openCatalog(await rig.newPlace());
  const { backend, identity } = rig;
  const report = await rebuildCatalog({ backend, catalog, identities: [identity], ...options });
  return { report, catalog, objects: await objectsOf(rig, { catalog }) };
}

/** Copies a catalog while it is open, as a backup does. */
export async function copyCatalog({ place }: Rig): Promise<Catalog> {
  return openCatalog(await copyOf(place));
}

/** Copies a blob from store to store. */
export async function copyBlob(name: string, from: Backend, to: Backend): Promise<void> {
  const buffer = new Uint8Array(2 * MIB);
  const length = await from.get(name, buffer);
  await to.put(name, buffer.slice(0, length));
}
