import { describe, expect, test } from "bun:test";
import { closeSync, constants, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { isolated, newFolder, until } from "../support/cli.ts";

const OUTPUT = join(import.meta.dir, "../../src/output/output.ts");
const SCREEN = join(import.meta.dir, "../../src/output/screen.ts");

/** Prints many lines concurrently without awaiting, like files stored concurrently. */
const LINES = `
  const { createOutput } = await import(${JSON.stringify(OUTPUT)});
  const { createScreen } = await import(${JSON.stringify(SCREEN)});
  const out = createOutput({ json: false, screen: createScreen() });
  const lines = Array.from({ length: 2000 }, (_, i) => i + " " + "x".repeat(900) + " " + i);
  await Promise.all(lines.map((line) => out[process.argv[1]](line, {})));
  await out.flush();
`;

/** Ends as soon as everything is written, as far as it is told. */
const BEGUN = `
  const { createOutput } = await import(${JSON.stringify(OUTPUT)});
  const { createScreen } = await import(${JSON.stringify(SCREEN)});
  const out = createOutput({ json: false, screen: createScreen() });
  void out.result("x".repeat(20_000_000), undefined);
  await out.flush();
  process.exit(0);
`;

test("a flush waits for what another one has begun to write", async () => {
  const child = Bun.spawn([process.execPath, "-e", BEGUN], { env: isolated({}), stdout: "pipe" });
  await Bun.sleep(300);
  expect((await new Response(child.stdout).text()).length).toBe(20_000_001);
  expect(await child.exited).toBe(0);
});

/** Prints how each of three flushes ended to standard error. */
const FLUSHES = `
  const { createOutput } = await import(${JSON.stringify(OUTPUT)});
  const { createScreen } = await import(${JSON.stringify(SCREEN)});
  const out = createOutput({ json: false, screen: createScreen() });
  await out.result("lost", undefined);
  for (let i = 0; i < 3; i++) console.error(await out.flush().then(() => "ok", ({ code }) => code));
  process.exit(0);
`;

test.skipIf(process.platform !== "linux")("a write that failed fails no later flush", async () => {
  const child = Bun.spawn([process.execPath, "-e", FLUSHES], {
    env: isolated({}),
    stdout: Bun.file("/dev/full"),
    stderr: "pipe",
  });
  const outcomes = (await new Response(child.stderr).text()).trimEnd().split("\n");
  expect(outcomes).toEqual(["output", "ok", "ok"]);
});

/** Writes 20 MiB, one MiB at a time. */
const LONG = `
  const { createOutput } = await import(${JSON.stringify(OUTPUT)});
  const { createScreen } = await import(${JSON.stringify(SCREEN)});
  const out = createOutput({ json: false, screen: createScreen() });
  for (let i = 0; i < 20; i++) await out.bytes(new Uint8Array(2 ** 20).fill(i));
  process.exit(0);
`;

test.skipIf(process.platform !== "linux")(
  "a pipe holds more once much went through it",
  async () => {
    const fifo = join(newFolder(), "fifo");
    Bun.spawnSync(["mkfifo", fifo]);
    const reader = openSync(fifo, constants.O_RDONLY | constants.O_NONBLOCK);
    const writer = openSync(fifo, constants.O_WRONLY);
    const child = Bun.spawn([process.execPath, "-e", LONG], { env: isolated({}), stdout: writer });
    closeSync(writer);
    const received: Uint8Array[] = [];
    const buffer = new Uint8Array(2 ** 21);
    // One read returns all that the pipe holds.
    const take = () => {
      try {
        const length = readSync(reader, buffer, 0, buffer.length, null);
        received.push(buffer.slice(0, length));
        return length;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "EAGAIN") return undefined;
        throw error;
      }
    };
    try {
      let most = 0;
      await until(() => {
        most = Math.max(most, take() ?? 0);
        return most > 2 ** 16;
      });
      await until(() => take() === 0);
      expect(await child.exited).toBe(0);
    } finally {
      child.kill();
      closeSync(reader);
    }
    const all = Buffer.concat(received);
    expect(all.length).toBe(20 * 2 ** 20);
    for (let i = 0; i < 20; i++) expect(all.at(i * 2 ** 20)).toBe(i);
  },
);

describe("lines written concurrently", () => {
  test.each([
    ["result", "stdout"],
    ["note", "stderr"],
  ] as const)("are whole and in order in a pipe that is full (%s)", async (way, stream) => {
    const child = Bun.spawn([process.execPath, "-e", LINES, way], {
      env: isolated({}),
      stdout: "pipe",
      stderr: "pipe",
    });
    // The reader has read nothing so far, and a pipe buffers only a few lines.
    await Bun.sleep(300);
    const text = await new Response(child[stream]).text();
    expect(await child.exited).toBe(0);
    const numbers = text
      .trimEnd()
      .split("\n")
      .map((line) => /^(\d+) x{900} \1$/u.exec(line)?.[1]);
    expect(numbers).toEqual(Array.from({ length: 2000 }, (_, i) => String(i)));
  });
});
