import { afterEach, beforeEach, describe, expect, mock, spyOn, test } from "bun:test";
import {
  chmodSync,
  closeSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { randomUUID } from "node:crypto";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readIdentityFile } from "@idk/storage";
import { replaceKeyFile } from "../../src/keys/replace-key-file.ts";
import { isolated, MAIN, newFolder, PASSPHRASE } from "../support/cli.ts";
import { writeProtected } from "../support/protected.ts";

let folder = "";
let file = "";
beforeEach(() => {
  folder = newFolder();
  file = join(folder, "me.key");
  writeFileSync(file, "the old key", { mode: 0o600 });
});
afterEach(() => {
  mock.restore();
  rmSync(folder, { recursive: true, force: true });
});

const replace = (content: () => Promise<string>, path = file) =>
  replaceKeyFile(path, "key file", async () => Buffer.from(await content()));
const failureOf = (work: Promise<unknown>) =>
  work.then(
    () => "succeeded",
    (error: Error) => error.message,
  );

describe("replacing a key file", () => {
  test("passes the old content on, and leaves nothing else behind", async () => {
    let seen = "";
    const result = await replaceKeyFile(file, "key file", async (old) => {
      seen = Buffer.from(old).toString();
      return Buffer.from("new");
    });
    expect([seen, readFileSync(file, "utf8"), result.linked]).toEqual([
      "the old key",
      "new",
      false,
    ]);
    expect(readdirSync(folder)).toEqual(["me.key"]);
  });

  test.each([
    [0o600, 0o600],
    [0o400, 0o400],
    [0o644, 0o600],
  ])("a file of mode %o gets mode %o", async (before, after) => {
    chmodSync(file, before);
    await replace(async () => "new");
    expect(statSync(file).mode & 0o777).toBe(after);
  });

  test("replaces the target of a link, not the link", async () => {
    mkdirSync(join(folder, "real"));
    renameSync(file, join(folder, "real/key"));
    symlinkSync("real/key", file);
    await replace(async () => "new");
    expect(lstatSync(file).isSymbolicLink()).toBe(true);
    expect(readFileSync(join(folder, "real/key"), "utf8")).toBe("new");
    expect(readdirSync(join(folder, "real"))).toEqual(["key"]);
  });

  test("overwrites the old content on the disk", async () => {
    const reader = openSync(file, "r");
    await replace(async () => "new");
    expect(readFileSync(reader)).toEqual(Buffer.alloc("the old key".length));
    closeSync(reader);
  });

  test("leaves the old content to another hard link, and reports that", async () => {
    linkSync(file, join(folder, "copy"));
    expect(await replace(async () => "new")).toEqual({
      linked: true,
      overwritten: false,
      formerMode: 0o600,
    });
    expect(readFileSync(join(folder, "copy"), "utf8")).toBe("the old key");
    expect(readFileSync(file, "utf8")).toBe("new");
  });

  test("does not overwrite the old content if the new name may not be on the disk yet", async () => {
    const probe = await open(file);
    const FileHandle = Object.getPrototypeOf(probe) as typeof probe;
    await probe.close();
    const sync = FileHandle.sync;
    let syncs = 0;
    spyOn(FileHandle, "sync").mockImplementation(function failing(this: typeof probe) {
      syncs += 1;
      // The new file, then the folder.
      return syncs === 2 ? Promise.reject(new Error("i/o error")) : sync.call(this);
    });
    const reader = openSync(file, "r");
    expect(await replace(async () => "new")).toMatchObject({ linked: false, overwritten: false });
    expect(readFileSync(reader, "utf8")).toBe("the old key");
    closeSync(reader);
    expect(syncs).toBe(2);
  });

  test("removes what killed runs left, and nothing else", async () => {
    const leftover = join(folder, `me.key.${randomUUID()}.tmp`);
    writeFileSync(leftover, "the new key");
    const others = [
      `you.key.${randomUUID()}.tmp`,
      "me.key.notes.tmp",
      `me.key.${randomUUID()}.bak`,
    ];
    for (const name of others) writeFileSync(join(folder, name), "mine");
    const reader = openSync(leftover, "r");
    await replace(async () => "new");
    expect(readFileSync(reader)).toEqual(Buffer.alloc("the new key".length));
    closeSync(reader);
    expect(readdirSync(folder).toSorted()).toEqual(["me.key", ...others].toSorted());
  });

  test("changes nothing if there is no new content", async () => {
    const message = await failureOf(replace(() => Promise.reject(new Error("declined"))));
    expect(message).toBe("declined");
    expect([readFileSync(file, "utf8"), readdirSync(folder)]).toEqual(["the old key", ["me.key"]]);
  });

  test.each(["sync", "writeFile", "chmod"] as const)(
    "keeps the old file if the %s of the new one fails",
    async (method) => {
      const probe = await open(file);
      spyOn(Object.getPrototypeOf(probe) as typeof probe, method).mockImplementationOnce(() =>
        Promise.reject(Object.assign(new Error("no space"), { code: "ENOSPC" })),
      );
      await probe.close();
      expect(await failureOf(replace(async () => "new"))).toContain(`cannot replace ${file}: `);
      expect([readFileSync(file, "utf8"), readdirSync(folder)]).toEqual([
        "the old key",
        ["me.key"],
      ]);
    },
  );

  test("keeps the old file if the rename fails", async () => {
    const probe = await open(file);
    const FileHandle = Object.getPrototypeOf(probe) as typeof probe;
    await probe.close();
    const { close } = FileHandle;
    let closes = 0;
    spyOn(FileHandle, "close").mockImplementation(async function closing(this: typeof probe) {
      await close.call(this);
      closes += 1;
      // The old file, the new one, and the old one after the last comparison.
      if (closes !== 3) return;
      renameSync(file, join(folder, "aside"));
      mkdirSync(file);
    });
    expect(await failureOf(replace(async () => "new"))).toContain(`cannot replace ${file}: `);
    expect(readFileSync(join(folder, "aside"), "utf8")).toBe("the old key");
    expect(readdirSync(folder).toSorted()).toEqual(["aside", "me.key"]);
  });

  test.each<[string, (path: string) => void]>([
    ["rewritten", (path) => writeFileSync(path, "another key")],
    [
      "replaced",
      (path) => {
        writeFileSync(`${path}2`, "the old key");
        renameSync(`${path}2`, path);
      },
    ],
    ["removed", (path) => rmSync(path)],
  ])("does not touch a file that was %s meanwhile", async (how, change) => {
    const message = await failureOf(
      replace(async () => {
        change(file);
        return "new";
      }),
    );
    expect(message).toContain(
      how === "removed" ? "no such file" : "was changed by another program",
    );
    const left = how === "removed" ? [] : ["me.key"];
    expect(readdirSync(folder)).toEqual(left);
    if (how !== "removed") expect(readFileSync(file, "utf8")).not.toBe("new");
  });

  test.each([
    ["missing.key", "cannot read the key file missing.key: no such file or folder"],
    ["/dev/null", "cannot replace the key file /dev/null: it is not a regular file"],
    ["/tmp", "cannot replace the key file /tmp: it is not a regular file"],
  ])("of %s is an error, before new content is made", async (path, message) => {
    const mustNotAsk = () => Promise.reject(new Error("asked"));
    expect(await failureOf(replace(mustNotAsk, path))).toBe(message);
  });
});

