import { describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, utimesSync } from "node:fs";
import { createWorkspace } from "../support/cli.ts";
import { folderNames } from "../../src/put/folder-names.ts";

const workspace = await createWorkspace();
const { ok, path, write } = workspace;

const NOON = Date.parse("2026-05-04T12:00:00Z") / 1000;

describe("put --done", () => {
  test("warns of files whose size or date differs from what was stored", async () => {
    for (const name of ["same", "longer", "later", "earlier", "gone"]) {
      utimesSync(write(name, name), NOON, NOON);
    }
    const names = ["same", "longer", "later", "earlier"];
    write("list", (await ok(["put", ...names, "gone", "--json"])).stdout);
    utimesSync(write("longer", "longer than before"), NOON, NOON);
    utimesSync(path("later"), NOON + 60, NOON + 60);
    utimesSync(path("earlier"), NOON - 60, NOON - 60);
    const { stdout, stderr } = await ok(["put", ...names, "--done", "list"]);
    expect(stdout).toBe("");
    expect(stderr).toBe(
      [
        "idk: warning: longer has 18 bytes, and 6 were stored: not stored again",
        "idk: warning: later has the date 2026-05-04T12:01:00.000Z, and 2026-05-04T12:00:00.000Z was stored: not stored again",
        "idk: warning: earlier has the date 2026-05-04T11:59:00.000Z, and 2026-05-04T12:00:00.000Z was stored: not stored again",
        "stored 0 files, 0 bytes; 4 already stored, 3 of them changed since; none failed",
        "idk: to store changed files again, put them without --done",
        "",
      ].join("\n"),
    );
    const json = await ok(["put", ...names, "--done", "list", "--json"]);
    const lines = json.stdout.trim().split("\n");
    expect(lines.map((line) => JSON.parse(line) as unknown)).toContainEqual({
      changed: true,
      file: "longer",
      reason: "has 18 bytes, and 6 were stored",
    });
    // Such a line is no proof that the file is stored.
    write("changed", json.stdout);
    const again = await ok(["put", "longer", "--done", "changed"]);
    expect(again.stderr).toBe("stored 1 file, 18 bytes; none failed\n");
  });

  test("compares only the size if no date was stored", async () => {
    utimesSync(write("undated", "undated"), NOON, NOON);
    write("list", (await ok(["put", "undated", "undated", "--no-name", "--json"])).stdout);
    utimesSync(path("undated"), NOON + 60, NOON + 60);
    const { stderr } = await ok(["put", "undated", "--done", "list"]);
    expect(stderr).toBe("stored 0 files, 0 bytes; 1 already stored; none failed\n");
  });

  test("stores standard input each time, because it is new each time", async () => {
    write("other", "other");
    const first = await ok(["put", "-", "other"], { stdin: "first" });
    write("list", first.stdout);
    const again = await ok(["put", "-", "other", "--done", "list"], { stdin: "second" });
    expect(again.stderr).toBe("stored 1 file, 6 bytes; 1 already stored; none failed\n");
    const address = again.stdout.slice(0, 64);
    expect((await ok(["get", address])).stdout).toBe("second");
  });

  test("a list of plain lines shows which files are newer than the list", async () => {
    for (const name of ["old", "new"]) utimesSync(write(name, name), NOON, NOON);
    write("plain", (await ok(["put", "old", "new"])).stdout);
    utimesSync(path("plain"), NOON + 10, NOON + 10);
    utimesSync(path("new"), NOON + 11, NOON + 11);
    const { stderr } = await ok(["put", "old", "new", "--done", "plain"]);
    expect(stderr).toStartWith(
      "idk: warning: new has been changed since plain was written: not stored again\n" +
        "stored 0 files, 0 bytes; 2 already stored, 1 of them changed since; none failed\n",
    );
    const piped = await ok(["put", "old", "new", "--done", "-"], {
      stdin: workspace.read("plain"),
    });
    expect(piped.stderr).toBe("stored 0 files, 0 bytes; 2 already stored; none failed\n");
  });
});

describe("put of several folders", () => {
  const written = (folder: string) =>
    readdirSync(path(folder), { recursive: true }).map(String).toSorted();

  test("keeps equal names apart", async () => {
    for (const folder of ["alice", "bob"]) {
      mkdirSync(path(folder));
      write(`${folder}/notes`, `notes of ${folder}`);
    }
    write("notes", "notes beside them");
    write("both", (await ok(["put", "alice", "bob/", "notes"])).stdout);
    await ok(["get", "--from-file", "both", "--output-dir", "back"]);
    expect(written("back")).toEqual(["alice", "alice/notes", "bob", "bob/notes", "notes"]);
    expect(workspace.read("back/bob/notes").toString()).toBe("notes of bob");
    const { stdout } = await ok(["ls", "--long"]);
    expect(stdout.match(/\S+$/gmu)).toEqual(expect.arrayContaining(["alice/notes", "bob/notes"]));
  });

  test("also if the folders have the same name", async () => {
    for (const folder of ["x/mail", "y/mail"]) {
      mkdirSync(path(folder), { recursive: true });
      write(`${folder}/inbox`, folder);
    }
    write("mails", (await ok(["put", "x/mail", "./y/mail"])).stdout);
    await ok(["get", "--from-file", "mails", "--output-dir", "mails-back"]);
    expect(workspace.read("mails-back/x/mail/inbox").toString()).toBe("x/mail");
    expect(workspace.read("mails-back/y/mail/inbox").toString()).toBe("y/mail");
  });

  test.each<[folders: string[], names: string[]]>([
    [
      ["/a/x", "/b/y"],
      ["x", "y"],
    ],
    [
      ["/a/x", "/b/x", "/c/y"],
      ["a/x", "b/x", "c/y"],
    ],
    [
      ["/a/Mail", "/b/mail"],
      ["a/Mail", "b/mail"],
    ],
    [
      ["/a/x", "/a/x/"],
      ["x", "x"],
    ],
    [
      ["/", "/etc"],
      ["", "etc"],
    ],
    [
      ["/x", "/a/x"],
      ["x", "a/x"],
    ],
    [
      ["/A/x", "/a/x"],
      ["A/x", "a/x"],
    ],
    [[], []],
  ])("%p are told apart", (folders, names) => {
    const found = folderNames(folders);
    expect(folders.map((folder) => found.get(folder)!)).toEqual(names);
  });
});
