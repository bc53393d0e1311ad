import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  appendFileSync,
  closeSync,
  ftruncateSync,
  mkdtempSync,
  openSync,
  rmSync,
  truncateSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import type { Chunk, ReadFile } from "../../src/walk/read-file.ts";
import type { Folder, Host } from "../../src/files/host.ts";
import fc from "fast-check";
import { join } from "node:path";
import { linkGroups } from "../../src/walk/link-groups.ts";
import { openHost } from "../../src/files/open-host.ts";
import { readFile } from "../../src/walk/read-file.ts";
import { tmpdir } from "node:os";

const host = await openHost();
const buffer = new Uint8Array(2 ** 20);
let path = "";
let folder: Folder;
beforeAll(() => {
  path = mkdtempSync(join(tmpdir(), "idk-read-"));
  folder = host.openRoot(Buffer.from(path));
});
afterAll(() => {
  host.close(folder);
  rmSync(path, { recursive: true });
});

const HOUR = 60 * 60 * 1000;

/** Reads a file; `during` runs after each chunk. */
function read(
  name: string,
  during: (chunk: Chunk, attempt: number) => void = () => {},
  { on = host, now = Date.now() }: { on?: Host; now?: number } = {},
): ReadFile & {
  content: Buffer;
  attempts: number;
  holes: number[];
} {
  const reading = readFile(on, folder, Buffer.from(name), now, buffer);
  let parts: Uint8Array[] = [];
  let attempts = 0;
  let holes: number[] = [];
  for (;;) {
    const next = reading.next();
    if (next.done === true)
      return { ...next.value, content: Buffer.concat(parts), attempts, holes };
    const chunk = next.value;
    if (chunk.kind === "start") [parts, holes, attempts] = [[], [], attempts + 1];
    else if (chunk.kind === "hole") {
      holes.push(chunk.length);
      parts.push(new Uint8Array(chunk.length));
    } else parts.push(chunk.bytes.slice());
    during(chunk, attempts);
  }
}

describe("a file", () => {
  const big = Buffer.alloc(2 ** 21 + 5, "content ");

  test("is read once, in pieces", () => {
    writeFileSync(join(path, "quiet"), big);
    const { content, attempts, isInconsistent, size } = read("quiet");
    expect(content.equals(big)).toBe(true);
    expect({ attempts, isInconsistent, size }).toEqual({
      attempts: 1,
      isInconsistent: false,
      size: big.length,
    });
    writeFileSync(join(path, "empty"), "");
    expect(read("empty")).toMatchObject({ attempts: 1, isInconsistent: false, size: 0 });
  });

  test("that changes once is read again, and right", () => {
    writeFileSync(join(path, "once"), big);
    const found = read("once", (chunk, attempt) => {
      if (attempt === 1 && chunk.kind === "start") appendFileSync(join(path, "once"), "more");
    });
    expect(found.attempts).toBe(2);
    expect(found.isInconsistent).toBe(false);
    expect(found.content.equals(Buffer.concat([big, Buffer.from("more")]))).toBe(true);
  });

  test("that grows always is read three times, and ends", () => {
    writeFileSync(join(path, "grows"), big);
    const found = read("grows", () => appendFileSync(join(path, "grows"), "x"));
    expect(found.attempts).toBe(3);
    expect(found.isInconsistent).toBe(true);
    expect(found.content.length).toBe(found.size);
  });

  test("that shrinks always has what was read as its size", () => {
    writeFileSync(join(path, "shrinks"), big);
    let size = big.length;
    const found = read("shrinks", (chunk) => {
      if (chunk.kind === "bytes" || chunk.kind === "start")
        truncateSync(join(path, "shrinks"), (size -= 2 ** 17));
    });
    expect(found).toMatchObject({ attempts: 3, isInconsistent: true });
    expect(found.content.length).toBe(found.size);
  });

  test("that vanishes while it is read is read to its end, and then is gone", () => {
    writeFileSync(join(path, "vanishes"), big);
    const reading = (): ReadFile =>
      read("vanishes", (chunk, attempt) => {
        if (attempt === 1 && chunk.kind === "start") unlinkSync(join(path, "vanishes"));
      });
    // Its change time is another, so it is opened again.
    expect(reading).toThrow("ENOENT");
  });

  test("that became a fifo does not block", () => {
    host.makeSpecial(folder, Buffer.from("fifo"), "fifo", 0o600, 0, 0);
    expect(() => read("fifo")).toThrow("not a file any more");
  });

  test("has its holes, in whole pieces", () => {
    const fd = openSync(join(path, "sparse"), "w");
    writeSync(fd, "a", 0);
    writeSync(fd, "b", 5 * 2 ** 20 + 9000);
    ftruncateSync(fd, 9 * 2 ** 20 + 17);
    closeSync(fd);
    const { content, holes, size } = read("sparse", undefined, { now: Date.now() + HOUR });
    expect(size).toBe(9 * 2 ** 20 + 17);
    expect(content.length).toBe(size);
    expect([content[0], content[5 * 2 ** 20 + 9000]]).toEqual([0x61, 0x62]);
    expect(holes).toEqual([4 * 2 ** 20, 3 * 2 ** 20 + 17]);
  });

  test("is read where its file system claims holes too early, or has stored all of it", () => {
    writeFileSync(join(path, "dense"), big);
    const claiming: Host = { ...host, *dataRanges() {} };
    const dense: Host = {
      ...claiming,
      statOpen: (fd) => ({ ...host.statOpen(fd), allocated: big.length }),
    };
    const unstored: Host = {
      ...claiming,
      statOpen: (fd) => ({ ...host.statOpen(fd), allocated: 512 }),
    };
    const later = Date.now() + HOUR;
    expect(read("dense", undefined, { on: dense, now: later }).content.equals(big)).toBe(true);
    // Its data may be in memory only, for which some file systems have claimed holes.
    expect(read("dense", undefined, { on: unstored }).content.equals(big)).toBe(true);
    utimesSync(join(path, "dense"), 5, 5);
    expect(read("dense", undefined, { on: unstored }).content.equals(big)).toBe(true);
    expect(read("dense", undefined, { on: unstored, now: later }).holes).toEqual([big.length]);
  });
});

