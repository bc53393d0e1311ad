import { parseCredentials } from "@idk/gateway";
import { expect, setDefaultTimeout, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import {
  homeIn,
  inNewFolder,
  readBlocks,
  readSession,
  type Result,
  root,
  run,
  runSession,
} from "../../documents.ts";
import { skipIfMissing } from "../../servers/require-server.ts";

setDefaultTimeout(300_000);

const GUIDE = "docs/gateway.md";
const aws = process.env["IDK_CLIENT_AWS"];

/** The home of the sessions: its state folder is where the guide says that it is. */
const environment = (folder: string): Record<string, string> => ({
  ...homeIn(folder),
  HOME: folder,
  XDG_STATE_HOME: join(folder, ".local/state"),
});

async function session(folder: string, text: string, env = {}): Promise<Result> {
  const result = await runSession(folder, text, { ...environment(folder), ...env });
  expect(result).toMatchObject({ exitCode: 0 });
  return result;
}

/** Runs a block whose last command serves, and `work` while it does. Returns what it printed as messages. */
async function serving(
  folder: string,
  info: string,
  work: (endpoint: string, keys: Record<string, string>) => Promise<void>,
): Promise<string> {
  const [block] = await readBlocks(GUIDE, info);
  const lines = block!.trimEnd().split("\n");
  const [, last] = /^idk (serve s3.*)$/u.exec(lines.at(-1)!) ?? [];
  if (lines.length > 1) await session(folder, lines.slice(0, -1).join("\n"));
  const command = [join(folder, "idk"), ...last!.split(" "), "--listen", "127.0.0.1:0"];
  const child = Bun.spawn(command, {
    cwd: folder,
    env: { PATH: process.env["PATH"], ...environment(folder) },
    stdin: "ignore",
    stdout: "ignore",
    stderr: "pipe",
  });
  let messages = "";
  const served = Promise.withResolvers<string>();
  const reading = (async () => {
    const decoder = new TextDecoder();
    for await (const piece of child.stderr) {
      messages += decoder.decode(piece, { stream: true });
      const [, endpoint] = /serving S3 at (\S+)\n/u.exec(messages) ?? [];
      if (endpoint !== undefined) served.resolve(endpoint);
    }
    served.reject(new Error(messages));
  })();
  const endpoint = await served.promise;
  try {
    const [, file] = /(?:kept in|are those in) (.+)/u.exec(messages)!;
    const { keys } = parseCredentials(await Bun.file(file!).text());
    const [key] = keys.values();
    await work(endpoint, {
      AWS_ACCESS_KEY_ID: key!.id,
      AWS_SECRET_ACCESS_KEY: key!.secret,
      AWS_ENDPOINT_URL: endpoint,
      AWS_DEFAULT_REGION: "us-east-1",
    });
  } finally {
    child.kill();
    await child.exited;
    await reading.catch(() => undefined);
  }
  return messages;
}

skipIfMissing([...(aws ? [] : ["aws"]), ...(Bun.which("curl") ? [] : ["curl"])])(
  "docs/gateway.md",
  () => {
    test("stores with the AWS CLI, loses the catalog and rebuilds it", () =>
      inNewFolder(async (folder) => {
        await Bun.$`ln -s ${aws} ${join(folder, "aws")}`;
        await session(folder, await readSession(GUIDE, "sh setup"));
        const commands = await readSession(GUIDE, "sh client");
        const messages = await serving(folder, "sh serve", async (_, keys) => {
          // The lines that set the key and the endpoint are the reader's to fill in.
          const text = commands.replaceAll(/^export .*\n/gmu, "");
          expect(text).not.toBe(commands);
          const { stdout } = await session(folder, text, keys);
          expect(stdout).toContain("Dear Bob\n");
          // The second time, nothing is uploaded.
          expect(stdout.match(/^upload: |\rupload: /gmu)?.length ?? 0).toBeLessThanOrEqual(2);
          expect(stdout).toMatch(/ 20000000 2026\/film\.bin\n/u);
        });
        const [shown] = await readBlocks(GUIDE, "text");
        for (const line of shown!.trimEnd().split("\n")) {
          // What is printed at a terminal only.
          if (line.startsWith("AWS_")) continue;
          expect(messages).toContain(line.replace(/(?:\/home|http).*/u, ""));
        }
        await session(folder, await readSession(GUIDE, "sh drill"));
        const exported = await Bun.file(join(folder, "after.jsonl")).text();
        expect(exported).toContain('"2026/film.bin"');

        await serving(folder, "sh write-only", async (_, keys) => {
          const text = `aws s3 mb s3://inbox; aws s3 cp letters/film.bin s3://inbox/film.bin
            aws s3 ls s3://inbox; ! aws s3 cp s3://inbox/film.bin no.bin 2> refused`;
          const { stdout } = await session(folder, text, keys);
          expect(stdout).toContain(" 20000000 film.bin\n");
          expect(existsSync(join(folder, "no.bin"))).toBe(false);
        });
        await serving(folder, "sh snapshot", async (_, keys) => {
          const { stdout } = await session(folder, "aws s3 ls --recursive s3://home", keys);
          expect(stdout).toMatch(/ 20000000 \S+\/letters\/film\.bin\n/u);
        });
      }));
  },
);

test("docs/gateway.md has a credentials file that is read as its comments say", async () => {
  const [toml, ...others] = await readBlocks(GUIDE, "toml");
  expect(others).toEqual([]);
  const { keys, metricsToken } = parseCredentials(toml!);
  expect(metricsToken).toBeString();
  expect([...keys.keys()]).toEqual(["ADA", "BACKUP"]);
  expect(keys.get("ADA")).toMatchObject({ buckets: ["*"], rights: ["read", "write", "list"] });
  expect(keys.get("BACKUP")).toMatchObject({ prefixes: ["host1/"], rights: ["write", "list"] });
});

test("docs/gateway.md names only commands and flags that exist", async () => {
  const markdown = await Bun.file(join(root, GUIDE)).text();
  await inNewFolder(async (folder) => {
    const help = async (command: string): Promise<string> => {
      const { stdout, exitCode } = await run(folder, ["idk", ...command.split(" "), "--help"]);
      expect([command, exitCode]).toEqual([command, 0]);
      return stdout;
    };
    const serve = await help("serve s3");
    const inText = markdown.replaceAll(/^```.*?^```$/gmsu, "");
    // Flags in the text, without the name of a command before them, are those of the server.
    const flags = Array.from(inText.matchAll(/`(--[a-z][a-z0-9-]+)[^`]*`/gu), ([, flag]) => flag!);
    expect(flags.length).toBeGreaterThan(10);
    const others = new Set([
      "--catalog",
      "--all",
      "--accept-faults",
      "--dry-run",
      "--deep",
      "--endpoint-url",
      "--host",
    ]);
    expect(flags.filter((flag) => !serve.includes(`${flag} `) && !others.has(flag))).toEqual([]);
    const used = new Map<string, Set<string>>();
    for (const [, command, rest] of markdown.matchAll(
      /\bidk (serve s3|gateway [a-z-]+|init|keygen)\b([^`\n]*)/gu,
    )) {
      const found = used.get(command!) ?? new Set();
      for (const [flag] of rest!.matchAll(/--[a-z][a-z0-9-]+/gu)) found.add(flag);
      used.set(command!, found);
    }
    expect(used.size).toBeGreaterThan(6);
    for (const [command, given] of used) {
      const text = await help(command);
      expect([command, [...given].filter((flag) => !text.includes(flag))]).toEqual([command, []]);
    }
  });
});

