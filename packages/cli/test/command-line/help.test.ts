import { afterAll, describe, expect, test } from "bun:test";
import type { Command } from "commander";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse as parseShell } from "shell-quote";
import { skipIfMissing } from "../../../../tests/servers/require-server.ts";
import { EXAMPLES } from "../../src/command-line/examples.ts";
import {
  ENVIRONMENT,
  EXIT_CODES as EXIT_CODE_TOPIC,
  OVERVIEW,
  TOPICS,
} from "../../src/command-line/overview.ts";
import { createProgram, GROUPS } from "../../src/command-line/program.ts";
import { BROKEN_PIPE_EXIT_CODE, EXIT_CODES } from "../../src/errors/failures.ts";
import { BUN_MIN, runtimeFault, VERSION } from "../../src/version.ts";
import { createWorkspace, isolated, MAIN } from "../support/cli.ts";

import manifest from "../../package.json" with { type: "json" };

const { idk, ok, write } = await createWorkspace();

/** The program, without running commands. */
function program(first?: string): Command {
  const nothing = (): never => {
    throw new Error("nothing is to be run");
  };
  return createProgram({}, nothing as never, () => {}, first);
}

interface Named {
  readonly name: string;
  readonly command: Command;
}

/** All commands, including those of groups. */
function commandsOf(parent: Command, path = ""): Named[] {
  const found: Named[] = [];
  for (const command of parent.createHelp().visibleCommands(parent)) {
    const name = `${path}${command.name()}`;
    found.push({ name, command }, ...commandsOf(command, `${name} `));
  }
  return found;
}

const COMMANDS = commandsOf(program()).map(({ name }) => name);
const widthOf = (text: string) => Math.max(...text.split("\n").map((line) => line.length));

/** Commands that are part of the benchmarks. */
const ELSEWHERE = new Set(COMMANDS.includes("bench") ? [] : ["bench"]);

describe("the version", () => {
  test("is the package's, with the runtime and the NaCl implementation", async () => {
    expect(VERSION).toBe(manifest.version);
    const line = `idk ${VERSION} (Bun ${Bun.version}, ${process.platform} ${process.arch}, NaCl native)\n`;
    for (const args of [["--version"], ["-V"], ["ls", "--version"], ["--json", "-V"]]) {
      const { code, stdout, stderr } = await idk(args);
      expect([code, stdout, stderr]).toEqual([0, line, ""]);
    }
  });
});

describe("the runtime", () => {
  test("has the minimum version in package.json", () => {
    expect(manifest.engines.bun).toBe(`>=${BUN_MIN}`);
    expect(runtimeFault(Bun.version)).toBeUndefined();
    for (const version of [BUN_MIN, "1.4.10", "1.5.0", "2.0.0"]) {
      expect(runtimeFault(version)).toBeUndefined();
    }
  });

  test.each([
    [[], "idk: this needs Bun"],
    [["--json"], '{"error":{"code":"usage","message":"this needs Bun'],
  ])("rejects every command if it is too old: %p", async (flags, start) => {
    const older = write("older.ts", "Bun.semver.order = () => -1;");
    const run = (...args: string[]) =>
      Bun.spawnSync([process.execPath, "--preload", older, MAIN, ...args], { env: isolated() });
    const { exitCode, stdout, stderr } = run("config", ...flags);
    expect([exitCode, stdout.toString()]).toEqual([2, ""]);
    expect(stderr.toString()).toStartWith(start);
    expect(stderr.toString().trim()).not.toContain("\n");
    for (const flag of ["--version", "--help"]) expect(run(flag).exitCode).toBe(0);
  });

  test("is rejected if it is too old", () => {
    for (const version of ["1.4.4", "1.3.19"]) {
      expect(runtimeFault(version)).toBe(
        `this needs Bun ${BUN_MIN} or later, but runs on ${version}: run bun upgrade`,
      );
    }
  });
});

describe("a command line", () => {
  const namesOf = (parent: Command) =>
    parent.commands.map((command) => command.name()).filter((name) => name !== "help");

  test("creates all commands unless it starts with one", () => {
    const all = GROUPS.flatMap(([names]) => names);
    for (const first of [undefined, "--json", "help", "complete", "gett"]) {
      expect(namesOf(program(first))).toEqual(all);
    }
  });

  test("creates only the group of its first command", () => {
    for (const [names] of GROUPS) {
      for (const name of names) expect(namesOf(program(name))).toEqual([...names]);
    }
  });
});