test("groups of hard links have one number each, and keep it", () => {
  const stat = (
    inode: number,
    links = 2,
  ): Parameters<ReturnType<typeof linkGroups>["numberOf"]>[0] => ({
    ...host.statOpen(folder.fd),
    type: "file",
    inode: BigInt(inode),
    links,
  });
  const first = linkGroups(0);
  expect(first.numberOf(stat(1, 1))).toBeUndefined();
  expect([1, 2, 1, 2].map((inode) => first.numberOf(stat(inode)))).toEqual([0, 1, 0, 1]);
  expect(first.next).toBe(2);
  const second = linkGroups(2);
  // The group 1 was split: two inodes had the number, and one of them keeps it.
  expect(second.numberOf(stat(5), 1)).toBe(1);
  expect(second.numberOf(stat(6), 1)).toBe(2);
  expect(second.numberOf(stat(5), 1)).toBe(1);
  expect(second.numberOf(stat(6))).toBe(2);
  expect(second.numberOf(stat(7), 0)).toBe(0);
  expect(second.numberOf(stat(8), 99)).toBe(3);
});

describe("a group of hard links", () => {
  const stat = (inode: number, links = 2, device = 1) => ({
    ...host.statOpen(folder.fd),
    type: "file" as const,
    inode: BigInt(inode),
    device,
    links,
  });
  const [one, other] = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)];

  test("has one content: names that have another are another group", () => {
    const groups = linkGroups(1);
    expect(groups.fits(stat(1, 4), one)).toBe(true);
    expect(groups.numberOf(stat(1, 4), undefined, one)).toBe(1);
    expect([groups.fits(stat(1, 4), one), groups.fits(stat(1, 4), other)]).toEqual([true, false]);
    expect(groups.numberOf(stat(1, 4), 1, other)).toBe(2);
    expect(groups.numberOf(stat(1, 4), 1, other)).toBe(2);
    expect(groups.numberOf(stat(1, 4), 1, other)).toBe(2);
    // All names were seen, so this is another file.
    expect(groups.fits(stat(1, 4), one)).toBe(true);
  });

  test("is told from others as a map would", () => {
    const step = fc.record({
      device: fc.integer({ min: 0, max: 2 }),
      inode: fc.integer({ min: 0, max: 40 }),
      links: fc.integer({ min: 2, max: 4 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 3000, size: "max" }), (steps) => {
        const groups = linkGroups(0);
        const wanted = new Map<string, { number: number; left: number }>();
        let next = 0;
        for (const { device, inode, links } of steps) {
          const key = `${device}:${inode}`;
          const group = wanted.get(key) ?? { number: next++, left: links };
          expect(groups.numberOf(stat(inode, links, device))).toBe(group.number);
          group.left -= 1;
          if (group.left === 0) wanted.delete(key);
          else wanted.set(key, group);
        }
        expect(groups.next).toBe(next);
      }),
      { numRuns: 20 },
    );
  });

  test("is none, if too many wait for their other names", () => {
    const groups = linkGroups(0, 1000);
    for (let i = 0; i < 1000; i += 1) groups.numberOf(stat(i));
    expect(groups.next).toBe(1000);
    expect(groups.numberOf(stat(1000))).toBeUndefined();
    expect(groups.numberOf(stat(7))).toBe(7);
    expect(groups.numberOf(stat(1000))).toBe(1000);
  });
});
