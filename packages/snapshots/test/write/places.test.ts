import { type Given, contents, expected, given } from "./support.ts";
import { addPlace, findPlace } from "../../src/write/places.ts";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, renameSync, symlinkSync } from "node:fs";
import type { Cache, PiecePlace } from "../../src/cache/cache.ts";
import { encodeCborT } from "@idk/storage/blobs";
import { entryItem } from "../../src/format/tree/encode-entry.ts";
import { join } from "node:path";
import { openDatabase } from "../../src/cache/database.ts";

let at: Given;
beforeEach(async () => {
  at = await given();
});
afterEach(() => at.end());

async function check(name?: string): Promise<void> {
  expect(await contents(await at.read(name), at.source)).toEqual(expected(at.source));
}

describe("a file with the bytes of a node", () => {
  /** What a node of one link consists of, which anybody can compute who sees the link. */
  async function nodeOf(name: string): Promise<Uint8Array> {
    const { entry } = (await (await at.read(name)).entry(join(at.source, "d/x").slice(1)))!;
    return encodeCborT(entryItem(entry));
  }
  function link(): void {
    mkdirSync(join(at.source, "d"));
    symlinkSync("t", join(at.source, "d/x"));
  }

  test.each(["", "idk node\0"])("(after %j) is not taken for it", async (prefix) => {
    at.write("victim", "precious");
    link();
    await at.run();
    at.write("evil", Buffer.concat([Buffer.from(prefix), await nodeOf("home")]));
    at.later();
    expect(await at.run()).toMatchObject({ errors: 0, newFiles: 1 });
    await check();
  });

  test.each(["", "idk node\0"])("(after %j) does not become it", async (prefix) => {
    at.write("keep/victim", "precious");
    link();
    await at.run({ name: "other", cache: `${at.cache}-2` });
    at.write("a-evil", Buffer.concat([Buffer.from(prefix), await nodeOf("other")]));
    const [inside, outside] = [join(at.source, "d"), join(at.source, "../d")];
    renameSync(inside, outside);
    await at.run();
    renameSync(outside, inside);
    at.later();
    expect((await at.run()).errors).toBe(0);
    await check();
  });
});

test("places of one kind are not found as those of another", () => {
  const known = new Map<string, PiecePlace>();
  const keyOf = (hash: Uint8Array): string => Buffer.from(hash).toString("hex");
  const cache = {
    addPiece: (hash, place) => void known.set(keyOf(hash), place),
    piece: (hash) => known.get(keyOf(hash)),
  } satisfies Partial<Cache> as unknown as Cache;
  const hash = new Uint8Array(32).fill(7);
  const kinds = ["piece", "node", "list"] as const;
  const find = (kind: (typeof kinds)[number]) => findPlace(cache, kind, hash, () => true);
  const place = (encoding: number): PiecePlace => {
    return { pack: 1, offset: 2, stored: 3, length: 4, encoding };
  };
  for (const kind of kinds) {
    const encoding = kind === "piece" ? 2 : 3;
    known.clear();
    addPlace(cache, kind, hash, place(encoding));
    for (const other of kinds) expect(find(other)?.encoding === encoding).toBe(other === kind);
    expect(findPlace(cache, kind, hash, () => false)).toBeUndefined();
    // A cache that says so is wrong.
    addPlace(cache, kind, hash, place(5 - encoding));
    expect(find(kind)).toBeUndefined();
  }
});

describe("metadata that no reader takes", () => {
  /** The next backup finds the content of a new file where no pack can have it. */
  async function damage(): Promise<void> {
    at.write("a", "content");
    await at.run();
    const database = await openDatabase(at.cache);
    database.exec("UPDATE pieces SET offset = 1073741824 WHERE encoding <> 3");
    database.close();
    at.write("b", "content");
    at.later();
  }

  test.each([0, 2])("is not stored, with %i threads", async (workers) => {
    await damage();
    for (let i = 0; i < 3 * workers; i += 1) at.write(`large-${i}`, Buffer.alloc(2 ** 21, i));
    const error = await at.run({ workers }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "unavailable" });
    expect(String(error)).toMatch(
      /no reader would take it.*lies beyond the end of its pack.*cache/u,
    );
    // The snapshot before is still the newest.
    expect((await contents(await at.read(), at.source)).join()).not.toContain("/b");
  });

  test("is stored if packs are not verified, and cannot be read", async () => {
    await damage();
    await at.run({ verify: false });
    const error = await contents(await at.read(), at.source).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "tree" });
  });
});
