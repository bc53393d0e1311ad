import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { answering, atTerminal, type Step } from "../support/at-terminal.ts";
import { checkManners, expectFailure, isolated, MAIN, noise, PASSPHRASE } from "../support/cli.ts";
import { interrupted } from "../support/interrupted.ts";
import { json, newUser, treeOf } from "../support/new-user.ts";
import { writeProtected } from "../support/protected.ts";

// oxlint-disable no-control-regex -- what a terminal gets is made of them.

setDefaultTimeout(120_000);

const MIB = 2 ** 20;

/** Runs `idk` in a terminal of its own. */
async function terminal(home: string, steps: readonly Step[], args: readonly string[]) {
  const env = { ...isolated({ HOME: home }), TERM: "xterm", LANG: "C.UTF-8" };
  const command = [process.execPath, MAIN, ...args];
  const { screen, code } = await atTerminal(steps, command, { cwd: home, env });
  checkManners({ stdout: screen, stderr: screen });
  return { screen, code };
}

/** A user with enough files that a backup takes a while. */
async function busyUser() {
  const user = await newUser();
  for (const n of [1, 2]) writeFileSync(join(user.docs, `film ${n}`), noise(80 * MIB, n));
  return user;
}

/** No thread helps, so that every machine is slow enough. */
const SLOW = ["backup", "docs", "--name", "x", "--workers", "0"];

