import {
  createStore,
  type Progress,
  type Store,
  type VerifyOptions,
  type VerifyReport,
} from "@idk/storage";
import { isRemoved, resolveAddress } from "../blobs/address.ts";
import {
  type AddressSource,
  type Listed,
  onlyAddress,
  readAddresses,
} from "../blobs/address-list.ts";
import { runAddresses } from "../blobs/run-many.ts";
import { verifyComplete } from "../blobs/verify-complete.ts";
import { type Command, command } from "../command.ts";
import {
  addresses,
  flag,
  identitySources,
  optional,
  passphrase,
  path,
  store,
  workers,
} from "../config/settings.ts";
import { codeOf, usage } from "../errors/failures.ts";
import { createBlobFailures, type ItemFailures } from "../errors/item-failures.ts";
import { loadIdentities } from "../keys/identities.ts";
import { count, formatBytes } from "../output/text.ts";
import type { Totals } from "../progress/meter.ts";
import type { Session } from "../session.ts";
import { findRepository } from "../stores/find-repository.ts";
import { openStore } from "../stores/open-store.ts";

/** Blobs checked concurrently; each may take 16 MiB of memory. */
const AT_ONCE = 4;

/** How thoroughly to check. */
type Depth = "checksum" | "blob" | "deep";

export const verify: Command = command(
  {
    address: addresses,
    fromFile: optional(path),
    store,
    deep: flag,
    complete: flag,
    serverChecksums: flag,
    /** An alias of --server-checksums. */
    attested: flag,
    identity: identitySources,
    passphrase,
    workers,
  },
  async (settings, session) => {
    const { out, signal } = session;
    const depth = depthOf(settings);
    const needsKey = depth === "deep" || depth === "complete";
    const identities = needsKey ? await loadIdentities(settings, session) : [];
    const options = { identities, workers: settings.workers };
    const named = settings.address.length > 0 || settings.fromFile !== undefined;
    await using opened = await openStore(settings.store, session, options);
    await using backend = named ? undefined : await findRepository(settings.store, session);
    if (depth === "complete") {
      const targets = named ? await targetsOf(settings, opened, session) : undefined;
      await verifyComplete(opened, targets, backend !== undefined, session);
      return;
    }
    const failures = createBlobFailures(session);
    const tally = createTally(failures);
    const check = CHECKS[depth];
    const single = settings.fromFile === undefined && settings.address.length === 1;
    const repository = backend && createStore({ ...options, backend });
    const targets = named ? await targetsOf(settings, opened, session) : listed(opened, signal);
    using meter = session.progress.start({
      command: "verify",
      noun: "blob",
      ...(named
        ? { totalItems: settings.fromFile === undefined ? settings.address.length : undefined }
        : { measure: async (stop) => measured([opened, repository], depth, stop) }),
    });
    const checkOne = async (place: Store, address: string, stop: AbortSignal): Promise<void> => {
      const update = meter.part();
      const onProgress = (content: Progress): void => {
        update(content);
        if (single) meter.setTotals({ totalBytes: content.total });
      };
      try {
        const result = await check(place, address, { named, signal: stop, onProgress });
        tally.add(result);
        if (!result.deep) update(result);
        const { verifiedByServer, deep, ...rest } = result;
        await out.report({ ok: true, ...rest, attested: verifiedByServer, deep });
      } catch (error) {
        if (named || !(await isRemoved(place, address, error, stop))) throw error;
        tally.addRemoved();
        await out.report({ ok: true, address, removed: true });
      }
    };
    // In the order of completion, without keeping results, because a store may be large.
    const checkAll = async (place: Store, targets: AsyncIterable<Listed>) =>
      runAddresses(
        targets,
        (address, stop) => checkOne(place, address, stop),
        { concurrency: AT_ONCE, failures, onDone: () => meter.itemDone() },
        session,
      );
    await checkAll(opened, targets);
    const { blobs, mayLackChunks } = tally;
    if (repository !== undefined) await checkAll(repository, listed(repository, signal));
    meter.finish();
    await out.flush();
    const snapshots =
      repository === undefined
        ? ""
        : `; ${tally.blobs - blobs} of the blobs belong to snapshots, which \`idk check\` checks as a whole`;
    await out.note(`${tally.summary(depth)}${snapshots}`);
    // The summary of a deep check names the roots that were not opened.
    if (!out.json && depth !== "deep" && mayLackChunks) {
      await out.note(
        "idk: note: missing chunks are not detected; --complete detects them, without downloading " +
          "chunks",
      );
    }
    failures.throwIfAny(tally.blobs);
  },
);

/** An address on the command line that cannot be resolved is a mistake, one of several a failure. */
async function targetsOf(
  source: AddressSource,
  opened: Store,
  session: Session,
): Promise<AsyncIterable<Listed>> {
  const only = onlyAddress(source);
  if (only === undefined) return readAddresses(source, opened, session);
  const address = await resolveAddress(opened, only, session.signal);
  return (async function* one() {
    yield { given: only, address };
  })();
}

