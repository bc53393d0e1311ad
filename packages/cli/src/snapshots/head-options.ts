import type { HeadOptions } from "@idk/snapshots";
import { messageOf } from "../errors/failures.ts";
import { count } from "../output/text.ts";
import type { Session } from "../session.ts";
import { CLOSED_TO_OWNER } from "./check/steps.ts";
import { type OpenedRepository, ownsRepository } from "./opening/open-repository.ts";

/** Refused heads that are printed. Anyone who can write to the store can make up any number. */
const PRINTED_MAX = 8;
/** Heads for others that are counted. */
const COUNTED_MAX = 100_000;

export interface HeadReports {
  /** For every call that reads heads. */
  readonly options: HeadOptions & { readonly signal: AbortSignal };
  /** Prints how many more heads were refused since the last call. */
  finish(): Promise<void>;
}

/** What is said of a head that does not count, by the message of its error. */
export function refusedText(address: string, message: string): string {
  return message.includes(address) ? message : `the head ${address} does not count: ${message}`;
}

/** Reports heads that do not count, each once, and goes on with a rollback if that is accepted. */
export function headReports(
  { repository, identities }: Pick<OpenedRepository, "repository" | "identities">,
  { acceptRollback }: { readonly acceptRollback: boolean },
  { out, signal }: Session,
): HeadReports {
  const refused = new Set<string>();
  /** Sealed to others only. A reader who joined later finds many, so they are no warnings. */
  const closed = new Set<string>();
  let more = 0;
  let printed = Promise.resolve();
  return {
    options: {
      signal,
      acceptRollback,
      onRefused({ marker, error }) {
        if (refused.has(marker.address)) return;
        if (error.code === "no-match" && !out.json) {
          if (closed.size < COUNTED_MAX) closed.add(marker.address);
          return;
        }
        if (refused.size === PRINTED_MAX) {
          more += 1;
          return;
        }
        refused.add(marker.address);
        const message = messageOf(error);
        const text = refusedText(marker.address, message);
        const json = { head: marker.address, error: { code: error.code, message } };
        printed = printed
          .then(() => (out.json ? out.event({ refused: json }) : out.note(`idk: warning: ${text}`)))
          .catch(() => undefined);
      },
    },
    async finish() {
      await printed;
      const [others, unseen] = [closed.size, more];
      closed.clear();
      more = 0;
      if (others > 0) {
        const heads = `${count(others, "head")} ${others === 1 ? "is" : "are"}`;
        await out.note(
          ownsRepository(repository, identities)
            ? `idk: warning: ${heads} not for your identities, though you own the repository: ${CLOSED_TO_OWNER}`
            : `idk: note: ${heads} not for your identities, such as snapshots of before you were added`,
        );
      }
      if (unseen === 0 || out.json) return;
      await out.note(`idk: warning: ${count(unseen, "other head")} did not count`);
    },
  };
}
