import { describe, expect, test } from "bun:test";
import {
  appendFileSync,
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { createWorkspace, expectFailure, noise, sameBytes } from "../support/cli.ts";
import { interrupted, journals, ownFolders } from "../support/interrupted.ts";

const workspace = await createWorkspace();
const { idk, ok, path } = workspace;
const MIB = 2 ** 20;
const content = noise(16 * MIB, 5);
workspace.write("film", content);

let stores = 0;
const newStore = () => ({ IDK_STORE: `store-${stores++}`, ...ownFolders() });

const PUT = ["put", "film", "--resume", "--chunk-size", "256K"];

/** Puts `film` and interrupts it when some chunks are stored. */
async function interruptedPut(signal: NodeJS.Signals = "SIGKILL", file = "film") {
  const env = newStore();
  const args = PUT.map((it) => (it === "film" ? file : it));
  const blobs = () =>
    existsSync(path(env.IDK_STORE))
      ? readdirSync(path(env.IDK_STORE), { recursive: true }).length
      : 0;
  const result = await interrupted(workspace, args, { env, signal, when: () => blobs() > 20 });
  expect(journals(env)).toHaveLength(1);
  return { env, args, ...result };
}

async function expectStored(address: string, env: Record<string, string>, expected = content) {
  expect(sameBytes((await ok(["get", address.trim()], { env })).bytes, expected)).toBe(true);
  await ok(["verify", "--deep"], { env });
}

describe("a put that was interrupted", () => {
  test("resumes and leaves no journal", async () => {
    const { env, args } = await interruptedPut();
    const { stdout, stderr } = await ok(args, { env });
    expect(stderr).toMatch(/^idk: resumed: \d+ of 64 chunks were already stored\n$/u);
    expect(journals(env)).toEqual([]);
    await expectStored(stdout, env);
    // One tree, which includes what the first run stored and recorded.
    const { stdout: listed } = await ok(["ls"], { env });
    expect(listed.split("\n").length).toBeLessThan(64 + 2 + 8);
  });

  test("prints how to resume after Ctrl-C", async () => {
    const { env, args, stderr, code } = await interruptedPut("SIGINT");
    expect(code).toBe(130);
    expect(stderr).toMatch(
      /^idk: \d+ chunks are stored: run the same command again to resume\nidk: interrupted\n$/u,
    );
    expect((await ok(args, { env })).stderr).toStartWith("idk: resumed: ");
  });

  test("keeps its journal private to the user", async () => {
    const { env } = await interruptedPut();
    const [journal = ""] = journals(env);
    const key = join(env.XDG_STATE_HOME, "idk/journal.key");
    for (const file of [journal, key]) expect(statSync(file).mode & 0o777).toBe(0o600);
    for (const folder of [join(journal, ".."), join(journal, "../.."), join(key, "..")]) {
      expect(statSync(folder).mode & 0o777).toBe(0o700);
    }
    for (const name of readdirSync(join(journal, ".."))) expect(name).not.toContain("film");
  });

  test.each<[what: string, change: (file: string) => void]>([
    ["other bytes of the same length", (file) => writeFileSync(file, noise(16 * MIB, 6))],
    ["another time", (file) => utimesSync(file, 1_700_000_000, 1_700_000_000)],
    ["more bytes", (file) => appendFileSync(file, "more")],
    [
      "another file in its place",
      (file) => {
        rmSync(file);
        // Keeps the old inode, so that the new file gets another one.
        writeFileSync(`${file}-between`, "x");
        writeFileSync(file, noise(16 * MIB, 7));
      },
    ],
  ])("starts from the beginning if the file has %s, and says so", async (_, change) => {
    const file = `changing-${stores}`;
    workspace.write(file, content);
    const { env, args } = await interruptedPut("SIGKILL", file);
    change(path(file));
    const { stdout, stderr } = await ok(args, { env });
    expect(stderr).toBe(
      `idk: ${file} has changed since the interrupted put: starting from the beginning\n`,
    );
    expect(journals(env)).toEqual([]);
    const { bytes } = await ok(["get", stdout.trim()], { env });
    expect(sameBytes(bytes, workspace.read(file))).toBe(true);
    rmSync(path(file));
  });

  test("does not resume with another chunk size, padding, store or recipient", async () => {
    const { env, args } = await interruptedPut();
    const { stdout: other } = await ok(["keygen", "-o", `other-${stores}.key`]);
    for (const changed of [
      { args: ["put", "film", "--resume", "--chunk-size", "512K"] },
      { args: [...args, "--no-padding"] },
      { args: [...args, "-r", other.trim()] },
      { args, env: { IDK_STORE: `elsewhere-${stores}` } },
    ]) {
      const { stderr } = await ok(changed.args, { env: { ...env, ...changed.env } });
      expect(stderr).toBe("");
    }
    expect((await ok(args, { env })).stderr).toStartWith("idk: resumed: ");
  });

  test("starts from the beginning with --no-resume, without a journal", async () => {
    const { env, args } = await interruptedPut();
    const before = journals(env);
    const { stderr } = await ok([...args, "--no-resume"], { env });
    expect(stderr).toBe("");
    expect(journals(env)).toEqual(before);
  });

  test("uploads again what was deleted from the store", async () => {
    const { env, args } = await interruptedPut();
    rmSync(path(env.IDK_STORE), { recursive: true });
    const { stdout, stderr } = await ok(args, { env });
    expect(stderr).toBe("");
    await expectStored(stdout, env);
  });

  test.each<[what: string, damage: (journal: string) => void]>([
    ["noise", (journal) => writeFileSync(journal, noise(5000))],
    ["cut off", (journal) => writeFileSync(journal, readFileSync(journal).subarray(0, 4096))],
  ])("discards a journal that is %s, and says so", async (_, damage) => {
    const { env, args } = await interruptedPut("SIGINT");
    damage(journals(env)[0]!);
    const { stdout, stderr } = await ok(args, { env });
    expect(stderr).toBe(
      "idk: the journal of an earlier put of film cannot be read and is discarded: starting from the beginning\n",
    );
    expect(journals(env)).toEqual([]);
    await expectStored(stdout, env);
  });

  test("ignores a journal of another key", async () => {
    const { env, args } = await interruptedPut();
    // Also under the name it would have with this key.
    const [old = ""] = journals(env);
    const other = await interruptedPut();
    const [target = ""] = journals(other.env);
    for (const suffix of ["", "-wal"]) {
      if (existsSync(`${old}${suffix}`)) {
        writeFileSync(`${target}${suffix}`, readFileSync(`${old}${suffix}`));
      }
    }
    const { stdout, stderr } = await ok(args, { env: other.env });
    expect(stderr).toContain("cannot be read and is discarded");
    await expectStored(stdout, other.env);
  });

  test("succeeds if no journal can be kept", async () => {
    const env = { ...newStore(), XDG_CACHE_HOME: path("me.key") };
    const { stdout, stderr } = await ok(PUT, { env });
    expect(stderr).toMatch(
      /^idk: cannot keep a journal: [^\n]*not a folder; if interrupted, [^\n]+\n$/u,
    );
    await expectStored(stdout, env);
  });

  test("--json reports the counts", async () => {
    const { env, args } = await interruptedPut();
    const { stdout, stderr } = await ok([...args, "--json"], { env });
    expect(stderr).toBe("");
    const report = JSON.parse(stdout) as Record<string, number>;
    expect(report["skippedChunks"]).toBeGreaterThan(0);
    expect(report["skippedChunks"]! + report["newChunks"]!).toBe(report["chunks"]!);
    expect(report["sentBlobs"]).toBe(report["newChunks"]! + 1);
  });

  test("removes unused journals after a month", async () => {
    const { env } = await interruptedPut();
    const [journal = ""] = journals(env);
    const folder = join(journal, "..");
    const age = (days: number) => {
      const then = Date.now() / 1000 - days * 86_400;
      for (const name of readdirSync(folder)) utimesSync(join(folder, name), then, then);
    };
    workspace.write("small", noise(2 * MIB));
    const other = ["put", "small", "--resume"];
    age(29);
    await ok(other, { env });
    expect(journals(env)).toEqual([journal]);
    age(31);
    await ok(other, { env });
    expect(readdirSync(folder)).toEqual([]);
  });

  test("rejects --resume for standard input and pipes", async () => {
    expectFailure(await idk(["put", "-", "--resume"], { stdin: "x" }), 2, "regular file");
  });

  test("keeps no journal for a small file", async () => {
    const env = newStore();
    await ok(["put", "film"], { env });
    expect(existsSync(join(env.XDG_CACHE_HOME, "idk"))).toBe(false);
  });

  test("resumes with the same dedup secret only", async () => {
    for (const [seed, name] of [
      [3, "dedup"],
      [4, "other-dedup"],
    ] as const)
      workspace.write(name, noise(32, seed));
    const env = newStore();
    const args = [...PUT, "--dedup-secret", "dedup"];
    const blobs = () => existsSync(path(env.IDK_STORE));
    const count = () =>
      blobs() ? readdirSync(path(env.IDK_STORE), { recursive: true }).length : 0;
    const when = () => count() > 20;
    await interrupted(workspace, args, { env, signal: "SIGKILL", when });
    expect(journals(env)).toHaveLength(1);
    for (const other of [PUT, [...PUT, "--dedup-secret", "other-dedup"]]) {
      expect((await ok(other, { env })).stderr).toBe("");
    }
    const { stdout, stderr } = await ok(args, { env });
    expect(stderr).toMatch(/^idk: resumed: \d+ of 64 chunks were already stored\n$/u);
    expect(journals(env)).toEqual([]);
    await expectStored(stdout, env);
    // The address depends on the secret, not on the journal.
    expect((await ok(args, { env: newStore() })).stdout).toBe(stdout);
  });
});

test("two concurrent puts of one file: one has the journal, both succeed", async () => {
  const env = newStore();
  const results = await Promise.all([ok(PUT, { env }), ok(PUT, { env })]);
  const without = results.filter(({ stderr }) => stderr !== "");
  expect(without.length).toBeLessThanOrEqual(1);
  for (const { stderr } of without) expect(stderr).toContain("another put of film is running");
  expect(journals(env)).toEqual([]);
  for (const { stdout } of results) await expectStored(stdout, env);
});

describe("a put of several files that was interrupted", () => {
  const large = noise(65 * MIB, 8);

  async function interruptedPut(signal: NodeJS.Signals, more: readonly string[] = []) {
    workspace.write("large", large);
    workspace.write("small", "small");
    const env = newStore();
    const args = ["put", "small", "large", "--chunk-size", "256K", ...more];
    const blobs = () =>
      existsSync(path(env.IDK_STORE))
        ? readdirSync(path(env.IDK_STORE), { recursive: true }).length
        : 0;
    const result = await interrupted(workspace, args, { env, signal, when: () => blobs() > 60 });
    return { env, args, ...result };
  }

  test("resumes the large ones", async () => {
    const { env, args } = await interruptedPut("SIGKILL");
    expect(journals(env)).toHaveLength(1);
    const { stdout, stderr } = await ok(args, { env });
    expect(stderr).toMatch(
      /^stored 2 files, [^;]+; skipped \d+ of 264 chunks, [^;]+; none failed\n$/u,
    );
    expect(journals(env)).toEqual([]);
    const address = /^([0-9a-f]{64}) {2}large$/mu.exec(stdout)![1]!;
    await expectStored(address, env, large);
  });

  test("prints which ones after Ctrl-C", async () => {
    const { env, args, code, stderr } = await interruptedPut("SIGINT");
    expect(code).toBe(130);
    expect(stderr).toMatch(
      /^idk: large: \d+ chunks are stored: run the same command again to resume\n(?:idk: \d files? stored, [^\n]*\n)?idk: interrupted\n$/u,
    );
    expect((await ok(args, { env })).stderr).toContain("skipped ");
  });

  test("keeps nothing with --no-resume", async () => {
    const { env } = await interruptedPut("SIGKILL", ["--no-resume"]);
    expect(journals(env)).toEqual([]);
  });
});

test("rejects a file that changes while it is read", async () => {
  workspace.write("growing", noise(64 * MIB));
  const env = newStore();
  const blobs = () => existsSync(path(env.IDK_STORE));
  const { code, stdout, stderr } = await interrupted(
    workspace,
    ["put", "growing", "--chunk-size", "256K"],
    {
      env,
      signal: "SIGCONT",
      when: () => blobs() && (appendFileSync(path("growing"), "x"), true),
    },
  );
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toContain("growing changed while it was read");
  expect((await ok(["verify", "--deep"], { env })).stderr).toContain("0 roots");
});

test("rejects a file that changes while it is read, also if its date is set back", async () => {
  workspace.write("container", noise(64 * MIB));
  // Of whole seconds, which can be set exactly.
  const setDate = () => utimesSync(path("container"), 1e9, 1e9);
  setDate();
  const change = (): true => {
    const file = openSync(path("container"), "r+");
    writeSync(file, "changed");
    closeSync(file);
    setDate();
    return true;
  };
  const env = newStore();
  const { code, stdout, stderr } = await interrupted(
    workspace,
    ["put", "container", "--chunk-size", "256K"],
    { env, signal: "SIGCONT", when: () => existsSync(path(env.IDK_STORE)) && change() },
  );
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toContain("container changed while it was read");
});
