import {
  forget as forgetHeads,
  forgottenIn,
  type FoundSnapshot,
  type HeadOptions,
  type RefusedHead,
  type Repository,
  type RetentionPolicy,
  unforget as unforgetHeads,
} from "@idk/snapshots";
import { command, type Command } from "../../command.ts";
import {
  addresses,
  field,
  flag,
  optional,
  recipients,
  snapshots,
  tagLists,
  text,
  texts,
} from "../../config/settings.ts";
import { Failure, usage } from "../../errors/failures.ts";
import { count, printable } from "../../output/text.ts";
import { identityText, timeText } from "../../snapshots/entries.ts";
import { headReports } from "../../snapshots/head-options.ts";
import { openToForget, OWNING } from "../../snapshots/opening/open-repository.ts";
import { parseCount, parseSpan } from "../../snapshots/policy.ts";
import { resolve } from "../../snapshots/resolve.ts";
import { readersOf } from "../../snapshots/opening/readers.ts";
import { pruneRepository } from "./prune.ts";

type Marker = RefusedHead["marker"];

const keepCount = optional(field(parseCount));

/** Forgets snapshots that a policy does not keep, or those that are named. */
export const forget: Command = command(
  {
    ...OWNING,
    recipients,
    snapshot: snapshots,
    keepLast: keepCount,
    keepHourly: keepCount,
    keepDaily: keepCount,
    keepWeekly: keepCount,
    keepMonthly: keepCount,
    keepYearly: keepCount,
    keepWithin: optional(field(parseSpan)),
    keepTag: tagLists,
    head: addresses,
    refused: flag,
    name: texts,
    hostTimes: flag,
    message: optional(text),
    dryRun: flag,
    prune: flag,
    acceptRollback: flag,
  },
  async (settings, session) => {
    const { out } = session;
    const { dryRun, name: names, hostTimes, message } = settings;
    const policy = policyOf(settings);
    const { refused } = settings;
    const isNamed = settings.snapshot.length + settings.head.length > 0 || refused;
    if (policy === undefined && !isNamed) {
      throw usage("name snapshots, or pass rules such as --keep-daily 7 --keep-weekly 4");
    }
    if (policy !== undefined && isNamed) {
      throw usage("name snapshots or pass --keep rules, not both");
    }
    if (isNamed && (names.length > 0 || hostTimes)) {
      const given = names.length > 0 ? "--name" : "--host-times";
      throw usage(
        `${given} applies to rules such as --keep-daily, not to snapshots that are named`,
      );
    }
    await using opened = await openToForget(settings, session);
    const { repository } = opened;
    const reports = headReports(opened, settings, session);
    const isForgotten = forgottenIn(repository, reports.options);
    const found: FoundSnapshot[] = [];
    const already: FoundSnapshot[] = [];
    for (const each of settings.snapshot) {
      const one = await resolve(repository, each, { ...reports.options, isForgotten });
      ((await isForgotten(one)) ? already : found).push(one);
    }
    const report = await forgetHeads(repository, {
      ...reports.options,
      ...(policy === undefined ? { snapshots: [...found, ...already] } : { policy }),
      markers: await refusedHeads(repository, settings.head, reports.options),
      refused,
      ...(names.length > 0 && { names }),
      ...(message !== undefined && { message }),
      times: hostTimes ? "head" : "store",
      recipients: await readersOf(settings.recipients, opened.identities),
      dryRun,
    });
    await reports.finish();
    for (const { name, isClosed, decisions } of report.chains) {
      const kept = decisions.filter(({ reasons }) => reasons.length > 0).length;
      if (!out.json) {
        await out.result(
          `${printable(name)}${isClosed ? " (closed)" : ""}: ` +
            `${count(decisions.length, "snapshot")}, ${kept} kept`,
          undefined,
        );
      }
      for (const { snapshot, reasons } of decisions) {
        const { marker, head } = snapshot;
        const isKept = reasons.length > 0;
        await out.result(
          `  ${isKept ? "keep  " : "forget"}  ${marker.address.slice(0, 12)}  ${timeText(head.time)}` +
            (isKept ? `  ${reasons.join(", ")}` : ""),
          {
            snapshot: marker.address,
            name,
            time: head.time,
            storedAt: snapshot.storedAt,
            forgotten: !isKept,
            reasons,
          },
        );
      }
    }
    const forgotten = report.forgotten.length;
    await out.report({
      command: "forget",
      forgotten: report.forgotten.map(({ address }) => address),
      ...(already.length > 0 && { already: already.map(({ marker }) => marker.address) }),
      dryRun,
    });
    await out.flush();
    if (!out.json) {
      for (const each of already) await out.note(`idk: ${identityText(each)} is already forgotten`);
      for (const each of found) {
        await out.note(`${dryRun ? "would forget" : "forgot"} ${identityText(each)}`);
      }
      const isOfHeads = policy === undefined && settings.snapshot.length === 0;
      const what = count(forgotten, isOfHeads ? "head" : "snapshot");
      await out.note(dryRun ? `would forget ${what}` : `forgot ${what}`);
      if (!dryRun && forgotten > 0 && !settings.prune) {
        await out.note(
          "idk: `idk prune` deletes the data that only they need, a grace period later; until then, `idk unforget` brings them back",
        );
      }
    }
    if (settings.prune)
      await pruneRepository(opened, { dryRun, acceptLost: false }, reports, session);
  },
);

