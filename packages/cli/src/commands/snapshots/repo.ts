import {
  allowWriter,
  changeSettings,
  close,
  createRepository,
  type FoundSettings,
  GRACE_DEFAULT,
  type HeadOptions,
  matchesPattern,
  parseWriter,
  type PinnedRepository,
  type Repository,
  revokeWriter,
} from "@idk/snapshots";
import { isStoreName } from "../../config/config.ts";
import { formatPeriod, parsePeriod } from "../../config/times.ts";
import { field, flag, optional, recipients, text, texts } from "../../config/settings.ts";
import { command, type Command } from "../../command.ts";
import { Failure, usage } from "../../errors/failures.ts";
import { loadIdentities } from "../../keys/identities.ts";
import { quotedWord } from "../../output/secrets.ts";
import { aligned, printable, type Row } from "../../output/text.ts";
import type { Session } from "../../session.ts";
import { timeText } from "../../snapshots/entries.ts";
import { headReports } from "../../snapshots/head-options.ts";
import {
  closingOnError,
  openAsOwner,
  type OpenedRepository,
  openLocation,
  OWNING,
  opened as openedWith,
  ownerKey,
  type OwningSettings,
  READING,
} from "../../snapshots/opening/open-repository.ts";
import { addPins, tableOf } from "../../snapshots/opening/pins.ts";
import { readersOf } from "../../snapshots/opening/readers.ts";
import { startReading } from "./open.ts";

/** Makes the repository of a store, without a backup. */
export const repoInit: Command = command(
  { ...OWNING, recipients, gracePeriod: optional(field(parsePeriod)) },
  async (settings, session) => {
    const { out, signal } = session;
    const identities = await loadIdentities(settings, session);
    const owner = await ownerKey(settings, identities, session);
    const to = await readersOf(settings.recipients, identities);
    if (settings.repository.pins !== undefined) {
      throw usage(
        "the configuration already has a repository for this store; `idk repo show` prints it",
      );
    }
    const { gracePeriod: graceSeconds = GRACE_DEFAULT } = settings;
    const backend = await openLocation(settings.store, session);
    await closingOnError(backend, async () => {
      const pinned = await createRepository({
        backend,
        owner,
        recipients: to,
        graceSeconds,
        signal,
      });
      const { table, env } = settings.repository;
      if (table !== undefined) await addPins(table, { pinned }, env);
      const parts = { backend, pinned, identities, writer: owner };
      await using opened = await openedWith(settings, parts, session);
      await show(opened, await opened.repository.settings({ signal }), settings, session);
      await out.flush();
      if (table !== undefined) await out.note(`idk: added the repository to ${table.config}`);
    });
  },
);

/** Shows the settings of the repository, and what others put into their configuration. */
export const repoShow: Command = command(
  { ...READING, acceptRollback: flag },
  async (settings, session) => {
    await using reading = await startReading(settings, session);
    const { opened, reports } = reading;
    const found = await opened.repository.settings(reports.options);
    await show(opened, found, settings, session);
  },
);

/** Lets a writer write snapshots. */
export const repoAllow: Command = command(
  {
    ...OWNING,
    recipients,
    writer: text,
    names: texts,
    forget: flag,
    acceptRollback: flag,
  },
  async (settings, session) => {
    const { names, forget: mayForget } = settings;
    if (names.length === 0) {
      throw usage("name the snapshots that it may write with --names, such as --names 'web1/*'");
    }
    const writer = parseWriter(settings.writer);
    const given = names.map((pattern) => ({ writer, pattern, mayForget }));
    const { pinned, found } = await changing(settings, session, (repository, to, options) =>
      allowWriter(repository, to, given, options),
    );
    const { out } = session;
    const { graceSeconds, rules } = found.head.settings;
    const patterns = rules.flatMap((rule) =>
      rule.writer === writer && rule.lastGeneration === null ? [rule.pattern] : [],
    );
    const table = tableOf(storeNameOf(settings), {
      pinned: { ...pinned, graceSeconds },
      writer: "/etc/idk-backup/writer.key",
      names: [...new Set(patterns)],
    });
    await out.result(table.trimEnd(), settingsJson(pinned, found));
    await out.flush();
    if (out.json) return;
    const list = names.map((name) => JSON.stringify(name)).join(", ");
    await out.note(`idk: ${writer} may write ${list}${mayForget ? ", and forget them" : ""}`);
    await out.note(
      "idk: add this table to the configuration of its host, below the store's, with the path of its key as writer",
    );
  },
);

/** Ends the rights of a writer. What it wrote stays. */
export const repoRevoke: Command = command(
  { ...OWNING, recipients, writer: text, acceptRollback: flag },
  async (settings, session) => {
    const writer = parseWriter(settings.writer);
    const { out } = session;
    const { pinned, found } = await changing(settings, session, (repository, to, options) =>
      revokeWriter(repository, to, writer, options),
    );
    await out.result(aligned(settingsRows(pinned, found)).join("\n"), settingsJson(pinned, found));
    await out.flush();
    if (out.json) return;
    await out.note(`idk: ${writer} cannot write snapshots any more; those that it wrote stay`);
    await out.note(
      "idk: stop its backups and delete its credentials: snapshots that it still stores are ignored, and stop `idk prune` until `idk forget --head` forgets them",
    );
  },
);

