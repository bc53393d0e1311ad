import { type Backend, StorageError, generateIdentity } from "@idk/storage";
import { type Host, runSession } from "./host.ts";
import { Lost, type World, world } from "./world.ts";
import { MemoryCache } from "./memory-cache.ts";
import { Killed, type Process, turns } from "./turns.ts";
import { close } from "../../../src/rules/granting.ts";
import { changeSettings } from "../../../src/repository/settings.ts";
import type { PinnedRepository, Repository } from "../../../src/repository/repository.ts";
import type { CheckProblem } from "../../../src/maintenance/check/problems.ts";
import { type Head, decodeHead } from "../../../src/format/records/head.ts";
import { check } from "../../../src/maintenance/check/check.ts";
import { forget } from "../../../src/maintenance/forget/forget.ts";
import { naCl as plainNaCl, storeHead } from "../../support/repository-writer.ts";
import type { RepositoryId } from "../../../src/format/names/identifiers.ts";
import { ownerKeyOf } from "../../../src/format/keys/writer.ts";
import { join } from "node:path";
import { packsInOrder } from "../../../src/format/records/reach.ts";
import { prune } from "../../../src/maintenance/prune/prune.ts";
import { randomFrom } from "./random.ts";
import { readReach } from "../../../src/repository/reaches.ts";
import { readRecord } from "../../../src/repository/records.ts";
import { repositoryOf } from "../../../src/repository/repository.ts";
import { rememberAgreements } from "./remember-agreements.ts";
import { runBackup } from "./real-host.ts";
import { requireMarkers } from "../../../src/repository/marker-backend.ts";
import { toHex } from "@idk/storage/blobs";
import { unforget } from "../../../src/maintenance/forget/unforget.ts";
import { volatileHeadMemory } from "../../../src/repository/head-memory.ts";

const HOUR = 3_600_000;
const identity = await generateIdentity();
const owner = ownerKeyOf(identity);
const recipients = [identity.recipient];
const naCl = rememberAgreements(plainNaCl);

export interface Counts {
  snapshots: number;
  late: number;
  prunes: number;
  pruned: number;
  forgotten: number;
  unforgotten: number;
  killed: number;
}

/** The cache of a host at some time. */
type Copy = Pick<Host, "name" | "cache" | "database">;

function bringBack(host: Host, { cache, database }: Copy): void {
  host.cache = cache.copy();
  host.database = database;
}

export interface ScheduleOptions {
  readonly seed: number;
  readonly counts: Counts;
  /** Whether nothing is broken, so that everything goes in the end that can. */
  readonly isWhole: boolean;
  /** Hosts make real backups, with their files and caches below this folder. */
  readonly folder?: string | undefined;
}

export function noCounts(): Counts {
  return {
    snapshots: 0,
    late: 0,
    prunes: 0,
    pruned: 0,
    forgotten: 0,
    unforgotten: 0,
    killed: 0,
  };
}

/**
 * A random schedule of backups, interrupted ones, forgetting, its undoing, prunes, copies of caches and
 * closed chains, whose requests interleave, while time passes between them.
 *
 * @throws Lost if something that was needed is gone
 */
