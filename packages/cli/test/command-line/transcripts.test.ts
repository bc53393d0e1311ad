import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { basename, join } from "node:path";
import { checkManners, isolated, MAIN, newFolder } from "../support/cli.ts";

/*
 * The output of the program in readable files. Each is a session in its own folder, run line by line
 * in bash, with its output:
 *
 *   # A comment.
 *   $ a command to run
 *   | its standard output
 *   ! its standard error
 *   [exit 2]
 *
 * `record FOLDER RECIPIENT` records HTTP exchanges. Variables last for a session. Outputs that differ between runs are replaced by names: addresses by
 * the variable that contains them. UPDATE=1 rewrites the files; review the diff before committing.
 */

setDefaultTimeout(120_000);

const FOLDER = join(import.meta.dir, "transcripts");
const update = process.env["UPDATE"] === "1";

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** Runs the commands of a session, and returns its text with the actual output. */
async function replay(session: string): Promise<string> {
  const folder = newFolder();
  folders.push(folder);
  for (const name of ["bin", "home", "work"]) mkdirSync(join(folder, name));
  writeFileSync(join(folder, "bin/idk"), `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`);
  const record = join(import.meta.dir, "../support/record-exchanges.ts");
  writeFileSync(
    join(folder, "bin/record"),
    `#!/bin/sh\nexec '${process.execPath}' '${record}' "$@"\n`,
  );
  for (const name of ["idk", "record"]) chmodSync(join(folder, "bin", name), 0o755);
  const lines: string[] = [];
  for (const line of session.split("\n")) {
    if (line.startsWith("$ ")) lines.push(line, ...(await outcome(line.slice(2), folder)));
    else if (line.startsWith("#") || line === "") lines.push(line);
  }
  return lines.join("\n");
}

async function outcome(command: string, folder: string): Promise<string[]> {
  const state = join(folder, "state");
  const script = `set -a; [ -e ${state} ] && . ${state}
set -o pipefail; eval "$COMMAND"
code=$?; unset COMMAND; export -p >${state}; exit $code`;
  const child = Bun.spawn(["bash", "-c", script], {
    cwd: join(folder, "work"),
    env: {
      ...isolated({ HOME: join(folder, "home") }),
      PATH: `${join(folder, "bin")}:${process.env["PATH"] ?? ""}`,
      BUN_RUNTIME_TRANSPILER_CACHE_PATH: "0",
      TZ: "UTC",
      LC_ALL: "C.UTF-8",
      COMMAND: command,
    },
    // In a new session, so that no prompt appears on the terminal of the test run.
    detached: true,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  checkManners({ stdout, stderr });
  const variables = existsSync(state) ? readFileSync(state, "utf8") : "";
  const named = (text: string): string => withNames(text, folder, variables);
  return [
    ...quoted(named(stdout), "|"),
    ...quoted(named(stderr), "!"),
    ...(code === 0 ? [] : [`[exit ${code}]`]),
  ];
}

function quoted(text: string, mark: string): string[] {
  if (text === "") return [];
  const ended = text.endsWith("\n");
  const lines = (ended ? text.slice(0, -1) : text).split("\n");
  return [...lines.map((line) => `${mark} ${line}`.trimEnd()), ...(ended ? [] : ["[no newline]"])];
}

/** Replaces what differs between runs. */
function withNames(output: string, folder: string, variables: string): string {
  let text = output;
  for (const [, name, value] of variables.matchAll(/ (?<name>\w+)="(?<value>[0-9a-f]{64})"/gu)) {
    text = text.replaceAll(value!, `$${name}`);
    for (const digits of [20, 12, 8]) {
      text = text.replaceAll(value!.slice(0, digits), `\${${name}:0:${digits}}`);
    }
  }
  return text
    .replaceAll(`/private${folder}`, folder)
    .replaceAll(join(folder, "home"), "~")
    .replaceAll(join(folder, "work"), "<here>")
    .replaceAll(process.execPath, "<bun>")
    .replaceAll(`"${hostname()}/`, '"<host>/')
    .replaceAll(/\b[0-9a-f]{64}\b/gu, "<address>")
    .replaceAll(/\b[0-9a-f]{32}\b/gu, "<uuid>")
    .replaceAll(/\b(?:[0-9a-f]{20}|[0-9a-f]{12})\b/gu, "<digits>")
    .replaceAll(/\/[0-9a-f]{2}(?=\/(?:<address>|\$))/gu, "/<shard>")
    .replaceAll(/~[\w-]{43}~[\w-]{43}(?=["\n])/gu, "~<list>~<secret>")
    .replaceAll(/\bidk1[0-9a-z]{50,}/gu, "<recipient>")
    .replaceAll(/\bidk-writer1[0-9a-z]{50,}/gu, "<writer>")
    .replaceAll(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:\.\d+)?Z?/gu, "<date>")
    .replaceAll(/(?<=At":)\d{13}/gu, "<time>")
    .replaceAll(/(?<="(?:time|from|to)":)\d{13}/gu, "<time>")
    .replaceAll(/(?<="(?:ms|time|wait)":)\d+(?:\.\d+)?(?=[,}])/gu, "<n>")
    .replaceAll(/(?<=from )\d{4}-\d\d-\d\d(?= on)/gu, "<date>")
    .replaceAll(/(?<= sent, in )[\d.]+ s/gu, "<n> s")
    .replaceAll(/\d+(?:\.\d+)?(?= ms\b)|(?<=roundTripMs":)[\d.e-]+/gu, "<n>")
    .replaceAll(/\d+ for large files, \d+ cores?/gu, "<n> for large files, <n> cores")
    .replaceAll(Bun.version, "<version>")
    .replaceAll(`${process.platform} ${process.arch}`, "<platform>");
}

describe("transcripts", () => {
  const names = [...new Bun.Glob("*.txt").scanSync(FOLDER)].toSorted();

  test.each(names)("%s", async (name) => {
    const file = join(FOLDER, basename(name));
    const told = readFileSync(file, "utf8");
    const came = await replay(told);
    if (update) writeFileSync(file, came);
    else expect(came).toBe(told);
  });
});
