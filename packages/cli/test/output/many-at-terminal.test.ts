import { describe, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { atTerminal } from "../support/at-terminal.ts";
import { createWorkspace, isolated, MAIN } from "../support/cli.ts";

const workspace = await createWorkspace();
const { path, read, write } = workspace;

const OTHER = (await workspace.ok(["keygen", "-o", "other.key"])).stdout.trim();
const MANY = 25;
mkdirSync(path("folder"));
for (let index = 0; index < MANY; index++) write(`folder/${index}`, `content ${index}`);

/** What a command prints on a terminal with standard output and standard error. */
const shown = async (command: string, env: Record<string, string> = {}): Promise<string> => {
  const script = `"$0" "$1" ${command}`;
  const { screen } = await atTerminal([], ["sh", "-c", script, process.execPath, MAIN], {
    cwd: workspace.folder,
    env: isolated({ ...workspace.env, TERM: "xterm", LANG: "C.UTF-8", ...env }),
  });
  return screen.replaceAll("\r\n", "\n");
};
const addressesIn = (screen: string) => screen.match(/[0-9a-f]{64}/gu)?.length ?? 0;
const timesIn = (screen: string, text: string) => screen.split(text).length - 1;
const MISSING = "cannot read missing: no such file or folder";

describe("many files on a terminal", () => {
  test("are stored with 20 addresses printed, and failures are printed again", async () => {
    const screen = await shown("put folder missing");
    expect(addressesIn(screen)).toBe(20);
    expect(screen).toContain(`idk: ${MISSING}\n`);
    expect(timesIn(screen, "ADDRESS")).toBe(1);
    expect(screen).toEndWith(
      `failed:\n  ${MISSING}\nstored 25 files, 240 bytes; 1 failed\n` +
        "idk: `idk ls --long` lists the other 5 files with their addresses; put -v prints all\n" +
        "idk: 1 of 26 files failed\n",
    );
  });

  test.each<[what: string, options: string, env: Record<string, string>]>([
    ["no identity", "", { IDK_IDENTITY: "" }],
    ["an identity that cannot be read", "", { IDK_IDENTITY: "none.key" }],
    ["a setting that is no file", "", { IDK_IDENTITY: "https://host/" }],
    ["recipients of others from a flag", `-r ${OTHER}`, {}],
    ["recipients of others from a variable", "", { IDK_RECIPIENTS: OTHER }],
  ])("are all printed if the user could not list them: %s", async (_, options, env) => {
    const screen = await shown(`put folder ${options}`, env);
    expect(addressesIn(screen)).toBe(MANY);
    expect(screen).toEndWith("stored 25 files, 240 bytes; none failed\n");
  });

  test("rows are printed as the files complete", async () => {
    mkdirSync(path("few"));
    write("few/first", "first");
    expect(Bun.spawnSync(["mkfifo", path("never")]).exitCode).toBe(0);
    // The list never ends, so that only what is printed at once appears before the interruption.
    const steps = [{ shown: String.raw`[0-9a-f]{64} .*few/first`, type: "\u0003" }];
    const command = [process.execPath, MAIN, "put", "few", "--from-file", "never"];
    const { screen } = await atTerminal(steps, command, {
      cwd: workspace.folder,
      env: isolated({ ...workspace.env, TERM: "xterm", LANG: "C.UTF-8" }),
    });
    expect(addressesIn(screen)).toBe(1);
    expect(screen).toContain("idk: 1 file stored, with the addresses above");
  });

  test("failures are printed again if the store stops the run", async () => {
    const screen = await shown("put no1 no2 no3 no4 no5 folder", { IDK_STORE: "me.key" });
    expect(screen).toMatch(/failed, with 1 more above:\n(?: {2}.*\n){20}idk: stopped: /u);
  });

  test.each(["put -v folder", "put --quiet folder", "put --no-name folder", "--json put folder"])(
    "are printed if need be: %s",
    async (command) => {
      const screen = await shown(command);
      expect(addressesIn(screen)).toBe(MANY);
      expect(screen).not.toContain("ls --long");
    },
  );

  test("are printed to a file as without a terminal", async () => {
    const screen = await shown("put folder missing > list");
    expect(addressesIn(new TextDecoder().decode(read("list")))).toBe(MANY);
    expect(timesIn(screen, MISSING)).toBe(2);
    expect(screen).not.toContain("ls --long");
  });

  test("that could not be fetched are printed again", async () => {
    await workspace.ok(["put", "folder"]).then(({ stdout }) => write("list", stdout));
    const gone = "0".repeat(64);
    const screen = await shown(`get ${gone} --from-file list --output-dir back`);
    expect(timesIn(screen, gone)).toBe(2);
    expect(screen).toContain(`failed:\n  `);
    expect(screen).toEndWith(`idk: 1 of 26 addresses failed\n`);
  });

  test("few files have a table, and failures are printed once", async () => {
    const screen = await shown("put folder/1 missing folder/2");
    expect(timesIn(screen, "ADDRESS")).toBe(1);
    expect(addressesIn(screen)).toBe(2);
    expect(timesIn(screen, MISSING)).toBe(1);
  });
});
