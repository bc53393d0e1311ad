import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expectFailure, newFolder, runIdk } from "../support/cli.ts";
import { json, newUser, type User } from "../support/new-user.ts";

setDefaultTimeout(120_000);

/** Backs up so many states of a file, each of which is its number. */
async function backUp({ ok, docs }: User, name: string, states: number): Promise<string[]> {
  const addresses: string[] = [];
  for (let state = 1; state <= states; state++) {
    writeFileSync(join(docs, "state"), `${state}`);
    const [made] = json(await ok(["backup", "docs", "--name", name, "--json"]));
    addresses.push(String(made!["snapshot"]));
  }
  return addresses;
}

const listed = async ({ ok }: User, ...args: readonly string[]) => {
  const result = await ok(["snapshots", "--json", ...args]);
  return result.stdout === "" ? [] : json(result);
};

test("tags are split at commas by backup, snapshots and forget alike", async () => {
  const user = await newUser();
  const { ok, idk } = user;
  await ok(["backup", "docs", "--name", "x", "--tag", "a, b", "--tag", "c,a"]);
  for (const tag of ["a", "b"]) await ok(["backup", "docs", "--name", "x", "--tag", tag]);
  await ok(["backup", "docs", "--name", "x"]);
  const tags = async (...args: readonly string[]) =>
    (await listed(user, ...args)).map((each) => each["tags"]);
  expect(await tags()).toEqual([["a", "b", "c"], ["a"], ["b"], []]);
  expect(await tags("--tag", "b,a")).toEqual([["a", "b", "c"]]);
  expect(await tags("--tag", "c", "--tag", "b")).toEqual([["a", "b", "c"], ["b"]]);
  expectFailure(await idk(["snapshots", "--tag", "a,x"]), 3, "no snapshot has the tags");
  const none = await idk(["snapshots", "--tag", "x", "--name", "x"]);
  expectFailure(none, 3, "no snapshot has the name 'x' and the tags 'x'");
  for (const wrong of ["", "a,", ","]) {
    expectFailure(await idk(["backup", "docs", "--tag", wrong]), 2, "--tag takes tags such as");
  }
  await ok(["forget", "--keep-tag", "a,b"]);
  expect(await tags()).toEqual([["a", "b", "c"], []]);
});

describe("forgotten snapshots", () => {
  test("are passed over by NAME~N and NAME@DATE, but not by unforget", async () => {
    const user = await newUser();
    const { ok, idk, docs } = user;
    const [, second] = await backUp(user, "x", 3);
    const state = async (snapshot: string) =>
      (await ok(["cat", `${snapshot}:${docs}/state`])).stdout;
    expect([await state("x~1"), await state("x~2")]).toEqual(["2", "1"]);
    await ok(["forget", "x~1"]);
    expect([await state("x"), await state("x~1")]).toEqual(["3", "1"]);
    expect(await state("x@2999-01-01")).toBe("3");
    expectFailure(await idk(["cat", `x~2:${docs}/state`]), 3, 'there is no snapshot "x~2"');

    // An address takes it, and says so.
    const byAddress = await ok(["ls", second!.slice(0, 12), docs]);
    expect(byAddress.stderr).toMatch(/^idk: x of [^\n]+ is forgotten: `idk prune` deletes it, /u);
    expect((await ok(["ls", "x~1", docs])).stderr).toBe("");
    const again = await ok(["forget", second!]);
    expect(again.stderr).toMatch(/^idk: x of [^\n]+ is already forgotten\nforgot 0 snapshots\n$/u);
    const [report] = json(await ok(["forget", second!, "--json"]));
    expect(report).toMatchObject({ forgotten: [], already: [second] });

    expect((await ok(["unforget", "x~1"])).stdout).toBe("brought back 1 snapshot\n");
    expect(await state("x~1")).toBe("2");
  });

  test("are not chosen by rules for names at the same time", async () => {
    const { idk } = await newUser();
    for (const flag of [["--name", "x"], ["--host-times"]]) {
      expectFailure(await idk(["forget", "x~1", ...flag]), 2, `${flag[0]} applies to rules`);
    }
  });
});

test("a name that ends like another form takes ~0", async () => {
  const user = await newUser();
  const { ok, docs } = user;
  await backUp(user, "x", 2);
  writeFileSync(join(docs, "state"), "of the other name");
  await ok(["backup", "docs", "--name", "x~1"]);
  expect((await ok(["cat", `x~1:${docs}/state`])).stdout).toBe("1");
  expect((await ok(["cat", `x~1~0:${docs}/state`])).stdout).toBe("of the other name");
});

