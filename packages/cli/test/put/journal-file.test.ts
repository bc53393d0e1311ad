import { loadNaCl } from "@idk/storage";
import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type JournalFile, openJournalFile } from "../../src/put/journal-file.ts";
import { loadLocalKey, type RecordSeal, recordSeal } from "../../src/put/journal-seal.ts";
import { createWorkspace } from "../support/cli.ts";

const workspace = await createWorkspace();
const naCl = await loadNaCl();
const key = randomBytes(32);
const seal = recordSeal(naCl, key);
let journals = 0;
const newPath = () => workspace.path(`${journals++}.journal`);

function open(path: string, name = "one", with_: RecordSeal = seal): JournalFile {
  const journal = openJournalFile(path, name, with_);
  if (journal === undefined) throw new Error("the journal is in use");
  return journal;
}

const record = (text: string) => Buffer.from(text);
const textOf = (bytes: Uint8Array | undefined) => bytes && Buffer.from(bytes).toString();

/** A closed journal with records 0 to 9. */
function written(): string {
  const path = newPath();
  const journal = open(path);
  for (let id = 0; id < 10; id++) journal.write(id, record(`entry ${id}`));
  journal.close();
  return path;
}

describe("sealed records", () => {
  test("open only with their context and key", () => {
    const sealed = seal.seal("a 1", record("secret"));
    expect(textOf(seal.open("a 1", sealed))).toBe("secret");
    for (const place of ["a 2", "a", "a 1\0", "a 11", ""]) {
      expect(seal.open(place, sealed)).toBeUndefined();
    }
    expect(recordSeal(naCl, randomBytes(32)).open("a 1", sealed)).toBeUndefined();
    expect(Buffer.from(sealed).includes("secret")).toBe(false);
    expect(Buffer.compare(seal.seal("a 1", record("secret")), sealed)).not.toBe(0);
  });

  test("do not open if changed or truncated", () => {
    const sealed = seal.seal("a 1", record("secret"));
    for (let bit = 0; bit < 8 * sealed.length; bit++) {
      const changed = sealed.slice();
      changed[bit >> 3]! ^= 1 << (bit & 7);
      expect(seal.open("a 1", changed)).toBeUndefined();
    }
    for (let length = 0; length < sealed.length; length++) {
      expect(seal.open("a 1", sealed.subarray(0, length))).toBeUndefined();
    }
  });
});

