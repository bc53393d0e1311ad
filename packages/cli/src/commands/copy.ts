import { type Backend, createStore, replicate, type ReplicateOptions } from "@idk/storage";
import { resolveAddresses } from "../blobs/address.ts";
import { type CopyTotals, createCopyTotals, describeCopy } from "../blobs/copy-totals.ts";
import { type Command, command } from "../command.ts";
import { addresses, flag, identitySources, passphrase, store } from "../config/settings.ts";
import { codeOf, EXIT_CODES, usage } from "../errors/failures.ts";
import { createBlobFailures, type ItemFailures } from "../errors/item-failures.ts";
import { createFolder } from "../folders.ts";
import { loadIdentities } from "../keys/identities.ts";
import type { Totals } from "../progress/meter.ts";
import { openBackend } from "../stores/open-store.ts";

export const copy: Command = command(
  {
    address: addresses,
    from: store,
    to: store,
    tree: flag,
    trustSize: flag,
    identity: identitySources,
    passphrase,
  },
  async (settings, session) => {
    const { tree, trustSize } = settings;
    if (tree && settings.address.length === 0) {
      throw usage("--tree needs addresses that `idk put` printed; omit it to copy all blobs");
    }
    const identities = tree ? await loadIdentities(settings, session) : [];
    const { out, signal } = session;
    await using from = await openBackend(settings.from, session);
    const named = await resolveAddresses(createStore({ backend: from }), settings.address, signal);
    // As put does.
    if (settings.to.kind === "filesystem") await createFolder(settings.to.folder);
    await using to = await openBackend(settings.to, session);

    const failures = createBlobFailures(session);
    using meter = session.progress.start({
      command: "copy",
      noun: "blob",
      ...(named.size === 0 && { measure: async (stop) => measured(from, stop) }),
      ...(named.size > 0 && !tree && { totalItems: named.size }),
    });
    const totals = createCopyTotals(meter);
    const copyBlobs = reporting(failures, totals, async (options) => {
      try {
        return await replicate(from, to, { trustSize, signal, ...options });
      } catch (error) {
        if (signal.aborted && !out.json) {
          await out.note(
            `idk: ${describeCopy(totals.sum)}: run the same command again to continue`,
          );
        }
        throw error;
      }
    });
    if (tree) {
      const source = createStore({ backend: from, identities });
      for (const root of named) {
        let unread: unknown;
        const names = withErrorObserver(
          source.treeAddresses(root, { signal }),
          (error) => (unread = error),
        );
        try {
          const { withheld } = await copyBlobs({ names, roots: "if-complete" });
          if (withheld > 0) {
            await out.note(`idk: note: ${root} was not copied, because some of its content failed`);
          }
        } catch (error) {
          // An unreadable tree does not stop the run, but an unavailable store does.
          const unreadable =
            error === unread &&
            codeOf(error) === "unavailable" &&
            (await succeeds(from.head(root, { signal })));
          if (!unreadable && !isTreeFailure(error)) throw error;
          await failures.add(root, error);
        }
      }
    } else {
      await copyBlobs(named.size > 0 ? { names: named } : {});
    }

    const { sum } = totals;
    meter.finish();
    await out.report({ ...sum, failed: failures.count });
    await out.flush();
    await out.note(`${describeCopy(sum)}; ${failures.count || "none"} failed`);
    failures.throwIfAny(sum.copied + sum.skipped + sum.withheld + failures.count);
  },
);

type Replicate = (options: ReplicateOptions) => ReturnType<typeof replicate>;

/** Counts copied blobs and prints failures as they occur. */
function reporting(failures: ItemFailures, totals: CopyTotals, run: Replicate): Replicate {
  return async (options) => {
    let printed = Promise.resolve();
    try {
      const report = await run({
        ...options,
        onProgress: totals.update,
        onFailure: ({ name, error }) => {
          printed = printed.then(() => failures.add(name, error));
          // Awaited below; until then a rejection must not count as unhandled.
          printed.catch(() => undefined);
        },
      });
      totals.update(report);
      return report;
    } finally {
      totals.next();
      await printed;
    }
  };
}

async function measured(from: Backend, signal: AbortSignal): Promise<Totals> {
  let totalItems = 0;
  for await (const _ of from.list("", { signal })) totalItems += 1;
  return { totalItems };
}

async function* withErrorObserver<T>(
  items: AsyncIterable<T>,
  onError: (error: unknown) => void,
): AsyncGenerator<T> {
  try {
    yield* items;
  } catch (error) {
    onError(error);
    throw error;
  }
}

async function succeeds(call: Promise<unknown>): Promise<boolean> {
  return call.then(
    () => true,
    () => false,
  );
}

function isTreeFailure(error: unknown): boolean {
  return [3, 4, 5].includes(EXIT_CODES[codeOf(error)]);
}
