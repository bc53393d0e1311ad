import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdirSync } from "node:fs";
import { skipIfMissing } from "../../../../tests/servers/require-server.ts";
import { atTerminal } from "../support/at-terminal.ts";
import { createWorkspace, isolated, MAIN } from "../support/cli.ts";

setDefaultTimeout(120_000);

const { folder, idk, ok, path, write } = await createWorkspace();

/** A folder with named stores, a file with the same prefix as one of them, and a file with a blank. */
mkdirSync(path(".config/idk"), { recursive: true });
mkdirSync(path("bin"));
write(
  ".config/idk/config.toml",
  '[store.nas]\nurl = "nas"\n[store.nas.repository]\nid = "00112233445566778899aabbccddeeff"\n' +
    `owner = "idk-writer1qqqqqq"\ngrace-period = "7d"\nnames = ["my docs", "$(touch evil)"]\n` +
    '[store.attic]\nurl = "s3://attic"\n',
);
write("report.pdf", "");
write("two words.txt", "");
write("narrow", "");
write("bin/idk", `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`);
await Bun.$`chmod +x ${path("bin/idk")}`;

const env = {
  ...isolated({ HOME: folder }),
  PATH: `${path("bin")}:${process.env["PATH"] ?? ""}`,
  BUN_RUNTIME_TRANSPILER_CACHE_PATH: "0",
  TERM: "xterm",
};

/** The output of `idk complete` for the words after the program's name. */
async function wordsFor(...words: string[]): Promise<string[]> {
  const { stdout } = await ok(["complete", "--", ...words], { env: { HOME: folder } });
  return stdout.split("\n").flatMap((line) => (line === "" ? [] : [line.split("\t")[0]!]));
}

describe("completions", () => {
  test.each<[words: string[], expected: string[]]>([
    [["pu"], ["put"]],
    [["s"], ["snapshots", "status", "stat", "share", "store", "serve"]],
    [
      ["gateway", ""],
      ["check", "gc", "rebuild", "export", "mac-key"],
    ],
    [["serve", ""], ["s3"]],
    [["serve", "s3", "--tls-c"], ["--tls-cert"]],
    [["serve", "s3", "--credentials", ""], [":files"]],
    [
      ["store", ""],
      ["init", "check"],
    ],
    [["put", "--com"], ["--compress"]],
    [["put", "--sto"], ["--store"]],
    [
      ["put", "--compress", ""],
      ["zstd", "lz4", "auto", "none"],
    ],
    [["put", "--compress=l"], ["--compress=lz4"]],
    [
      ["ls", "--store", "n"],
      ["nas", ":files"],
    ],
    [
      ["ls", "--store=n"],
      ["--store=nas", ":files"],
    ],
    [
      ["copy", "--from", "s3://a", "--to", "at"],
      ["attic", ":files"],
    ],
    [
      ["copy", "--from", "mi"],
      ["minio://", ":files"],
    ],
    [
      ["store", "check", "b2"],
      ["b2://", ":files"],
    ],
    [["put", "re"], [":files"]],
    [["put", "-R", ""], [":files"]],
    [["put", "one", "two", ""], [":files"]],
    [["put", "--", "--com"], [":files"]],
    [["get", "-o", "x"], [":files"]],
    [
      ["completion", ""],
      ["bash", "zsh", "fish"],
    ],
    [["completion", "zsh", ""], []],
    [
      ["help", "st"],
      ["status", "stat", "store", "stores"],
    ],
    [["nonsense", ""], []],
    [["get", "5f"], []],
    [["config", ""], []],
  ])("idk %p", async (words, expected) => {
    expect(await wordsFor(...words)).toEqual(expected);
  });

  test("every command and every flag", async () => {
    const commands = await wordsFor("");
    expect(commands).toContain("help");
    for (const command of commands) {
      const { stdout } = await ok(["help", command]);
      const flags = await wordsFor(command, "--");
      const shown = [...stdout.matchAll(/^ {2}(?:-\w, )?(?<flag>--[a-z-]+)/gmu)];
      expect(flags.toSorted()).toEqual(shown.map(({ groups }) => groups!["flag"]!).toSorted());
    }
  });

  test("stores come from the named configuration", async () => {
    write("other.toml", '[store.work]\nurl = "work"\n');
    expect(await wordsFor("--config", "other.toml", "ls", "--store", "w")).toEqual([
      "work",
      ":files",
    ]);
    expect(await wordsFor("ls", "--config=other.toml", "--store=")).toContain("--store=work");
  });

  test("snapshots are those that the configuration names", async () => {
    write(
      "home.toml",
      '[store.main]\nurl = "work"\n[store.main.repository]\nid = "00112233445566778899aabbccddeeff"\n' +
        `owner = "idk-writer1qqqqqq"\ngrace-period = "7d"\nnames = ["web1/*", "home", "mail"]\n`,
    );
    const words = (...given: string[]) => wordsFor("--config", "home.toml", ...given);
    expect(await words("restore", "")).toEqual(["home", "mail", "latest"]);
    expect(await words("diff", "home", "m")).toEqual(["mail"]);
    expect(await words("backup", "--name", "h")).toEqual(["home"]);
    expect(await words("put", "--name", "h")).toEqual([]);
    // A path in a snapshot is none of this machine.
    expect(await words("ls", "home", "re")).toEqual([]);
    expect(await words("backup", "re")).toEqual([":files"]);
  });

  test("ignores an invalid configuration", async () => {
    write("broken.toml", "[");
    expect(await wordsFor("--config", "broken.toml", "ls", "--store", "")).toEqual([
      "s3://",
      "minio://",
      "b2://",
      ":files",
    ]);
  });

  test("rejects an unknown shell", async () => {
    for (const shell of ["powershell", "constructor"]) {
      const { code, stderr } = await idk(["completion", shell]);
      expect([code, stderr]).toEqual([2, "idk: SHELL must be bash, zsh or fish\n"]);
    }
  });
});

