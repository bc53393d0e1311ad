import {
  NOT_RUN,
  type Result,
  fencedBlocks,
  inNewFolder,
  minioVariables,
  readBlocks,
  readSession,
  root,
  run,
  runSession,
  withOwnBucket,
} from "./documents.ts";
import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { requireServer } from "./servers/require-server.ts";
import { writeFile } from "node:fs/promises";

const documents = (await Array.fromAsync(new Bun.Glob("**/*.md").scan({ cwd: root })))
  .filter((path) => !path.includes("node_modules"))
  .toSorted();

/**
 * The info strings of each document whose blocks the tests below, readme.test.ts or
 * packages/release-documents.test.ts run.
 */
const RUN: Readonly<Record<string, readonly string[]>> = {
  "CONTRIBUTING.md": ["ts"],
  "README.md": ["sh", "sh install", "sh first file", "ts"],
  "docs/backends.md": ["sh minio", "ts"],
  "docs/cli.md": ["sh", "sh minio"],
  "docs/configuration.md": ["toml"],
  "docs/install.md": ["sh verify"],
  "docs/releasing.md": ["sh key"],
  "packages/bench/README.md": ["ts"],
  "packages/cli/README.md": ["sh"],
  "packages/storage/README.md": ["ts"],
};

const COMMAND =
  /^\s*(?:\$ )?(?:[A-Z_]+=\S+ )*(?:\.?\/?script\/|(?:idk|bunx?|npm|npx|node|docker|python3?|git|curl) \S)/mu;

/** A link to a file of the project, to a heading of this or another document, or to both. */
const LINK = /\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)/gu;

