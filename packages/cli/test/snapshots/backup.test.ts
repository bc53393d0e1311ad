import { describe, expect, setDefaultTimeout, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { EXAMPLES } from "../../src/command-line/examples.ts";
import { expectFailure, newFolder, runIdk } from "../support/cli.ts";
import { json, newUser, treeOf } from "../support/new-user.ts";

setDefaultTimeout(120_000);

describe("a first backup", () => {
  test("needs nothing but `idk init`, later ones no identity, and a lost machine the identity alone", async () => {
    const { home, docs, idk, ok, config, identity, store, writer } = await newUser();
    const name = `${hostname()}${docs}`;

    // The first makes the repository, a writer key, the right to write, and the pins.
    const first = await ok(["backup", "docs"]);
    expect(first.stderr).toContain("created a repository of snapshots in");
    expect(first.stderr).toContain(`created the writer key of this host, ${writer}`);
    expect(first.stderr).toContain(
      `allowed this host to write snapshots named "${hostname()}/*"\n`,
    );
    expect(first.stderr).toContain(`added the repository to ${config}`);
    expect(first.stdout).toContain(name);
    expect(statSync(writer).mode & 0o777).toBe(0o600);
    expect(readFileSync(config, "utf8")).toContain("[store.main.repository]\n");

    // The second reads nothing, and the identity is not there.
    renameSync(identity, join(home, "kept.key"));
    writeFileSync(join(docs, "new.txt"), "new\n");
    const [second] = json(await ok(["backup", "docs", "--json", "--tag", "t", "-m", "second"]));
    expect(second).toMatchObject({ name, newFiles: 1, goneFiles: 0, errors: 0, newBytes: 4 });
    expect(second!["snapshot"]).toMatch(/^[0-9a-f]{64}$/u);

    // Without the identity nothing can be read, not even by the writer.
    expectFailure(await idk(["snapshots"]), 2, "cannot read the identity file");
    const stolen = await idk(["snapshots", "-i", writer]);
    expect(stolen.code).not.toBe(0);
    expect(`${stolen.stdout}${stolen.stderr}`).not.toContain(docs);

    // The machine is lost: another one has the store and the identity file, and no configuration.
    const other = newFolder();
    renameSync(join(home, "kept.key"), join(other, "me.key"));
    const before = treeOf(docs);
    renameSync(store, join(other, "store"));
    rmSync(home, { recursive: true });
    const found = (args: readonly string[]) =>
      runIdk([...args, "--store", "./store", "-i", "me.key"], { cwd: other });
    const listed = json(await found(["snapshots", "--json", "--long"]));
    expect(listed.map((each) => [each["name"], each["files"]])).toEqual([
      [name, 4],
      [name, 5],
    ]);
    expect(listed[1]).toMatchObject({ tags: ["t"], message: "second", paths: [docs] });
    const restored = await found(["restore", `latest:${docs}`, "--target", "back", "--verify"]);
    expect(restored.code).toBe(0);
    expect(restored.stderr).toMatch(/^idk: latest is [^\n]+\n$/u);
    expect(treeOf(join(other, "back"))).toEqual(before);
    const one = await found(["cat", `${name}~1:${docs}/notes.txt`]);
    expect([one.stdout, one.code]).toEqual(["the notes\n", 0]);
    const changed = await found(["diff", `${name}~1`, name]);
    expect(changed.stdout).toContain(`+  ${docs}/new.txt\n`);
    expect((await found(["find", "new.*"])).stdout).toContain(`${docs}/new.txt`);
    expect((await found(["check", "--read-data"])).code).toBe(0);
  });

  test("completes what an interrupted one began", async () => {
    const { ok, config, writer, docs } = await newUser();
    await ok(["backup", "docs"]);
    const text = readFileSync(config, "utf8");
    // As if it had ended before it wrote the configuration.
    writeFileSync(config, text.slice(0, text.indexOf("\n[store.main.repository]")));
    const key = readFileSync(writer, "utf8");
    const again = await ok(["backup", "docs"]);
    expect(again.stderr).not.toContain("made");
    expect(again.stderr).not.toContain("allowed");
    expect(again.stderr).toContain("added the repository");
    expect(readFileSync(writer, "utf8")).toBe(key);
    const rules = json(await ok(["repo", "show", "--json"]))[0]!["rules"] as unknown[];
    expect(rules).toHaveLength(1);
    expect(treeOf(docs)).not.toEqual([]);
  });

  test("under a name allows that of the host, too, so that a timer without one needs no identity", async () => {
    const { ok, config, identity, docs } = await newUser();
    const { stderr } = await ok(["backup", "docs", "--name", "home"]);
    const host = `${hostname()}/*`;
    expect(stderr).toContain(`allowed this host to write snapshots named "${host}" and "home"\n`);
    expect(readFileSync(config, "utf8")).toContain(`names = ["${host}", "home"]\n`);
    renameSync(identity, `${identity}.away`);
    const [second] = json(await ok(["backup", "docs", "--json"]));
    expect(second).toMatchObject({ name: `${hostname()}${docs}` });
  });

  test("fixes the host in the names, which the system may call otherwise tomorrow", async () => {
    const { ok, config, docs } = await newUser();
    await ok(["backup", "docs"]);
    const text = readFileSync(config, "utf8");
    writeFileSync(config, text.replace(`"${hostname()}/*"`, '"yesterday/*"'));
    const [again] = json(await ok(["status", "docs", "--json"]));
    expect(again).toMatchObject({ name: `yesterday${docs}` });
  });

  test("under another name asks the owner once, and adds the name", async () => {
    const { ok, idk, config, identity } = await newUser();
    await ok(["backup", "docs"]);
    renameSync(identity, `${identity}.away`);
    expectFailure(await idk(["backup", "docs", "--name", "mine"]), 2, "cannot read the identity");
    renameSync(`${identity}.away`, identity);
    await ok(["backup", "docs", "--name", "mine"]);
    expect(readFileSync(config, "utf8")).toContain(`names = ["${hostname()}/*", "mine"]\n`);
    renameSync(identity, `${identity}.away`);
    await ok(["backup", "docs", "--name", "mine"]);
    renameSync(`${identity}.away`, identity);
    const names = json(await ok(["snapshots", "--json"])).map((each) => each["name"]);
    expect(names.filter((each) => each === "mine")).toHaveLength(2);
  });

  test("in a store that no configuration names is the owner's own", async () => {
    const { home, ok, docs } = await newUser();
    const flags = ["--store", "./elsewhere"];
    await ok(["backup", "docs", ...flags]);
    await ok(["backup", "docs", ...flags]);
    expect(existsSync(join(home, ".local/share/idk/writer.key"))).toBe(false);
    expect(json(await ok(["snapshots", "--json", ...flags]))).toHaveLength(2);
    const ls = await ok(["ls", "latest", docs, ...flags]);
    expect(ls.stdout).toContain(`${docs}/notes.txt\n`);
  });
});

describe("a host that only writes", () => {
  test("makes snapshots with its key, which reads nothing, until its rights end", async () => {
    const owner = await newUser();
    const host = newFolder();
    const run = (args: readonly string[]) => runIdk(args, { cwd: host, env: { HOME: host } });
    const made = await run(["keygen", "--writer", "-o", "host.key"]);
    const writer = made.stdout.trim();
    expect(writer).toMatch(/^idk-writer1/u);
    await owner.ok(["repo", "init"]);
    const table = (await owner.ok(["repo", "allow", writer, "--names", "web1/*"])).stdout;
    const [recipient] = (await owner.ok(["recipient"])).stdout.trim().split("\n");
    mkdirSync(join(host, ".config/idk"), { recursive: true });
    writeFileSync(
      join(host, ".config/idk/config.toml"),
      `recipients = ["${recipient}"]\n[store.main]\nurl = "${owner.store}"\n\n` +
        table.replace("/etc/idk-backup/writer.key", join(host, "host.key")),
    );
    writeFileSync(join(host, "data"), "of the host");

    const refused = await run(["backup", "data", "--name", "web2/data"]);
    expectFailure(refused, 2, 'this host may not write snapshots named "web2/data"');
    // Without a name, it takes the one that the owner calls the host by.
    const [dry] = json(await run(["backup", "data", "--dry-run", "--json"]));
    expect(dry).toMatchObject({ name: `web1${host}/data` });
    const first = await run(["backup", "data", "--name", "web1/data"]);
    expect([first.code, first.stderr]).toEqual([0, ""]);
    expectFailure(await run(["snapshots"]), 2, "a writer key, which cannot read");
    const listed = json(await owner.ok(["snapshots", "--json"]));
    expect(listed).toMatchObject([{ name: "web1/data", writer }]);

    await owner.ok(["repo", "revoke", writer]);
    await Bun.sleep(5);
    // A writer cannot know it: what it writes does not count.
    expect((await run(["backup", "data", "--name", "web1/data"])).code).toBe(0);
    const after = await owner.ok(["snapshots", "--json"]);
    expect(json(after)).toHaveLength(1);
    expect(after.stderr).toContain("does not count");

    // It stops prune, until the owner does what prune and check say.
    const ended = await owner.idk(["prune"]);
    expect(ended.code).toBe(5);
    const [, head] = /: `idk forget --head ([0-9a-f]{20})`\n/u.exec(ended.stderr)!;
    const checked = await owner.idk(["check", "--read-data"]);
    expect(checked.code).not.toBe(0);
    expect(checked.stdout).toMatch(
      new RegExp(
        `^the head ${head}[0-9a-f]{44} does not count: its writer may no longer write`,
        "u",
      ),
    );
    expect(checked.stderr).toContain(
      "checked 1 snapshot, 2 packs: 1 of folders, all read; 1 of files, 1 read (4.0 KiB)",
    );
    await owner.ok(["forget", "--head", head!]);
    await owner.ok(["prune"]);

    // Many of them at once.
    for (const n of [1, 2]) {
      writeFileSync(join(host, "data"), `of the host ${n}`);
      await run(["backup", "data", "--name", "web1/data"]);
    }
    expect((await owner.idk(["prune"])).stderr).toContain(
      ", or all such heads: `idk forget --refused`",
    );
    const all = await owner.ok(["forget", "--refused", "--dry-run"]);
    expect(all.stderr).toContain("would forget 2 heads");
    await owner.ok(["forget", "--refused"]);
    await owner.ok(["prune"]);
    const wrong = await owner.idk(["forget", "--head", "ab".repeat(32)]);
    expect(wrong.code).toBe(3);
    expect(wrong.stderr).toContain("there is no head abab");
  });
});

describe("files that cannot be read", () => {
  test("are listed, the snapshot is made, and the exit code is 7", async () => {
    const { docs, idk, ok } = await newUser();
    const missing = await idk(["backup", "docs", "nowhere", "--name", "x"]);
    expect(missing.code).toBe(7);
    expect(missing.stderr).toContain("nowhere: ");
    expect(missing.stderr).toEndWith(
      "idk: the snapshot was made without 1 file or folder that could not be read\n",
    );
    expect((await ok(["ls", "latest", docs])).stdout).toContain("notes.txt");
    const status = await idk(["status", "docs", "nowhere", "--name", "x"]);
    expect([status.code, status.stdout.includes("unreadable  1 file or folder\n")]).toEqual([
      7,
      true,
    ]);
    const asJson = await idk(["backup", "docs", "nowhere", "--name", "x", "--json"]);
    expect(asJson.code).toBe(7);
    expect(json(asJson)[0]).toMatchObject({
      ok: false,
      error: { code: "unexpected", message: expect.any(String) },
    });
    expect(json(asJson)[1]).toMatchObject({ errors: 1, name: "x" });
    expect(JSON.parse(asJson.stderr.trim().split("\n").at(-1)!)).toMatchObject({
      error: { code: "incomplete" },
    });
  });
});

describe("paths that do not exist", () => {
  test("make no snapshot, and no repository", async () => {
    const { store, config, idk, ok, home } = await newUser();
    const before = readFileSync(config, "utf8");
    const failures: [args: string[], message: string][] = [
      [["backup", "nowhere"], "cannot back up nowhere: no such file or folder"],
      [["backup", "docs/notes.txt/x", "gone"], "none of the 2 paths to back up exists"],
      [["backup", "nowhere", "--dry-run"], "cannot back up nowhere"],
      [["status", "nowhere"], "cannot back up nowhere"],
      [["backup", "--files-from", "list", "--name", "x"], "none of the 2 paths"],
    ];
    writeFileSync(join(home, "list"), "a\nb\n");
    for (const [args, message] of failures) expectFailure(await idk(args), 3, message);
    expect(existsSync(join(store, "repo"))).toBe(false);
    expect(readFileSync(config, "utf8")).toBe(before);
    await ok(["backup", "docs", "--name", "home"]);
    expectFailure(await idk(["backup", "dosc", "--name", "home"]), 3, "cannot back up dosc");
    expect(json(await ok(["snapshots", "--json"]))).toHaveLength(1);
  });
});

describe("a dry run before the first backup", () => {
  test("prints what would be stored, and makes nothing", async () => {
    const { home, store, config, writer, ok, idk } = await newUser();
    const before = readFileSync(config, "utf8");
    for (const args of [
      ["backup", "docs", "--dry-run"],
      ["status", "docs"],
    ]) {
      const { stderr, stdout } = await ok(args);
      expect(stderr).toContain(
        "has no repository of snapshots yet: the first `idk backup` makes it",
      );
      expect(stdout).toMatch(/4 new/u);
      const [asJson] = json(await ok([...args, "--json"]));
      expect(asJson).toMatchObject({ newRepository: true });
    }
    expect(existsSync(join(store, "repo"))).toBe(false);
    expect(existsSync(writer)).toBe(false);
    expect(existsSync(join(home, ".cache/idk/snapshots"))).toBe(false);
    expect(readFileSync(config, "utf8")).toBe(before);
    // A configured repository that is not there is another thing.
    await ok(["backup", "docs"]);
    renameSync(join(store, "repo"), join(store, "away"));
    expectFailure(await idk(["status", "docs"]), 6, "check that its disk is mounted");
  });
});

describe("what is stored", () => {
  test("follows excludes, lists and dry runs", async () => {
    const { home, docs, ok } = await newUser();
    writeFileSync(join(home, "patterns"), "# none\n\n*.tmp\n");
    writeFileSync(join(docs, "a.tmp"), "");
    writeFileSync(join(docs, "b.log"), "");
    const flags = ["--exclude-file", "patterns", "-e", "*.log", "--name", "x"];
    await ok(["backup", "docs", ...flags]);
    const names = (await ok(["ls", "latest", docs])).stdout;
    expect(names).not.toContain("a.tmp");
    expect(names).not.toContain("b.log");
    const counted = json(await ok(["backup", "docs", ...flags, "--dry-run", "--json"]))[0];
    expect(counted).toMatchObject({ snapshot: null, newFiles: 0, dryRun: true });
    expect(json(await ok(["snapshots", "--json"]))).toHaveLength(1);

    writeFileSync(join(home, "list"), `${docs}/notes.txt\0${docs}/b.log\0`);
    await ok(["backup", "--files-from", "list", "-0", "--name", "x"]);
    const listed = (await ok(["ls", "x", docs])).stdout;
    expect(listed).toBe(`${docs}/b.log\n${docs}/notes.txt\n`);
  });

  test("are, in an example, files that are newer, and no others", async () => {
    const { home, docs, ok } = await newUser();
    const example = EXAMPLES["backup"]!.find((line) => line.startsWith("find "))!;
    const [finding, ...stored] = example.split(" | idk ");
    writeFileSync(join(home, "last"), "");
    utimesSync(join(home, "last"), Date.now() / 1000 + 100, Date.now() / 1000 + 100);
    writeFileSync(join(docs, "newer"), "");
    utimesSync(join(docs, "newer"), Date.now() / 1000 + 200, Date.now() / 1000 + 200);
    utimesSync(docs, Date.now() / 1000 + 200, Date.now() / 1000 + 200);
    const list = Bun.spawnSync(["sh", "-c", finding!], { cwd: home }).stdout;
    writeFileSync(join(home, "list"), list);
    await ok(stored.join("").replace("--files-from -", "--files-from list").split(" "));
    const files = (await ok(["ls", "new", docs])).stdout.trim().split("\n");
    expect(files).toEqual([join(docs, "newer")]);
  });

  test("leaves out by case, by size and by a file beside", async () => {
    const { home, docs, ok, idk } = await newUser();
    mkdirSync(join(docs, "build"));
    for (const name of ["a.TMP", "b.tmp", "c.Log", "build/.nobackup", "build/result"]) {
      writeFileSync(join(docs, name), "1234567");
    }
    const flags = ["--iexclude", "*.tmp", "--exclude-if-present", ".nobackup", "--name", "x"];
    await ok(["backup", "docs", ...flags, "--exclude-larger-than", "1M"]);
    const names = (await ok(["ls", "x", docs])).stdout.replaceAll(`${docs}/`, "").split("\n");
    expect(names).toEqual(["build", "c.Log", "inner", "link", "notes.txt", ""]);
    const build = (await ok(["ls", "x", `${docs}/build`])).stdout;
    expect(build).toBe(`${docs}/build/.nobackup\n`);
    // One that is named itself is not left out.
    await ok(["backup", "docs/inner/photo", "--name", "y", "--exclude-larger-than", "7"]);
    expect((await ok(["ls", "y"])).stdout).toContain("/docs/inner/photo\n");
    const wrong = await idk(["backup", "docs", "--exclude-if-present", "a/b"]);
    expectFailure(wrong, 2, "--exclude-if-present takes the name of a file");
    writeFileSync(join(home, "latin1"), Buffer.from("caf\xe9\n", "latin1"));
    const notText = await idk(["backup", "docs", "--exclude-file", "latin1"]);
    expectFailure(notText, 2, "the exclude file latin1 is not UTF-8");
  });

  test("never includes the store and the caches of this program", async () => {
    const { home, ok } = await newUser();
    await ok(["backup", ".", "--name", "home"]);
    await ok(["backup", ".", "--name", "home"]);
    const all = (await ok(["ls", "home"])).stdout;
    expect(all).toContain(`${home}/docs/notes.txt\n`);
    expect(all).not.toContain("/store/");
    expect(all).not.toContain(".sqlite");
  });

  test("is shown by `idk status` before it is stored", async () => {
    const { docs, ok } = await newUser();
    await ok(["backup", "docs"]);
    writeFileSync(join(docs, "more"), "1234567");
    const [status] = json(await ok(["status", "docs", "--json"]));
    expect(status).toMatchObject({ pending: { newFiles: 1, newBytes: 7 }, unfinished: null });
    const text = (await ok(["status", "docs"])).stdout;
    expect(text).toContain("to store    1 new and 0 changed files, 7 bytes");
  });

  test("is shown with the files that the last run left out, until one leaves out nothing", async () => {
    const { ok, idk } = await newUser();
    const before = await ok(["status", "docs", "--name", "x"]);
    expect(before.stdout).toContain(
      "last        none from this machine, so a backup sends everything\n",
    );
    expect((await idk(["backup", "docs", "nowhere", "--name", "x"])).code).toBe(7);
    const { stdout } = await ok(["status", "docs", "--name", "x"]);
    expect(stdout).toMatch(
      /^failed {6}1 file or folder of the last backup, .* UTC\n {12}\/.*\/nowhere: there is no such file or folder$/mu,
    );
    const [status] = json(await ok(["status", "docs", "--name", "x", "--json"]));
    const message = "there is no such file or folder";
    expect(status).toMatchObject({ lastRun: { failed: 1, files: [{ message }] } });
    // A dry run is none.
    await ok(["backup", "docs", "--name", "x", "--dry-run"]);
    expect((await ok(["status", "docs", "--name", "x"])).stdout).toContain("failed ");
    expect((await ok(["status", "docs", "--name", "y"])).stdout).not.toContain("failed ");
    await ok(["backup", "docs", "--name", "x"]);
    expect((await ok(["status", "docs", "--name", "x"])).stdout).not.toContain("failed ");
  });

  test("is shown with the reason why the last run made no snapshot", async () => {
    const { store, ok, idk } = await newUser();
    await ok(["backup", "docs", "--name", "x"]);
    // Nothing can be stored in a file.
    renameSync(join(store, "repo"), join(store, "away"));
    writeFileSync(join(store, "repo"), "");
    expect((await idk(["backup", "docs", "--name", "x"])).code).not.toBe(0);
    rmSync(join(store, "repo"));
    renameSync(join(store, "away"), join(store, "repo"));
    const { stdout } = await ok(["status", "docs", "--name", "x"]);
    expect(stdout).toMatch(/^failed {6}the last backup, .* UTC, which made no snapshot: /mu);
  });
});

describe("a text that looks like a secret key", () => {
  const secret = `Ab1${"x".repeat(40)}`;

  test("is a name all the same, and not repeated if there is none", async () => {
    const { ok, idk, docs } = await newUser();
    await ok(["backup", "docs", "--name", secret]);
    expect((await ok(["ls", secret, docs])).stdout).toContain("notes.txt");
    for (const args of [
      ["ls", `${secret}2`],
      ["restore", `${secret}2:/x`, "--target", "t"],
      ["snapshots", "--name", `${secret}2`],
      ["forget", `${secret}2`],
    ]) {
      const result = await idk(args);
      expectFailure(result, 3, "which looks like a secret key");
      expect(result.stderr).not.toContain(secret);
    }
  });
});

describe("thinning out", () => {
  test("forgets what no rule keeps, and takes it back", async () => {
    const { ok, idk, docs } = await newUser();
    for (const n of [1, 2, 3]) {
      writeFileSync(join(docs, "n"), `${n}`);
      await ok(["backup", "docs", "--name", "x"]);
    }
    expectFailure(await idk(["forget"]), 2, "name snapshots, or pass rules");
    const dry = await ok(["forget", "--keep-last", "1", "--dry-run"]);
    expect(dry.stdout.match(/ {2}forget {2}/gu)).toHaveLength(2);
    expect(dry.stderr).toContain("would forget 2 snapshots");
    await ok(["forget", "--keep-last", "1"]);
    expect(json(await ok(["snapshots", "--json"]))).toHaveLength(1);
    const all = json(await ok(["snapshots", "--json", "--all"]));
    expect(all.map((each) => each["forgotten"] === true)).toEqual([true, true, false]);
    const oldest = String(all[0]!["snapshot"]).slice(0, 12);
    await ok(["unforget", oldest]);
    expect(json(await ok(["snapshots", "--json"]))).toHaveLength(2);
    const pruned = await ok(["prune", "--json"]);
    expect(json(pruned)[0]).toMatchObject({ deleted: { blobs: 0 } });
    const checked = await ok(["check"]);
    expect(checked.stderr).toContain("checked 3 snapshots (1 forgotten), ");
  });
});