describe("a journal", () => {
  test("returns the last record written for each number", () => {
    const path = written();
    const journal = open(path);
    expect(journal.discarded).toBe(false);
    expect(journal.count()).toBe(10);
    journal.write(3, record("again"));
    journal.write(-1, record("negative"));
    journal.close();
    const again = open(path);
    expect([textOf(again.read(3)), textOf(again.read(9)), textOf(again.read(-1))]).toEqual([
      "again",
      "entry 9",
      "negative",
    ]);
    expect(again.read(10)).toBeUndefined();
    again.close();
  });

  test("is readable by its owner only, and reveals nothing about its records", () => {
    const path = written();
    const journal = open(path);
    journal.write(11, record("entry 11"));
    const files = readdirSync(workspace.folder).filter((name) =>
      workspace.path(name).startsWith(path),
    );
    expect(files.length).toBeGreaterThanOrEqual(2);
    for (const name of files) {
      expect(statSync(workspace.path(name)).mode & 0o777).toBe(0o600);
      expect(readFileSync(workspace.path(name)).includes("entry")).toBe(false);
    }
    journal.remove();
    for (const name of files) expect(existsSync(workspace.path(name))).toBe(false);
  });

  test("keeps earlier records if the last write is torn at any length", async () => {
    // The state after a kill, with the writes in the WAL: copied while it is open.
    const path = newPath();
    const journal = open(path);
    const lengths: number[] = [];
    for (let id = 0; id < 10; id++) {
      journal.write(id, record(`entry ${id}`));
      lengths.push(statSync(`${path}-wal`).size);
    }
    const [database, log] = [readFileSync(path), readFileSync(`${path}-wal`)];
    journal.close();
    for (let cut = lengths[0]!; cut <= log.length; cut += 1021) {
      const torn = newPath();
      writeFileSync(torn, database, { mode: 0o600 });
      writeFileSync(`${torn}-wal`, log.subarray(0, cut), { mode: 0o600 });
      const opened = open(torn);
      expect(opened.discarded).toBe(false);
      const whole = lengths.filter((length) => length <= cut).length;
      expect(opened.count()).toBe(whole);
      expect(textOf(opened.read(whole - 1))).toBe(`entry ${whole - 1}`);
      opened.remove();
    }
  });

  test("has no records under another name or key", () => {
    const path = written();
    for (const other of [open(path, "two"), undefined]) {
      const journal = other ?? open(path, "one", recordSeal(naCl, randomBytes(32)));
      expect(journal.count()).toBe(10);
      for (let id = 0; id < 10; id++) expect(journal.read(id)).toBeUndefined();
      journal.close();
    }
  });

  test("keeps the other records if some are changed or swapped", () => {
    const path = written();
    const database = new Database(path);
    database.run(
      "UPDATE records SET sealed = (SELECT sealed FROM records WHERE id = 5) WHERE id = 4",
    );
    database.run("UPDATE records SET sealed = zeroblob(60) WHERE id = 6");
    database.run("UPDATE records SET sealed = 'text' WHERE id = 7");
    database.close();
    const journal = open(path);
    const ids = Array.from({ length: 10 }, (_, id) => id);
    expect(ids.filter((id) => textOf(journal.read(id)) === `entry ${id}`)).toEqual([
      0, 1, 2, 3, 5, 8, 9,
    ]);
    for (const id of [4, 6, 7]) expect(journal.read(id)).toBeUndefined();
    journal.close();
  });

  const wrecked: [string, (path: string) => void][] = [
    ["noise", (path) => writeFileSync(path, randomBytes(9000))],
    ["a text", (path) => writeFileSync(path, "journal")],
    ["cut off", (path) => writeFileSync(path, readFileSync(path).subarray(0, 5000))],
    [
      "of another version",
      (path) => {
        const database = new Database(path);
        database.run("PRAGMA user_version = 2");
        database.close();
      },
    ],
    [
      "another database",
      (path) => {
        const database = new Database(path);
        database.run("DROP TABLE records");
        database.close();
      },
    ],
  ];
  test.each(wrecked)("is discarded and works if it is %s", (_, wreck) => {
    const path = written();
    wreck(path);
    const journal = open(path);
    expect(journal.discarded).toBe(true);
    expect(journal.count()).toBe(0);
    journal.write(1, record("new"));
    expect(textOf(journal.read(1))).toBe("new");
    journal.close();
  });

  test("is locked by one process until it ends, in any way", async () => {
    const path = newPath();
    const module = join(import.meta.dir, "../../src/put/journal-file.ts");
    const child = Bun.spawn(
      [
        process.execPath,
        "-e",
        `const { openJournalFile } = await import(${JSON.stringify(module)});
         const plain = { seal: (_, record) => record, open: (_, sealed) => sealed };
         openJournalFile(${JSON.stringify(path)}, "one", plain).write(0, Buffer.from("theirs"));
         console.log("open");
         await new Promise((resolve) => setTimeout(resolve, 60_000));`,
      ],
      { stdout: "pipe" },
    );
    try {
      await child.stdout.getReader().read();
      expect(openJournalFile(path, "one", seal)).toBeUndefined();
      child.kill("SIGKILL");
      await child.exited;
      const journal = open(path);
      expect(journal.count()).toBe(1);
      journal.close();
    } finally {
      child.kill("SIGKILL");
    }
  });
});

describe("the local key", () => {
  test("is created once, even concurrently, readable by its owner only", async () => {
    const folder = workspace.path("state/idk");
    const keys = await Promise.all(Array.from({ length: 20 }, async () => loadLocalKey(folder)));
    expect(new Set(keys.map((key) => Buffer.from(key).toString("hex"))).size).toBe(1);
    expect(readdirSync(folder)).toEqual(["journal.key"]);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(statSync(join(folder, "journal.key")).mode & 0o777).toBe(0o600);
  });

  test("is created again if truncated, and fails if it cannot be created", async () => {
    const folder = workspace.path("state/idk");
    writeFileSync(join(folder, "journal.key"), "short");
    expect((await loadLocalKey(folder)).length).toBe(32);
    const failed = await loadLocalKey(workspace.path("me.key")).catch((error: unknown) => error);
    expect(failed).toMatchObject({ code: "ENOTDIR" });
  });
});