export async function runSchedule({
  seed,
  counts,
  isWhole,
  folder,
}: ScheduleOptions): Promise<void> {
  const random = randomFrom(seed);
  const grace = random.pick([HOUR, 16 * HOUR, 7 * 24 * HOUR]);
  const errorMax = folder === undefined ? Infinity : HOUR / 4;
  const it = world(
    random,
    grace,
    errorMax,
    Date.UTC(2026, 10, 20),
    async (backend, address) => {
      const reader = { backend: requireMarkers(backend), naCl, identities: [identity] };
      return decodeHead(await readRecord(reader, "head", address)).head;
    },
    neededBy,
  );
  const { backend } = it;
  // Everything that has an influence on the schedule follows from the seed.
  const repository = seed.toString(16).padStart(32, "0") as RepositoryId;
  const graceSeconds = grace / 1000;
  const pinned = { repository, owner: owner.writer, graceSeconds };
  const settings = { graceSeconds, rules: [] };
  const first = { kind: "repo", name: "", generation: it.now, settings } as const;
  await storeHead({ backend, repository, recipients }, owner, first);
  let lost: Error | undefined;
  const { start, step, hasStrays } = turns(random, (error) => {
    // A backup that dies aborts what it has sent.
    if (!(error instanceof StorageError)) lost ??= error as Error;
  });
  const running = new Set<Process>();
  const busy = new Set<Host>();
  const hosts: Host[] = ["a", random.pick(["a", "b"])].map((name) => ({
    name,
    // A real backup looks at both clocks, and the store's may be off, too.
    clockAhead: (random.unit() * 2 - 1) * (folder === undefined ? HOUR : HOUR / 3),
    cache: new MemoryCache(),
    files: Array.from({ length: random.pick([3, 12]) }, (_, content) => content + 1),
  }));
  /** One file in so many changes from one backup to the next: lists of packs get longer by few. */
  const unchanged = random.pick([3, 8]);
  /** Copies of caches, to be brought back some day. */
  const copies: Copy[] = [];
  let nextContent = 20;

  function launch(name: string, run: (backend: Backend) => Promise<void>): Process {
    const process = start(name, backend, run);
    running.add(process);
    const end = (error?: unknown) => {
      running.delete(process);
      const isExpected = error instanceof Killed || error instanceof StorageError;
      if (error !== undefined && !isExpected) lost ??= error as Error;
    };
    process.ended.then(() => end(), end);
    return process;
  }

  function backUp(host: Host): void {
    busy.add(host);
    host.files = host.files.map((content) =>
      random.oneIn(unchanged) ? (nextContent += 1) : content,
    );
    const process = launch("session", (io) =>
      folder === undefined
        ? runSession(it, host, recipients, open(io, pinned))
        : runBackup(it, host, recipients, open(io, pinned), join(folder, `${hosts.indexOf(host)}`)),
    );
    const free = () => busy.delete(host);
    process.ended.then(free, free);
  }

  let isForgetting = false;
  function asOwner(run: (repository: Repository) => Promise<void>): void {
    isForgetting = true;
    const process = launch("owner", (io) => run(open(io, pinned)));
    const free = () => {
      isForgetting = false;
    };
    process.ended.then(free, free);
  }

  async function runPrune(io: Backend): Promise<void> {
    counts.prunes += 1;
    const { deleted } = await prune(open(io, pinned), {
      concurrency: 1 + random.upTo(2),
      // Of sessions that ended between head and marker.
      acceptLostHeads: true,
    });
    counts.pruned += deleted.blobs;
  }

  function act(): void {
    const idle = hosts.filter((host) => !busy.has(host));
    const host = idle.length === 0 ? undefined : random.pick(idle);
    switch (random.upTo(15)) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4:
      case 5:
        if (host !== undefined) backUp(host);
        return;
      case 6:
      case 7:
      case 8:
        launch("prune", runPrune);
        return;
      case 9:
      case 10:
      case 11:
        if (isForgetting) return;
        asOwner(async (repository) => {
          const policy = random.oneIn(2) ? { last: 1 } : { tags: [[`${random.upTo(3)}`]] };
          const { forgotten } = await forget(repository, { policy, recipients });
          counts.forgotten += forgotten.length;
        });
        return;
      case 12:
        if (isForgetting) return;
        asOwner(async (repository) => {
          const snapshots = [];
          for (const name of ["a", "b"]) {
            for await (const found of repository.snapshots(name)) {
              if (it.isForgotten(found.marker)) snapshots.push(found);
            }
          }
          if (snapshots.length === 0) return;
          const chosen = [random.pick(snapshots)];
          const { unforgotten, heads } = await unforget(repository, chosen, { recipients });
          if (heads[0] !== undefined) it.confirm(heads[0], unforgotten);
          counts.unforgotten += unforgotten.length;
        });
        return;
      case 13:
        if (host === undefined) return;
        // A copy of the machine, or the machine as it was some time ago.
        copies.push({ name: host.name, cache: host.cache.copy(), database: host.database });
        for (const copy of copies) {
          if (copy.name === host.name && random.oneIn(3)) bringBack(host, copy);
        }
        return;
      case 14: {
        if (random.oneIn(6)) return retire();
        const other = idle.find((one) => one !== host && one.name === host?.name);
        if (other !== undefined && host !== undefined) {
          bringBack(other, host);
          other.files = host.files;
        }
        return;
      }
      default:
        if (running.size === 0) return;
        counts.killed += 1;
        random.pick([...running]).kill();
    }
  }

  /** All hosts of a chain are given up, and the owner closes it. */
  function retire(): void {
    const name = random.pick(hosts)?.name;
    const ofChain = hosts.filter((host) => host.name === name);
    if (name === undefined || isForgetting || hasStrays() || ofChain.some((host) => busy.has(host)))
      return;
    hosts.splice(0, hosts.length, ...hosts.filter((host) => host.name !== name));
    asOwner(async (repository) => {
      // Beyond what a store whose times are ahead has let them make.
      await changeSettings(repository, recipients, (settings) =>
        close(settings, name, it.now + it.error + 2 * HOUR),
      );
    });
  }

  function passTime(): void {
    const longest = random.pick([1000, 60_000, grace / 64, grace / 16, grace / 4, 1.2 * grace]);
    it.now += Math.floor(random.unit() * longest);
  }

  const isAwaited = () => folder !== undefined && running.size > 0;
  const actions = 12 + random.upTo(16);
  for (let done = 0; done < actions && lost === undefined;) {
    if (running.size < 3 && (running.size === 0 || random.oneIn(12))) {
      act();
      done += 1;
    }
    if (random.oneIn(running.size === 0 ? 3 : 12)) passTime();
    await step(isAwaited);
  }
  while (await step(isAwaited));
  if (lost !== undefined) throw lost;
  it.checkAll();
  counts.snapshots += it.good().filter(({ kind }) => kind === "snap").length;
  if (it.hasFailed()) counts.late += 1;
  if (folder !== undefined) await checkTrees(it, open(backend, pinned));

  // In the end nothing is left but what is needed.
  it.now += 3 * grace;
  try {
    for (let rounds = 0; rounds < 2; rounds++) {
      await runPrune(backend);
      it.now += 3 * grace;
    }
  } catch (error) {
    // What was late may lack its list of packs; and where a rule is broken, all may.
    if (error instanceof StorageError && (it.hasFailed() || !isWhole)) return;
    throw error;
  }
  it.checkAll();
  if (!isWhole) return;
  const needed = it.neededNow();
  const marked = new Set<string>();
  for await (const { name } of backend.listMarkers!("")) marked.add(name.slice(-64));
  for await (const { name } of backend.list("")) {
    if (!needed.has(name) && !marked.has(name)) throw new Error(`${name} was never deleted`);
  }
}

