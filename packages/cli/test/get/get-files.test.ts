import { parseAddress, type StoredContent } from "@idk/storage";
import { expect, test } from "bun:test";
import type { Listed } from "../../src/blobs/address-list.ts";
import { type GetFile, getFiles } from "../../src/get/get-files.ts";
import type { Output } from "../../src/output/output.ts";
import { createProgress, type Task } from "../../src/progress/meter.ts";
import { createWorkspace } from "../support/cli.ts";

const { path } = await createWorkspace();

const silent: Output = {
  json: false,
  terminal: false,
  result: async () => {},
  report: async () => {},
  text: async () => {},
  bytes: async () => {},
  flush: async () => {},
  note: async () => {},
  fault: async () => {},
  event: async () => {},
  block: async () => {},
};

const quiet = {
  onHangup: () => {},
  keepRunning: () => {},
  out: silent,
  progress: createProgress(undefined),
};
const out = { folder: path("out"), names: true, keepHidden: false };

/** Never called. */
const write = async (content: StoredContent): Promise<never> => {
  throw new Error(`${content.address} was opened`);
};

async function* addresses(count: number): AsyncGenerator<Listed> {
  for (let i = 0; i < count; i++) {
    const given = `${i}`.padStart(64, "0");
    yield { given, address: parseAddress(given) };
  }
}

test("an interruption waits until the others have cleaned up", async () => {
  const interruption = new AbortController();
  const session = { ...quiet, signal: interruption.signal };
  let begun = 0;
  let ended = 0;
  const open = async (_: string, signal: AbortSignal): Promise<never> => {
    const own = ++begun;
    await new Promise<void>((resolve) => {
      signal.addEventListener("abort", () => resolve());
      if (begun === 5) interruption.abort();
    });
    await Bun.sleep(own * 5);
    ended += 1;
    throw new Error("interrupted");
  };
  const outcome = await getFiles(async () => addresses(5), out, { open, write }, session).catch(
    String,
  );
  expect(outcome).toBe("Error: interrupted");
  expect([begun, ended]).toEqual([5, 5]);
});

test("an unexpected error ends the others, and waits for them", async () => {
  const session = { ...quiet, signal: new AbortController().signal };
  const states: string[] = [];
  const open = async (address: string, signal: AbortSignal): Promise<never> => {
    if (address.endsWith("0")) {
      await Bun.sleep(5);
      throw new TypeError("a bug");
    }
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    await Bun.sleep(5);
    states.push(address.slice(-1));
    throw new Error("stopped");
  };
  const outcome = await getFiles(async () => addresses(3), out, { open, write }, session).catch(
    String,
  );
  expect(outcome).toBe("TypeError: a bug");
  expect(states).toEqual(["1", "2"]);
});

test("shows no progress of its own while the contents are searched", async () => {
  const events: string[] = [];
  const progress = createProgress(undefined);
  const session = {
    ...quiet,
    signal: new AbortController().signal,
    progress: { ...progress, start: (task: Task) => (events.push("start"), progress.start(task)) },
  };
  const find = async () => {
    await Bun.sleep(1);
    events.push("found");
    return addresses(0);
  };
  await getFiles(
    find,
    out,
    { open: async () => Promise.reject(new Error("none")), write },
    session,
  );
  expect(events).toEqual(["found", "start"]);
});

test.each([
  ["small contents", 100, 64],
  ["contents of 64 KiB, of which each may take 2 MiB of memory", 64 * 1024, 16],
])("has this many in flight: %s", async (_, size, most) => {
  const seen = { inFlight: 0, most: 0 };
  const open = async (address: string) => {
    seen.inFlight += 1;
    seen.most = Math.max(seen.most, seen.inFlight);
    await Bun.sleep(5);
    return { address, size, metadata: {} } as StoredContent;
  };
  const written = async () => {
    await Bun.sleep(5);
    seen.inFlight -= 1;
    return { size, written: size };
  };
  const session = { ...quiet, signal: new AbortController().signal };
  const find = async () => addresses(200);
  await getFiles(find, out, { open, write: written }, session);
  expect(seen).toEqual({ inFlight: 0, most });
});

test("writes itself what is left of small files, and counts what has been created", async () => {
  const written: string[] = [];
  const getFile: GetFile = {
    open: async (address) => ({ address, size: 1, metadata: {} }) as StoredContent,
    write: async ({ address }) => (written.push(address.slice(-1)), { size: 1, written: 1 }),
    smallFiles: {
      // Not taken; left after a while; created; existed.
      async take({ address }) {
        const which = Number(address.at(-1));
        if (which === 0) return undefined;
        await Bun.sleep(1);
        const outcomes = [
          undefined,
          { size: 1, written: 1 },
          { size: 1, written: 0, alreadyThere: true as const },
        ];
        return { downloaded: Promise.resolve(outcomes[which - 1]) };
      },
      async [Symbol.asyncDispose]() {},
    },
  };
  const reported: unknown[] = [];
  const notes: string[] = [];
  const output = {
    ...silent,
    report: async (each: object) => void reported.push(each),
    note: async (text: string) => void notes.push(text),
  };
  const session = { ...quiet, out: output, signal: new AbortController().signal };
  await getFiles(async () => addresses(4), out, getFile, session);
  expect(written.toSorted()).toEqual(["0", "1"]);
  expect(reported.length).toBe(4);
  expect(notes).toEqual(["idk: 1 of 4 files already existed"]);
});
