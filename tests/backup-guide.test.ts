import { describe, expect, test } from "bun:test";
import { XMLParser, XMLValidator } from "fast-xml-parser";
import { existsSync } from "node:fs";
import { rename, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  fencedBlocks,
  inNewFolder,
  minioVariables,
  readBlocks,
  readSession,
  type Result,
  root,
  run,
  runSession,
  withOwnBucket,
} from "./documents.ts";
import { missingPython } from "./live/python/run.ts";
import { requireServer, skipIfMissing } from "./servers/require-server.ts";

const GUIDE = "docs/backup.md";

/** Runs the guide to backups; `more` continues the session. */
async function backUp(folder: string, more = ""): Promise<Result> {
  const result = await runSession(folder, `${await readSession(GUIDE, "sh")}\n${more}`);
  expect(result).toMatchObject({ exitCode: 0 });
  return result;
}

/** The part of the session that sets up the user's machine and the host that only writes. */
async function untilColleague(): Promise<string> {
  const blocks = await readBlocks(GUIDE, "sh");
  const end = blocks.findIndex((block) => block.includes("colleague"));
  expect(end).toBeGreaterThan(0);
  return blocks.slice(0, end).join("\n");
}

/** The session of one section. */
async function sectionOf(title: string): Promise<string> {
  const markdown = await Bun.file(join(root, GUIDE)).text();
  const [, text] = new RegExp(`^## ${title}$(.*?)^## `, "msu").exec(markdown) ?? [];
  const blocks = fencedBlocks(text ?? "").filter(({ info }) => info === "sh");
  expect({ title, blocks: blocks.length > 0 }).toEqual({ title, blocks: true });
  return blocks.map(({ code }) => code).join("\n");
}

/** Writes the ids of the newest files and folders, as `idk ls` has them, into a file. */
const idsInto = (file: string) => `idk ls home "$PWD" --recursive --json > ${file}\n`;

/** The session, with the ids written down before the cache is lost, after it, and after the store is. */
async function sessionWithIds(): Promise<string> {
  const blocks = await readBlocks(GUIDE, "sh");
  const at = (part: string) => {
    const index = blocks.findIndex((block) => block.includes(part));
    expect({ part, isThere: index > 0 }).toEqual({ part, isThere: true });
    return index;
  };
  const [cache, store] = [at("rm -rf"), at("mv attic attic-lost")];
  blocks[cache] = `${idsInto("ids-before")}${blocks[cache]}${idsInto("ids-without-cache")}`;
  blocks[store] += idsInto("ids-in-new-store");
  return blocks.join("\n");
}

