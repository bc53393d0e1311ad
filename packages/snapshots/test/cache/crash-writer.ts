import { openCache } from "../../src/cache/cache.ts";
import { type CacheRecord } from "../../src/cache/record.ts";

// Runs a session against a cache and kills itself after a step: `bun crash-writer.ts PATH STEP`.
const [path = "", wanted = ""] = process.argv.slice(2);
const step = (name: string): void => {
  if (name === wanted) process.kill(process.pid, "SIGKILL");
};

const time = { seconds: 1, nanoseconds: 2 };
const record = (kind: CacheRecord["kind"], name: string): CacheRecord => ({
  kind,
  name: Buffer.from(name),
  state: { type: "file", mode: 0, size: 1, mtime: time, ctime: time, inode: 1n, isRecent: false },
  value: Buffer.from("second"),
});

const cache = await openCache(path);
step("opened");
cache.addSession(Buffer.from("session-2"), Buffer.from("key"));
step("session");
const piece = { offset: 0, stored: 1, length: 1, encoding: 0 };
const pack = cache.newPack();
cache.addPiece(Buffer.alloc(32, 2), { ...piece, pack });
cache.addPack(pack, Buffer.alloc(64, 2), 2);
step("pack");
const next = cache.begin();
step("begun");
next.add(record("enter", ""));
// More than a chunk.
for (let at = 0; at < 10_000; at += 1)
  next.add(record("entry", `new-${String(at).padStart(6, "0")}`));
next.add(record("leave", ""));
cache.use({ pack: 1, offset: 0 }, -1);
cache.use({ pack, offset: 0 }, 1);
step("records");
cache.prepare({ marker: Buffer.from("second"), value: Buffer.from("second") }, [pack]);
step("prepared");
cache.commit([Buffer.from("session-2")]);
step("committed");
cache.close();
step("closed");
