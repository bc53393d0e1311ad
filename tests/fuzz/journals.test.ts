import { Database } from "bun:sqlite";
import { afterAll, expect } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { createStore, type StoredContent } from "../../packages/storage/src/index.ts";
import { memory } from "../../packages/storage/src/backend/memory.ts";
import { createOutputFile } from "../../packages/cli/src/get/output-file.ts";
import { partFiles } from "../../packages/cli/src/get/part-file.ts";
import type { Output } from "../../packages/cli/src/output/output.ts";
import { openPutJournal, type PutBinding } from "../../packages/cli/src/put/put-journal.ts";
import { BORDERS, type Draw, drawFrom, mutatedBytes } from "./draw.ts";
import { alice, CHUNK, naCl } from "./forged-blobs.ts";
import { fuzz, outcomes } from "./fuzz.ts";

/*
 * Whatever is in the files that an interrupted put or get has left, the next one does its work: a
 * journal yields what was recorded or nothing, and a file that continues partial content is complete.
 */

const folder = mkdtempSync(join(tmpdir(), "idk-fuzz-"));
afterAll(() => rmSync(folder, { recursive: true }));

const ended = outcomes("journals", {
  recorded: 0.02,
  forgotten: 0.1,
  continued: 0.05,
  restarted: 0.03,
});

fuzz("journals", async (draw) => (draw.oneIn(2) ? putJournal(draw) : partFile(draw)));

const notes: string[] = [];
const out = {
  json: false,
  note: async (text: string) => void notes.push(text),
} as unknown as Output;

const LEAVES = 6;
const recorded = Array.from({ length: LEAVES }, (_, i) => ({
  address: Buffer.alloc(32, i + 1).toString("hex"),
  contentKey: new Uint8Array(32).fill(i + 101),
}));
const binding: PutBinding = {
  path: join(folder, "film"),
  source: join(folder, "film"),
  file: { size: LEAVES * CHUNK, mtimeNs: 1n, inode: 2n },
  store: { kind: "filesystem", folder: join(folder, "blobs") },
  recipients: [alice.recipient],
  cut: { chunkSize: CHUNK },
  dedupSecret: undefined,
};
const folders = {
  cache: join(folder, "cache"),
  config: join(folder, "config"),
  data: join(folder, "data"),
  state: join(folder, "state"),
};

/** A journal as a put leaves it when it is killed: path and bytes. */
const journal = await (async () => {
  const opened = (await openPutJournal(binding, folders, out))!;
  for (const [index, reference] of recorded.entries()) await opened.stored(index, reference);
  opened.close();
  const name = readdirSync(join(folders.cache, "put")).find((file) => file.endsWith(".journal"));
  const path = join(folders.cache, "put", name!);
  return { path, bytes: new Uint8Array(readFileSync(path)) };
})();
const keyFile = join(folders.state, "journal.key");
const key = new Uint8Array(readFileSync(keyFile));

async function putJournal(draw: Draw): Promise<void> {
  for (const suffix of ["-wal", "-shm", "-journal"]) rmSync(journal.path + suffix, { force: true });
  writeFileSync(keyFile, draw.oneIn(20) ? mutatedBytes(draw, key) : key);
  let { bytes } = journal;
  const byRecord = draw.oneIn(2);
  if (!byRecord) {
    for (let changes = 1 + draw.upTo(2); changes > 0; changes--) bytes = mutatedBytes(draw, bytes);
  }
  writeFileSync(journal.path, bytes);
  if (byRecord) mutateRecords(draw, journal.path);
  if (draw.oneIn(20)) {
    const suffix = draw.pick(["-wal", "-shm", "-journal"]);
    writeFileSync(journal.path + suffix, draw.bytes(draw.upTo(200)));
  }

  notes.length = 0;
  const opened = await openPutJournal(binding, folders, out);
  // Without a journal, the put says so and continues.
  if (opened === undefined) expect(notes.length).toBe(1);
  let known = 0;
  for (const [index, { address, contentKey }] of recorded.entries()) {
    const found = await opened?.known(index);
    if (found === undefined) continue;
    known += 1;
    expect(found.address).toBe(address);
    expect(Buffer.compare(found.contentKey, contentKey)).toBe(0);
  }
  for (const index of [LEAVES, ...BORDERS.filter((border) => border > LEAVES)]) {
    expect(await opened?.known(index)).toBeUndefined();
  }
  await opened?.stored(0, recorded[0]!);
  opened?.count();
  if (draw.oneIn(2)) opened?.remove();
  else opened?.close();
  ended(known > 0 ? "recorded" : "forgotten");
}

