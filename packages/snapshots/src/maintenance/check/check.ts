import { type Address, StorageError } from "@idk/storage";
import {
  type CheckOptions,
  type CheckProblem,
  type CheckReport,
  addressOf,
  isHarmless,
  problemCounts,
} from "./problems.ts";
import {
  type FoundHead,
  type RefusedHead,
  READ_AT_ONCE,
  isFaultForNow,
  isListed,
  readInOrder,
} from "../../repository/find-heads.ts";
import type { ReachRoot } from "../../repository/reaches.ts";
import type { FoundSnapshot, Repository } from "../../repository/repository.ts";
import { type OpenSnapshot, openSnapshot } from "../../read/open-snapshot.ts";
import { type TreeFindings, treeChecker } from "./check-trees.ts";
import { forgottenOf, readState, refusedInForce } from "../repository-state.ts";
import { addressSet } from "../address-set.ts";
import { ALL_BLOBS, type BlobShard } from "../shard.ts";
import type { PackTable } from "./pack-table.ts";
import { type AddressList, countOf, hasAddress } from "../../format/records/address-list.ts";
import { type ReachReader, reachReader } from "../reach-reader.ts";
import { SETTINGS_CHAIN } from "../../format/names/chain.ts";
import { decodeSessionSecrets } from "../../format/records/keys.ts";
import { forksOf } from "../../rules/forks.ts";
import { settingsApart } from "../../rules/joining.ts";
import { bothOf, fromHex, parallelBlobs, parallelRequests, toHex } from "@idk/storage/blobs";
import { keyChecker, PACKS_TRIED } from "./check-keys.ts";
import type { SessionId } from "../../format/names/identifiers.ts";
import { packChecker } from "./check-packs.ts";
import { packsOf } from "../../format/records/reach.ts";
import { readRecord } from "../../repository/records.ts";
import { treeReader } from "../../read/tree.ts";

/**
 * Checks all heads, and that every snapshot can be restored: its records are read, its directories are
 * gone through, those that several snapshots share once, and every pack that they refer to has to be
 * there and in its list of packs. With `readData`, data packs are opened, too. Reads every metadata pack.
 *
 * Problems are reported as they are found. What a prune deletes meanwhile is none.
 *
 * @throws StorageError `head` if there are no settings, `rollback`, `aborted`, `usage`, also if damaged
 *   packs are to be deleted from a store that keeps versions, and what the store throws
 */
