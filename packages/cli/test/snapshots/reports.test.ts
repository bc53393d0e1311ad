import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expectFailure } from "../support/cli.ts";
import { json, newUser } from "../support/new-user.ts";

setDefaultTimeout(120_000);

describe("output about snapshots", () => {
  test("is which one `latest` is, if this machine knows of several names", async () => {
    const { ok, docs } = await newUser();
    await ok(["backup", "docs", "--name", "one"]);
    expect((await ok(["ls", "latest", docs])).stderr).toBe("");
    await ok(["backup", "docs", "--name", "two"]);
    const listed = await ok(["ls", "latest", docs]);
    expect(listed.stderr).toMatch(/^idk: latest is two of \S+ \S+ UTC \([0-9a-f]{12}\)\n$/u);
    const restored = await ok(["restore", `latest:${docs}`, "--target", "back"]);
    expect(restored.stdout).toMatch(/^restored two of \S+ \S+ UTC \([0-9a-f]{12}\): 4 files and /u);
    const [asJson] = json(await ok(["restore", "one", "--target", "b", "--json"])).slice(-1);
    expect(asJson).toMatchObject({
      name: "one",
      snapshot: expect.stringMatching(/^[0-9a-f]{64}$/u),
    });
    expect(asJson!["time"]).toBeGreaterThan(Date.now() - 600_000);
  });

  test("is those of names that match, and the newest of each", async () => {
    const { ok } = await newUser();
    for (const name of ["web1/a", "web1/b", "web1/b", "web2/a"]) {
      await ok(["backup", "docs", "--name", name]);
    }
    const names = async (...args: readonly string[]) =>
      json(await ok(["snapshots", "--json", ...args])).map((each) => each["name"]);
    expect(await names("--name", "web1/*")).toEqual(["web1/a", "web1/b", "web1/b"]);
    expect(await names("--latest", "1")).toEqual(["web1/a", "web1/b", "web2/a"]);
    expect(await names("--latest", "1", "--name", "*b")).toEqual(["web1/b"]);
    const addresses = async (...args: readonly string[]) =>
      json(await ok([...args, "--json"])).map((each) => each["snapshot"]);
    const all = await addresses("snapshots");
    // In the same order.
    expect(await addresses("find", "notes.txt", "--all")).toEqual(all);
    expect(await addresses("find", "notes.txt")).toEqual(all.toSpliced(1, 1));
  });

  test("is who stored them, also where the environment does not say, as in a timer", async () => {
    const { ok } = await newUser();
    await ok(["backup", "docs"]);
    const user = Bun.spawnSync(["id", "-un"]).stdout.toString().trim();
    const [long] = json(await ok(["snapshots", "--long", "--json"]));
    expect(long).toMatchObject({ user });
  });

  test("is where to look for a blob, if its address is taken for a snapshot", async () => {
    const { ok, idk, home } = await newUser();
    writeFileSync(join(home, "alone"), "a file by itself");
    const address = (await ok(["put", "alone"])).stdout.trim();
    await ok(["backup", "docs"]);
    for (const given of [address, address.slice(0, 8)]) {
      expectFailure(await idk(["ls", given]), 3, /there is no snapshot .*`idk stat`/u);
    }
  });

  test("is that a backup is stored, and that this machine does not remember its head", async () => {
    const { ok, home } = await newUser();
    await ok(["backup", "docs"]);
    const heads = join(home, ".local/state/idk/repositories");
    const lock = join(
      heads,
      readdirSync(heads).find((name) => name.endsWith(".lock"))!,
    );
    rmSync(lock);
    mkdirSync(lock);
    const { stdout, stderr } = await ok(["backup", "docs"]);
    expect(stdout).toContain("warnings 1");
    expect(stderr).toMatch(
      /^idk: warning: this machine does not remember the head [0-9a-f]{12}, which is stored: cannot write /mu,
    );
    const reports = json(await ok(["backup", "docs", "--json"]));
    expect(reports[0]).toEqual({ warning: expect.stringContaining("does not remember the head") });
    rmSync(lock, { recursive: true });
    expect(json(await ok(["snapshots", "--json"]))).toHaveLength(3);
  });

  test("in JSON says which of two reports is that of `prune`", async () => {
    const { ok } = await newUser();
    for (const name of ["x", "x"]) await ok(["backup", "docs", "--name", name]);
    const reports = json(await ok(["forget", "--keep-last", "1", "--prune", "--json"]));
    const commands = reports.flatMap(({ command }) => (command === undefined ? [] : [command]));
    expect(commands).toEqual(["forget", "prune"]);
  });

  test("in `idk config` is what the first backup added", async () => {
    const { ok, writer } = await newUser();
    expect((await ok(["config"])).stdout).not.toContain("repository");
    await ok(["backup", "docs", "--name", "home"]);
    const shown = (await ok(["config"])).stdout;
    expect(shown).toMatch(/^repository +[0-9a-f]{32} {2}\(.*config\.toml:\d+\)$/mu);
    expect(shown).toMatch(/^ {2}owner +idk-writer1\w+$/mu);
    expect(shown).toContain(writer);
    expect(shown).toMatch(/^ {2}names +.*\/\*, home$/mu);
    const [asJson] = json(await ok(["config", "--json"]));
    expect(asJson).toMatchObject({ repository: { writer, "grace-period": "7d" } });
  });
});