describe("docs/backup.md", () => {
  test(
    "backs up, restores, lets a colleague in, and survives the four disasters",
    () =>
      inNewFolder(async (folder) => {
        const { exitCode, stdout, stderr } = await runSession(folder, await sessionWithIds());
        expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
        const read = (name: string) => Bun.file(join(folder, name)).text();
        const before = await read("ids-before");
        expect(before.match(/"tree":"[0-9a-f]{64}"/gu)?.length).toBe(2);
        expect(before.match(/"sha256":"[0-9a-f]{64}"/gu)?.length).toBe(2);
        expect(await read("ids-without-cache")).toBe(before);
        expect(await read("ids-in-new-store")).toBe(before);
        const letter = await Bun.file(join(folder, "letters/bob.txt")).text();
        expect(letter).toBe("Dear Bob\n");
        expect(stdout).toMatch(/^[0-9a-f]{12} .* web1\/documents$/mu);
        expect(stdout).toMatch(/^[0-9a-f]{12} .* home .*\(forgotten\)$/mu);
        // The disaster of damaged blobs did happen.
        expect(stdout).toContain("\ndamaged\n");
      }),
    120_000,
  );

  test(
    "ends the rights of a host, whose later backups stop prunes until they are forgotten",
    () =>
      inNewFolder(async (folder) => {
        const session = `${await untilColleague()}\n${await readSession(GUIDE, "sh revoke")}`;
        const { stdout, stderr, exitCode } = await runSession(folder, session);
        expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
        expect(stderr).toContain(
          "delete its credentials: snapshots that it still stores are ignored",
        );
        expect(stdout).toMatch(/\nstopped\none head does not count\ndeleted {2}0 bytes/u);
      }),
    120_000,
  );

  requireServer("minio")("on MinIO", () => {
    test(
      "backs up, outlives the machine, lets a colleague in, and thins out",
      () =>
        inNewFolder(async (folder) => {
          const markdown = await Bun.file(join(root, GUIDE)).text();
          const [, init] = /`(idk init --store )URL -i identity\.key`/u.exec(markdown)!;
          const restore = await sectionOf("Restore on a new machine");
          const lose = "rm -r .cache .config .data .state\n";
          const onNewMachine = restore.replace(/^cp .*identity\.key.*\n/mu, (copy) => copy + lose);
          expect(onNewMachine).toContain(lose);
          const parts = [
            await sectionOf("Quick start"),
            onNewMachine,
            // Goes on with backups there.
            `${init}./attic -i new-machine/identity.key`,
            "idk backup documents --name home",
            await sectionOf("Add a colleague's key"),
            await sectionOf("Thin out old snapshots"),
            await sectionOf("Check"),
            "idk restore home --target at-the-end",
            "cmp documents/draft.txt at-the-end$PWD/documents/draft.txt",
          ];
          const session = withOwnBucket(
            parts.join("\n").replaceAll(/(?:\.|\$PWD)\/attic/gu, "minio:///attic"),
          );
          const { exitCode, stdout, stderr } = await runSession(folder, session, minioVariables());
          expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
          expect(existsSync(join(folder, "attic"))).toBe(false);
          expect(session.match(/minio:\/\/\/attic-/gu)?.length).toBeGreaterThan(4);
          expect(stdout).toMatch(/^[0-9a-f]{12} .* home .*\(forgotten\)$/mu);
        }),
      120_000,
    );
  });

  skipIfMissing(missingPython)("with the Python reference", () => {
    test(
      "restores without idk",
      () =>
        inNewFolder(async (folder) => {
          await symlink(join(root, "testdata"), join(folder, "testdata"));
          const python = `#!/bin/sh\nexec "${process.env["IDK_REFERENCE_PYTHON"]}" "$@"\n`;
          await writeFile(join(folder, "python3"), python, { mode: 0o755 });
          const { stdout } = await backUp(folder, await readSession(GUIDE, "sh python"));
          expect(stdout).toContain('"leftOut": []');
        }),
      120_000,
    );
  });

  test("names only commands and flags that exist", async () => {
    const markdown = await Bun.file(join(root, GUIDE)).text();
    const used = new Map<string, Set<string>>();
    for (const [, code] of markdown.matchAll(/`idk ((?:repo |store )?[a-z]+[^`]*)`/gu)) {
      const command = /^(?:repo |store )?[a-z]+(?:-[a-z]+)*/u.exec(code!)![0];
      const flags = used.get(command) ?? new Set();
      for (const [flag] of code!.matchAll(/--[a-z][a-z-]+/gu)) flags.add(flag);
      used.set(command, flags);
    }
    expect(used.size).toBeGreaterThan(10);
    await inNewFolder(async (folder) => {
      for (const [command, flags] of used) {
        const help = await runSession(folder, `idk ${command} --help`);
        expect(`${command}: ${help.exitCode}`).toBe(`${command}: 0`);
        expect([...flags].filter((flag) => !help.stdout.includes(flag))).toEqual([]);
      }
    });
  });
});

describe("the tables for users of restic", () => {
  /** Cells of the left and right column of a table. */
  async function rowsAfter(line: string): Promise<[string, string][]> {
    const markdown = await Bun.file(join(root, GUIDE)).text();
    const [, table] = new RegExp(`^${line}\n\n((?:\\|.*\n)+)`, "mu").exec(markdown) ?? [];
    const rows = table!.matchAll(/^\| (.*?) +\| (.*?) +\|$/gmu);
    return Array.from(rows, ([, left, right]) => [left!, right!]);
  }

  /** Of `command --flag`, in code, with the command before it in the cell, if any. */
  function flagsOf(cell: string): { command: string; flag: string }[] {
    let command = "backup";
    return Array.from(cell.matchAll(/`([a-z]+)?[^`]*`/gu)).flatMap(([code, name]) => {
      command = name ?? command;
      return Array.from(code.matchAll(/--[a-z][a-z-]+/gu), ([flag]) => ({ command, flag }));
    });
  }

  /** Those that the command's help has. */
  const present = (flags: readonly { command: string; flag: string }[]) =>
    inNewFolder(async (folder) => {
      const names = new Set(flags.map(({ command }) => command));
      const helps = new Map<string, string>();
      for (const name of names) {
        helps.set(name, (await runSession(folder, `idk ${name} --help`)).stdout);
      }
      return flags.filter(({ command, flag }) =>
        new RegExp(`${flag}(?![a-z-])`, "u").test(helps.get(command)!),
      );
    });

  test("name as the same only flags that exist here", async () => {
    const rows = await rowsAfter("## From restic");
    const flags = rows
      .filter(([, ours]) => ours.startsWith("the same"))
      .flatMap(([theirs]) => flagsOf(theirs));
    expect(flags.length).toBeGreaterThan(20);
    expect(await present(flags)).toEqual(flags);
  });

  test("name as without counterpart only flags that do not", async () => {
    const rows = await rowsAfter("These have no counterpart:");
    const flags = rows.flatMap(([theirs]) => flagsOf(theirs));
    expect(flags.length).toBeGreaterThan(15);
    expect(await present(flags)).toEqual([]);
  });
});

