import {
  NOT_RUN,
  fencedBlocks,
  inNewFolder,
  readBlocks,
  root,
  run,
  runSession,
} from "./documents.ts";
import { describe, expect, test } from "bun:test";
import { minioServer } from "./servers/s3-servers.ts";
import { join } from "node:path";
import { needs } from "./servers/needs.ts";
import { writeFile } from "node:fs/promises";

const documents = (await Array.fromAsync(new Bun.Glob("**/*.md").scan({ cwd: root })))
  .filter((path) => !path.includes("node_modules"))
  .toSorted();

/** Whose blocks the tests below and those of the README run, by what stands behind the fence. */
const RUN: Readonly<Record<string, readonly string[]>> = {
  "CONTRIBUTING.md": ["ts"],
  "README.md": ["sh", "sh first file", "sh minio", "ts"],
  "docs/backends.md": ["sh minio", "ts"],
  "docs/configuration.md": ["toml"],
  "packages/bench/README.md": ["ts"],
  "packages/cli/README.md": ["sh"],
  "packages/storage/README.md": ["ts"],
};

const COMMAND =
  /^\s*(?:\$ )?(?:[A-Z_]+=\S+ )*(?:\.?\/?script\/|(?:idk|bunx?|npm|npx|node|docker|python3?|git|curl) \S)/mu;

describe("the documents", () => {
  test("are all there", () => {
    expect(documents).toContain("docs/format.md");
    expect(documents).toEqual(expect.arrayContaining(Object.keys(RUN)));
  });

  test.each(documents)("%s shows nothing to run that is neither run nor marked", async (path) => {
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
});

/** Runs the programs of a document, each in a folder of its own. */
async function runPrograms(path: string, before = "", command: readonly string[] = []) {
  const programs = await readBlocks(path, "ts");
  expect(programs.length).toBe(1);
  return inNewFolder(async (folder) => {
    await writeFile(join(folder, "program.test.ts"), before + programs[0]!);
    return run(folder, [process.execPath, ...command, "./program.test.ts"]);
  });
}

describe("programs in the documents", () => {
  test("of the library", async () => {
    const result = await runPrograms("packages/storage/README.md");
    expect(result).toEqual({ stdout: "hello\n", stderr: "", exitCode: 0 });
  });

  test("of the measurements", async () => {
    const { stdout, exitCode } = await runPrograms("packages/bench/README.md");
    expect(exitCode).toBe(0);
    expect(stdout).toContain("SHA-256");
  });

  test("on backends, which ask for nothing before they are used", async () => {
    const names = ["accessKey", "secretKey", "keyId", "applicationKey"];
    const given = names.map((name) => `const ${name} = "x";\n`).join("");
    const result = await runPrograms("docs/backends.md", given);
    expect(result).toEqual({ stdout: "", stderr: "", exitCode: 0 });
  });

  test("for those who write a backend", async () => {
    const { stderr, exitCode } = await runPrograms("CONTRIBUTING.md", "", ["test"]);
    expect(exitCode).toBe(0);
    expect(stderr).toMatch(/ [1-9]\d+ pass\n 0 fail/u);
  });
});

describe("sessions in the documents", () => {
  test("of the command", async () => {
    const session = (await readBlocks("packages/cli/README.md", "sh")).join("\n");
    const result = await inNewFolder((folder) => runSession(folder, session));
    expect(result).toMatchObject({ exitCode: 0 });
    expect(result.stdout).toContain("report.txt");
  });

  test("a configuration that is read as its comments say", async () => {
    const [toml] = await readBlocks("docs/configuration.md", "toml");
    await inNewFolder(async (folder) => {
      await writeFile(join(folder, "config.toml"), toml!);
      const shown = async (more: string) => {
        const result = await runSession(folder, `idk config --json --config config.toml ${more}`);
        expect(result).toMatchObject({ exitCode: 0 });
        return JSON.parse(result.stdout) as Readonly<Record<string, unknown>>;
      };
      expect((await shown(""))["store"]).toBe("work");
      expect(JSON.stringify(await shown("--store home"))).toContain("command: pass show idk");
    });
  });
});

needs("minio")("sessions with an object store", () => {
  test("make a store and show what it can do, in the words of the document", async () => {
    const { endpoint, accessKeyId, secretAccessKey } = minioServer();
    const session = (await readBlocks("docs/backends.md", "sh minio"))
      .join("\n")
      .replaceAll("127.0.0.1:9000", new URL(endpoint).host)
      .replaceAll("attic", `attic-${crypto.randomUUID()}`);
    const env = { MINIO_ACCESS_KEY: accessKeyId, MINIO_SECRET_KEY: secretAccessKey };
    const { stdout, stderr, exitCode } = await inNewFolder((folder) =>
      runSession(folder, session, env),
    );
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
    // All but the store and the time, which are each reader's own.
    const facts = (text: string) => text.match(/^(?!store |round trip|created ).+$/gmu);
    const [promised] = await readBlocks("docs/backends.md", "text");
    expect(facts(stdout)).toEqual(facts(promised!));
  });
});
