import { describe, expect, setDefaultTimeout, test } from "bun:test";
import type { CheckProblem } from "@idk/snapshots";
import { StorageError } from "@idk/storage";
import { cpSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findings } from "../../src/snapshots/check/steps.ts";
import { expectFailure, newFolder, noise, type Result } from "../support/cli.ts";
import { json, newUser, type User } from "../support/new-user.ts";

setDefaultTimeout(120_000);

/** The files of the blobs of a user's repository. */
const blobsOf = ({ store }: User): string[] =>
  readdirSync(store, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /^[0-9a-f]{64}$/u.test(entry.name))
    .map(({ parentPath, name }) => join(parentPath, name));

/** Requires that a command fails with 5, and its last message. */
function expectDamage({ code, stderr }: Result, message: string): void {
  expect(stderr.split("\n").slice(-2)).toEqual([`idk: ${message}`, ""]);
  expect(code).toBe(5);
}

/** Backs up new content, and returns the file of the pack with it. */
async function backUpMore(user: User, seed: number): Promise<string> {
  const before = new Set(blobsOf(user));
  writeFileSync(join(user.docs, `more ${seed}`), noise(2 ** 20, seed));
  await user.ok(["backup", "docs", "--name", "x"]);
  const added = blobsOf(user).filter((path) => !before.has(path));
  return added.toSorted((a, b) => statSync(b).size - statSync(a).size)[0]!;
}