describe("the overview", () => {
  test("fits a terminal of 80 columns and 24 lines, with a prompt", () => {
    expect(widthOf(OVERVIEW)).toBeLessThanOrEqual(80);
    expect(OVERVIEW.trimEnd().split("\n").length).toBeLessThanOrEqual(23);
  });

  test("names all commands and nothing else", () => {
    const list = OVERVIEW.split("\n").filter((line) => line.startsWith("  "));
    const named = [
      ...list.join("\n").matchAll(/(?:^ {2}|(?<=\S {2,}))(?<name>[a-z-]+) {2,}/gmu),
    ].map(({ groups }) => groups!["name"]!);
    const known = COMMANDS.filter((name) => !name.includes(" ") && name !== "help");
    expect(named.filter((name) => !ELSEWHERE.has(name)).toSorted()).toEqual(known.toSorted());
    for (const name of COMMANDS.filter((each) => each.startsWith("store "))) {
      expect(OVERVIEW).toMatch(
        new RegExp(` {2}store {2,}.*\\b${name.slice("store ".length)}\\b`, "u"),
      );
    }
  });

  test("names all topics", () => {
    expect(OVERVIEW).toContain(`idk help ${[...Object.keys(TOPICS), "man"].join("|")}\n`);
  });

  test("is printed by idk help, --help and -h, and by idk alone, which fails", async () => {
    for (const args of [["--help"], ["help"], ["-h"], ["--json", "--help"], ["help", "--json"]]) {
      const { code, stdout, stderr } = await idk(args);
      expect([args, code, stdout, stderr]).toEqual([args, 0, OVERVIEW, ""]);
    }
    const { code, stdout, stderr } = await idk([]);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toBe(`${OVERVIEW}\nidk: no command given\n`);
  });
});

