import { describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readConfig } from "../../src/config/read-config.ts";
import { addPins, extendPins, pinnedOf, tableOf } from "../../src/snapshots/opening/pins.ts";
import { newFolder } from "../support/cli.ts";

const ID = "0123456789abcdef0123456789abcdef";
const OWNER = "idk-writer1kj8zv6ljgurgyrspznwd6vhsv0frg0jfk8y4w2x0jrcpxpvt3utsfr34rf";
const STORE = '[store.main]\nurl = "blobs"\n';
const TABLE = `[store.main.repository]\nid = "${ID}"\nowner = "${OWNER}"\ngrace-period = "7d"\n`;

const read = (text: string) => readConfig(text, "/etc/idk/config.toml", { HOME: "/home/me" });
const entryOf = (text: string) => read(text).stores.get("main")!.repository!;

describe("the table of a repository", () => {
  test("is read, wherever in the file it is", () => {
    for (const text of [`${STORE}${TABLE}`, `${TABLE}${STORE}`]) {
      const entry = entryOf(text);
      expect([entry.id.value, entry.owner.value, entry.gracePeriod.value]).toEqual([
        ID,
        OWNER,
        604_800,
      ]);
      expect([entry.writer, entry.names]).toEqual([undefined, undefined]);
      expect(read(text).stores.get("main")!.url.value).toBe("/etc/idk/blobs");
    }
    const inline = `[store.main]\nurl = "x"\nrepository = { id = "${ID}", owner = "${OWNER}", grace-period = "1h" }\n`;
    expect(entryOf(inline).gracePeriod.value).toBe(3600);
  });

  test("has the path of the writer key relative to the file, and names", () => {
    const more = 'writer = "keys/host.key"\nnames = ["web1/*", "db"]\n';
    const entry = entryOf(`${STORE}${TABLE}${more}`);
    expect(entry.writer?.value).toBe("/etc/idk/keys/host.key");
    expect(entry.names?.value).toEqual(["web1/*", "db"]);
    expect(entryOf(`${STORE}${TABLE}writer = "~/w.key"\n`).writer?.value).toBe("/home/me/w.key");
  });

  test.each<[text: string, message: string]>([
    [`${STORE}[store.main.repository]\n`, "[store.main.repository] has no id"],
    [`${STORE}${TABLE.replace(/owner.*\n/u, "")}`, "[store.main.repository] has no owner"],
    [`${STORE}${TABLE.replace(/grace.*\n/u, "")}`, "[store.main.repository] has no grace-period"],
    [`${STORE}${TABLE.replace(ID, "x")}`, "id must be the 32 hexadecimal digits"],
    [`${STORE}${TABLE.replace(OWNER, "idk1xyz")}`, "owner must be the public key idk-writer1…"],
    [`${STORE}${TABLE.replace("7d", "7")}`, "grace-period must be a period such as 7d"],
    [`${STORE}${TABLE}writers = "x"\n`, "unknown key writers (did you mean writer?)"],
    [TABLE, "[store.main] has no url"],
  ])("%#: is refused with its line", (text, message) => {
    expect(() => read(text)).toThrow(message);
  });

  test("is compared with the checksum of the owner's key", () => {
    const wrong = OWNER.replace("kj8z", "kj8x");
    expect(() => pinnedOf(entryOf(`${STORE}${TABLE.replace(OWNER, wrong)}`))).toThrow(
      "the owner of the repository in the configuration: ",
    );
    expect(pinnedOf(entryOf(`${STORE}${TABLE}`)).graceSeconds).toBe(604_800);
  });
});

describe("writing it", () => {
  const pinned = pinnedOf(entryOf(`${STORE}${TABLE}`));
  const file = (text: string) => {
    const path = join(newFolder(), "config.toml");
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  };
  const pinsIn = (path: string) =>
    readConfig(readFileSync(path, "utf8"), path, {}).stores.get("main")!.repository!;

  test("appends it, and keeps all that was there", async () => {
    const before = `# mine\n${STORE}[store.other]\nurl = "x"`;
    const path = file(before);
    const table = { config: path, store: "main" };
    await addPins(table, { pinned, writer: "/w.key", names: ["web1/*"] }, {});
    expect(readFileSync(path, "utf8")).toStartWith(`${before}\n\n[store.main.repository]\n`);
    expect(pinsIn(path).names?.value).toEqual(["web1/*"]);
    expect(pinnedOf(pinsIn(path))).toEqual(pinned);
  });

  test("quotes what has to be", () => {
    const text = tableOf("naïve.store", { pinned, writer: 'a"b', names: ["\\"] });
    const config = readConfig(`[store."naïve.store"]\nurl = "x"\n${text}`, "/c.toml", {});
    const entry = config.stores.get("naïve.store")!.repository!;
    expect([entry.writer?.value, entry.names?.value]).toEqual(['/a"b', ["\\"]]);
  });

  test("changes the names in their line, through a link, and keeps the mode", async () => {
    const path = file(`${STORE}${TABLE}writer = "/w.key"\nnames = ["a"]\n# end\n`);
    const folder = newFolder();
    mkdirSync(join(folder, "sub"));
    const link = join(folder, "sub", "config.toml");
    symlinkSync(path, link);
    await extendPins(
      { config: link, store: "main" },
      pinsIn(path),
      { writer: "/w.key", names: ["a", "b"] },
      {},
    );
    expect(pinsIn(path).names?.value).toEqual(["a", "b"]);
    expect(readFileSync(path, "utf8")).toEndWith('names = ["a", "b"]\n# end\n');
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test("adds a writer key and names after the pins", async () => {
    const path = file(`${STORE}${TABLE}\n[store.other]\nurl = "x"\n`);
    await extendPins(
      { config: path, store: "main" },
      pinsIn(path),
      { writer: "/w", names: ["a"] },
      {},
    );
    expect(pinsIn(path).writer?.value).toBe("/w");
    expect(pinsIn(path).names?.value).toEqual(["a"]);
  });

  test("changes nothing that it does not understand, and says what to add", async () => {
    const inline = `[store.main]\nurl = "x"\nrepository = { id = "${ID}", owner = "${OWNER}", grace-period = "1h" }\n`;
    const lists = `${STORE}${TABLE}names = [\n  "a",\n]\n`;
    for (const text of [inline, lists]) {
      const path = file(text);
      const change = extendPins(
        { config: path, store: "main" },
        pinsIn(path),
        { writer: "/w", names: ["b"] },
        {},
      );
      expect(change).rejects.toThrow('change it by hand: writer = "/w"; names = ["b"]');
      await change.catch(() => undefined);
      expect(readFileSync(path, "utf8")).toBe(text);
    }
  });
});