/** Closes names: nobody writes to them any more, so that their newest snapshots can be forgotten. */
export const repoClose: Command = command(
  { ...OWNING, recipients, pattern: text, acceptRollback: flag },
  async (settings, session) => {
    const { pattern } = settings;
    const { out } = session;
    const names = new Set<string>();
    const { pinned, found } = await changing(settings, session, async (repository, to, options) => {
      // What is there stays, also what is ahead of the store's time.
      let last = 0;
      for await (const { head } of repository.heads(options)) {
        if (head.kind !== "snap" && head.kind !== "part") continue;
        if (!matchesPattern(pattern, head.name)) continue;
        names.add(head.name);
        last = Math.max(last, head.generation);
      }
      if (names.size === 0) {
        throw new Failure("not-found", `no snapshot has the name ${quotedWord(pattern)}`);
      }
      const add = (now: Settings, time: number) => close(now, pattern, Math.max(time, last));
      return changeSettings(repository, to, add, options);
    });
    await out.result(aligned(settingsRows(pinned, found)).join("\n"), {
      ...settingsJson(pinned, found),
      names: [...names],
    });
    await out.flush();
    if (out.json) return;
    const list = [...names].map((name) => printable(JSON.stringify(name))).join(", ");
    await out.note(`idk: closed ${list}: nobody can write snapshots of this name any more`);
    await out.note(
      "idk: stop its backups: snapshots that they still store are ignored, and stop `idk prune` until `idk forget --head` forgets them",
    );
  },
);

/** Makes the grace period longer. */
export const repoGracePeriod: Command = command(
  { ...OWNING, recipients, period: field(parsePeriod), acceptRollback: flag },
  async (settings, session) => {
    const { period: graceSeconds } = settings;
    const { out } = session;
    const longer = (now: Settings) => ({ ...now, graceSeconds });
    const { pinned, found } = await changing(settings, session, (repository, to, options) =>
      changeSettings(repository, to, longer, options),
    );
    await out.result(aligned(settingsRows(pinned, found)).join("\n"), settingsJson(pinned, found));
  },
);

type Settings = FoundSettings["head"]["settings"];

type ChangingSettings = OwningSettings & {
  readonly recipients: Parameters<typeof readersOf>[0];
  readonly acceptRollback: boolean;
};

interface Changed {
  readonly pinned: PinnedRepository;
  readonly found: FoundSettings;
}

/** Does what changes the settings of the repository, which is open as its owner. */
async function changing(
  settings: ChangingSettings,
  session: Session,
  work: (
    repository: Repository,
    recipients: readonly string[],
    options: HeadOptions,
  ) => Promise<FoundSettings>,
): Promise<Changed> {
  await using opened = await openAsOwner(settings, session);
  const reports = headReports(opened, settings, session);
  const to = await readersOf(settings.recipients, opened.identities);
  const found = await work(opened.repository, to, reports.options);
  await reports.finish();
  return { pinned: opened.repository.pinned, found };
}

/** The name of the store in the configuration, as an example if it has none. */
function storeNameOf({ repository: { table } }: Pick<OwningSettings, "repository">): string {
  return table !== undefined && isStoreName(table.store) ? table.store : "NAME";
}

/** Prints the settings, and the table that others put into their configuration. */
async function show(
  { repository: { pinned } }: OpenedRepository,
  found: FoundSettings,
  settings: Pick<OwningSettings, "repository">,
  { out }: Session,
): Promise<void> {
  const { graceSeconds } = found.head.settings;
  const table = tableOf(storeNameOf(settings), { pinned: { ...pinned, graceSeconds } });
  const rows = aligned(settingsRows(pinned, found)).join("\n");
  await out.result(`${rows}\n\n${table.trimEnd()}`, settingsJson(pinned, found));
}

function settingsRows(
  { repository, owner }: PinnedRepository,
  { head, storedAt }: FoundSettings,
): Row[] {
  const { graceSeconds, rules } = head.settings;
  return [
    ["repository", repository],
    ["owner", owner],
    ["grace period", formatPeriod(graceSeconds)],
    ["settings", `of ${timeText(storedAt)} UTC`],
    ...rules.map(({ writer, pattern, mayForget, lastGeneration }): Row => {
      const until = lastGeneration === null ? "" : `, until ${timeText(lastGeneration)} UTC`;
      const name = printable(JSON.stringify(pattern));
      if (writer === null) return ["closed", `${name}${until}`];
      return ["writer", `${writer}  ${name}${mayForget ? ", may forget" : ""}${until}`];
    }),
  ];
}

function settingsJson(
  { repository, owner }: PinnedRepository,
  { head, storedAt }: FoundSettings,
): object {
  return { repository, owner, storedAt, ...head.settings };
}
