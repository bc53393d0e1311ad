import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { atTerminal } from "../support/at-terminal.ts";
import {
  createWorkspace,
  expectFailure,
  isolated,
  MAIN,
  noise,
  sameBytes,
} from "../support/cli.ts";
import { interrupted, journals, ownFolders } from "../support/interrupted.ts";

const workspace = await createWorkspace();
const { idk, ok, path } = workspace;
const bob = (await ok(["keygen", "-o", "bob.key"])).stdout.trim();
const eve = (await ok(["keygen", "-o", "eve.key"])).stdout.trim();
const content = noise(2 ** 21 + 5);
workspace.write("film", content);

let stores = 0;
const newEnv = () => ({ ...workspace.env, IDK_STORE: `store-${stores++}`, ...ownFolders() });

/** Content that Eve can read, in a store of its own. */
async function shared(...args: string[]) {
  const env = newEnv();
  const more = ["-r", workspace.recipient, "-r", eve, "--chunk-size", "256K", ...args];
  const address = (await ok(["put", "film", ...more], { env })).stdout.trim();
  const list = async () => (await ok(["ls"], { env })).stdout.trim().split("\n").toSorted();
  const canRead = async (root: string, key: string) =>
    (await idk(["get", root, "-i", key, "-o", "-"], { env })).code === 0;
  const rewrap = ["rewrap", address, "-r", workspace.recipient, "-r", bob];
  return { env, address, list, canRead, rewrap };
}

const file = (env: { IDK_STORE: string }, address: string) =>
  path(`${env.IDK_STORE}/${address.slice(0, 2)}/${address}`);

describe("a recipient whom rewrap leaves out", () => {
  test("can still read if they kept the old root, and rewrap says so", async () => {
    const { env, address, rewrap, canRead } = await shared();
    const kept = readFileSync(file(env, address));
    const { stderr } = await ok(rewrap, { env });
    expect(stderr).toBe(
      `idk: note: recipients of ${address} can keep reading what they could read, even after ` +
        "`idk rm`, if they kept a copy of it; new content is closed to them. To store this content " +
        "under new keys, add --reseal\n",
    );
    await ok(["rm", address], { env });
    expect(await canRead(address, "eve.key")).toBe(false);
    writeFileSync(file(env, address), kept);
    expect(await canRead(address, "eve.key")).toBe(true);
  });

  test("cannot read resealed content with the old root and its keys", async () => {
    const { env, address, rewrap, canRead, list } = await shared();
    const before = await list();
    const kept = readFileSync(file(env, address));
    const { stdout, stderr } = await ok([...rewrap, "--reseal", "--delete-old", "--yes"], { env });
    const resealed = stdout.trim();
    expect(stderr).toBe(
      `removed ${before.length} blobs: ${address}\n` +
        "idk: note: its recipients keep only what they copied\n",
    );
    const after = await list();
    expect(after).toHaveLength(before.length);
    expect(after.filter((blob) => before.includes(blob))).toEqual([]);
    for (const key of ["me.key", "bob.key"]) expect(await canRead(resealed, key)).toBe(true);
    writeFileSync(file(env, address), kept);
    expect(await canRead(address, "eve.key")).toBe(false);
    expect(await canRead(resealed, "eve.key")).toBe(false);
  });
});

describe("rewrap --reseal", () => {
  test.each([
    ["chunks", []],
    ["chunks without padding", ["--no-padding"]],
    ["compressed content", ["--compress", "lz4"]],
  ])("keeps content, metadata and layout, and leaves the old tree: %s", async (_, args) => {
    const { env, address, rewrap, list } = await shared(...args);
    const before = await list();
    const old = JSON.parse((await ok(["stat", address, "--json"], { env })).stdout) as object;
    const { stdout, stderr } = await ok([...rewrap, "--reseal"], { env });
    const resealed = stdout.trim();
    expect(stderr).toBe(
      `idk: note: the tree of ${address} stays, and its recipients can read it. If no other root ` +
        `shares its chunks, delete it with \`idk rm --tree ${address}\`\n`,
    );
    const after = await list();
    expect(after).toEqual(expect.arrayContaining(before));
    expect(after).toHaveLength(2 * before.length);
    const found = JSON.parse((await ok(["stat", resealed, "--json"], { env })).stdout) as object;
    expect(found).toEqual({ ...old, address: resealed, storedBytes: expect.any(Number) });
    const got = await ok(["get", resealed, "-i", "bob.key"], { env });
    expect(sameBytes(got.bytes, content)).toBe(true);
    await ok(["verify", "--deep", resealed], { env });
    await ok(["rm", "--tree", address], { env });
    await ok(["verify", "--deep", resealed], { env });
  });

  test("works for content without chunks, and prints JSON", async () => {
    const env = newEnv();
    const put = await ok(["put", "-", "--name", "note"], { env, stdin: "a note" });
    const address = put.stdout.trim();
    const args = ["rewrap", address, "-r", bob, "--reseal", "--delete-old", "--yes", "--json"];
    const { stdout, stderr } = await ok(args, { env });
    expect(stderr).toBe(`{"note":"removed 1 blob: ${address}"}\n`);
    const [made, removed] = stdout.trim().split("\n");
    const { address: resealed } = JSON.parse(made!) as { address: string };
    expect(JSON.parse(made!)).toMatchObject({ previous: address });
    expect(JSON.parse(removed!)).toEqual({ address, blobs: 1, skipped: 0, removed: true });
    const got = await ok(["get", resealed, "-i", "bob.key"], { env });
    expect(got.stdout).toBe("a note");
  });

  test("resumes an interrupted run", async () => {
    const env = newEnv();
    workspace.write("long film", noise(24 * 2 ** 20, 9));
    const put = ["put", "long film", "--chunk-size", "256K", "--no-resume"];
    const address = (await ok(put, { env })).stdout.trim();
    const blobs = () => readdirSync(path(env.IDK_STORE), { recursive: true }).length;
    const stored = blobs();
    const args = ["rewrap", address, "-r", bob, "--reseal", "--resume"];
    const when = () => blobs() > stored + 20;
    const stopped = await interrupted(workspace, args, { env, signal: "SIGINT", when });
    expect(stopped.code).toBe(130);
    expect(stopped.stderr).toMatch(
      /^idk: \d+ chunks are stored: run the same command again to resume\nidk: interrupted\n$/u,
    );
    expect(journals(env)).toHaveLength(1);
    const { stdout, stderr } = await ok(args, { env });
    expect(stderr).toMatch(/^idk: resumed: [1-9]\d* of 96 chunks were already stored\n/u);
    expect(journals(env)).toEqual([]);
    await ok(["verify", "--deep", stdout.trim(), "-i", "bob.key"], { env });
    const listed = (await ok(["ls"], { env })).stdout.trim().split("\n");
    expect(listed.length).toBeLessThan(2 * 97 + 8);
  });
});