describe("a backup on a terminal", () => {
  test("draws a bar, erases it, and prints a summary", async () => {
    const { home } = await busyUser();
    const { screen, code } = await terminal(home, [], SLOW);
    expect(code).toBe(0);
    expect(screen).toMatch(/backup {2}\u001b\[36m━+\u001b\[39m─+ {2}\d+ % {2}[\d.]+ MiB/u);
    const [, after = ""] = /^.*\u001b\[2K\u001b\[G(.*)$/su.exec(screen) ?? [];
    expect(after).toMatch(/files {4}6 \(6 new, .*snapshot [0-9a-f]{20} {2}x\r\n/su);
    const restored = await terminal(home, [], ["restore", "x", "--target", "back"]);
    expect(restored.screen).toMatch(/restored x of .*: 6 files and /u);
    expect(restored.code).toBe(0);
  });

  test("ends at Ctrl-C, erases the bar, and is continued by the same command", async () => {
    const { home, ok, docs } = await busyUser();
    // By then some packs are stored.
    const shown = "[4-9][0-9] % .* MiB";
    const { screen, code } = await terminal(home, [{ shown, type: "\u0003" }], SLOW);
    expect(code).toBe(130);
    expect(screen).toEndWith(
      "idk: stored data is kept; run the same command again to continue\r\nidk: interrupted\r\n",
    );
    const [unfinished] = json(await ok(["status", "docs", "--name", "x", "--json"]));
    expect(unfinished).toMatchObject({
      lastRun: { error: { code: "aborted" } },
      unfinished: { stuck: false },
    });
    const again = await ok(SLOW);
    expect(again.stderr).toContain("idk: continuing an interrupted backup\n");
    const cat = await ok(["cat", `x:${docs}/film 2`]);
    expect(Buffer.compare(cat.bytes, noise(80 * MIB, 2))).toBe(0);
  });
});

test("a backup that is ended by a signal exits as one, and the next one completes it", async () => {
  const { home, ok, store } = await busyUser();
  // The settings, and the first packs.
  const isStoring = () =>
    existsSync(join(store, "repo")) &&
    readdirSync(join(store, "repo"), { recursive: true }).length > 16;
  const workspace = { folder: home, env: { HOME: home } };
  const ended = await interrupted(workspace, SLOW, { signal: "SIGTERM", when: isStoring });
  expect([ended.code, ended.stdout]).toEqual([143, ""]);
  expect(ended.stderr).toEndWith("run the same command again to continue\nidk: interrupted\n");
  await ok(SLOW);
  expect((await ok(["check", "--read-data"])).code).toBe(0);
});

test("what an interrupted backup stored is as old as the store's clock says", async () => {
  const { home, ok, store } = await busyUser();
  await ok(["repo", "init", "--grace-period", "1h"]);
  const before = readdirSync(join(store, "repo"), { recursive: true }).length;
  const isStoring = () =>
    readdirSync(join(store, "repo"), { recursive: true }).length > before + 16;
  const workspace = { folder: home, env: { HOME: home } };
  await interrupted(workspace, SLOW, { signal: "SIGTERM", when: isStoring });
  // Half the grace period has passed, but only for this machine.
  const ahead = join(home, "ahead.ts");
  writeFileSync(ahead, "const { now } = Date; Date.now = () => now() + 45 * 60_000;");
  const status = ["status", "docs", "--name", "x"];
  const child = Bun.spawnSync([process.execPath, "--preload", ahead, MAIN, ...status], {
    cwd: home,
    env: isolated({ HOME: home }),
  });
  expect(child.exitCode).toBe(0);
  expect(child.stdout.toString()).toMatch(
    /^unfinished {2}\d+ packs since .*: the next backup uses/mu,
  );
});

test("a restore that is ended by a signal prints how to continue", async () => {
  const { home, docs, ok } = await busyUser();
  await ok(["backup", "docs", "--name", "x"]);
  const restore = ["restore", `x:${docs}`, "--target", "back", "--workers", "0"];
  const workspace = { folder: home, env: { HOME: home } };
  const isWriting = () =>
    existsSync(join(home, "back")) && readdirSync(join(home, "back")).length > 0;
  const ended = await interrupted(workspace, restore, { signal: "SIGINT", when: isWriting });
  expect([ended.code, ended.stdout]).toEqual([130, ""]);
  expect(ended.stderr).toBe(
    "idk: to continue, run it again with --overwrite if-changed\nidk: interrupted\n",
  );
  await ok([...restore, "--overwrite", "if-changed"]);
  expect(treeOf(join(home, "back"))).toEqual(treeOf(docs));
});

describe("a passphrase", () => {
  /** A user whose identity has one. */
  async function protectedUser() {
    const user = await newUser();
    const recipient = await writeProtected(`${user.identity}.new`, PASSPHRASE);
    writeFileSync(user.identity, readFileSync(`${user.identity}.new`), { mode: 0o600 });
    const text = readFileSync(user.config, "utf8");
    writeFileSync(user.config, text.replace(/idk1[0-9a-z]+/u, recipient));
    return user;
  }

  test("is asked for by the first backup and by a restore, and by no later backup", async () => {
    const { home, docs, idk, ok } = await protectedUser();
    expectFailure(await idk(["backup", "docs"]), 2, "passphrase");
    const typed = answering([`${PASSPHRASE}\r`]);
    const first = await terminal(home, typed, ["backup", "docs", "--name", "x"]);
    expect(first.screen).toMatch(/Passphrase .*identity\.key: /u);
    expect(first.code).toBe(0);
    await ok(["backup", "docs", "--name", "x"]);
    await ok(["backup", "docs"]);
    const restore = ["restore", `x:${docs}`, "--target", "back"];
    const wrong = await terminal(home, answering(["nonsense\r"]), restore);
    expect([wrong.code, existsSync(join(home, "back"))]).toEqual([4, false]);
    const restored = await terminal(home, typed, restore);
    expect(restored.code).toBe(0);
    expect(readFileSync(join(home, "back/notes.txt"), "utf8")).toBe("the notes\n");
  });

  test("of a writer key is asked for by every backup", async () => {
    const { home, ok, idk, config, writer } = await newUser();
    await ok(["backup", "docs", "--name", "x"]);
    const keygen = ["keygen", "--writer", "--passphrase", "-o", "locked.key"];
    const twice = answering([`${PASSPHRASE}\r`, `${PASSPHRASE}\r`]);
    const made = await terminal(home, twice, keygen);
    const [key] = /idk-writer1[0-9a-z]+/u.exec(made.screen)!;
    await ok(["repo", "allow", key, "--names", "x"]);
    const text = readFileSync(config, "utf8");
    writeFileSync(config, text.replace(writer, join(home, "locked.key")));
    expectFailure(await idk(["backup", "docs", "--name", "x"]), 2, "locked.key");
    const doctor = await ok(["doctor"]);
    expect(doctor.stdout).toContain("locked.key: protected by a passphrase, not opened, writes");
    const typed = answering([`${PASSPHRASE}\r`]);
    const backedUp = await terminal(home, typed, ["backup", "docs", "--name", "x"]);
    expect(backedUp.code).toBe(0);
    expect(json(await ok(["snapshots", "--json"]))[1]).toMatchObject({ writer: key });
  });
});
