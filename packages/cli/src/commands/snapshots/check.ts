import {
  check as checkRepository,
  type CheckProblem,
  isHarmless,
  recover as recoverHeads,
  type RecoverReport,
} from "@idk/snapshots";
import { command, type Command } from "../../command.ts";
import { choice, flag, optional, optionalValue } from "../../config/settings.ts";
import { Failure, messageOf, usage } from "../../errors/failures.ts";
import { printQueue } from "../../output/print-queue.ts";
import { count, printable } from "../../output/text.ts";
import type { Session } from "../../session.ts";
import { pathJson, pathText, timeText } from "../../snapshots/entries.ts";
import {
  openForReading,
  ownsRepository,
  READING,
} from "../../snapshots/opening/open-repository.ts";
import { findings, isClosed } from "../../snapshots/check/steps.ts";
import { checkFailure, describeCheck } from "../../snapshots/check/summary.ts";
import { refusedText } from "../../snapshots/head-options.ts";
import { parseShare } from "../../snapshots/policy.ts";
import { stageMeter } from "../../snapshots/progress/stages.ts";
import { type CheckShard, checkShard } from "../../shards/check.ts";
import { partOf, SHARDING } from "../../shards/settings.ts";
import { startReading } from "./open.ts";

/** `--read-data` alone reads all. */
const readData = optional(optionalValue("100%", parseShare));

/** Checks the whole repository. */
export const check: Command = command(
  {
    ...READING,
    readData,
    deleteDamaged: flag,
    serverChecksums: choice,
    acceptRollback: flag,
    ...SHARDING,
  },
  async (settings, session) => {
    const { out } = session;
    const { readData: share = 0, deleteDamaged, serverChecksums = true } = settings;
    const part = partOf(settings);
    if (part !== undefined && deleteDamaged) {
      throw usage("--delete-damaged needs all of the store: omit --shard");
    }
    if (part !== undefined && share > 0 && share < 1) {
      // A run that continues would choose other packs, and might not read one that was found damaged.
      throw usage("with --shard, --read-data reads all packs: omit the percentage");
    }
    if (deleteDamaged && share === 0) {
      throw usage("--delete-damaged applies to the packs that --read-data reads");
    }
    const run = async (checking?: CheckShard): Promise<void> => {
      await using reading = await startReading(settings, session);
      using stages = stageMeter("check", session);
      const { repository, identities } = reading.opened;
      const found = findings({ isOwner: ownsRepository(repository, identities) });
      let closed = 0;
      const queue = printQueue();
      const report = await checkRepository(repository, {
        ...reading.reports.options,
        // It reports each as a problem.
        onRefused: undefined,
        readData: share,
        deleteDamaged,
        checksums: serverChecksums,
        ...checking?.options,
        onProgress: stages.onProgress,
        onProblem: (problem) => {
          found.add(problem);
          checking?.add(problem, described(problem)[0]);
          if (isClosed(problem)) closed += 1;
          // A reader that was added later cannot open any of the earlier ones, which may be many.
          if (closed > CLOSED_PRINTED_MAX && isClosed(problem) && !out.json) return;
          void queue.add(() => print(problem, session));
        },
      });
      stages.finish();
      await queue.settled();
      const { chains: _, problems, isSound, ...counted } = report;
      const steps = found.steps();
      if (checking !== undefined) {
        await checking.finish(report, found.counts);
        if (!out.json) for (const step of steps) await out.fault(`idk: next: ${step}`);
        return;
      }
      await out.report({ ...counted, problems, ok: isSound, next: steps });
      await out.flush();
      if (!out.json) await out.note(describeCheck(counted));
      const failure = checkFailure(found.counts);
      if (failure === undefined) {
        if (!out.json) await out.note("no problems found");
        return;
      }
      // With --quiet, too: they belong to the error.
      if (!out.json) for (const step of steps) await out.fault(`idk: next: ${step}`);
      throw failure;
    };
    if (part === undefined) return run();
    await checkShard(part, settings.store, { readData: share, serverChecksums }, run, session);
  },
);

/** Problems that are records for other identities, of which the rest is only counted. */
const CLOSED_PRINTED_MAX = 8;

async function print(problem: CheckProblem, { out }: Session): Promise<void> {
  const [human, json] = described(problem);
  await out.result(human, { ok: isHarmless(problem), problem: problem.kind, ...json });
  await out.flush();
}