describe("the next steps after a check", () => {
  const found = { marker: { address: "ab".repeat(32) }, head: { name: "x" } } as never;
  const error = new StorageError("format", "damaged");
  const gone = new StorageError("not-found", "missing");
  const [name, path, pack] = ["", new Uint8Array(), "cd".repeat(32) as never];

  /** What each kind of problem is called, and a word of what to do about it. */
  const PROBLEMS: readonly (readonly [summary: string, step: string, problem: CheckProblem])[] = [
    ["1 head that does not count", "forget --refused", { kind: "head", marker: found, error }],
    ["1 fork of the settings", "grace-period", { kind: "fork", name, heads: [], isJoined: false }],
    ["1 record that cannot be read", "idk copy", { kind: "record", found, error }],
    [
      "1 session key that is damaged",
      "delete its cache, from which `idk backup` copies session keys, and back up again; then forget those " +
        "whose files `idk check --read-data` cannot read, with `idk forget ADDRESS`",
      { kind: "key", found, session: "ef".repeat(16), error },
    ],
    ["1 list that lacks packs", "prune", { kind: "reach", found, lacking: 2, surplus: 0 }],
    ["1 unfinished backup that lacks packs", "backup", { kind: "part", found, missing: 1 }],
    ["1 folder that cannot be read", "backup --repair", { kind: "tree", found, path, error }],
    [
      "1 missing or damaged pack",
      "backup --repair",
      { kind: "pack", address: pack, error: gone, isDeleted: false },
    ],
    ["1 file in such packs", "backup --repair", { kind: "file", found, path, pack }],
  ];

  test.each(PROBLEMS)("are there for %s", (summary, step, problem) => {
    const one = findings({ isOwner: false });
    one.add(problem);
    expect(one.summary()).toBe(summary);
    expect(one.steps()).toHaveLength(1);
    expect(one.steps()[0]).toContain(step);
  });

  test("are all that apply, each once", () => {
    const all = findings({ isOwner: false });
    for (const [, , problem] of [...PROBLEMS, ...PROBLEMS]) all.add(problem);
    expect(all.steps()).toHaveLength(7);
    expect(all.summary()).toStartWith("2 forks of the settings, 2 heads that do not count, ");
    expect(all.summary()).toEndWith(" and 2 files in such packs");
    // What is damaged and there is not stored anew.
    all.add({ kind: "pack", address: pack, error, isDeleted: true });
    expect(all.steps()).toHaveLength(7);
    all.add({ kind: "pack", address: pack, error, isDeleted: false });
    expect(all.steps()).toHaveLength(8);
    expect(all.steps().join("\n")).toContain("--delete-damaged");
  });

  test("are none for what is harmless", () => {
    const none = findings({ isOwner: false });
    none.add({ kind: "reach", found, lacking: 0, surplus: 3 });
    none.add({ kind: "fork", name: "x", heads: [], isJoined: false });
    expect([none.steps(), none.summary()]).toEqual([[], ""]);
  });

  test("are to use another identity for what is not for this one", () => {
    const closed = new StorageError("no-match", "none of the given identities opens this blob");
    const all = findings({ isOwner: false });
    all.add({ kind: "head", marker: found, error: closed });
    all.add({ kind: "record", found, error: closed });
    expect(all.summary()).toBe("2 records that are not for your identities");
    expect(all.isOnlyClosed).toBe(true);
    expect(all.steps()).toHaveLength(1);
    expect(all.steps()[0]).toStartWith("run `idk check` with an identity that opens all");
    all.add({ kind: "record", found, error });
    expect(all.isOnlyClosed).toBe(false);
    expect(all.steps()).toHaveLength(2);
    const own = findings({ isOwner: true });
    own.add({ kind: "head", marker: found, error: closed });
    expect(own.steps()).toEqual([expect.stringMatching(/`recipients` lack yours .* --refused`$/u)]);
  });

  test("are printed, one in a line", async () => {
    const user = await newUser();
    await backUpMore(user, 1);
    const pack = await backUpMore(user, 2);
    const [rule] = json(await user.ok(["repo", "show", "--json"]))[0]!["rules"] as never[];
    await user.ok(["repo", "revoke", rule!["writer"]]);
    await Bun.sleep(5);
    // Does not count.
    await user.ok(["backup", "docs", "--name", "x"]);
    rmSync(pack);
    const checked = await user.idk(["check", "--quiet"]);
    expectDamage(
      checked,
      "check found 1 head that does not count, 1 missing or damaged pack and 1 file in such packs",
    );
    const steps = checked.stderr.split("\n").filter((line) => line.startsWith("idk: next: "));
    expect(steps).toHaveLength(2);
    expect(steps[0]).toContain("`idk forget --head ADDRESS`");
    expect(steps[1]).toContain("`idk backup --repair`");
    const asJson = await user.idk(["check", "--json"]);
    expect(json(asJson).at(-1)).toMatchObject({
      ok: false,
      next: steps.map((line) => line.slice("idk: next: ".length)),
    });
  });
});

describe("a check", () => {
  test("has no failure in JSON for snapshots that do not know of each other", async () => {
    const user = await newUser();
    const { home, store, ok } = user;
    await backUpMore(user, 1);
    const [before, others] = [join(newFolder(), "home"), join(newFolder(), "store")];
    cpSync(home, before, { recursive: true, preserveTimestamps: true });
    await backUpMore(user, 2);
    cpSync(store, others, { recursive: true });
    // As if the store hid it from another host.
    rmSync(home, { recursive: true });
    cpSync(before, home, { recursive: true, preserveTimestamps: true });
    await backUpMore(user, 3);
    cpSync(others, store, { recursive: true });
    const reports = json(await ok(["check", "--json"]));
    expect(reports).toHaveLength(2);
    expect(reports[0]).toMatchObject({ ok: true, problem: "fork", name: "x", joined: false });
    expect(reports[1]).toMatchObject({ ok: true, problems: { fork: 1 }, next: [] });
  });
});

describe("recover", () => {
  test("fails if heads are lost, and counts those that do not count among them", async () => {
    const user = await newUser();
    const { idk, ok, store } = user;
    await backUpMore(user, 1);
    const pack = await backUpMore(user, 2);
    const content = readFileSync(pack);
    const [rule] = json(await ok(["repo", "show", "--json"]))[0]!["rules"] as never[];
    await ok(["repo", "revoke", rule!["writer"]]);
    await Bun.sleep(5);
    await backUpMore(user, 3);
    rmSync(join(store, "repo/heads"), { recursive: true });
    rmSync(pack);
    const lost = await idk(["recover", "--dry-run"]);
    expect(lost.stdout.match(/^lost {2}/gmu)).toHaveLength(2);
    expectDamage(
      lost,
      "2 heads cannot be recovered: `idk copy` brings back what a copy of the store has",
    );
    const asJson = await idk(["recover", "--dry-run", "--json"]);
    expect(asJson.code).toBe(5);
    expect(json(asJson).at(-1)).toMatchObject({ lost: 2, dryRun: true });
    // A head that does not count is not in a copy either.
    writeFileSync(pack, content);
    expectDamage(await idk(["recover"]), "1 head cannot be recovered");
    expect(json(await ok(["snapshots", "--json", "--accept-rollback"]))).toHaveLength(2);
    // There is no state that it could be compared with.
    expectFailure(await idk(["recover", "--accept-rollback"]), 2, "--accept-rollback");
  });
});
