import {
  type Address,
  type BlobStat,
  createStore,
  type Metadata,
  parseRecipient,
} from "@idk/storage";
import { filesystem } from "@idk/storage/filesystem";
import { describe, expect, test } from "bun:test";
import { utimesSync, writeFileSync } from "node:fs";
import { columnsOf } from "../../src/blobs/listing.ts";
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
    expect(result.stderr).toContain(`the bytes stored as ${bad} are not the ones that were put`);
    expect(result.stderr).toEndWith("idk: 1 of 2 blobs failed\n");
    expect(result.code).toBe(5);
    const json = await idk(["ls", "-l", "--json"], where);
    expect(objects(json.stdout)).toContainEqual(
      expect.objectContaining({ ok: false, address: bad }),
    );
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