describe("rewrap --reseal --max-size", () => {
  test("refuses more before anything is written, and accepts exactly that size", async () => {
    const { env, address, list, rewrap } = await shared();
    const before = await list();
    const { size, padding } = JSON.parse(
      (await ok(["stat", address, "--json"], { env })).stdout,
    ) as { size: number; padding: number };
    const length = size + padding;
    expect(padding).toBeGreaterThan(0);
    const reseal = [...rewrap, "--reseal", "--resume", "--max-size"];
    const message =
      `${address} has ${length} bytes (2.1 MiB) to store again, and --max-size allows ${length - 1}: ` +
      "raise it to reseal this content";
    const refused = await idk([...reseal, `${length - 1}`], { env });
    expect(refused.stdout).toBe("");
    expectFailure(refused, 2, message);
    const json = await idk([...reseal, "2M", "--json", "--delete-old", "--yes"], { env });
    expect(JSON.parse(json.stderr)).toMatchObject({ error: { code: "usage" } });
    expect(await list()).toEqual(before);
    expect(journals(env)).toEqual([]);
    await ok([...reseal, `${length}`], { env });
    expect(await list()).toHaveLength(2 * before.length);
  });

  test("limits what is stored: compressed content stays compressed", async () => {
    const env = newEnv();
    const zeros = { env, stdin: "\0".repeat(2 ** 21) };
    const address = (await ok(["put", "-", "--compress", "zstd"], zeros)).stdout.trim();
    await ok(["rewrap", address, "-r", bob, "--reseal", "--max-size", "64K"], { env });
  });

  test("needs --reseal", async () => {
    const { env, rewrap } = await shared();
    const result = await idk([...rewrap, "--max-size", "1G"], { env });
    expectFailure(result, 2, "--max-size applies to --reseal");
  });
});

describe("rewrap --delete-old", () => {
  test("asks on a terminal, after the new address is printed", async () => {
    const { env, address, rewrap, list } = await shared();
    const before = await list();
    const type = async (typed: string) => {
      const args = [...rewrap, "--reseal", "--delete-old", "--no-progress"];
      const steps = [{ shown: String.raw`\[y/N\] \Z`, type: typed }];
      const how = { cwd: workspace.folder, env: isolated(env) };
      const { screen, code } = await atTerminal(steps, [process.execPath, MAIN, ...args], how);
      return { screen: screen.replaceAll("\r\n", "\n"), code };
    };
    const refused = await type("n\n");
    expect(refused.screen).toMatch(/^[0-9a-f]{64}\n/u);
    expect(refused.screen).toContain(
      `the tree ${address} has ${before.length} blobs; other roots that share its chunks lose ` +
        "their content. Delete all of them? [y/N] ",
    );
    expect(refused.screen).toEndWith("idk: not confirmed: nothing was deleted\n");
    expect(refused.code).toBe(2);
    expect(await list()).toEqual(expect.arrayContaining(before));
    const agreed = await type("y\n");
    expect(agreed.code).toBe(0);
    expect(agreed.screen).toContain(`removed ${before.length} blobs: ${address}\n`);
    const after = await list();
    expect(after.filter((blob) => before.includes(blob))).toEqual([]);
  });

  test("stores nothing if it could not ask later", async () => {
    const { env, rewrap, list } = await shared();
    const before = await list();
    const result = await idk([...rewrap, "--reseal", "--delete-old"], { env });
    expectFailure(result, 2, "--delete-old asks before it deletes, and there is no terminal");
    expect(await list()).toEqual(before);
  });

  test("needs --reseal, and --yes needs --delete-old", async () => {
    const { env, rewrap } = await shared();
    const both = await idk([...rewrap, "--delete-old"], { env });
    expectFailure(both, 2, "--delete-old needs --reseal: without it, both roots share the chunks");
    const yes = await idk([...rewrap, "--reseal", "--yes"], { env });
    expectFailure(yes, 2, "--yes applies to --delete-old");
    expectFailure(await idk([...rewrap, "--resume"], { env }), 2, "--resume applies to --reseal");
  });
});
