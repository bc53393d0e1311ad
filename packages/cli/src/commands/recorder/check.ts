import { type ArchiveProblem, checkArchive, type RunReport } from "@idk/recorder/read";
import { command, type Command } from "../../command.ts";
import { codeOf, Failure, messageOf, worstOf } from "../../errors/failures.ts";
import { count } from "../../output/text.ts";
import { ARCHIVE, momentText, openArchive } from "../../recorder/archive.ts";

/** Reads an archive and prints what is missing or damaged. */
export const check: Command = command(ARCHIVE, async (settings, session) => {
  const { out, signal } = session;
  const { since: from, until: to } = settings;
  await using archive = await openArchive(settings, session);
  using meter = session.progress.start({ command: "recorder check", noun: "blob" });
  const report = await checkArchive(archive, { from, to, signal, onBlob: meter.itemDone });
  meter.finish();
  const { problems, runs, segments, exchanges, storedBytes, closed, other } = report;
  for (const run of runs) await out.result(runText(run), { ok: true, ...run });
  for (const problem of problems) {
    const [human, json] = described(problem);
    await out.result(human, { ok: false, problem: problem.kind, ...json });
  }
  const isWhole = problems.length === 0;
  await out.report({
    segments,
    exchanges,
    storedBytes,
    closed,
    other,
    runs: runs.length,
    problems: problems.length,
    ok: isWhole,
  });
  await out.flush();
  if (!out.json) {
    await out.note(
      `checked ${count(segments, "segment")} of ${count(runs.length, "run")}: ` +
        count(exchanges, "exchange") +
        (closed > 0 ? `; and ${count(closed, "root")} for other recipients` : ""),
    );
    if (isWhole && segments > 0) await out.note("no segment is damaged or missing between others");
  }
  if (isWhole) {
    if (segments > 0 || closed === 0) return;
    throw new Failure(
      "no-match",
      "none of your identities opens a segment; name another identity with -i",
    );
  }
  const codes = problems.map((problem) =>
    problem.kind === "damaged" ? codeOf(problem.error) : "format",
  );
  throw new Failure(worstOf(codes), `check found ${count(problems.length, "problem")}`);
});

function runText(run: RunReport): string {
  const { totals, lost, end, firstSeq } = run;
  const dropped = Object.entries(totals.dropped);
  const sum = dropped.reduce((all, [, each]) => all + each, 0);
  const reasons = dropped.map(([reason, each]) => `${reason} ${each}`).join(", ");
  return [
    `run ${run.run.slice(0, 12)}  ${momentText(run.from)} to ${momentText(run.to)}`,
    count(run.segments, "segment"),
    count(run.exchanges, "exchange"),
    ...(firstSeq > 0 ? [`from segment ${firstSeq} on`] : []),
    ...(sum > 0 ? [`${sum} dropped (${reasons})`] : []),
    ...(totals.bodiesDropped > 0 ? [`${totals.bodiesDropped} without bodies`] : []),
    ...(lost > 0 ? [`${lost} lost`] : []),
    end,
  ].join(", ");
}

function described(problem: ArchiveProblem): [human: string, json: object] {
  switch (problem.kind) {
    case "damaged": {
      const { address, error } = problem;
      const [code, message] = [codeOf(error), messageOf(error)];
      return [`damaged    ${address}: ${message}`, { address, error: { code, message } }];
    }
    case "lines": {
      const { kind: _, ...rest } = problem;
      return [
        `lines      ${rest.address}: announces ${rest.announced}, has ${rest.count}, ${rest.damaged} damaged`,
        rest,
      ];
    }
    case "gap": {
      const { kind: _, ...rest } = problem;
      const missing = rest.to - rest.from + 1;
      return [
        `missing    ${rest.run.slice(0, 12)}/${rest.from}${missing === 1 ? "" : ` to ${rest.to}`}: ` +
          `${count(missing, "segment")} between others`,
        { ...rest, missing },
      ];
    }
    case "chain": {
      const { kind: _, ...rest } = problem;
      return [
        `replaced   ${rest.run.slice(0, 12)}/${rest.seq - 1}: ${rest.address} follows another segment`,
        rest,
      ];
    }
    case "duplicate": {
      const { kind: _, ...rest } = problem;
      return [
        `duplicate  ${rest.run.slice(0, 12)}/${rest.seq}: ${rest.addresses.join(" and ")}`,
        rest,
      ];
    }
    default:
      return problem satisfies never;
  }
}