describe("timers of docs/backup.md", () => {
  test(
    "run backups that need neither the identity nor a terminal",
    () =>
      inNewFolder(async (folder) => {
        const env = { HOME: folder };
        const before = await runSession(folder, await untilColleague(), env);
        expect(before).toMatchObject({ exitCode: 0 });
        await rename(join(folder, ".data/idk/identity.key"), join(folder, "identity.away"));
        const places: Readonly<Record<string, string>> = {
          "/usr/local/bin/idk": "idk",
          "/etc /home /srv": "documents",
          "/etc/idk-backup/config.toml": "web1.toml",
          "/Users/ada/Documents": "documents",
        };
        const commands = [await cronCommand(), await launchdCommand(), await systemdCommand()];
        for (const command of commands) {
          const here = Object.entries(places).reduce(
            (text, [place, replacement]) => text.replaceAll(place, replacement),
            command,
          );
          const { exitCode, stderr } = await runSession(folder, here, env);
          expect({ here, exitCode, stderr }).toEqual({ here, exitCode: 0, stderr: "" });
        }
        const listed = await runSession(folder, "idk snapshots -i identity.away", env);
        expect(listed.stdout.match(/ {2}home$/gmu)?.length).toBe(4);
        expect(listed.stdout).toMatch(/ {2}web1\/system$/mu);
      }),
    120_000,
  );

  test("have a line for cron with five fields within their ranges", async () => {
    const fields = (await cronLine()).fields.map(Number);
    expect(fields.slice(2)).toEqual([NaN, NaN, NaN]);
    expect(fields[0]).toBeWithin(0, 60);
    expect(fields[1]).toBeWithin(0, 24);
    // A percent sign would end the command.
    expect(await cronCommand()).not.toContain("%");
  });

  test("have a property list for launchd", async () => {
    expect(await propertyList()).toEqual({
      Label: "net.idk.backup",
      ProgramArguments: ["/usr/local/bin/idk", "backup", expect.any(String), "--name", "home"],
      StartCalendarInterval: { Hour: expect.any(Number), Minute: expect.any(Number) },
      LowPriorityIO: true,
      StandardErrorPath: expect.stringMatching(/^\/Users\//u),
    });
  });

  skipIfMissing(Bun.which("systemd-analyze") === null ? ["systemd-analyze"] : [])(
    "for systemd",
    () => {
      test("are verified by systemd-analyze without a remark", async () => {
        const [service, timer, ...others] = await readBlocks(GUIDE, "ini");
        expect(others).toEqual([]);
        await inNewFolder(async (folder) => {
          const units = ["idk-backup.service", "idk-backup.timer"];
          const text = service!.replace("/usr/local/bin/idk", process.execPath);
          await writeFile(join(folder, units[0]!), text);
          await writeFile(join(folder, units[1]!), timer!);
          const verify = [
            "systemd-analyze",
            "verify",
            "--man=no",
            ...units.map((unit) => `./${unit}`),
          ];
          // It exits with 0 though it does not know a setting.
          expect(await run(folder, verify)).toEqual({ stdout: "", stderr: "", exitCode: 0 });
        });
      });
    },
  );
});

async function cronLine(): Promise<{ readonly fields: string[]; readonly command: string }> {
  const [table, ...others] = await readBlocks(GUIDE, "crontab");
  expect(others).toEqual([]);
  const [, fields, command] = /^((?:\S+ ){5})(\S.*)\n$/u.exec(table!) ?? [];
  return { fields: fields!.trim().split(" "), command: command! };
}

async function cronCommand(): Promise<string> {
  return (await cronLine()).command;
}

async function launchdCommand(): Promise<string> {
  const list = (await propertyList()) as { readonly ProgramArguments: readonly string[] };
  return list.ProgramArguments.join(" ");
}

async function systemdCommand(): Promise<string> {
  const [service] = await readBlocks(GUIDE, "ini");
  return /^ExecStart=(.*)$/mu.exec(service!)![1]!;
}

async function propertyList(): Promise<unknown> {
  const [xml] = await readBlocks(GUIDE, "xml");
  expect(XMLValidator.validate(xml!)).toBe(true);
  const parser = new XMLParser({ preserveOrder: true, parseTagValue: false });
  const document = parser.parse(xml!) as Element[];
  const plist = document.find((element) => "plist" in element);
  return valueOf((plist!["plist"] as readonly Element[])[0]!);
}

/** As fast-xml-parser has it in order: one key, the tag's name, and perhaps attributes; or a text. */
type Element = Readonly<Record<string, readonly Element[] | string>>;

function valueOf(element: Element): unknown {
  const tag = Object.keys(element).find((name) => name !== ":@")!;
  const children = element[tag] as readonly Element[];
  const text = (children[0]?.["#text"] ?? "") as string;
  switch (tag) {
    case "string":
    case "key":
      return text;
    case "integer":
      return Number(text);
    case "true":
      return true;
    case "array":
      return children.map(valueOf);
    case "dict": {
      expect(children.map((child) => "key" in child)).toEqual(children.map((_, i) => i % 2 === 0));
      const values = children.map(valueOf);
      return Object.fromEntries(
        values.flatMap((key, i) => (i % 2 === 0 ? [[key as string, values[i + 1]]] : [])),
      );
    }
    default:
      throw new Error(`a property list has no <${tag}>`);
  }
}