describe("idk repo close", () => {
  test("lets the newest of a name be forgotten, and nobody write to it", async () => {
    const user = await newUser();
    const { ok, idk, docs } = user;
    await backUp(user, "kept", 1);
    const [, newest] = await backUp(user, "gone", 2);
    const newestStays = await idk(["forget", "gone"]);
    expectFailure(newestStays, 2, "close the name first, with `idk repo close`");
    expectFailure(await idk(["repo", "close", "gon"]), 3, "no snapshot has the name 'gon'");

    const closed = await ok(["repo", "close", "gone"]);
    expect(closed.stdout).toMatch(/^closed {8}"gone", until .* UTC$/mu);
    expect(closed.stderr).toContain('closed "gone": nobody can write snapshots of this name');
    const [twice] = json(await ok(["repo", "close", "gone", "--json"]));
    expect(twice).toMatchObject({ names: ["gone"] });
    const rules = twice!["rules"] as { writer: string | null }[];
    expect(rules.filter(({ writer }) => writer === null)).toHaveLength(1);

    await ok(["forget", "gone"]);
    // The newest is forgotten now, so the name and `latest` mean what is left.
    expect((await ok(["cat", `gone:${docs}/state`])).stdout).toBe("1");
    expect((await ok(["cat", `latest:${docs}/state`])).stdout).toBe("1");
    expect((await ok(["ls", newest!, docs])).stderr).toContain("is forgotten");
    await ok(["forget", "gone"]);
    expectFailure(await idk(["ls", "gone"]), 3, 'there is no snapshot "gone"');
    expect((await listed(user)).map((each) => each["name"])).toEqual(["kept"]);
    await Bun.sleep(5);
    await ok(["backup", "docs", "--name", "gone"]);
    expect((await listed(user)).map((each) => each["name"])).toEqual(["kept"]);
  });
});

test("the grace period grows, and never shrinks", async () => {
  const user = await newUser();
  const { ok, idk } = user;
  await backUp(user, "x", 1);
  const grace = async () => json(await ok(["repo", "show", "--json"]))[0]!["graceSeconds"];
  expect((await ok(["repo", "grace-period", "14d"])).stdout).toContain("grace period  14d\n");
  expect(await grace()).toBe(14 * 86_400);
  const shorter = await idk(["repo", "grace-period", "13d"]);
  expectFailure(shorter, 2, "the grace period of a repository cannot be shortened");
  expect(await grace()).toBe(14 * 86_400);
  expect((await ok(["prune"])).stderr).toContain("younger than the grace period, 14d");
});

test("a writer that the owner lets forget does so in its names, and nobody else", async () => {
  const owner = await newUser();
  await backUp(owner, "web1/a", 3);
  await backUp(owner, "home", 2);
  // A colleague, who reads all, with a writer key.
  const home = newFolder();
  const run = (args: readonly string[]) => runIdk(args, { cwd: home, env: { HOME: home } });
  const recipient = (await run(["keygen", "-o", "own.key"])).stdout.trim();
  const writer = (await run(["keygen", "--writer", "-o", "host.key"])).stdout.trim();
  const config = readFileSync(owner.config, "utf8");
  const [mine] = (await owner.ok(["recipient"])).stdout.trim().split("\n");
  writeFileSync(owner.config, config.replace('recipients = ["', `recipients = ["${recipient}", "`));
  await owner.ok(["repo", "share"]);
  const allowed = await owner.ok(["repo", "allow", writer, "--names", "web1/*"]);
  mkdirSync(join(home, ".config/idk"), { recursive: true });
  writeFileSync(
    join(home, ".config/idk/config.toml"),
    `identity = "${join(home, "own.key")}"\nrecipients = ["${recipient}", "${mine}"]\n` +
      `[store.main]\nurl = "${owner.store}"\n\n` +
      allowed.stdout.replace("/etc/idk-backup/writer.key", join(home, "host.key")),
  );
  // Sealed to the colleague, too.
  const later = [...(await backUp(owner, "web1/a", 3)), ...(await backUp(owner, "home", 2))];
  expectFailure(await run(["forget", later[1]!]), 2, "may not forget anything in this repository");

  await owner.ok(["repo", "allow", writer, "--names", "web1/*", "--forget"]);
  expectFailure(await run(["forget", later[3]!]), 2, 'may not forget snapshots of "home"');
  const forgot = await run(["forget", later[1]!]);
  expect([forgot.code, forgot.stderr.includes("forgot 1 snapshot\n")]).toEqual([0, true]);
  const forgotten = async () =>
    (await listed(owner, "--all"))
      .filter((each) => each["forgotten"])
      .map((each) => each["snapshot"]);
  expect(await forgotten()).toEqual([later[1]]);
  expect((await run(["unforget", later[1]!])).stdout).toBe("brought back 1 snapshot\n");
  expect(await forgotten()).toEqual([]);
  // The owner signs with the owner's key, whatever writer key the configuration names.
  await owner.ok(["forget", later[3]!]);
  expect(await forgotten()).toEqual([later[3]]);
});