/*
 * kill -9 before each call that the command makes on an open file: of reading, writing, syncing and
 * overwriting, before and after the new file has its name.
 */
test("a change that is killed anywhere leaves a file that opens", async () => {
  const preload = fileURLToPath(new URL("./kill-at-call.ts", import.meta.url));
  const recipient = await writeProtected(file, PASSPHRASE);
  const before = readFileSync(file);
  const outcomes = new Set<string>();
  let calls = 1;
  for (; ; calls++) {
    writeFileSync(file, before);
    const child = Bun.spawn(
      [
        process.execPath,
        "--preload",
        preload,
        MAIN,
        "keygen",
        "--change",
        "--no-passphrase",
        "-i",
        file,
      ],
      {
        cwd: folder,
        env: isolated({ IDK_PASSPHRASE: PASSPHRASE, KILL_AT: String(calls) }),
        stdio: ["ignore", "pipe", "pipe"],
      },
    );
    const code = await child.exited;
    const [identity] = await readIdentityFile(readFileSync(file), PASSPHRASE);
    expect(identity!.recipient as string).toBe(recipient);
    outcomes.add(readFileSync(file).equals(before) ? "old" : "new");
    for (const name of readdirSync(folder))
      expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
    if (code === 0) break;
    expect(code).toBe(137);
  }
  // Reading, comparing and writing take more than ten calls; the last ones follow the rename.
  expect(calls).toBeGreaterThan(10);
  expect([...outcomes]).toEqual(["old", "new"]);
}, 60_000);
