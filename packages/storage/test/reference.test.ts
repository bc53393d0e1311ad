import { createStore, formatIdentity, generateIdentity } from "../src/index.ts";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Reference, referencePython, startReference } from "./reference.ts";
import { alice, bob, nacl, random, sha256 } from "./support.ts";
import { mkdtemp, rm } from "node:fs/promises";
import { protectIdentity, readIdentityFile, secretKeyOf } from "../src/index.ts";
import { filesystem } from "../src/backend/filesystem.ts";
import { join } from "node:path";
import { tmpdir } from "node:os";
import { fromHex, toHex } from "../src/bytes.ts";

const KiB = 1024;
const MiB = 1024 * KiB;

interface Case {
  readonly name: string;
  readonly content: () => Uint8Array;
  readonly chunkLog2: number;
  readonly padding: "padme" | "none";
  readonly convergent: boolean;
  readonly recipients: readonly string[];
}

const manyRecipients = await Promise.all(
  Array.from({ length: 1023 }, async () => (await generateIdentity()).recipient),
);
const dedupSecret = random(32);
const C = 2 ** 20;

const sizes = [0, 1, MiB - 1, MiB, MiB + 1, 2 * C - 1, 2 * C, 2 * C + 1, 7 * C + 12_345];
const cases: Case[] = [
  ...sizes.flatMap((size) =>
    [false, true].map((convergent) => ({
      name: `${size} bytes, ${convergent ? "convergent" : "random"}`,
      content: () => random(size),
      chunkLog2: 20,
      padding: convergent ? ("none" as const) : ("padme" as const),
      convergent,
      recipients: [alice.recipient],
    })),
  ),
  ...[18, 22, 24].flatMap((chunkLog2) =>
    [-1, 0, 1].map((offset) => ({
      name: `one chunk of 2^${chunkLog2} bytes and ${offset}`,
      content: () => random(Math.max(2 ** chunkLog2, 8 * 2 ** 18) + offset),
      chunkLog2,
      padding: "padme" as const,
      convergent: false,
      recipients: [bob.recipient, alice.recipient],
    })),
  ),
  ...[100, 2 * MiB].map((size) => ({
    name: `${size} bytes for 1024 recipients`,
    content: () => random(size),
    chunkLog2: 18,
    padding: "padme" as const,
    convergent: true,
    recipients: [...manyRecipients, alice.recipient],
  })),
];