function described(problem: CheckProblem): [human: string, json: object] {
  const failure = (error: { readonly code: string } & Error) => ({
    error: { code: error.code, message: messageOf(error) },
  });
  switch (problem.kind) {
    case "head": {
      const { marker, error } = problem;
      return [
        isClosed(problem)
          ? `the head ${marker.address} is not for your identities`
          : refusedText(marker.address, messageOf(error)),
        { head: marker.address, ...failure(error) },
      ];
    }
    case "fork": {
      const { name, heads, isJoined } = problem;
      const addresses = heads.map(({ marker }) => marker.address);
      const short = addresses.map((address) => address.slice(0, 12)).join(" and ");
      const text =
        name === "" && !isJoined
          ? `settings ${short} do not know of each other, so what one of them changed is not in force`
          : `note: ${short} of ${printable(JSON.stringify(name))} do not know of each other${isJoined ? " (joined since)" : ""}`;
      return [text, { name, heads: addresses, joined: isJoined }];
    }
    case "record": {
      const { found, error } = problem;
      return [`${named(found)}: ${messageOf(error)}`, { ...ofHead(found), ...failure(error) }];
    }
    case "key": {
      const { found, session, error } = problem;
      return [
        `${named(found)}: its key of the session ${session}: ${messageOf(error)}`,
        { ...ofHead(found), session, ...failure(error) },
      ];
    }
    case "reach": {
      const { found, lacking, surplus } = problem;
      return [
        lacking > 0
          ? `${named(found)}: its list of packs lacks ${lacking}`
          : `note: ${named(found)}: its list of packs has ${surplus} that it does not need`,
        { ...ofHead(found), lacking, surplus },
      ];
    }
    case "part": {
      const { found, missing } = problem;
      return [
        `${named(found)}: ${count(missing, "pack")} of an unfinished backup ${missing === 1 ? "is" : "are"} missing; it stores them again`,
        { ...ofHead(found), missing },
      ];
    }
    case "tree": {
      const { found, path, error } = problem;
      return [
        `${named(found)}: ${pathText(path)} and all below it: ${messageOf(error)}`,
        { ...ofHead(found), path: pathJson(path), ...failure(error) },
      ];
    }
    case "pack": {
      const { address, error, isDeleted } = problem;
      return [
        `pack ${address}: ${messageOf(error)}${isDeleted ? " (deleted)" : ""}`,
        { pack: address, deleted: isDeleted, ...failure(error) },
      ];
    }
    case "file": {
      const { found, path, pack } = problem;
      return [
        `${named(found)}: ${pathText(path)} needs the pack ${pack}`,
        { ...ofHead(found), path: pathJson(path), pack },
      ];
    }
    default:
      return problem satisfies never;
  }
}

type Found = RecoverReport["recovered"][number];

/** Of heads in chains whose names are reserved. */
const NAMES: Readonly<Record<string, string>> = {
  repo: "(settings)",
  forget: "(forgetting)",
  unforget: "(forgetting)",
  keys: "(keys)",
};

function named({ marker, head }: Found): string {
  const name = NAMES[head.kind] ?? printable(head.name);
  return `${marker.address.slice(0, 12)} ${name} of ${timeText(head.time)}`;
}

function ofHead({ marker, head }: Found): object {
  return { snapshot: marker.address, name: head.name };
}

/** Writes the markers of snapshots that lost theirs. */
export const recover: Command = command({ ...READING, dryRun: flag }, async (settings, session) => {
  const { out, signal } = session;
  const { dryRun } = settings;
  await using opened = await openForReading(settings, session);
  using stages = stageMeter("recover", session);
  const report = await recoverHeads(opened.repository, {
    dryRun,
    signal,
    onProgress: stages.onProgress,
  });
  stages.finish();
  const { recovered, opened: blobs } = report;
  const lost = [...report.lost, ...report.refused];
  for (const found of recovered) {
    await out.result(`${dryRun ? "would recover" : "recovered"}  ${named(found)}`, {
      ...ofHead(found),
      recovered: true,
    });
  }
  for (const { found, error } of lost) {
    const message = messageOf(error);
    await out.result(`lost  ${named(found)}: ${message}`, {
      ...ofHead(found),
      recovered: false,
      error: { code: error.code, message },
    });
  }
  await out.report({ opened: blobs, recovered: recovered.length, lost: lost.length, dryRun });
  await out.flush();
  if (!out.json) {
    await out.note(
      `scanned ${count(blobs, "blob")}: ${count(recovered.length, "head")} ${dryRun ? "to recover" : "recovered"}, ` +
        `${lost.length} lost`,
    );
  }
  if (lost.length === 0) return;
  const copy =
    report.lost.length > 0 ? ": `idk copy` brings back what a copy of the store has" : "";
  throw new Failure("head", `${count(lost.length, "head")} cannot be recovered${copy}`);
});