/** Changes with SQL what anyone can change who can write the file. */
function mutateRecords(draw: Draw, path: string): void {
  const database = new Database(path, { readwrite: true });
  const id = draw.upTo(LEAVES) - 1;
  const run = (sql: string, ...values: (number | string | Uint8Array | null)[]) => {
    try {
      database.query(sql).run(...values);
    } catch {
      // Not possible after the change before it.
    }
  };
  try {
    for (let changes = 1 + draw.upTo(2); changes > 0; changes--) {
      switch (draw.upTo(9)) {
        case 0:
          run("UPDATE records SET id = id + ?", draw.pick([1, 100, -1000]));
          break;
        case 1:
          run(
            "UPDATE records SET sealed = (SELECT sealed FROM records WHERE id = ?) WHERE id = ?",
            id,
            draw.upTo(LEAVES - 1),
          );
          break;
        case 2: {
          const row = database.query("SELECT sealed FROM records WHERE id = ?").get(id);
          const { sealed } = (row ?? {}) as { sealed?: unknown };
          const bytes = sealed instanceof Uint8Array ? sealed : draw.bytes(50);
          run("UPDATE records SET sealed = ? WHERE id = ?", mutatedBytes(draw, bytes), id);
          break;
        }
        case 3:
          run("UPDATE records SET sealed = ? WHERE id = ?", draw.pick(["", "text", 5, 1e300]), id);
          break;
        case 4:
          run("DELETE FROM records WHERE id = ?", id);
          break;
        case 5:
          run(`PRAGMA user_version = ${draw.pick([0, 2, -1, 2 ** 31 - 1])}`);
          break;
        case 6:
          run("DROP TABLE records");
          break;
        case 7:
          run("ALTER TABLE records RENAME TO others");
          run("CREATE TABLE records (id TEXT, sealed)");
          break;
        case 8:
          run("CREATE TRIGGER t BEFORE INSERT ON records BEGIN DELETE FROM records; END");
          break;
        default:
          run("ALTER TABLE records RENAME TO others");
          run("CREATE VIEW records AS SELECT * FROM others");
      }
    }
    database.run("PRAGMA wal_checkpoint(TRUNCATE)");
  } catch {
    // Locked, or no longer a database: as good as any.
  } finally {
    database.close();
  }
}

const content = (() => {
  const bytes = new Uint8Array(5 * CHUNK + 100);
  const numbers = new DataView(bytes.buffer);
  for (let at = 0; at + 4 <= bytes.length; at += 64) numbers.setUint32(at, at);
  return bytes;
})();
const store = createStore({
  backend: memory(),
  recipients: [alice.recipient],
  identities: [alice],
  chunkSize: CHUNK,
  nacl: naCl,
});
const address = await store.put(content);
const inlineContent = drawFrom(1).bytes(1000);
const inlineAddress = await store.put(inlineContent);

/** Fetches into a file beside which others have left partial ones. */
async function partFile(draw: Draw): Promise<void> {
  const inline = draw.oneIn(4);
  const wanted = inline ? inlineContent : content;
  const at = inline ? inlineAddress : address;
  const place = mkdtempSync(join(folder, "get-"));
  const target = join(place, "film");
  for (let files = 1 + draw.upTo(2); files > 0; files--) leavePart(draw, target, at, wanted);

  const file = await createOutputFile(target, { force: draw.oneIn(2), address: at, follow: true });
  const stored = await store.get(at);
  const start = await continued(file, stored);
  for await (const piece of stored.chunks({ start })) await file.write(piece);
  await file.commit({ removeEarlier: true });

  expect(Buffer.compare(readFileSync(target), wanted)).toBe(0);
  expect(existsSync(OUTSIDE) ? readFileSync(OUTSIDE, "utf8") : "").toBe("outside");
  rmSync(place, { recursive: true });
  ended(start > 0 ? "continued" : "restarted");
}

const OUTSIDE = join(folder, "outside");
writeFileSync(OUTSIDE, "outside", { mode: 0o600 });

async function continued(
  file: Awaited<ReturnType<typeof createOutputFile>>,
  stored: StoredContent,
): Promise<number> {
  if ((await file.keep()) === 0) return 0;
  const start = await stored.matchingPrefix((offset, into) => file.read(offset, into));
  file.continueAt(start);
  return start;
}

function leavePart(draw: Draw, target: string, at: string, wanted: Uint8Array): void {
  const [own] = [basename(partFiles(target, at).own)];
  const ended = "99999999-1";
  // Of a process that has ended, or of one that runs.
  const name = draw.oneIn(8)
    ? own
    : own.replace(/\.\d+(?:-\d+)?\.([0-9a-f]{12})\.idk-part$/u, `.${ended}.$1.idk-part`);
  const path = join(dirname(target), name);
  if (draw.oneIn(12)) return symlinkSync(OUTSIDE, path);
  if (draw.oneIn(12)) {
    mkdirSync(path);
    return;
  }
  let bytes: Uint8Array = wanted.slice(0, draw.upTo(wanted.length));
  if (draw.oneIn(2)) bytes = mutatedBytes(draw, bytes);
  if (draw.oneIn(6)) bytes = Buffer.concat([wanted, draw.bytes(draw.upTo(300))]);
  writeFileSync(path, bytes);
  chmodSync(path, draw.oneIn(10) ? 0o644 : 0o600);
}