export async function check(
  repository: Repository,
  given: CheckOptions = {},
): Promise<CheckReport> {
  const options = { ...given, reportUnreadable: true };
  const { readData = 0, signal, onProblem, onProgress, shard = ALL_BLOBS } = options;
  if (!(readData >= 0 && readData <= 1))
    throw new StorageError("usage", "readData must be a number from 0 to 1");
  if (options.deleteDamaged === true && options.shard !== undefined)
    throw new StorageError("usage", "deleteDamaged cannot be combined with shard");
  const { concurrency } = options;
  const asking = {
    requests: parallelRequests({ concurrency }),
    fetching: parallelBlobs(repository.backend, { concurrency }),
  };
  if (options.deleteDamaged === true) await requireNoVersions(repository, signal);
  const counts = problemCounts();
  let isSound = true;
  const report = (problem: CheckProblem): void => {
    const address = addressOf(problem);
    if (address !== undefined && !shard.has(address)) return;
    counts[problem.kind] += 1;
    if (!isHarmless(problem)) isSound = false;
    onProblem?.(problem);
  };

  const state = await readState(repository, {
    ...options,
    onRefused: (refused: RefusedHead) => options.onRefused?.(refused),
    onHead: (done) => onProgress?.({ stage: "heads", done }),
  });
  for (const { marker, error } of refusedInForce(repository, state)) {
    const isGone = error.code === "not-found" && !(await isListed(repository, { marker }, signal));
    if (!isGone) report({ kind: "head", marker, error });
  }
  const chains = byChain(state.heads);
  for (const heads of chains.values()) {
    for (const { heads: apart, joinedBy } of forksOf(heads)) {
      const { name } = apart[0]!.head;
      // Two owners may have joined the same ones at the same time.
      if (name === SETTINGS_CHAIN && joinedBy === undefined && settingsApart(heads).length === 0)
        continue;
      report({ kind: "fork", name, heads: apart, isJoined: joinedBy !== undefined });
    }
  }

  // After the heads, so that everything that they need is listed.
  const present = addressSet();
  let listed = 0;
  for (const prefix of shard.prefixes) {
    for await (const { name } of repository.backend.list(prefix, signal ? { signal } : {})) {
      present.add(name as Address);
      listed += 1;
      onProgress?.({ stage: "blobs", done: listed });
    }
  }
  /** Whether a pack was not listed that would have been. */
  const isLacking = (pack: Uint8Array): boolean => !present.has(pack) && shard.has(toHex(pack));
  // Addresses are hashes, so each part has about as many.
  const blobCount = present.count() * shard.count;

  const trees = treeChecker(blobCount);
  const packs = packChecker(
    repository,
    { ...asking, table: trees.packs, present },
    options,
    report,
  );
  const keys = keyChecker(repository, trees.packs, options);
  const reaches = reachReader(repository, async () => blobCount, signal);
  const snapshots = distinctSnapshots(state.heads);
  const isForgotten = forgottenOf(repository, state.heads, state.settings.head.settings);

  for (const found of state.heads)
    await checkOther(repository, found, isLacking, reaches, report, signal);
  const treeIds = new Set<string>();
  let checked = 0;
  const aheadMost = Math.min(READ_AT_ONCE, concurrency ?? READ_AT_ONCE);
  for await (const ahead of readInOrder(readAhead, eachOf(snapshots), () => aheadMost)) {
    await checkSnapshot(ahead);
    checked += 1;
    onProgress?.({ stage: "trees", done: checked, total: snapshots.length });
  }
  const damaged = await packs.finish();
  const { directories } = trees;
  if (damaged.size > 0) {
    // Once more, for the files that they touch.
    const again = treeChecker(blobCount);
    for (const [index, found] of snapshots.entries()) {
      await nameFiles(again, found, damaged);
      onProgress?.({ stage: "files", done: index + 1, total: snapshots.length });
    }
  }
  return {
    chains: chains.size,
    snapshots: snapshots.length,
    forgotten: snapshots.filter(isForgotten).length,
    directories,
    ...packsIn(trees.packs, shard),
    ...packs.counts,
    problems: counts,
    isSound,
  };

  /** Reports problems of a head only as long as it is there. */
  function reporterOf(found: FoundHead) {
    let isThere: boolean | undefined;
    return async (problem: CheckProblem | { readonly missing: Address }): Promise<void> => {
      isThere ??= await isListed(repository, found, signal);
      if (!isThere) return;
      if ("kind" in problem) report(problem);
      else await packs.missing(problem.missing);
    };
  }

  /** What a snapshot takes whatever others have: some are asked for at once. */
  async function readAhead(found: FoundSnapshot): Promise<ReadAhead> {
    const opening = orFault(openSnapshot(repository, found, options).then(readRoot));
    const [snapshot, reachRoot] = await bothOf(opening, orFault(reaches.root(found.head.reach)));
    return { found, snapshot, reachRoot };
  }

  /** Reads the first metadata pack of a tree that no snapshot before it has. */
  async function readRoot(snapshot: OpenSnapshot): Promise<OpenSnapshot> {
    const [node] = snapshot.snapshot.root;
    const treeId = toHex(snapshot.snapshot.treeId);
    if (node === undefined || treeIds.has(treeId)) return snapshot;
    treeIds.add(treeId);
    // Kept by the reader. If it cannot be read, its turn shows why.
    await snapshot.packs.metadata(node.row, signal).catch(() => undefined);
    return snapshot;
  }

  async function checkSnapshot(ahead: ReadAhead): Promise<void> {
    const { found, snapshot, reachRoot } = ahead;
    const tell = reporterOf(found);
    if (snapshot instanceof StorageError) {
      await tell({ kind: "record", found, error: snapshot });
      return;
    }
    const before = trees.packs.length;
    const findings: TreeFindings = {
      onFault: (path, error) => tell({ kind: "tree", found, path, error }),
      isBad: (pack) => isLacking(fromHex(pack)),
      onFile: (path, pack) => tell({ kind: "file", found, path, pack }),
    };
    const watched = packs.watch(snapshot.packs, (missing) => tell({ missing }));
    const checked = await trees.check(snapshot.snapshot, treeReader(watched), findings, signal);
    await packs.read(snapshot.packs, before);

    const sessions = new Map<SessionId, number[]>();
    for (const number of checked.packs()) {
      const session = toHex(trees.packs.session(number)) as SessionId;
      const isLost = isLacking(trees.packs.address(number));
      const toTry = sessions.get(session) ?? [];
      sessions.set(session, toTry);
      if (!isLost && toTry.length < PACKS_TRIED) toTry.push(number);
      if (isLost) await tell({ missing: trees.packs.row(number).address });
    }
    await keys.check(snapshot, sessions, {
      onFault: async (of, session, error) =>
        reporterOf(of)({ kind: "key", found: of, session, error }),
      onPack: async (of, pack, error) =>
        error.code === "not-found" ? reporterOf(of)({ missing: pack }) : packs.fault(pack, error),
    });
    const isRead = !(reachRoot instanceof StorageError);
    const reach = isRead ? await orFault(packsBehind(reaches, reachRoot)) : reachRoot;
    if (reach instanceof StorageError) {
      await tell({ kind: "record", found, error: reach });
      return;
    }
    let [needed, lacking] = [0, 0];
    for (const address of addressesOf(trees.packs, checked.packs())) {
      needed += 1;
      if (!hasAddress(reach, address)) lacking += 1;
    }
    // Of what cannot be read nobody knows what else it needs.
    const surplus = checked.isWhole ? Math.max(0, countOf(reach) - (needed - lacking)) : 0;
    if (lacking + surplus > 0) await tell({ kind: "reach", found, lacking, surplus });
  }

  async function nameFiles(
    checker: ReturnType<typeof treeChecker>,
    found: FoundSnapshot,
    damaged: ReadonlySet<Address>,
  ): Promise<void> {
    const tell = reporterOf(found);
    const snapshot = await orFault(openSnapshot(repository, found, options));
    if (snapshot instanceof StorageError) return;
    const findings: TreeFindings = {
      // Reported already.
      onFault: async () => undefined,
      isBad: (pack) => damaged.has(pack),
      onFile: (path, pack) => tell({ kind: "file", found, path, pack }),
    };
    await checker.check(snapshot.snapshot, snapshot.tree, findings, signal);
  }
}