function depthOf({
  deep,
  complete,
  serverChecksums,
  attested,
}: Readonly<Record<"deep" | "complete" | "serverChecksums" | "attested", boolean>>):
  | Depth
  | "complete" {
  const checksums = serverChecksums || attested;
  if (deep && checksums) {
    throw usage("--deep and --server-checksums exclude each other");
  }
  if (complete && (deep || checksums)) {
    throw usage("--complete excludes --deep, which includes it, and --server-checksums");
  }
  if (deep) return "deep";
  if (complete) return "complete";
  return checksums ? "checksum" : "blob";
}

interface Checked extends VerifyReport {
  /** Whether all content was also decrypted and checked. */
  readonly deep: boolean;
}

interface CheckOptions {
  /** Whether the address is on the command line. */
  readonly named: boolean;
  readonly signal: AbortSignal;
  readonly onProgress: NonNullable<VerifyOptions["onProgress"]>;
}

type Check = (opened: Store, address: string, options: CheckOptions) => Promise<Checked>;

const CHECKS: Readonly<Record<Depth, Check>> = {
  checksum: async (opened, address, { signal }) => ({
    ...(await opened.verify(address, { serverChecksums: true, signal })),
    deep: false,
  }),
  blob: checkBlob,
  deep: checkDeep,
};

async function checkBlob(
  opened: Store,
  address: string,
  { signal }: CheckOptions,
): Promise<Checked> {
  return { ...(await opened.verify(address, { signal })), deep: false };
}

/** When checking the whole store, other recipients' roots are checked without decrypting. */
async function checkDeep(opened: Store, address: string, options: CheckOptions): Promise<Checked> {
  const { named, signal, onProgress } = options;
  const blob = await checkBlob(opened, address, options);
  if (blob.kind === "child") {
    if (named) throw usage("this is a chunk; --deep takes addresses that `idk put` printed");
    return blob;
  }
  try {
    // One chunk at a time, because several roots are checked concurrently.
    const tree = await opened.verify(address, { deep: true, concurrency: 1, signal, onProgress });
    return { ...tree, deep: true };
  } catch (error) {
    if (!named && codeOf(error) === "no-match") return blob;
    throw error;
  }
}

/** The whole store. With --deep, chunks are also read with their roots, so bytes have no total. */
async function measured(
  places: readonly (Store | undefined)[],
  depth: Depth,
  signal: AbortSignal,
): Promise<Totals> {
  let [totalItems, totalBytes] = [0, 0];
  for (const place of places) {
    for await (const { size } of place?.list({ signal }) ?? []) {
      totalItems += 1;
      totalBytes += size;
    }
  }
  return depth === "blob" ? { totalItems, totalBytes } : { totalItems };
}

async function* listed(opened: Store, signal: AbortSignal): AsyncGenerator<Listed> {
  for await (const { address } of opened.list({ signal })) yield { given: address, address };
}

interface Tally {
  /** The number checked, including failures. */
  readonly blobs: number;
  /** Whether a root was checked without what is below it. */
  readonly mayLackChunks: boolean;
  add(result: Checked): void;
  /** Counts a blob that was removed after it was listed. */
  addRemoved(): void;
  summary(depth: Depth): string;
}

function createTally(failures: ItemFailures): Tally {
  const counted = { blobs: 0, bytes: 0, deep: 0, unopened: 0, roots: 0, attested: 0, removed: 0 };

  const details: Readonly<Record<Depth, () => string>> = {
    blob: () => "",
    checksum: () =>
      `: ${counted.attested} by server checksum, ${counted.blobs - counted.attested} downloaded`,
    deep: () =>
      `: ${count(counted.deep, "root")} with all content, ` +
      `${counted.blobs - counted.deep} by address and format only` +
      (counted.unopened > 0
        ? ` (including ${count(counted.unopened, "root")} that no identity opens)`
        : ""),
  };

  return {
    get blobs() {
      return counted.blobs + failures.count;
    },
    get mayLackChunks() {
      return counted.roots > 0;
    },
    add(result) {
      counted.blobs += 1;
      counted.bytes += result.bytes;
      if (result.verifiedByServer) counted.attested += 1;
      if (result.deep) counted.deep += 1;
      else if (result.kind === "root") counted.unopened += 1;
      // A blob that was not downloaded may be one.
      if (!result.deep && result.kind !== "child") counted.roots += 1;
    },
    addRemoved() {
      counted.removed += 1;
    },
    summary(depth) {
      const removed = counted.removed > 0 ? `, ${counted.removed} removed during the check` : "";
      return `checked ${count(this.blobs, "blob")}, ${formatBytes(counted.bytes)}${details[depth]()}; ${failures.count || "none"} failed${removed}`;
    },
  };
}
