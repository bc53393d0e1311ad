import { createStore, generateIdentity, type Identity } from "@idk/storage";
import { memory } from "@idk/storage/memory";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRecorder, type Recorder, type RecorderOptions } from "../../src/index.ts";
import type { Exchange } from "../../src/record/exchange.ts";
import { decodeSegmentMetadata, type SegmentMetadata } from "../../src/segments/metadata.ts";

export const identity: Identity = await generateIdentity();

/** A recorder with a store in memory and a spool of its own. */
export interface Archive {
  readonly recorder: Recorder;
  readonly spool: string;
  /** Flushes, and reads what is in the store. */
  exchanges(): Promise<Exchange[]>;
  /** Closes the recorder, and deletes its spool if that is its own. */
  [Symbol.asyncDispose](): Promise<void>;
}

export function newArchive(options: Partial<RecorderOptions> = {}): Archive {
  const spool = options.spool ?? mkdtempSync(join(tmpdir(), "idk-recorder-"));
  const backend = memory();
  const recorder = createRecorder({
    backend,
    recipients: [identity.recipient],
    spool,
    // The faults of a test that expects none are to be seen.
    onError: (error) => console.error(error),
    ...options,
  });
  return {
    recorder,
    spool,
    async exchanges() {
      await recorder.flush();
      return exchangesIn(options.backend ?? backend);
    },
    async [Symbol.asyncDispose]() {
      await recorder.close(1000);
      if (options.spool === undefined) rmSync(spool, { recursive: true, force: true });
    },
  };
}

/** A segment, opened. */
export interface Segment {
  readonly metadata: SegmentMetadata;
  readonly text: string;
}

/** The segments in a backend, by run and number. */
export async function segmentsIn(backend: RecorderOptions["backend"]): Promise<Segment[]> {
  const store = createStore({ backend, identities: [identity] });
  const segments: Segment[] = [];
  for await (const { address } of store.list()) {
    const content = await store.get(address);
    const metadata = decodeSegmentMetadata(content.metadata);
    if (metadata === undefined) throw new Error(`${address} is not a segment`);
    segments.push({ metadata, text: await content.text() });
  }
  const key = ({ metadata: { run, seq } }: Segment): string => `${run} ${1e9 + seq}`;
  return segments.toSorted((a, b) => (key(a) < key(b) ? -1 : 1));
}

export async function exchangesIn(backend: RecorderOptions["backend"]): Promise<Exchange[]> {
  const segments = await segmentsIn(backend);
  return segments.flatMap(({ text }) =>
    text
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Exchange),
  );
}