describe.skipIf(referencePython === undefined)("the independent reader in Python", () => {
  let reference: Reference;
  let dir: string;
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "idk-reference-"));
    reference = startReference();
  });
  afterAll(async () => {
    await reference[Symbol.asyncDispose]();
    await rm(dir, { recursive: true });
  });

  const storeFor = (known: Case) =>
    createStore({
      backend: filesystem(dir, { durability: "none" }),
      recipients: known.recipients,
      identities: [alice],
      chunkSize: 2 ** known.chunkLog2,
      padding: known.padding,
      dedupSecret: known.convergent ? dedupSecret : undefined,
      nacl,
    });
  const metadata = { name: "ünï.txt", mtime: 2 ** 40, raw: Uint8Array.of(0, 255), small: 5 };
  const tagged = {
    name: { text: "ünï.txt" },
    mtime: { uint: 2 ** 40 },
    raw: { hex: "00ff" },
    small: { uint: 5 },
  };

  const writeThere = async (known: Case, file: string) =>
    reference.ask({
      op: "write",
      dir,
      recipients: known.recipients,
      metadata: tagged,
      chunkSizeLog2: known.chunkLog2,
      padding: known.padding,
      dedupSecret: known.convergent ? toHex(dedupSecret) : null,
      file,
    });

  test.each(cases)("and this library read each other: $name", async (known) => {
    const content = known.content();
    const store = storeFor(known);
    const file = join(dir, "content");
    await Bun.write(file, content);

    const ours = await store.put(content, { metadata });
    const stat = await store.stat(ours);
    const read = await reference.ask({
      op: "read",
      dir,
      address: ours,
      identities: [formatIdentity(alice)],
    });
    expect(read).toMatchObject({
      ok: true,
      size: content.length,
      sha256: sha256(content),
      metadata: tagged,
      depth: stat.depth,
      padding: stat.padding,
      recipients: known.recipients.length,
    });

    const theirs = await writeThere(known, file);
    expect(theirs.ok).toBe(true);
    const blob = await store.get(String(theirs["address"]));
    expect(sha256(await blob.bytes())).toBe(sha256(content));
    expect({ ...blob.metadata }).toEqual(metadata);
    if (known.convergent) expect(theirs["address"]).toBe(ours);
    else expect(theirs["address"]).not.toBe(ours);
  });

  test("and this library read the same ranges", async () => {
    const known = cases.find(({ name }) => name.startsWith(`${7 * C + 12_345}`))!;
    const content = known.content();
    const store = storeFor(known);
    const address = await store.put(content);
    for (const [start, end] of [
      [0, 0],
      [0, 1],
      [C - 1, C + 1],
      [5, 6 * C + 5],
      [content.length - 1, content.length],
      [content.length, content.length],
    ] as const) {
      const range = { start, end };
      const read = await reference.ask({
        op: "read",
        dir,
        address,
        identities: [formatIdentity(alice)],
        range,
      });
      expect(read["released"]).toEqual({
        length: end - start,
        sha256: sha256(content.subarray(start, end)),
      });
      const ours = await (await store.get(address, { range })).bytes();
      expect(sha256(ours)).toBe(sha256(content.subarray(start, end)));
    }
  });

  test("and this library open each other's identity files", async () => {
    const passphrase = "pässwörd with spaces";
    const ours = await protectIdentity(alice, passphrase, { logN: 14 });
    expect(await reference.ask({ op: "keyfile-open", hex: toHex(ours), passphrase })).toMatchObject(
      {
        ok: true,
        secretKey: toHex(secretKeyOf(alice)),
      },
    );
    const theirs = await reference.ask({
      op: "keyfile-make",
      secretKey: toHex(secretKeyOf(bob)),
      passphrase,
      logN: 15,
    });
    const [read] = await readIdentityFile(fromHex(String(theirs["hex"])), passphrase);
    expect(read!.recipient).toBe(bob.recipient);
  });

  const slow = process.env["IDK_TEST_SLOW"] === "1" ? test : test.skip;
  slow("and this one read each other's trees of two levels: 4097 leaves of 256 KiB", async () => {
    const size = 4096 * 2 ** 18 + 1;
    const file = join(dir, "gigabyte");
    await Bun.write(file, "");
    const writer = Bun.file(file).writer();
    for (let left = size; left > 0; left -= 16 * MiB) {
      await writer.write(random(Math.min(left, 16 * MiB)));
      await writer.flush();
    }
    await writer.end();
    const hasher = new Bun.CryptoHasher("sha256");
    for await (const piece of Bun.file(file).stream()) hasher.update(piece);
    const digest = hasher.digest("hex");

    const known: Case = { ...cases[0]!, chunkLog2: 18, padding: "none" };
    const store = storeFor(known);
    const ours = await store.put(Bun.file(file));
    expect(await store.stat(ours)).toMatchObject({ size, depth: 2, chunks: 4097 });
    const read = await reference.ask({
      op: "read",
      dir,
      address: ours,
      identities: [formatIdentity(alice)],
    });
    expect(read).toMatchObject({ ok: true, size, sha256: digest, depth: 2 });

    const theirs = await writeThere(known, file);
    const blob = await store.get(String(theirs["address"]));
    const again = new Bun.CryptoHasher("sha256");
    for await (const piece of blob.stream()) again.update(piece);
    expect(again.digest("hex")).toBe(digest);
    expect(await store.verify(ours, { deep: true })).toMatchObject({ blobs: 4097 + 2 + 1 });
  });
});
