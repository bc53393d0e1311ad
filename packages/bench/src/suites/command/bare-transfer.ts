/** Sends a file as chunks by bare requests and fetches them again: what no program can do faster. */
import { open } from "node:fs/promises";
import { CHUNK } from "../../harness/content.ts";
import { measurePeak } from "../../harness/memory.ts";
import { answerJob } from "../../harness/processes.ts";
import type { Sample } from "../../harness/results.ts";
import { bareS3 } from "../../object-store/bare-s3.ts";
import type { ObjectStoreAccess } from "../../suite.ts";
import { type Content, contentOf, passesOf, tasksOf } from "../object-store/passes.ts";

export interface BareTransfer {
  readonly source: string;
  readonly access: ObjectStoreAccess;
  /** Requests in flight. */
  readonly inFlight: number;
}

/** The file is in memory and hashed before, the server keeps a checksum as it does for the command. */
await answerJob(async ({ source, access, inFlight }: BareTransfer): Promise<Sample[]> => {
  const contents = await Array.fromAsync(chunksOfFile(source));
  const passes = passesOf(bareS3(access, { checksums: true }), CHUNK);
  const { put, get } = tasksOf(passes, contents, { who: "bare requests", inFlight });
  const samples: Sample[] = [];
  for (const { run } of [put, get]) {
    Bun.gc(true);
    samples.push(await measurePeak(async () => run()));
  }
  await get.check?.(undefined);
  return samples;
});

async function* chunksOfFile(path: string): AsyncGenerator<Content> {
  await using file = await open(path);
  for (;;) {
    const { bytesRead, buffer } = await file.read(new Uint8Array(CHUNK));
    if (bytesRead === 0) return;
    yield contentOf(buffer.subarray(0, bytesRead));
  }
}
