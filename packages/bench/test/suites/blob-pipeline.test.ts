import { mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "bun";
import { afterEach, describe, expect, test } from "bun:test";
import { withFolder } from "../../src/harness/files.ts";
import { loadClassic, storeClassic } from "../../src/suites/processor/contenders.ts";
import { expectRepeated } from "../../src/suites/processor/blob-pipeline.ts";
import { KINDS, MIXES, filesOf, mixedFiles } from "../../src/suites/processor/mixed-files.ts";
import { runTiny } from "./run-tiny.ts";

afterEach(() => {
  delete process.env["IDK_BENCH_DIR"];
});

const STAGES = {
  classic: ["read", "compress", "key", "encrypt", "base64", "json", "write"],
  idk: ["read", "compress", "key", "encrypt", "hash", "rest", "write"],
};

test("both pipelines store all files, measure all stages, and leave nothing behind", async () => {
  const own = await mkdtemp(join(tmpdir(), "blob-pipeline-"));
  process.env["IDK_BENCH_DIR"] = own;
  const { measurements, targets, counters, notes } = await runTiny("blob-pipeline");
  const names = measurements.map(({ name }) => name);
  expect(names.slice(0, 11)).toEqual([
    "classic",
    "classic, without its keys",
    "idk, random",
    "idk, convergent",
    "classic, fewer iterations",
    "idk, random, 16 at once",
    "idk, random, not compressed",
    "idk, random, zstd where it pays",
    ...Object.keys(MIXES).map((mix) => `idk, random, zstd where it pays: ${mix}`),
  ]);
  expect(names.slice(11)).toEqual(
    Object.entries(STAGES).flatMap(([who, stages]) =>
      stages.map((stage) => `${who}, a file: ${stage}`),
    ),
  );
  const rounds = measurements[0]!.samples.length;
  const keys = measurements.find(({ name }) => name === "classic, a file: key")!.samples;
  expect(keys).toHaveLength(10 * rounds);
  // Files without a key of their own count the mean of the others.
  expect(Math.min(...keys)).toBeGreaterThan(0.01);
  expect(counters.map(({ name, unit }) => [name, unit])).toEqual([
    ["idk, random: blobs", "count"],
    ["idk, random: bytes stored", "bytes"],
    ["idk, convergent: blobs", "count"],
    ["idk, convergent: bytes stored", "bytes"],
  ]);
  expect(counters[0]!.value).toBeGreaterThanOrEqual(10);
  expect(counters[1]!.value).toBeLessThan(950_000);
  expect(targets.map(({ least, most }) => least ?? most)).toEqual([20, 3.2, 20, 3.2]);
  expect(notes.join("\n")).toMatch(/classic, share of the time.*base64 [\d.]+ %.*json [\d.]+ %/u);
  expect(await readdir(own)).toEqual([]);
  await rm(own, { recursive: true });
}, 120_000);

test("two passes have to be equal if they are convergent, and different otherwise", () => {
  const wrote = (...blobs: string[]) => ({ bytes: 20, blobs: new Set(blobs) });
  const [first, other] = [wrote("a", "b"), wrote("c", "d")];
  expect(() => expectRepeated("convergent", first, first, true)).not.toThrow();
  expect(() => expectRepeated("random", first, other, false)).not.toThrow();
  const [others, same] = ["a second pass wrote other blobs", "a second pass wrote the same blobs"];
  expect(() => expectRepeated("convergent", first, other, true)).toThrow(others);
  for (const almost of [wrote("a"), wrote("a", "c"), wrote("a", "b", "c")]) {
    expect(() => expectRepeated("convergent", first, almost, true)).toThrow(others);
  }
  expect(() => expectRepeated("random", first, first, false)).toThrow(same);
  expect(() => expectRepeated("random", first, wrote("c", "b"), false)).toThrow(same);
});

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
      const left = gzipSync(content).length / content.length;
      if (kind === "image") expect(left).toBeGreaterThan(0.99);
      else expect(left).toBeLessThan(0.6);
    }
  });
});

test("mixes are determined by the seed, and as compressible as such files are", () => {
  const left = (mix: string): number => {
    const { kinds, spread, count, total } = MIXES[mix]!;
    const part = { kinds, spread, count: Math.ceil(count / 8), total: total / 8 };
    const files = filesOf(part, 1);
    const all = Buffer.concat(files.map(({ content }) => content));
    const again = Buffer.concat(filesOf(part, 1).map(({ content }) => content));
    expect(Bun.hash(again)).toBe(Bun.hash(all));
    expect(all.length / part.total).toBeCloseTo(1, 0);
    return gzipSync(all).length / all.length;
  };
  expect(left("photos")).toBeGreaterThan(0.99);
  expect(left("documents")).toBeLessThan(0.8);
  expect(left("code")).toBeLessThan(0.5);
});

test("office files begin like ZIP archives, code has lines, and photos begin with a JPEG header", () => {
  const make = (kind: "office" | "code" | "photo") => {
    const [file] = filesOf({ kinds: [kind], count: 1, total: 50_000, spread: 1 }, 1);
    return Buffer.from(file!.content);
  };
  const office = make("office");
  expect(office.subarray(0, 4).toString("latin1")).toBe("PK\x03\x04");
  expect(gzipSync(office).length / office.length).toBeGreaterThan(0.97);
  expect(make("code").toString().split("\n").length).toBeGreaterThan(500);
  expect(make("photo").subarray(0, 2).toString("hex")).toBe("ffd8");
});

test("the classic pipeline rejects a changed file", () =>
  withFolder(async (folder) => {
    const [source, target] = [join(folder, "source"), join(folder, "target")];
    await writeFile(source, "hello");
    await storeClassic(source, target, 1000);
    expect(Buffer.from(await loadClassic(target)).toString()).toBe("hello");
    const envelope = JSON.parse(await readFile(target, "utf8")) as { data: string };
    const data = Buffer.from(envelope.data, "base64");
    data[0]! ^= 1;
    await writeFile(target, JSON.stringify({ ...envelope, data: data.toString("base64") }));
    const opened = loadClassic(target).then(
      () => "opened",
      () => "refused",
    );
    expect(await opened).toBe("refused");
  }));
