import type { Store } from "@idk/storage";
import type { ListedSegment, ReadExchangesOptions, ReadFault } from "@idk/recorder/read";
import { moment } from "../config/times.ts";
import {
  identitySources,
  optional,
  passphrase,
  type SettingsOf,
  store,
  text,
} from "../config/settings.ts";
import { codeOf, Failure, type FailureCode, messageOf, worstOf } from "../errors/failures.ts";
import { loadIdentities } from "../keys/identities.ts";
import { printQueue } from "../output/print-queue.ts";
import { count, printable } from "../output/text.ts";
import type { Session } from "../session.ts";
import { openStore } from "../stores/open-store.ts";

/** The settings of every command that reads an archive. */
export const ARCHIVE = {
  store,
  identity: identitySources,
  passphrase,
  since: moment,
  until: moment,
};

/** The settings of those that read exchanges. */
export const EXCHANGES = {
  ...ARCHIVE,
  status: optional(text),
  route: optional(text),
  id: optional(text),
  grep: optional(text),
};

/** Opens the store of an archive with the identities. */
export async function openArchive(
  settings: SettingsOf<typeof ARCHIVE>,
  session: Session,
): Promise<Store> {
  const identities = await loadIdentities(settings, session);
  return openStore(settings.store, session, { identities });
}

/** The part of the options that comes from the command line. */
export function filterOf(
  settings: SettingsOf<typeof EXCHANGES>,
): Pick<ReadExchangesOptions, "from" | "to" | "status" | "route" | "id" | "grep"> {
  const { since: from, until: to, status, route, id, grep } = settings;
  return { from, to, status, route, id, grep };
}

/** Prints what cannot be read, and fails at the end. */
export interface Faults {
  readonly onFault: (fault: ReadFault) => void;
  /** @throws Failure if anything could not be read */
  finish(): Promise<void>;
}

export function createFaults({ out }: Session): Faults {
  const codes: FailureCode[] = [];
  const queue = printQueue();
  let nothingOpened: number | undefined;
  const print = (text: string, json: object): void =>
    void queue.add(() =>
      out.json ? out.event({ ok: false, ...json }) : out.fault(`idk: ${text}`),
    );
  return {
    onFault(fault) {
      switch (fault.kind) {
        case "damaged": {
          const [code, message] = [codeOf(fault.error), messageOf(fault.error)];
          codes.push(code);
          const { address } = fault;
          const named = message.includes(address) ? message : `${address}: ${message}`;
          return print(named, { address, error: { code, message } });
        }
        case "lines": {
          codes.push("format");
          const { address, count: lines } = fault;
          return print(
            `${address}: ${count(lines, "line")} ${lines === 1 ? "is not an exchange" : "are not exchanges"}`,
            { address, lines },
          );
        }
        case "closed":
          if (fault.opened === 0) nothingOpened = fault.count;
          else if (!out.json) {
            void queue.add(() =>
              out.note(`idk: ${count(fault.count, "root")} for other recipients left out`),
            );
          }
          return;
        default:
          fault satisfies never;
      }
    },
    async finish() {
      await out.flush();
      await queue.settled();
      if (codes.length > 0) {
        throw new Failure(
          worstOf(codes),
          `${count(codes.length, "segment")} could not be read completely`,
        );
      }
      if (nothingOpened !== undefined) {
        throw new Failure(
          "no-match",
          `none of your identities opens the ${count(nothingOpened, "root")} in the store; name another identity with -i`,
        );
      }
    },
  };
}

/** `2026-05-04 12:00:00.123`, in UTC. */
export function momentText(time: number | string): string {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return "-";
  return printable(date.toISOString().replace("T", " ").replace("Z", ""));
}

/** A segment as JSON. */
export function segmentJson({ address, metadata, storedBytes }: ListedSegment): object {
  return { address, storedBytes, ...metadata };
}
