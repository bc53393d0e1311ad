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
import { requireServer, skipIfMissing } from "./servers/require-server.ts";
import { missingPython } from "./live/python/run.ts";
import { copyFile, mkdir, rm, symlink, writeFile } from "node:fs/promises";

const documents = (await Array.fromAsync(new Bun.Glob("**/*.md").scan({ cwd: root })))
  .filter((path) => !path.includes("node_modules") && !path.startsWith("docs/api/"))
  .toSorted();

/**
 * The info strings of each document whose blocks the tests below, readme.test.ts,
 * backup-guide.test.ts, live/gateway/guide.test.ts or packages/release-documents.test.ts run.
 */
const RUN: Readonly<Record<string, readonly string[]>> = {
  "CONTRIBUTING.md": ["ts"],
  "README.md": ["sh", "sh install", "sh first file", "ts"],
  "docs/backends.md": ["sh minio", "ts"],
  "docs/backup.md": ["crontab", "ini", "sh", "sh python", "sh revoke", "xml"],
  "docs/cli.md": ["sh", "sh minio"],
  "docs/configuration.md": ["sh", "toml"],
  "docs/gateway.md": [
    "sh client",
    "sh drill",
    "sh serve",
    "sh setup",
    "sh snapshot",
    "sh write-only",
    "toml",
  ],
  "docs/install.md": ["sh verify"],
  "docs/library.md": ["cts", "cts require", "ts"],
  "docs/many-machines.md": ["sh", "sh slurm", "yaml"],
  "docs/recipes.md": ["sh", "sh hono", "sh python", "ts browser", "ts server"],
  "docs/releasing.md": ["sh key"],
  "packages/bench/README.md": ["ts"],
  "packages/cli/README.md": ["sh"],
  "packages/gateway/README.md": ["ts"],
  "packages/recorder/README.md": ["ts"],
  "packages/snapshots/README.md": ["ts"],
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

  test.each(["docs/format.md", "docs/snapshots.md"])(
    "%s numbers its sections as its contents and references do",
    async (path) => {
      const markdown = await Bun.file(join(root, path)).text();
      const contents = Array.from(markdown.matchAll(/^(\d+)\. \[(.+)\]\(#/gmu));
      const headings = Array.from(markdown.matchAll(/^## (\d+)\. (.+)$/gmu));
      expect(headings.length).toBeGreaterThan(10);
      expect(contents.map(([, n, title]) => `${n}. ${title}`)).toEqual(
        headings.map(([, n, title]) => `${n}. ${title}`),
      );
      expect(headings.map(([, n]) => Number(n))).toEqual(headings.map((_, i) => i + 1));
      const references = Array.from(markdown.matchAll(/\[section (\d+)[^\]]*\]\([^)#]*#(\d+)-/gu));
      expect(references.length).toBeGreaterThan(0);
      expect(references.filter(([, n, anchor]) => n !== anchor).map(([all]) => all)).toEqual([]);
    },
  );

  test.each([
    ["docs/threat-model.md", 100],
    ["docs/links.md", 5],
  ])("%s links to tests by their titles", async (path, least) => {
    const markdown = await Bun.file(join(root, path)).text();
    const links = Array.from(markdown.matchAll(/\[([^\]|]+)\]\(\.\.\/([^)]+\.test\.ts)\)/gu));
    expect(links.length).toBeGreaterThan(least);
    const missing: string[] = [];
    for (const [, title, file] of links) {
      const source = (await Bun.file(join(root, file!)).text()).replaceAll(/\(\s+/gu, "(");
      if (!source.includes(`("${title}",`)) missing.push(`${file}: ${title}`);
    }
    expect(missing).toEqual([]);
  });
});

/** Runs `work` in a new folder with the examples and what they import. */
async function inExamples(work: (folder: string) => Promise<void>): Promise<void> {
  await inNewFolder(async (folder) => {
    const examples = join(root, "examples");
    await rm(join(folder, "node_modules"));
    await symlink(join(examples, "node_modules"), join(folder, "node_modules"));
    await writeFile(join(folder, "package.json"), '{"type":"module"}');
    for (const name of ["per-user.ts", "presigned-urls.ts"]) {
      await copyFile(join(examples, name), join(folder, name));
    }
    await work(folder);
  });
}

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

  /** Runs the blocks of a document with this info string, as one program. */
  async function runBlocks(path: string, info: string): Promise<void> {
    const program = await readSession(path, info);
    const printed = Array.from(
      program.matchAll(/console\.log.*\/\/ (.*)$/gmu),
      ([, text]) => text!,
    );
    expect(printed).not.toBeEmpty();
    await inExamples(async (folder) => {
      await writeFile(join(folder, "program.mts"), program);
      const result = await run(folder, [process.execPath, "program.mts"]);
      expect(result).toMatchObject({ stderr: "", exitCode: 0 });
      expect(result.stdout.trimEnd().split("\n")).toEqual(printed);
    });
  }

  test("docs/library.md prints what its comments say", () => runBlocks("docs/library.md", "ts"));

  test("docs/recipes.md stores files for a user", () => runBlocks("docs/recipes.md", "ts server"));

  skipIfMissing(Bun.which("npm") === null ? ["npm"] : [])("with npm", () => {
    test(
      "docs/recipes.md installs what its server needs, in the versions of the examples",
      () =>
        inExamples(async (folder) => {
          const modules = join(folder, "node_modules");
          await rm(modules);
          const session = await readSession("docs/recipes.md", "sh hono");
          const installed = await runSession(folder, session);
          expect(installed).toMatchObject({ exitCode: 0 });
          const { dependencies } = await Bun.file(join(folder, "package.json")).json();
          const examples = await Bun.file(join(root, "examples/package.json")).json();
          for (const [name, range] of Object.entries<string>(dependencies)) {
            expect(range.replace(/^\^/u, "")).toBe(examples.dependencies[name]);
          }
          await mkdir(join(modules, "@idk"));
          await symlink(join(root, "packages/storage"), join(modules, "@idk/storage"));
          const server = await readSession("docs/recipes.md", "ts server");
          await writeFile(join(folder, "program.mts"), server);
          const result = await run(folder, [process.execPath, "program.mts"]);
          expect(result).toMatchObject({ stderr: "", exitCode: 0 });
          expect(result.stdout).toStartWith("201 draft.txt\n");
        }),
      120_000,
    );
  });

  test("docs/recipes.md has a page that bundles without native code", async () => {
    await inExamples(async (folder) => {
      await writeFile(join(folder, "page.mts"), await readSession("docs/recipes.md", "ts browser"));
      const { outputs } = await Bun.build({
        entrypoints: [join(folder, "page.mts")],
        target: "browser",
        conditions: ["browser", "bun"],
      });
      const script = await outputs[0]!.text();
      expect(script).toContain("idk/v1/");
      expect(new Bun.Transpiler({ loader: "js" }).scanImports(script)).toEqual([]);
    });
  });

  test("docs/library.md and docs/recipes.md have the right types", async () => {
    await inExamples(async (folder) => {
      const options = {
        extends: join(root, "tsconfig.json"),
        compilerOptions: { typeRoots: [join(root, "node_modules/@types")] },
        include: ["*.mts", join(root, "packages/storage/src/**/*.d.ts")],
      };
      await writeFile(join(folder, "tsconfig.json"), JSON.stringify(options));
      await writeFile(join(folder, "guide.mts"), await readSession("docs/library.md", "ts"));
      await writeFile(join(folder, "page.mts"), await readSession("docs/recipes.md", "ts browser"));
      await writeFile(
        join(folder, "server.mts"),
        await readSession("docs/recipes.md", "ts server"),
      );
      const types = await run(folder, [join(root, "node_modules/.bin/tsc"), "--noEmit"]);
      expect(types).toMatchObject({ stdout: "", exitCode: 0 });
    });
  });

  test("packages/recorder/README.md prints what its comments say", () =>
    runBlocks("packages/recorder/README.md", "ts"));

  test("packages/snapshots/README.md backs up and restores a folder", async () => {
    const result = await runProgram("packages/snapshots/README.md");
    expect(result).toEqual({ stdout: "1 0\n1 0\n", stderr: "", exitCode: 0 });
  });

  test("packages/gateway/README.md serves an object", async () => {
    const result = await runProgram("packages/gateway/README.md");
    expect(result).toEqual({ stdout: "Dear Bob\n", stderr: "", exitCode: 0 });
  });

  test("packages/bench/README.md runs a suite", async () => {
    const { stdout, exitCode } = await runProgram("packages/bench/README.md");
    expect(exitCode).toBe(0);
    expect(stdout).toBe("completed 1 MB: rate of SHA-256\n");
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

  describe("docs/many-machines.md", () => {
    const parts = async (more: string): Promise<string> => {
      const session = await readSession("docs/many-machines.md", "sh");
      return inNewFolder(async (folder) => {
        const script = await readSession("docs/many-machines.md", "sh slurm");
        await writeFile(join(folder, "job.sh"), script);
        const result = await runSession(folder, `${session}\nexport IDK_STORE=safe\n${more}`);
        expect(result).toMatchObject({ exitCode: 0 });
        return result.stdout;
      });
    };
    const CHECKED = /^checked \d+ blobs, .*; none failed$/gmu;

    test("runs four parts and adds them up", async () => {
      expect((await parts("")).match(CHECKED)).toHaveLength(1);
    });

    test("has a Job whose command works on each part once", async () => {
      const [yaml = ""] = await readBlocks("docs/many-machines.md", "yaml");
      const { spec } = Bun.YAML.parse(yaml) as {
        spec: {
          completions: number;
          completionMode: string;
          template: { spec: { containers: { command: string[]; args: string[] }[] } };
        };
      };
      expect([spec.completionMode, spec.completions]).toEqual(["Indexed", 16]);
      const [{ command, args } = { command: [], args: [] }] = spec.template.spec.containers;
      expect(command).toEqual(["sh", "-c"]);
      const job = args[0]!.replaceAll("/reports/", "job/");
      const stdout = await parts(
        `export JOB=idk-verify-1\ncat > job.sh <<'END'\n${job}\nEND\n` +
          "for at in $(seq 0 15); do JOB_COMPLETION_INDEX=$at sh job.sh; done\n" +
          "idk merge-reports job/idk-verify-1/*.json\n",
      );
      expect(stdout.match(CHECKED)).toHaveLength(2);
    });

    test.each([[0], [1]])("has a script for SLURM arrays that begin at %p", async (start) => {
      const stdout = await parts(
        `export SLURM_ARRAY_JOB_ID=7 SLURM_ARRAY_TASK_MIN=${start} SLURM_ARRAY_TASK_COUNT=3\n` +
          `for at in $(seq ${start} ${start + 2}); do SLURM_ARRAY_TASK_ID=$at sh job.sh; done\n` +
          "idk merge-reports reports/7/*.json\n",
      );
      expect(stdout.match(CHECKED)).toHaveLength(2);
    });
  });

  /** Rotates a key and recovers what it opens; `more` continues the session. */
  async function recover(folder: string, more = ""): Promise<Result> {
    const result = await runSession(folder, (await readSession("docs/recipes.md", "sh")) + more);
    expect(result).toMatchObject({ exitCode: 0 });
    expect(await Bun.file(join(folder, "logs/today.log")).text()).toBe("08:00 all quiet\n");
    expect(await Bun.file(join(folder, "restored/report.txt")).text()).toBe("the report\n");
    const lines = async (name: string) =>
      (await Bun.file(join(folder, name)).text()).trim().split("\n");
    const pairs = (await lines("moved")).map((line) => line.split("  "));
    expect(pairs.map(({ length }) => length)).toEqual([2, 2]);
    const found = (await lines("found")).map((line) => line.slice(0, 64));
    expect(found.toSorted()).toEqual(pairs.map(([moved]) => moved!).toSorted());
    return result;
  }

  test("docs/recipes.md rotates a key and recovers everything with the new one", () =>
    inNewFolder(async (folder) => void (await recover(folder))));

  skipIfMissing(missingPython)("with the Python reference", () => {
    test("docs/recipes.md recovers everything without idk", () =>
      inNewFolder(async (folder) => {
        await symlink(join(root, "testdata"), join(folder, "testdata"));
        await writeFile(
          join(folder, "python3"),
          `#!/bin/sh\nexec "${process.env["IDK_REFERENCE_PYTHON"]}" "$@"\n`,
          {
            mode: 0o755,
          },
        );
        const session = await readSession("docs/recipes.md", "sh python");
        expect((await recover(folder, `\n${session}`)).stdout).toEndWith("\n3000011\n");
      }));
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

  test(
    "docs/configuration.md changes a passphrase, and the key stays the same",
    () =>
      inNewFolder(async (folder) => {
        const session = await readSession("docs/configuration.md", "sh");
        const result = await runSession(folder, session);
        expect(result).toMatchObject({ exitCode: 0 });
        const recipient = await Bun.file(join(folder, "me.pub")).text();
        expect(result.stdout).toBe(recipient.repeat(3));
        expect(await Bun.file(join(folder, "me.key")).text()).toContain(
          `# recipient: ${recipient}`,
        );
      }),
    120_000,
  );
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
