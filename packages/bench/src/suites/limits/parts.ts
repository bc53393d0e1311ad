/** Measures the parts of operations, one at a time, in a process of its own. */
import { mkdir, open, rm } from "node:fs/promises";
import { join } from "node:path";
import { boundsFor } from "../../harness/bounds.ts";
import { CHUNK, lengthOf } from "../../harness/content.ts";
import { syncToDisk } from "../../harness/files.ts";
import { busySeconds } from "../../harness/machine.ts";
import { measurePeak } from "../../harness/memory.ts";
import { answerJob } from "../../harness/processes.ts";
import { bareS3 } from "../../object-store/bare-s3.ts";
import type { ObjectStoreAccess } from "../../suite.ts";
import { passesOf, randomContents } from "../object-store/passes.ts";
import type { Kind, Part } from "./bound.ts";

/** What operations are made of, and what each part needs. */
export const PARTS = {
  "file read": "disk",
  "SHA-256": "processor",
  "secretbox, sealed": "processor",
  "secretbox, opened": "processor",
  "bare PUTs": "store",
  "bare GETs": "store",
  "file written and synced": "disk",
  "files written": "disk",
} as const satisfies Readonly<Record<string, Kind>>;

export type PartName = keyof typeof PARTS;

export interface PartsJob {
  /** Bytes, a multiple of a chunk. */
  readonly size: number;
  /** Bytes of each of the files that a restore writes. */
  readonly fileSize: number;
  readonly access: ObjectStoreAccess;
  /** A file of as many bytes, and a folder to write in. */
  readonly source: string;
  readonly folder: string;
}

/** Requests in flight: the least time and the least CPU time of both count. */
const LANES = [4, 16];
/** Contents that are sent over and over, each under new names: as many as no cache of a processor has. */
const DISTINCT = 16;

export async function measureParts(job: PartsJob): Promise<Record<PartName, Part>> {
  const { size, fileSize, access, source, folder } = job;
  const chunks = size / CHUNK;
  const distinct = randomContents(CHUNK, Math.min(chunks, DISTINCT));
  const contents = Array.from({ length: chunks }, (_, i) => distinct[i % distinct.length]!);
  const { seal, open: unseal, hash } = await boundsFor(CHUNK);
  const store = passesOf(bareS3(access, { checksums: true }), CHUNK);
  const buffer = new Uint8Array(CHUNK).fill(1);
  const forEachChunk = (work: () => void) => async () => contents.forEach(() => work());
  const keys: string[][] = [];
  const put = (lanes: number) => async () => void keys.push(await store.put(contents, lanes));
  const get = (lanes: number) => () =>
    store.get(keys[0]!, lanes, async (_, pieces) => {
      if ((await lengthOf(pieces)) !== CHUNK) throw new Error("a chunk came back too short");
    });
  const write = async (path: string, length: number) => {
    await using file = await open(path, "wx");
    for (let at = 0; at < length; at += CHUNK) {
      const { bytes } = distinct[(at / CHUNK) % distinct.length]!;
      await file.write(bytes, 0, Math.min(CHUNK, length - at));
    }
  };
  const [whole, files] = [join(folder, "whole"), join(folder, "files")];
  await mkdir(files);
  const ways: Readonly<Record<PartName, readonly (() => Promise<void>)[]>> = {
    "file read": [
      async () => {
        await using file = await open(source);
        while ((await file.read(buffer)).bytesRead > 0);
      },
    ],
    "SHA-256": [forEachChunk(hash)],
    "secretbox, sealed": [forEachChunk(seal)],
    "secretbox, opened": [forEachChunk(unseal)],
    "bare PUTs": LANES.map(put),
    "bare GETs": LANES.map(get),
    "file written and synced": [
      async () => {
        await write(whole, size);
        await syncToDisk(whole);
      },
    ],
    "files written": [
      async () => {
        for (let i = 0; i < size / fileSize; i++) await write(join(files, String(i)), fileSize);
      },
    ],
  };
  // Compiles what sends and receives, and opens connections.
  const warm = await store.put(contents.slice(0, 4), 4);
  await store.get(warm, 4, async (_, pieces) => void (await lengthOf(pieces)));
  const found: [string, Part][] = [];
  for (const [name, works] of Object.entries(ways)) {
    const parts: Part[] = [];
    for (const work of works) parts.push(await measured(work));
    const least = (of: keyof Part) => Math.min(...parts.map((part) => part[of]));
    const times = { seconds: least("seconds"), cpuSeconds: least("cpuSeconds") };
    found.push([name, { ...times, busySeconds: least("busySeconds") }]);
  }
  for (const path of [whole, files]) await rm(path, { recursive: true });
  return Object.fromEntries(found) as Record<PartName, Part>;
}

async function measured(work: () => Promise<void>): Promise<Part> {
  Bun.gc(true);
  const busy = busySeconds();
  const { seconds, cpuSeconds } = await measurePeak(work);
  // The clock of the machine has ticks of 10 ms, which may be more than a part takes.
  return { seconds, cpuSeconds, busySeconds: Math.max(cpuSeconds, busySeconds() - busy) };
}

await answerJob(measureParts);