/** What is read of a snapshot before it is its turn, or the fault of that. */
interface ReadAhead {
  readonly found: FoundSnapshot;
  readonly snapshot: OpenSnapshot | StorageError;
  readonly reachRoot: ReachRoot | StorageError;
}

/** The result, or the fault of one blob. */
async function orFault<T>(work: Promise<T>): Promise<T | StorageError> {
  try {
    return await work;
  } catch (error) {
    if (!isFaultForNow(error)) throw error;
    return error;
  }
}

async function* eachOf<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items;
}

async function packsBehind(reaches: ReachReader, root: ReachRoot): Promise<AddressList> {
  return packsOf((await reaches.path(root)).rest);
}

/** How many of the packs are in a part of the store. */
function packsIn(table: PackTable, shard: BlobShard): Pick<CheckReport, "packs" | "metadataPacks"> {
  let [packs, metadataPacks] = [0, 0];
  const all = function* all() {
    for (let number = 0; number < table.length; number++) {
      if (!shard.has(toHex(table.address(number)))) continue;
      if (table.sortOf(number) === "meta") metadataPacks += 1;
      yield number;
    }
  };
  for (const _ of addressesOf(table, all())) packs += 1;
  return { packs, metadataPacks };
}

/** The addresses of packs, each once, though a pack can have two numbers. */
function* addressesOf(table: PackTable, numbers: Iterable<number>): Generator<Uint8Array> {
  const seen = table.hasTwins ? addressSet() : undefined;
  for (const number of numbers) {
    const address = table.address(number);
    if (seen?.has(address) === true) continue;
    seen?.add(toHex(address) as Address);
    yield address;
  }
}

/** Checks what heads other than snapshots need. */
async function checkOther(
  repository: Repository,
  found: FoundHead,
  isLacking: (pack: Uint8Array) => boolean,
  reaches: ReachReader,
  report: (problem: CheckProblem) => void,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { head } = found;
  try {
    if (head.kind === "keys") {
      decodeSessionSecrets(await readRecord(repository, "keys", head.keys, signal));
    }
    if (head.kind !== "part") return;
    const list = await packsBehind(reaches, await reaches.root(head.reach));
    let lacking = 0;
    for (let at = 0; at < list.length; at += 32) {
      if (isLacking(list.subarray(at, at + 32))) lacking += 1;
    }
    if (lacking > 0 && (await isListed(repository, found, signal))) {
      report({ kind: "part", found, missing: lacking });
    }
  } catch (error) {
    if (!isFaultForNow(error)) throw error;
    if (await isListed(repository, found, signal)) report({ kind: "record", found, error });
  }
}

function byChain(heads: readonly FoundHead[]): Map<string, FoundHead[]> {
  const chains = new Map<string, FoundHead[]>();
  for (const found of heads) {
    const others = chains.get(found.head.chain);
    if (others === undefined) chains.set(found.head.chain, [found]);
    else others.push(found);
  }
  return chains;
}

/** The snapshots, newest first in each chain, one for each payload. */
function distinctSnapshots(heads: readonly FoundHead[]): FoundSnapshot[] {
  const seen = new Set<string>();
  return heads.flatMap((found) => {
    const { head, payloadHash } = found;
    if (head.kind !== "snap" || seen.has(payloadHash)) return [];
    seen.add(payloadHash);
    return [{ ...found, head }];
  });
}

/**
 * A delete removes all versions, and of a pack that someone has overwritten an older one is intact.
 *
 * @throws StorageError `usage`
 */
async function requireNoVersions(
  { backend }: Repository,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { versions } = (await backend.capabilities?.({ signal })) ?? { versions: false };
  if (versions === false) return;
  const keeps =
    versions === true ? "keeps versions" : "may keep versions (these credentials may not ask)";
  throw new StorageError(
    "usage",
    `${backend.description} ${keeps}, and an older version of a damaged pack may be intact, so check ` +
      "does not delete damaged packs there: check without deleting them, delete the newest version of each " +
      "that it names with the provider's tools, and check again (docs/backup.md has the commands)",
  );
}
