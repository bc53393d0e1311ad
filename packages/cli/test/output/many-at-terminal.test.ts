import { describe, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { atTerminal } from "../support/at-terminal.ts";
import { createWorkspace, isolated, MAIN } from "../support/cli.ts";

const workspace = await createWorkspace();
const { path, read, write } = workspace;

const MANY = 25;
mkdirSync(path("folder"));
for (let index = 0; index < MANY; index++) write(`folder/${index}`, `content ${index}`);

/** What a command prints on a terminal with standard output and standard error. */
const shown = async (command: string): Promise<string> => {
  const script = `"$0" "$1" ${command}`;
  const { screen } = await atTerminal([], ["sh", "-c", script, process.execPath, MAIN], {
    cwd: workspace.folder,
    env: isolated({ ...workspace.env, TERM: "xterm", LANG: "C.UTF-8" }),
  });
  return screen.replaceAll("\r\n", "\n");
};
const addressesIn = (screen: string) => screen.match(/[0-9a-f]{64}/gu)?.length ?? 0;
const timesIn = (screen: string, text: string) => screen.split(text).length - 1;
const MISSING = "cannot read missing: no such file or folder";

describe("many files on a terminal", () => {
  test("are stored without printing their addresses, and failures are printed again", async () => {
    const screen = await shown("put folder missing");
    expect(addressesIn(screen)).toBe(0);
    expect(screen).toStartWith(`idk: ${MISSING}\n`);
    expect(screen).toEndWith(
      `failed:\n  ${MISSING}\nstored 25 files, 240 bytes; 1 failed\n` +
        "idk: `idk ls --long` lists the files with their addresses; put -v prints them\n" +
        "idk: 1 of 26 files failed\n",
    );
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
    expect(timesIn(screen, MISSING)).toBe(1);
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
    expect(screen).toStartWith(`idk: ${MISSING}\nADDRESS`);
    expect(addressesIn(screen)).toBe(2);
    expect(timesIn(screen, MISSING)).toBe(1);
  });
});
