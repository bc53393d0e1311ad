import { createStore, generateIdentity, wrapBackend } from "@idk/storage";
import { memory } from "@idk/storage/memory";
import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Output } from "../../src/output/output.ts";
import { createProgress } from "../../src/progress/meter.ts";
import { filesToPut } from "../../src/put/files-to-put.ts";
import { putFiles } from "../../src/put/put-files.ts";

const ignore = async (): Promise<void> => {};

/** A session that keeps the lines of results. */
function newSession() {
  const lines: string[] = [];
  const out: Output = {
    json: false,
    terminal: false,
    result: async (human) => void lines.push(human),
    report: ignore,
    note: ignore,
    text: ignore,
    bytes: ignore,
    flush: ignore,
    fault: ignore,
    event: ignore,
    block: ignore,
  };
  const { signal } = new AbortController();
  const progress = createProgress(undefined);
  return { lines, session: { out, signal, progress, onHangup() {}, keepRunning() {} } };
}

test.each([
  ["small files: more than at first", 100, 25, 64],
  ["files of 64 KiB, of which each may take 4 MiB of memory", 64 * 1024, 16, 16],
])("put has this many in flight: %s", async (_, size, least, most) => {
  const folder = mkdtempSync(join(tmpdir(), "idk-in-flight-"));
  const seen = { inFlight: 0, most: 0 };
  const backend = wrapBackend(memory(), {
    put:
      (put) =>
      async (...given) => {
        seen.inFlight += 1;
        seen.most = Math.max(seen.most, seen.inFlight);
        // Far longer than a file takes, also where the processor is slow.
        await Bun.sleep(200);
        await put(...given);
        seen.inFlight -= 1;
      },
  });
  try {
    for (let i = 0; i < 200; i++) writeFileSync(join(folder, `${i}`), new Uint8Array(size).fill(i));
    const { recipient } = await generateIdentity();
    const { lines, session } = newSession();
    const options = {
      recipients: [recipient],
      padding: "padme",
      compression: "none",
      metadata: async () => ({}),
      used: {},
      isListed: async () => false,
    } as const;
    const files = () => filesToPut([folder], undefined, { skipped: ignore, unreadable: ignore });
    await putFiles(createStore({ backend }), { files }, options, async () => undefined, session);
    expect(lines).toHaveLength(200);
    expect(seen.inFlight).toBe(0);
    expect(seen.most).toBeWithin(least, most + 1);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
