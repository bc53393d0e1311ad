import {
  type Address,
  type DeleteTreeOptions,
  type ScannedBlob,
  StorageError,
  type Store,
} from "@idk/storage";
import { describe, expect, test } from "bun:test";
import { findContents } from "../../src/blobs/find-contents.ts";
import { verifyComplete } from "../../src/blobs/verify/verify-complete.ts";
import { rewrapMany } from "../../src/commands/sharing/rewrap.ts";
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

describe("rewrap --reseal --delete-old, if the store fails to delete", () => {
  const OTHER = "b".repeat(64) as Address;
  const NODE = "c".repeat(64) as Address;

  /** Reseals two contents whose trees share a node, and deletes the old trees. */
  const resealBoth = async (refused: Address) => {
    const { session, notes, reports } = newSession();
    const deleted: string[] = [];
    const remove = async (address: string): Promise<void> => {
      if (address === refused) throw new StorageError("unavailable", "busy");
      deleted.push(address);
    };
    const opened = {
      resolve: async (address: string) => address,
      stat: async () => ({ size: 1, padding: 0 }),
      reseal: async () => "d".repeat(64),
      has: async () => true,
      async deleteTree(address: string, { keptNodes, confirm, onProgress }: DeleteTreeOptions) {
        await confirm?.({ blobs: 3, nodes: [NODE] });
        await remove(address);
        onProgress?.({ blobs: 1, skipped: 0 });
        keptNodes?.add(NODE);
        return { blobs: 2, skipped: 0 };
      },
      delete: remove,
    } as unknown as Store;
    const settings = {
      address: [ROOT, OTHER],
      fromFile: undefined,
      reseal: true,
      deleteOld: true,
      yes: true,
      resume: false,
      maxSize: undefined,
    };
    const failure = await rewrapMany(opened, [], settings as never, {}, session).catch(String);
    return { failure, notes, reports, deleted };
  };

  test("counts an old tree as a deletion that failed, and not as failed content", async () => {
    const { failure, notes, deleted } = await resealBoth(ROOT);
    expect(notes.slice(-2)).toEqual([
      "resealed 2 addresses; none failed",
      "idk: note: 1 of 2 old trees deleted completely",
    ]);
    expect(failure).toBe("Failure: 1 of 2 deletions failed");
    expect(deleted).toEqual([OTHER]);
  });

  test("deletes shared nodes after all old trees, and fails if that fails", async () => {
    const { failure, notes, reports, deleted } = await resealBoth(NODE);
    expect(reports.at(-1)).toEqual({ ok: false, notDeleted: [NODE] });
    expect(notes.at(-1)).toBe("idk: note: 2 of 2 old trees deleted completely");
    expect(failure).toBe("Failure: 1 of 3 deletions failed");
    expect(deleted).toEqual([ROOT, OTHER]);
  });
});
