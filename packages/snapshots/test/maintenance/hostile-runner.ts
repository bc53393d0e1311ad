/**
 * Runs prune, check, forget or recover over a repository in a folder, and prints what came of it and the most memory
 * that it took, in bytes. Usage: bun hostile-runner.ts FOLDER IDENTITY PINNED COMMAND
 */
import { type StorageError, parseIdentity } from "@idk/storage";
import { check } from "../../src/maintenance/check/check.ts";
import { forget } from "../../src/maintenance/forget/forget.ts";
import { filesystem } from "@idk/storage/filesystem";
import { openRepository } from "../../src/repository/open.ts";
import { ownerKeyOf } from "../../src/format/keys/writer.ts";
import { prune } from "../../src/maintenance/prune/prune.ts";
import { readFileSync } from "node:fs";
import { recover } from "../../src/maintenance/recover.ts";
import { volatileHeadMemory } from "../../src/repository/head-memory.ts";

const [folder, text, pinned, command] = process.argv.slice(2);
const identity = parseIdentity(text!);
const repository = await openRepository({
  backend: filesystem(folder!),
  identities: [identity],
  writer: ownerKeyOf(identity),
  pinned: JSON.parse(pinned!),
  memory: volatileHeadMemory(),
});
const errors: string[] = [];
const note = ({ code, message }: StorageError) => errors.push(`${code}: ${message}`);
if (command === "prune") {
  await prune(repository).catch(note);
} else if (command === "check") {
  await check(repository, {
    onProblem: (problem) => "error" in problem && note(problem.error),
  });
} else if (command === "forget") {
  const tags = [["t0-0"]];
  await forget(repository, { policy: { last: 1, tags }, recipients: [], dryRun: true });
} else {
  const { lost, recovered } = await recover(repository, { dryRun: true });
  for (const { error } of lost) note(error);
  if (recovered.length < 60) throw new Error("too few were recovered");
}
// What `getrusage` says begins with the process that started this one.
const status = readFileSync("/proc/self/status", "utf8");
const peak = Number(/^VmHWM:\s+(\d+) kB$/mu.exec(status)![1]) * 1024;
process.stdout.write(JSON.stringify({ errors, peak }));
