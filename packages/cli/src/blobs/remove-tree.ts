import type { Address, DeleteReport, SkippedBlob, Store } from "@idk/storage";
import { Failure, usage } from "../errors/failures.ts";
import { openTerminal } from "../keys/terminal.ts";
import { printQueue } from "../output/print-queue.ts";
import { count } from "../output/text.ts";
import type { Meter } from "../progress/meter.ts";
import type { Session } from "../session.ts";

export interface TreeRemoval {
  /** Remove chunks despite a dedup secret. */
  readonly force: boolean;
  /** Ask before more blobs than this are removed; `Infinity` to never ask. */
  readonly askAbove: number;
  /** What removing it does to others, for the question. */
  readonly effect?: string;
  /** Whether to print the address, because the user has not given it in full. */
  readonly printAddress: boolean;
  /** The progress of several removals, of which this is one. */
  readonly meter?: Meter | undefined;
  /** Collects the nodes in place of removing them: other trees may share them. */
  readonly keptNodes?: Set<Address> | undefined;
  /** Called before anything is removed, with the nodes of the tree. */
  readonly onNodes?: ((nodes: readonly Address[]) => void) | undefined;
  readonly onRootRemoved?: (() => void) | undefined;
  /** Added to the result in JSON. */
  readonly details?: object | undefined;
}

/**
 * Removes a root and the blobs that belong to it, and prints the result.
 *
 * @throws Failure `usage` if the user does not agree, and `tree` if the root refers to blobs that do
 *   not belong to it, which are printed and stay
 */
export async function removeTree(
  opened: Pick<Store, "deleteTree">,
  address: string,
  removal: TreeRemoval,
  session: Session,
): Promise<void> {
  const { out } = session;
  const { blobs, skipped } = await deleteTree(opened, address, removal, session);
  const left = skipped === 0 ? "" : `; ${skipped} not deleted, because they do not belong to it`;
  const name = removal.printAddress ? `: ${address}` : "";
  await out.note(`removed ${count(blobs, "blob")}${name}${left}`);
  // The failure of one of several is reported as such.
  if (removal.meter === undefined || skipped === 0) {
    await out.report({ ...removal.details, address, blobs, skipped, removed: true });
  }
  if (skipped === 0) return;
  throw new Failure(
    "tree",
    `${skipped} of ${count(blobs + skipped, "blob")} do not belong to the tree and were not deleted`,
  );
}

async function deleteTree(
  opened: Pick<Store, "deleteTree">,
  address: string,
  { force, askAbove, effect = "", meter, keptNodes, onNodes, onRootRemoved }: TreeRemoval,
  session: Session,
): Promise<DeleteReport> {
  const { out, progress, signal } = session;
  using own = meter === undefined ? progress.start({ command: "rm", noun: "blob" }) : undefined;
  const update = meter?.part();
  let removed = 0;
  const queue = printQueue();
  try {
    return await opened.deleteTree(address, {
      force,
      signal,
      keptNodes,
      confirm: async ({ blobs, nodes }) => {
        onNodes?.(nodes);
        if (blobs > askAbove) {
          await confirmed(`the tree ${address} has ${count(blobs, "blob")}${effect}`, session);
        }
        own?.setTotals({ totalItems: blobs });
        return true;
      },
      onProgress({ blobs }) {
        if (removed === 0) onRootRemoved?.();
        removed = blobs;
        own?.itemDone();
        update?.({ bytes: 0, chunks: blobs });
      },
      onSkipped(skipped) {
        void queue.add(() => printSkipped(skipped, session));
      },
    });
  } catch (error) {
    own?.finish();
    if (removed > 0 && !out.json) {
      await out.note(
        `idk: ${count(removed, "blob")} of ${address} deleted, root first; the remaining chunks are ` +
          "unreachable and only take up space",
      );
    }
    throw error;
  } finally {
    await queue.settled();
  }
}

/** @throws Failure `usage` unless the user agrees */
async function confirmed(what: string, { signal }: Session): Promise<void> {
  const terminal = openTerminal(signal);
  if (terminal === undefined) {
    throw usage(`${what}: pass --yes to delete all of them without being asked`);
  }
  const answer = await terminal.ask(`${what}. Delete all of them? [y/N] `);
  if (!/^y(?:es)?$/iu.test(answer.trim())) throw usage("not confirmed: nothing was deleted");
}

const REASONS: Readonly<Record<SkippedBlob["reason"], string>> = {
  "not-a-chunk": "is a root or not a blob of idk, and no chunk of this tree",
  "other-key": "is a chunk of another tree: this tree does not have its key",
};

async function printSkipped(
  { address, reason }: SkippedBlob,
  { out }: Pick<Session, "out">,
): Promise<void> {
  await out.report({ skipped: true, address, reason });
  if (!out.json) await out.fault(`idk: not deleted: ${address} ${REASONS[reason]}`);
}