/** The anchors that GitHub makes of a document's headings. */
async function anchorsOf(path: string): Promise<string[]> {
  const markdown = await Bun.file(join(root, path)).text();
  return Array.from(markdown.matchAll(/^#+ (.+)$/gmu), ([, heading]) =>
    heading!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

describe("documents", () => {
  test("include every document with blocks that tests run", () => {
    expect(documents).toContain("docs/format.md");
    expect(documents).toEqual(expect.arrayContaining(Object.keys(RUN)));
  });

  test.each(documents)("%s has no commands that are neither run nor marked", async (path) => {
    const blocks = fencedBlocks(await Bun.file(join(root, path)).text());
    const unmarked = blocks.filter(({ info, code }) => {
      if (RUN[path]?.includes(info)) return false;
      if (info.startsWith(NOT_RUN)) return info.length === NOT_RUN.length;
      return !["", "cddl", "json", "text"].includes(info) || COMMAND.test(code);
    });
    expect(unmarked.map(({ line }) => `${path}:${line}`)).toEqual([]);
    const infos = new Set(blocks.map(({ info }) => info));
    expect((RUN[path] ?? []).filter((info) => !infos.has(info))).toEqual([]);
  });

  test.each(documents)("%s has no broken links", async (path) => {
    const markdown = await Bun.file(join(root, path)).text();
    const broken: string[] = [];
    for (const [, file, anchor] of markdown.matchAll(LINK)) {
      const target = file === "" ? path : join(dirname(path), file!);
      const found = existsSync(join(root, target));
      if (!found || (anchor !== undefined && !(await anchorsOf(target)).includes(anchor))) {
        broken.push(`${file}#${anchor ?? ""}`);
      }
    }
    expect(broken).toEqual([]);
  });
});

/** Runs the only program of a document in a new folder. */
async function runProgram(
  path: string,
  before = "",
  command: readonly string[] = [],
): Promise<Result> {
  const programs = await readBlocks(path, "ts");
  expect(programs.length).toBe(1);
  return inNewFolder(async (folder) => {
    await writeFile(join(folder, "program.test.ts"), before + programs[0]!);
    return run(folder, [process.execPath, ...command, "./program.test.ts"]);
  });
}

describe("programs in documents", () => {
  test("packages/storage/README.md prints the content", async () => {
    const result = await runProgram("packages/storage/README.md");
    expect(result).toEqual({ stdout: "hello\n", stderr: "", exitCode: 0 });
  });

  test("packages/bench/README.md prints a table", async () => {
    const { stdout, exitCode } = await runProgram("packages/bench/README.md");
    expect(exitCode).toBe(0);
    expect(stdout).toContain("SHA-256");
  });

  test("docs/backends.md creates backends without a request", async () => {
    const names = ["accessKey", "secretKey", "keyId", "applicationKey"];
    const constants = names.map((name) => `const ${name} = "x";\n`).join("");
    const result = await runProgram("docs/backends.md", constants);
    expect(result).toEqual({ stdout: "", stderr: "", exitCode: 0 });
  });

  test("CONTRIBUTING.md runs the conformance suite", async () => {
    const { stderr, exitCode } = await runProgram("CONTRIBUTING.md", "", ["test"]);
    expect(exitCode).toBe(0);
    expect(stderr).toMatch(/ [1-9]\d+ pass\n 0 fail/u);
  });
});

describe("sessions in documents", () => {
  test("packages/cli/README.md lists the file", async () => {
    const session = await readSession("packages/cli/README.md", "sh");
    const result = await inNewFolder((folder) => runSession(folder, session));
    expect(result).toMatchObject({ exitCode: 0 });
    expect(result.stdout).toContain("report.txt");
  });

  test("docs/cli.md runs to its end", async () => {
    const session = await readSession("docs/cli.md", "sh");
    const { stdout, stderr, exitCode } = await inNewFolder((folder) => runSession(folder, session));
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
    const lines = stdout.split("\n");
    expect(lines).toContain("minutes");
    const address = /^[0-9a-f]{64}$/u;
    expect(lines.filter((line) => address.test(line)).length).toBeGreaterThanOrEqual(4);
  });

  test("docs/configuration.md is read as its comments say", async () => {
    const [toml] = await readBlocks("docs/configuration.md", "toml");
    await inNewFolder(async (folder) => {
      await writeFile(join(folder, "config.toml"), toml!);
      const settings = async (flags: string) => {
        const result = await runSession(folder, `idk config --json --config config.toml ${flags}`);
        expect(result).toMatchObject({ exitCode: 0 });
        return JSON.parse(result.stdout) as Readonly<Record<string, unknown>>;
      };
      expect((await settings(""))["store"]).toBe("work");
      expect(JSON.stringify(await settings("--store home"))).toContain("command: pass show idk");
    });
  });
});

requireServer("minio")("sessions in documents, with an object store", () => {
  test("docs/cli.md puts, gets, verifies and copies", async () => {
    const setup = "idk keygen -o alice.key > alice.pub; echo the minutes > minutes.txt";
    const session = withOwnBucket(await readSession("docs/cli.md", "sh minio"));
    const { stdout, stderr, exitCode } = await inNewFolder((folder) =>
      runSession(folder, `${setup}\n${session}`, minioVariables()),
    );
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
    expect(stdout).toContain("the minutes");
    expect(stdout).toMatch(/checksums +yes/u);
    expect(stderr).toContain("1 by server checksum");
  });

  test("docs/backends.md checks a store with the output it shows", async () => {
    const { MINIO_ENDPOINT, MINIO_PORT, ...credentials } = minioVariables();
    const session = withOwnBucket(await readSession("docs/backends.md", "sh minio")).replaceAll(
      "127.0.0.1:9000",
      `${MINIO_ENDPOINT}:${MINIO_PORT}`,
    );
    const { stdout, stderr, exitCode } = await inNewFolder((folder) =>
      runSession(folder, session, credentials),
    );
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
    // Everything except the store's name and the time, which differ for each reader.
    const facts = (text: string) => text.match(/^(?!store |round trip|created ).+$/gmu);
    const [shown] = await readBlocks("docs/backends.md", "text");
    expect(facts(stdout)).toEqual(facts(shown!));
  });
});