describe("topics", () => {
  test.each(Object.keys(TOPICS))("idk help %s", async (topic) => {
    const { stdout, stderr } = await ok(["help", topic]);
    expect([stdout, stderr]).toEqual([TOPICS[topic]!, ""]);
    expect(widthOf(stdout)).toBeLessThanOrEqual(80);
  });

  test("all contains all topics", () => {
    for (const text of Object.values(TOPICS)) expect(TOPICS["all"]).toContain(text);
  });

  test("list all exit codes", () => {
    const told = [...EXIT_CODE_TOPIC.matchAll(/^ {2}(?<code>\d+)/gmu)].map(({ groups }) =>
      Number(groups!["code"]),
    );
    // With those of signals: SIGHUP, a reader that is gone, SIGTERM.
    const signals = [129, BROKEN_PIPE_EXIT_CODE, 143];
    expect(new Set(told)).toEqual(new Set([0, ...Object.values(EXIT_CODES), ...signals]));
  });

  test("list all variables that the code reads", async () => {
    const read = new Set<string>();
    const folders = ["../../src", "../../../storage/src/url"];
    for (const folder of folders.map((path) => join(import.meta.dir, path))) {
      for await (const name of new Bun.Glob("**/*.ts").scan(folder)) {
        const text = await Bun.file(join(folder, name)).text();
        for (const [, variable] of text.matchAll(/env(?:\.|\[")(IDK_[A-Z_]+)/gu))
          read.add(variable!);
      }
    }
    expect(read.size).toBeGreaterThan(8);
    for (const variable of read) expect(`${ENVIRONMENT}${TOPICS["stores"]}`).toContain(variable);
  });
});

/** The benchmarks parse the arguments of `idk bench` themselves. */
const PARSED = COMMANDS.filter((name) => name !== "bench");

describe.each(PARSED)("idk %s --help", (name) => {
  const { command } = commandsOf(program()).find((each) => each.name === name)!;

  test("lists options and examples", async () => {
    const { stdout, stderr } = await ok([...name.split(" "), "--help"]);
    expect(stderr).toBe("");
    expect(stdout).toStartWith(`Usage: idk ${name}`);
    expect(widthOf(stdout)).toBeLessThanOrEqual(80);
    for (const { long } of command.options) expect(stdout).toContain(long!);
    for (const flag of ["--store <url>", "--json", "--quiet"]) expect(stdout).toContain(flag);
    const examples = EXAMPLES[name] ?? [];
    expect(examples.length).toBeGreaterThan(0);
    expect(stdout).toEndWith(`\nExamples:\n${examples.map((line) => `  ${line}\n`).join("")}`);
    expect((await ok(["help", ...name.split(" ")])).stdout).toBe(stdout);
  });
});

describe("examples", () => {
  test("belong to existing commands", () => {
    const known = new Set([...COMMANDS, ...ELSEWHERE]);
    for (const name of Object.keys(EXAMPLES)) expect(known).toContain(name);
  });

  const lines = Object.entries(EXAMPLES).flatMap(([name, examples]) =>
    ELSEWHERE.has(name) ? [] : examples.map((line) => [line.split(/ {3,}/u)[0]!, name] as const),
  );

  test.each(lines)("%s", async (line, name) => {
    const words = idkWords(line);
    const tried = program();
    let ran = "";
    for (const each of commandsOf(tried)) {
      each.command.action(() => {
        ran = each.name;
      });
    }
    await tried.parseAsync(words, { from: "user" });
    expect(ran === name || ran.startsWith(`${name} `)).toBe(true);
  });
});

/** The arguments of `idk` in a shell command line, up to a pipe or redirection. */
function idkWords(line: string): string[] {
  const parts = parseShell(line);
  const from = parts.indexOf("idk") + 1;
  const rest = parts.slice(from);
  const end = rest.findIndex((part) => typeof part !== "string");
  return rest.slice(0, end === -1 ? rest.length : end).map(String);
}

describe("the manual page", () => {
  test("has every command, flag, example, variable and exit code", async () => {
    const page = (await ok(["help", "man"])).stdout;
    const plain = page.replaceAll("\\-", "-");
    for (const name of COMMANDS) expect(plain).toContain(`\n.Ss idk ${name}`);
    for (const { command } of commandsOf(program())) {
      for (const { long } of command.options) expect(plain).toContain(`Fl ${long!.slice(1)}`);
    }
    for (const section of ["STORES", "ENVIRONMENT", "FILES", "EXIT STATUS"])
      expect(plain).toContain(`\n.Sh ${section}\n`);
    for (const variable of ENVIRONMENT.match(/\bIDK_[A-Z_]+/gu)!) expect(plain).toContain(variable);
  });

  test("is generated when the package is packed", async () => {
    const folder = mkdtempSync(join(tmpdir(), "idk-packed-"));
    afterAll(() => rmSync(folder, { recursive: true, force: true }));
    const cwd = join(import.meta.dir, "../..");
    await Bun.$`${process.execPath} pm pack --quiet --destination ${folder}`.cwd(cwd).quiet();
    await Bun.$`tar -xzf ${folder}/idk-cli-${VERSION}.tgz -C ${folder}`.quiet();
    const packed = await Bun.file(join(folder, "package/man/idk.1")).text();
    expect(packed).toBe((await ok(["help", "man"])).stdout);
    expect(manifest.man).toBe("./man/idk.1");
    // Packing builds the command.
  }, 60_000);

  skipIfMissing(Bun.which("mandoc") ? [] : ["mandoc"])("as parsed by mandoc", () => {
    const mandoc = async (page: string, ...args: string[]): Promise<string> => {
      const child = Bun.spawn(["mandoc", ...args], { stdin: new Blob([page]), stdout: "pipe" });
      return new Response(child.stdout).text();
    };

    test("has no errors, and the check detects one", async () => {
      const { stdout } = await ok(["help", "man"]);
      expect(await mandoc(stdout, "-T", "lint", "-W", "warning")).toBe("");
      const broken = stdout.replace(".El", ".Ex");
      expect(await mandoc(broken, "-T", "lint", "-W", "warning")).toContain("ERROR");
    });

    test("shows flags and words as typed", async () => {
      const { stdout } = await ok(["help", "man"]);
      // A bold letter is printed twice, with a backspace in between.
      const shown = (await mandoc(stdout, "-T", "ascii")).split(/.[\b]/u).join("");
      expect(shown).toContain("-r, --recipient recipient");
      expect(shown).toContain("idk store init minio:///attic --versioning");
      expect(shown).toContain("~/.config/idk/config.toml");
      expect(widthOf(shown)).toBeLessThanOrEqual(80);
    });
  });
});
