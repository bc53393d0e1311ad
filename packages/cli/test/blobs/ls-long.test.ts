import {
  type Address,
  type BlobStat,
  createStore,
  type Metadata,
  parseRecipient,
} from "@idk/storage";
import { filesystem } from "@idk/storage/filesystem";
import { describe, expect, test } from "bun:test";
import { mkdirSync, utimesSync, writeFileSync } from "node:fs";
import { columnsOf } from "../../src/blobs/listing/text.ts";
import { createWorkspace, expectFailure, noise } from "../support/cli.ts";
import { describeMinio } from "../support/minio.ts";

const workspace = await createWorkspace();
const { idk, ok, path, put, recipient } = workspace;

/** A separate store for each test, in a fixed time zone. */
const inStore = (name: string) => ({ env: { IDK_STORE: name, TZ: "UTC" } });

/** The lines, sorted, because their order varies. */
const lines = (stdout: string): string[] => stdout.trimEnd().split("\n").toSorted();
const objects = (stdout: string): Record<string, unknown>[] =>
  lines(stdout).map((line) => JSON.parse(line) as Record<string, unknown>);

const NOON = Date.parse("2026-05-04T12:00:00Z") / 1000;

describe("ls --long", () => {
  test("shows names, sizes, dates and types in columns", async () => {
    const where = inStore("columns");
    const put = async (...args: string[]) => (await ok(["put", ...args], where)).stdout.trim();
    for (const [name, content] of [
      ["notes.txt", "hello"],
      ["film.mkv", noise(3 * 2 ** 20)],
    ] as const) {
      utimesSync(workspace.write(name, content), NOON, NOON);
    }
    const notes = await put("notes.txt", "--type", "text/plain");
    const film = await put("film.mkv", "--chunk-size", "1M");
    const { stdout, stderr } = await ok(["ls", "--long"], where);
    expect(lines(stdout)).toEqual(
      [
        `${notes}     5 bytes  2026-05-04 12:00  text/plain        notes.txt`,
        `${film}     3.0 MiB  2026-05-04 12:00  -                 film.mkv`,
      ].toSorted(),
    );
    expect(stderr).toBe(
      "2 contents, 3145733 bytes (3.0 MiB); and 3 chunks (list them with --all)\n",
    );
    expect((await ok(["ls", "-l"], where)).stdout.length).toBe(stdout.length);
  });

  test("shows the storage time of content without a name and date", async () => {
    const where = inStore("nameless");
    const address = (await ok(["put", "-"], { ...where, stdin: "xy" })).stdout.trim();
    utimesSync(path(`nameless/${address.slice(0, 2)}/${address}`), NOON, NOON);
    const { stdout, stderr } = await ok(["ls", "-l"], where);
    expect(stdout).toBe(`${address}     2 bytes  2026-05-04 12:00  -                 -\n`);
    expect(stderr).toBe("1 content, 2 bytes\n");
  });

  test("--json prints one object per line, and with --all one per blob", async () => {
    const where = inStore("json");
    const other = (await ok(["keygen", "-o", "other.key"])).stdout.trim();
    await ok(["put", "-", "--name", "mine"], { ...where, stdin: noise(2 ** 20 + 1) });
    await ok(["put", "-", "-r", other], { ...where, stdin: "theirs" });
    const mine = await ok(["ls", "--long", "--json"], where);
    expect(mine.stderr).toBe("");
    expect(objects(mine.stdout)).toEqual([
      expect.objectContaining({
        kind: "root",
        opened: true,
        size: 2 ** 20 + 1,
        metadata: { name: "mine" },
        chunks: 1,
        storedAt: expect.any(Number),
      }),
    ]);
    const all = objects((await ok(["ls", "-l", "--all", "--json"], where)).stdout);
    expect(all.map(({ kind, opened }) => `${String(kind)} ${String(opened)}`).toSorted()).toEqual([
      "child undefined",
      "root false",
      "root true",
    ]);
    expect(all.find(({ opened }) => opened === false)).toMatchObject({ recipients: 1 });

    const { stdout, stderr } = await ok(["ls", "-l", "--all"], where);
    expect(stdout).toMatch(
      /^[0-9a-f]{64} {3}\d{3} bytes {2}[-\d: ]{16} {2}- {15} {2}\(for 1 other\)$/mu,
    );
    expect(stdout).toMatch(/^[0-9a-f]{64} {5}1\.0 MiB {2}[-\d: ]{16} {2}- {15} {2}\(a chunk\)$/mu);
    expect(stderr).toEndWith("; and 1 root for other recipients and 1 chunk\n");
    // Only contents are sorted, so only they are kept until the end.
    expect(stdout.trimEnd().split("\n").at(-1)).toEndWith("  mine");
    const both = await ok(["ls", "-l", "-i", "me.key", "-i", "other.key"], where);
    expect(lines(both.stdout)).toHaveLength(2);
  });

  test("escapes names, and truncates long ones", async () => {
    const store = createStore({
      backend: filesystem(path("hostile")),
      recipients: [parseRecipient(recipient)],
    });
    const put = (metadata: Record<string, string | number>) => store.put("x", { metadata });
    await put({ name: "\u001b[31mred\nnew line\u202e", type: "a\u0007b" });
    await put({ name: "n".repeat(5000), type: "t".repeat(5000), mtime: Number.MAX_SAFE_INTEGER });
    const { stdout } = await ok(["ls", "-l"], inStore("hostile"));
    expect(lines(stdout)).toHaveLength(2);
    // oxlint-disable-next-line no-control-regex
    expect(stdout.replaceAll("\n", "")).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202e]/u);
    expect(stdout).toContain("a\\u0007b          \\u001b[31mred\\u000anew line\\u202e\n");
    expect(stdout).toContain(` ${"-".padEnd(16)}  ${"t".repeat(40)}…  ${"n".repeat(255)}…\n`);
  });

  test("ignores reserved keys with values of other types", async () => {
    const address = (await put("x")) as Address;
    const stat = JSON.parse((await ok(["stat", address, "--json"])).stdout) as BlobStat;
    const metadata = JSON.parse('{"name": 7, "type": 5, "mtime": "yesterday"}') as Metadata;
    const shown = { kind: "opened", address, size: 1, stat: { ...stat, metadata } } as const;
    expect(columnsOf(shown)).toMatchObject({ name: "-", type: "-", date: "-" });
  });

  test("continues after a damaged blob, and fails at the end", async () => {
    const where = inStore("damaged");
    const good = (await ok(["put", "-", "--name", "good"], { ...where, stdin: "x" })).stdout.trim();
    const bad = (await ok(["put", "-", "--name", "bad"], { ...where, stdin: "y" })).stdout.trim();
    writeFileSync(path(`damaged/${bad.slice(0, 2)}/${bad}`), "nothing of the kind");
    const result = await idk(["ls", "-l"], where);
    expect(lines(result.stdout)).toEqual([
      expect.stringMatching(new RegExp(`^${good}.*good$`, "u")),
    ]);
    expect(result.stderr).toContain(`the blob ${bad} is damaged or was replaced`);
    expect(result.stderr).toEndWith("idk: 1 of 2 blobs failed\n");
    expect(result.code).toBe(5);
    const json = await idk(["ls", "-l", "--json"], where);
    expect(objects(json.stdout)).toContainEqual(
      expect.objectContaining({ ok: false, address: bad }),
    );
  });

  test("prints paths, in their order", async () => {
    const where = inStore("sorted");
    mkdirSync(path("tree/b"), { recursive: true });
    for (const name of ["b/2", "b/10", "a", "c"]) workspace.write(`tree/${name}`, name);
    await ok(["put", "tree"], where);
    await ok(["put", "-"], { ...where, stdin: "nameless" });
    const { stdout, stderr } = await ok(["ls", "-l"], where);
    expect(stdout.match(/\S+$/gmu)).toEqual(["a", "b/10", "b/2", "c", "-"]);
    expect(stderr).toBe("5 contents, 17 bytes\n");
  });

  test("filters by path, type, date and size, with the total of what is listed", async () => {
    const where = inStore("filtered");
    const put = async (name: string, type: string, seconds: number, length: number) => {
      utimesSync(workspace.write(name, noise(length)), seconds, seconds);
      await ok(["put", name, "--type", type], where);
    };
    await put("a.png", "image/png", NOON, 1000);
    await put("b.jpg", "image/jpeg", NOON + 86_400, 3000);
    await put("c.txt", "text/plain", NOON + 2 * 86_400, 2000);
    const listed = async (...args: string[]) => {
      const { stdout, stderr } = await ok(["ls", "-l", ...args], where);
      return [...(stdout.match(/\S+$/gmu) ?? []), stderr.trimEnd()];
    };
    expect(await listed("--name", "a.png")).toEqual(["a.png", "1 of 3 contents, 1000 bytes"]);
    expect(await listed("--name", "*.[jt]*")).toEqual([
      "b.jpg",
      "c.txt",
      "2 of 3 contents, 5000 bytes (4.9 KiB)",
    ]);
    expect(await listed("--type", "image")).toEqual([
      "a.png",
      "b.jpg",
      "2 of 3 contents, 4000 bytes (3.9 KiB)",
    ]);
    expect(await listed("--type", "text/plain")).toEqual([
      "c.txt",
      "1 of 3 contents, 2000 bytes (2.0 KiB)",
    ]);
    expect((await listed("--since", "2026-05-05")).slice(0, -1)).toEqual(["b.jpg", "c.txt"]);
    expect((await listed("--larger", "2000")).slice(0, -1)).toEqual(["b.jpg"]);
    expect(await listed("--type", "image", "--larger", "2K", "--since", "2026-05-06")).toEqual([
      "0 of 3 contents, 0 bytes",
    ]);
    const json = await ok(["ls", "-l", "--json", "--larger", "2000"], where);
    expect(objects(json.stdout)).toMatchObject([{ metadata: { name: "b.jpg" } }]);
    const hidden = await ok(["ls", "-l", "--all", "--name", "b.jpg", "-i", "other.key"], where);
    expect(hidden.stdout).toBe("");
  });

  test.each<[args: string[], message: string]>([
    [["--name", "x"], "need --long"],
    [["--larger", "x", "-l"], "--larger must be a size such as 500K"],
    [["--since", "x", "-l"], "--since must be a time in UTC"],
    [["--name", "[", "-l"], 'the pattern "[" is malformed'],
    [["latest", "--type", "x"], "list a store, not a snapshot: use `idk find`"],
  ])("%p is refused", async (args, message) => {
    expectFailure(await idk(["ls", ...args], inStore("filtered")), 2, message);
  });

  test("prints nothing for an empty store, and needs an identity", async () => {
    const env = { IDK_STORE: "columns", IDK_IDENTITY: "" };
    expectFailure(await idk(["ls", "--long"], { env }), 2, "no identity");
    expectFailure(await idk(["ls", "--all"]), 2, "--all needs --long");
    expectFailure(await idk(["ls", "--long"], inStore("no-such-store")), 6, "does not exist");
  });
});

await describeMinio("ls --long on MinIO", (minio, bucket) => {
  test("shows the same", async () => {
    const env = { ...minio.env, TZ: "UTC", IDK_STORE: minio.url(bucket, "/names") };
    utimesSync(workspace.write("film", noise(700_000)), NOON, NOON);
    const film = (await ok(["put", "film", "--chunk-size", "256K"], { env })).stdout.trim();
    const large = await ok(["put", "-", "--chunk-size", "256K"], { env, stdin: noise(2 ** 21) });
    const { stdout, stderr } = await ok(["ls", "-l"], { env });
    expect(stdout).toContain(`${film}     684 KiB  2026-05-04 12:00  -                 film\n`);
    expect(stdout).toContain(`${large.stdout.trim()}     2.0 MiB  20`);
    expect(stderr).toStartWith("2 contents, 2797152 bytes (2.7 MiB); and 8 chunks");
    expect((await ok(["get", film.slice(0, 20)], { env })).bytes.length).toBe(700_000);
  });
});
