import { matchesPattern, type OpenSnapshot, openSnapshot } from "@idk/snapshots";
import { command, type Command } from "../../command.ts";
import { field, flag, optional, tagLists, text } from "../../config/settings.ts";
import { Failure } from "../../errors/failures.ts";
import { quotedWord } from "../../output/secrets.ts";
import type { Output } from "../../output/output.ts";
import { count, foreign, printable, roundBytes } from "../../output/text.ts";
import { contentJson, pathText, rootless, timeText } from "../../snapshots/entries.ts";
import { type ListedSnapshot, listHeads } from "../../snapshots/listing.ts";
import { READING } from "../../snapshots/opening/open-repository.ts";
import { parseCount } from "../../snapshots/policy.ts";
import { startReading } from "./open.ts";

/** Lists snapshots, the oldest first, so that the newest is above the prompt. */
export const snapshots: Command = command(
  {
    ...READING,
    name: optional(text),
    tag: tagLists,
    latest: optional(field(parseCount)),
    long: flag,
    all: flag,
    acceptRollback: flag,
  },
  async (settings, session) => {
    const { name, tag, latest, long, all } = settings;
    const { out } = session;
    await using reading = await startReading(settings, session);
    const { repository } = reading.opened;
    const listed = await listHeads(repository, reading.reports.options);
    const counts = new Map<string, number>();
    const shown = listed.snapshots
      .filter(({ found: { head }, isForgotten }) => {
        if (name !== undefined && !matchesPattern(name, head.name)) return false;
        if (tag.length > 0 && !tag.some((all) => all.every((each) => head.tags.includes(each)))) {
          return false;
        }
        if (isForgotten && !all) return false;
        // Those of a name are newest first.
        const newer = counts.get(head.name) ?? 0;
        counts.set(head.name, newer + 1);
        return latest === undefined || newer < latest;
      })
      .toSorted((a, b) => a.found.head.generation - b.found.head.generation);
    for (const [index, each] of shown.entries()) {
      const opened = long
        ? await openSnapshot(repository, each.found, reading.reports.options)
        : undefined;
      const header = index === 0 && out.terminal ? `${HEADER}\n` : "";
      await out.result(header + line(each, opened), snapshotJson(each, opened));
    }
    await out.flush();
    for (const { name: chain, addresses, isJoined } of listed.forks) {
      if (name === undefined || matchesPattern(name, chain))
        await reportFork(out, chain, addresses, isJoined);
    }
    if (shown.length === 0 && (name !== undefined || tag.length > 0)) {
      const what = [
        ...(name === undefined ? [] : [`the name ${quotedWord(name)}`]),
        ...(tag.length === 0 ? [] : [`the tags ${tagsText(tag)}`]),
      ];
      throw new Failure("not-found", `no snapshot has ${what.join(" and ")}`);
    }
    if (!out.json) await out.note(count(shown.length, "snapshot"));
  },
);

/** `home,weekly or trip`, as it was given. */
function tagsText(lists: readonly (readonly string[])[]): string {
  return lists.map((list) => quotedWord(list.join(","))).join(" or ");
}

const DIGITS = 12;
const TIME_WIDTH = 19;
const HEADER = ["SNAPSHOT".padEnd(DIGITS), "TIME (UTC)".padEnd(TIME_WIDTH), "NAME"].join("  ");
const SHOWN_MAX = 100;

function line({ found, isForgotten }: ListedSnapshot, opened: OpenSnapshot | undefined): string {
  const { head, marker } = found;
  const notes = [
    ...(head.tags.length === 0 ? [] : [`[${foreign(head.tags.join(", "), SHOWN_MAX)}]`]),
    ...(head.message === null ? [] : [foreign(head.message, SHOWN_MAX)]),
    ...(isForgotten ? ["(forgotten)"] : []),
  ];
  const first = [
    marker.address.slice(0, DIGITS),
    timeText(head.time).padEnd(TIME_WIDTH),
    printable(head.name),
    ...notes,
  ].join("  ");
  if (opened === undefined) return first;
  const { host, user, paths, totals } = opened.snapshot;
  const indent = " ".repeat(DIGITS + 2);
  return [
    first,
    `${indent}${count(totals.files, "file")}, ${roundBytes(totals.bytes)}; ` +
      `${roundBytes(totals.newBytes)} new, ${roundBytes(totals.storedBytes)} stored` +
      (totals.errors === 0 ? "" : `; ${totals.errors} could not be read`),
    `${indent}by ${foreign(user, SHOWN_MAX)} on ${foreign(host, SHOWN_MAX)}: ` +
      foreign(paths.map((path) => pathText(rootless(path))).join(" ")),
  ].join("\n");
}

function snapshotJson(
  { found, isForgotten }: ListedSnapshot,
  opened: OpenSnapshot | undefined,
): object {
  const { head, marker, storedAt } = found;
  return {
    snapshot: marker.address,
    name: head.name,
    time: head.time,
    storedAt,
    writer: head.writer,
    tags: head.tags,
    message: head.message,
    previous: head.previous,
    ...(isForgotten && { forgotten: true }),
    ...(opened && contentJson(opened.snapshot)),
  };
}

async function reportFork(
  out: Output,
  name: string,
  addresses: readonly string[],
  isJoined: boolean,
): Promise<void> {
  if (out.json) {
    await out.event({ fork: { name, heads: addresses, joined: isJoined } });
    return;
  }
  const heads = addresses.map((address) => address.slice(0, DIGITS)).join(" and ");
  await out.note(
    `idk: warning: ${heads} of ${JSON.stringify(name)} do not know of each other${isJoined ? " (joined since)" : ""}: ` +
      "two hosts wrote under one name, or the store hid one from the other",
  );
}