test("docs/gateway.md names every metric", async () => {
  const markdown = await Bun.file(join(root, GUIDE)).text();
  const sources = ["gauges.ts", "http/metrics.ts"].map((name) =>
    Bun.file(join(root, "packages/gateway/src", name)).text(),
  );
  const text = (await Promise.all(sources)).join("\n");
  const names = Array.from(
    text.matchAll(/name: "([a-z_]+)"|(?:counters|histograms)\(\s*"([a-z_]+)"/gu),
    ([, gauge, other]) => gauge ?? other!,
  );
  expect(names.length).toBeGreaterThan(15);
  expect(names.filter((name) => !markdown.includes(`\`${name}\``))).toEqual([]);
});

test("docs/gateway.md names every operation", async () => {
  const markdown = await Bun.file(join(root, GUIDE)).text();
  const folder = join(root, "packages/gateway/src/operations");
  const files = await Array.fromAsync(new Bun.Glob("**/*.ts").scan(folder));
  const texts = await Promise.all(files.map((file) => Bun.file(join(folder, file)).text()));
  // Settings of buckets have a row of a table each, and the guide has their subresource.
  const names = Array.from(
    texts
      .join("\n")
      .matchAll(/^ +name: "([A-Z]\w+)"|\[\s*"(?:Get|Delete)\w+",\s+"([a-zA-Z-]+)"/gmu),
    ([, operation, subresource]) => operation ?? subresource!,
  );
  expect(names.length).toBeGreaterThan(40);
  expect(names.filter((name) => !markdown.includes(name))).toEqual([]);
});
