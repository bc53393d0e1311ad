import { mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "bun";
import { afterEach, describe, expect, test } from "bun:test";
import { temporaryFolder } from "../../src/harness/files.ts";
import { loadClassic, storeClassic } from "../../src/suites/blob-pipeline/classic.ts";
import { KINDS, mixedFiles } from "../../src/suites/blob-pipeline/mixed-files.ts";
import { STAGES } from "../../src/suites/blob-pipeline/stages.ts";
import { runTiny } from "./run-tiny.ts";

afterEach(() => {
  delete process.env["IDK_BENCH_DIR"];
});

test("both pipelines store all files, measure all stages, and leave nothing behind", async () => {
  const own = await mkdtemp(join(tmpdir(), "blob-pipeline-"));
  process.env["IDK_BENCH_DIR"] = own;
  const { measurements, targets } = await runTiny("blob-pipeline");
  expect(measurements).toHaveLength(7 + 2 * STAGES.length);
  const [classic, , random] = measurements;
  expect(classic).toMatchObject({ name: "classic", requests: 10, bytesPerOperation: 950_000 });
  expect(random).toMatchObject({ name: "idk, random", bytesPerOperation: 950_000 });
  // Base64 is a third longer than its content.
  expect(random!.bytesSent! / classic!.bytesSent!).toBeLessThan(0.9);
  expect(measurements.find(({ name }) => name === "classic, a file: key")!.samples).toHaveLength(
    20,
  );
  expect(targets.map(({ least }) => least)).toEqual([20, 20]);
  expect(await readdir(own)).toEqual([]);
  await rm(own, { recursive: true });
}, 60_000);

describe("mixed files", () => {
  const files = mixedFiles(263, 25_100_000, 1);

  test("have the exact total length and are determined by the seed", () => {
    expect(files).toHaveLength(263);
    expect(files.reduce((sum, { content }) => sum + content.length, 0)).toBe(25_100_000);
    expect(new Set(files.map(({ name }) => name)).size).toBe(263);
    expect(files.every(({ content }) => content.length > 0)).toBe(true);
    expect(mixedFiles(263, 25_100_000, 1).map(({ content }) => Bun.hash(content))).toEqual(
      files.map(({ content }) => Bun.hash(content)),
    );
    expect(mixedFiles(5, 1000, 2)).not.toEqual(mixedFiles(5, 1000, 1));
  });

  test("are short and long, and all but images are compressible", () => {
    const lengths = files.map(({ content }) => content.length).toSorted((a, b) => a - b);
    expect(lengths.at(-1)! / lengths[131]!).toBeGreaterThan(10);
    for (const kind of KINDS) {
      const { content } = files.find((file) => file.kind === kind && file.content.length > 20_000)!;
      const left = gzipSync(content as Uint8Array<ArrayBuffer>).length / content.length;
      if (kind === "image") expect(left).toBeGreaterThan(0.99);
      else expect(left).toBeLessThan(0.6);
    }
  });
});

test("the classic pipeline rejects a changed file", async () => {
  const folder = await temporaryFolder();
  try {
    const [source, target] = [join(folder, "source"), join(folder, "target")];
    await writeFile(source, "hello");
    await storeClassic(source, target, 1000);
    expect(Buffer.from(await loadClassic(target)).toString()).toBe("hello");
    const envelope = JSON.parse(await readFile(target, "utf8")) as { data: string };
    const data = Buffer.from(envelope.data, "base64");
    data[0]! ^= 1;
    await writeFile(target, JSON.stringify({ ...envelope, data: data.toString("base64") }));
    const loading = loadClassic(target);
    expect(
      await loading.then(
        () => "opened",
        () => "refused",
      ),
    ).toBe("refused");
  } finally {
    await rm(folder, { recursive: true });
  }
});
