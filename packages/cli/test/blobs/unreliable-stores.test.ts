import { type Address, type ScannedBlob, StorageError, type Store } from "@idk/storage";
import { describe, expect, test } from "bun:test";
import { findContents } from "../../src/blobs/find-contents.ts";
import { removeOldTree } from "../../src/blobs/remove-tree.ts";
import { verifyComplete } from "../../src/blobs/verify-complete.ts";
import type { Output } from "../../src/output/output.ts";
import { createProgress } from "../../src/progress/meter.ts";
import type { Session } from "../../src/session.ts";

const ROOT = "a".repeat(64) as Address;

/** A session that keeps what a command prints. */
function newSession() {
  const notes: string[] = [];
  const reports: unknown[] = [];
  const ignore = async (): Promise<void> => {};
  const out: Output = {
    json: false,
    terminal: false,
    result: async (_, json) => void reports.push(json),
    report: async (json) => void reports.push(json),
    note: async (text) => void notes.push(text),
    text: ignore,
    bytes: ignore,
    flush: ignore,
    fault: ignore,
    event: ignore,
    block: ignore,
  };
  const session: Session = {
    out,
    signal: new AbortController().signal,
    progress: createProgress(undefined),
    onHangup() {},
    keepRunning() {},
  };
  return { session, notes, reports };
}

/** A scan in which the store fails to return each of 1000 blobs. */
function refusingScan() {
  const scanned = { count: 0 };
  async function* scan(): AsyncGenerator<ScannedBlob> {
    for (; scanned.count < 1000; scanned.count++) {
      const address = scanned.count.toString(16).padStart(64, "0") as Address;
      const error = new StorageError("unavailable", "busy");
      yield { kind: "failed", address, size: 1, storedAt: undefined, error };
    }
  }
  return { scan, scanned };
}

describe("a store that refuses everything", () => {
  test("ends a search for paths", async () => {
    const { scan, scanned } = refusingScan();
    const search = findContents({ scan }, ["x"], newSession().session);
    expect(await search.catch(String)).toBe("Failure: stopped: the store failed 16 blobs in a row");
    expect(scanned.count).toBeLessThan(20);
  });

  test("ends a check for chunks", async () => {
    const { scan, scanned } = refusingScan();
    const opened = { scan } as unknown as Store;
    const check = verifyComplete(opened, undefined, false, newSession().session);
    expect(await check.catch(String)).toBe("Failure: stopped: the store failed 16 items in a row");
    expect(scanned.count).toBeLessThan(40);
  });
});

describe("verify --complete of a store from which a root is removed", () => {
  const store = (listed: boolean) =>
    ({
      async *scan() {
        yield { kind: "opened", address: ROOT };
      },
      async *list() {
        if (listed) yield { address: ROOT, size: 1 };
      },
      async verify() {
        throw new StorageError("not-found", "the store has no blob");
      },
    }) as unknown as Store;

  test("counts it as removed", async () => {
    const { session, notes, reports } = newSession();
    await verifyComplete(store(false), undefined, false, session);
    expect(notes).toEqual([
      "no root opened: nothing was checked; none failed, 1 removed during the check",
    ]);
    expect(reports).toEqual([{ ok: true, address: ROOT, removed: true }]);
  });

  test("fails if it is listed, or named", async () => {
    const { session, notes } = newSession();
    const all = verifyComplete(store(true), undefined, false, session);
    expect(await all.catch(String)).toBe("Failure: 1 of 1 blob failed");
    expect(notes).toEqual(["no root was found complete; 1 failed"]);
    async function* named() {
      yield { given: ROOT, address: ROOT };
    }
    const one = verifyComplete(store(false), named(), false, newSession().session);
    expect(await one.catch(String)).toBe("Failure: 1 of 1 blob failed");
  });
});

test("an old tree whose nodes went with another is removed without them", async () => {
  const { session, notes, reports } = newSession();
  const deleted: string[] = [];
  const opened: Pick<Store, "delete" | "deleteTree"> = {
    deleteTree: async () => Promise.reject(new StorageError("not-found", "no node")),
    delete: async (address) => void deleted.push(address),
  };
  const removal = { force: false, askAbove: Infinity, printAddress: true, details: { ok: true } };
  await removeOldTree(opened, ROOT, removal, session);
  expect(deleted).toEqual([ROOT]);
  expect(notes).toEqual([expect.stringContaining(`removed only the root ${ROOT}`)]);
  expect(reports).toEqual([{ ok: true, address: ROOT, blobs: 1, removed: true }]);

  const refused = {
    ...opened,
    deleteTree: async () => Promise.reject(new StorageError("unavailable", "busy")),
  };
  expect(await removeOldTree(refused, ROOT, removal, session).catch(String)).toContain("busy");
  expect(deleted).toEqual([ROOT]);
});