/** Checks that every snapshot that a backup has said to have stored can be restored. */
async function checkTrees(it: World, repository: Repository): Promise<void> {
  const onProblem = (problem: CheckProblem) => {
    if (!("found" in problem) || !it.isTrusted(problem.found.marker)) return;
    if (problem.kind === "reach" && problem.lacking === 0) return;
    const { address } = problem.found.marker;
    throw new Lost(`check finds a problem of ${address}: ${problem.kind}`);
  };
  await check(repository, { readData: 1, onProblem });
}

/** What the head of a real backup needs. */
async function neededBy(backend: Backend, head: Head): Promise<string[]> {
  if (head.kind !== "snap" && head.kind !== "part") return [];
  const reader = { backend: requireMarkers(backend), naCl, identities: [identity] };
  const own = await readReach(reader, head.reach);
  const path = [];
  for (const address of own.earlier) path.push(await readReach(reader, address));
  path.push(own);
  const packs = [...packsInOrder(path)].map(toHex);
  const snapshot = head.kind === "snap" ? [head.snapshot] : [];
  return [...packs, ...snapshot, ...path.flatMap(({ blobs }) => blobs)];
}

/** The clock is the store's at each moment, because time passes here while nothing happens. */
function open(backend: Backend, pinned: PinnedRepository): Repository {
  const withMarkers = requireMarkers(backend);
  return repositoryOf({
    backend: withMarkers,
    naCl,
    identities: [identity],
    pinned,
    writer: owner,
    memory: volatileHeadMemory(),
    clock: { now: () => withMarkers.currentTime(), guess: () => undefined },
  });
}