/** Takes forgetting back, as long as nothing was pruned. */
export const unforget: Command = command(
  {
    ...OWNING,
    recipients,
    snapshot: snapshots,
    message: optional(text),
    late: flag,
    dryRun: flag,
    acceptRollback: flag,
  },
  async (settings, session) => {
    const { out } = session;
    const { dryRun, message, late } = settings;
    if (settings.snapshot.length === 0) {
      throw usage("name the snapshots: `idk snapshots --all` lists forgotten ones");
    }
    await using opened = await openToForget(settings, session);
    const { repository } = opened;
    const reports = headReports(opened, settings, session);
    const found: FoundSnapshot[] = [];
    for (const each of settings.snapshot) {
      found.push(await resolve(repository, each, reports.options));
    }
    const { unforgotten } = await unforgetHeads(repository, found, {
      ...reports.options,
      ...(message !== undefined && { message }),
      recipients: await readersOf(settings.recipients, opened.identities),
      noPruneRuns: late,
      dryRun,
    });
    await reports.finish();
    const addresses = unforgotten.map(({ address }) => address);
    const verb = dryRun ? "would bring back" : "brought back";
    const isBack = new Set<string>(addresses);
    if (!out.json) {
      for (const each of found) {
        const isChanged = isBack.has(each.marker.address);
        const text = identityText(each);
        await out.note(isChanged ? `${verb} ${text}` : `idk: ${text} is not forgotten`);
      }
    }
    await out.result(`${verb} ${count(addresses.length, "snapshot")}`, {
      unforgotten: addresses,
      dryRun,
    });
  },
);

/**
 * The markers of heads that do not count, at which a prune ends until their owner forgets them.
 *
 * @throws Failure `not-found` if there is none of these addresses; `usage` if there are several
 */
async function refusedHeads(
  repository: Repository,
  given: readonly string[],
  options: HeadOptions,
): Promise<Marker[]> {
  if (given.length === 0) return [];
  // One head can have several markers.
  const found = new Map<string, Marker[]>(given.map((each) => [each, []]));
  const onRefused: HeadOptions["onRefused"] = ({ marker }) => {
    for (const [each, markers] of found) if (marker.address.startsWith(each)) markers.push(marker);
  };
  for await (const _ of repository.heads({ ...options, onRefused }));
  for (const [each, markers] of found) {
    if (markers.length === 0) {
      throw new Failure("not-found", `there is no head ${each} that does not count`);
    }
    const [first, ...others] = new Set(markers.map(({ address }) => address));
    if (others.length > 0) {
      throw usage(`${each} is ambiguous: ${[first, ...others].join(" and ")} begin with it`);
    }
  }
  return [...found.values()].flat();
}

interface KeepSettings {
  readonly keepLast: number | undefined;
  readonly keepHourly: number | undefined;
  readonly keepDaily: number | undefined;
  readonly keepWeekly: number | undefined;
  readonly keepMonthly: number | undefined;
  readonly keepYearly: number | undefined;
  readonly keepWithin: RetentionPolicy["within"] | undefined;
  readonly keepTag: readonly (readonly string[])[];
}

function policyOf(settings: KeepSettings): RetentionPolicy | undefined {
  const { keepLast, keepHourly, keepDaily, keepWeekly, keepMonthly, keepYearly } = settings;
  const { keepWithin, keepTag } = settings;
  const policy: RetentionPolicy = {
    ...(keepLast !== undefined && { last: keepLast }),
    ...(keepHourly !== undefined && { hourly: keepHourly }),
    ...(keepDaily !== undefined && { daily: keepDaily }),
    ...(keepWeekly !== undefined && { weekly: keepWeekly }),
    ...(keepMonthly !== undefined && { monthly: keepMonthly }),
    ...(keepYearly !== undefined && { yearly: keepYearly }),
    ...(keepWithin !== undefined && { within: keepWithin }),
    ...(keepTag.length > 0 && { tags: keepTag }),
  };
  return Object.keys(policy).length === 0 ? undefined : policy;
}