/** Types each text and a TAB in a shell on a terminal, and waits for the expected output. */
async function typeTabs(
  shell: readonly string[],
  setUp: string,
  cases: readonly (readonly [typed: string, shown: string])[],
): Promise<void> {
  const clear = "\u0015";
  // The initial prompt is unknown.
  const steps = [{ shown: "[#$%] ", type: `PS1='READY> '; ${setUp}; echo SET; echo UP\n` }];
  let shown = "SET\r+\nUP[\\s\\S]*READY> ";
  for (const [typed, expected] of cases) {
    steps.push({ shown, type: `${clear}${typed}\t` });
    shown = RegExp.escape(expected).replaceAll("\\x20", "(?:\u001b\\[[0-9;]*m)* ");
  }
  steps.push({ shown, type: `${clear}exit\n` });
  const { screen, code } = await atTerminal(steps, shell, { cwd: folder, env });
  expect({ code, screen }).toEqual({ code: 0, screen });
  const said = screen.slice(screen.indexOf("SET;"), screen.lastIndexOf("UP"));
  expect(said).not.toMatch(/error|not found|readonly/u);
}

/** For each shell: flags, stores in both forms, URLs and files; nothing is evaluated. */
const CASES = [
  ["idk pu", "idk put "],
  ["idk put --com", "idk put --compress "],
  ["idk ls --store n", "idk ls --store na"],
  ["idk ls --store=at", "idk ls --store=attic "],
  ["idk ls --store s3", "idk ls --store s3://"],
  ["idk ls --store s3:", "idk ls --store s3://"],
  ["idk put re", "idk put report.pdf "],
  ["idk put two", "idk put two\\ words.txt "],
  [
    "idk get 5f2b8c1e9a04d7b36c11 --output=repo",
    "idk get 5f2b8c1e9a04d7b36c11 --output=report.pdf ",
  ],
  ["idk put $(touch evil) --chu", "idk put $(touch evil) --chunk-size "],
  // What is completed is one word of the line.
  ["idk restore my", "idk restore my\\ docs "],
] as const;

const without = (shell: string): string[] => (Bun.which(shell) ? [] : [shell]);

skipIfMissing(without("bash"))("bash", () => {
  const shell = ["bash", "--norc", "--noprofile", "-i"];

  test("completes at a terminal, even if sourced twice", async () => {
    const source = "source <(idk completion bash)";
    const code = ["idk snapshots --name $", String.raw`\$\(touch\ evil\) `] as const;
    const begun = [String.raw`idk restore my\ d`, String.raw`idk restore my\ docs `] as const;
    await typeTabs(shell, `${source}; ${source}`, [...CASES, begun, code]);
    expect(existsSync(path("evil"))).toBe(false);
  });

  test("completes if idk is an alias", async () => {
    const setUp = `alias idk=${path("bin/idk")}; PATH=/usr/bin:/bin; source <(idk completion bash)`;
    await typeTabs(shell, setUp, [CASES[1]]);
  });
});

skipIfMissing(without("zsh"))("zsh", () => {
  const shell = ["zsh", "-f", "-i"];
  const setUp = "autoload -Uz compinit; compinit -u -D";

  test("completes at a terminal, even if sourced twice", async () => {
    const source = "source <(idk completion zsh)";
    await typeTabs(shell, `${setUp}; ${source}; ${source}`, CASES);
    expect(existsSync(path("evil"))).toBe(false);
  });

  test("works as a file in $fpath", async () => {
    mkdirSync(path("functions"));
    write("functions/_idk", (await ok(["completion", "zsh"])).stdout);
    await typeTabs(shell, `fpath=(${path("functions")} $fpath); ${setUp}`, [CASES[1], CASES[3]]);
  });
});

skipIfMissing(without("fish"))("fish", () => {
  const complete = async (line: string): Promise<string[]> => {
    const script = "idk completion fish | source; idk completion fish | source; complete -C $argv";
    const child = Bun.spawn(["fish", "--no-config", "-c", script, line], {
      cwd: folder,
      env,
      stdout: "pipe",
      stderr: "pipe",
    });
    const [stdout, stderr] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
    ]);
    expect([await child.exited, stderr]).toEqual([0, ""]);
    return stdout.split("\n").flatMap((text) => (text === "" ? [] : [text.split("\t")[0]!]));
  };

  test.each<[line: string, words: string[]]>([
    ["idk pu", ["put"]],
    ["idk put --com", ["--compress"]],
    ["idk ls --store n", ["narrow", "nas"]],
    ["idk ls --store=n", ["--store=narrow", "--store=nas"]],
    ["idk ls --store b2", ["b2://"]],
    ["idk put re", ["report.pdf"]],
    ['idk put "two w', ["two words.txt"]],
    ["idk get 5f2b8c1e9a04d7b36c11 --output=repo", ["--output=report.pdf"]],
    ["idk completion re", []],
    ["idk put (touch evil) $(touch evil) --chu", ["--chunk-size"]],
  ])("%s", async (line, words) => {
    expect(await complete(line)).toEqual(words);
    expect(existsSync(path("evil"))).toBe(false);
  });
});
