import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { expectPage, ok, root, run } from "./projects.ts";
import { PLATFORMS, compileFor, release } from "../../script/release.ts";
import { VERSION } from "../../packages/cli/building.ts";
import { join } from "node:path";
import { tmpdir } from "node:os";
import { randomBytes } from "node:crypto";
import {
  CreateBucketCommand,
  GetObjectCommand,
  PutObjectCommand,
  S3Client,
} from "@aws-sdk/client-s3";

/*
 * The single-file executables: the one for this machine runs here. Those for other platforms are only
 * compiled, in the slow tests.
 */

setDefaultTimeout(180_000);

const slow = process.env["IDK_TEST_SLOW"] === "1" ? test : test.skip;
/** Whether this machine runs the executable for linux-x64. */
const runsHere =
  process.platform === "linux" &&
  process.arch === "x64" &&
  "glibcVersionRuntime" in (process.report.getReport() as { header: object }).header;

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "idk-executables-"));
});
afterAll(() => rm(folder, { recursive: true }));

describe.skipIf(!runsHere)("the executable for Linux on x64", () => {
  let idk: string;
  /** Where it runs. Everything here is written by someone else. */
  let hostile: string;
  let env: NodeJS.ProcessEnv;

  beforeAll(async () => {
    const compiled = join(folder, "compiled");
    await mkdir(compiled);
    idk = (await compileFor("linux-x64", compiled)).outfile;

    hostile = join(folder, "hostile");
    await mkdir(hostile);
    const shout = 'console.log("obeyed");\n';
    await writeFile(join(hostile, "bunfig.toml"), 'preload = ["./preload.ts"]\n');
    await writeFile(join(hostile, ".env"), "IDK_STORE=/nonexistent/obeyed\n");
    const paths = { compilerOptions: { paths: { "*": ["./preload.ts"] } } };
    await writeFile(join(hostile, "tsconfig.json"), JSON.stringify(paths));
    await writeFile(join(hostile, "package.json"), '{"imports":{"#threads":"./preload.ts"}}');
    const executable = (await readFile(idk)).toString("latin1");
    const scripts = executable.matchAll(/"\/\$bunfs\/root\/([\w-]+\.cjs)"/gu);
    const embedded = new Set([...scripts].map(([, name = ""]) => name));
    expect(embedded.size).toBeGreaterThan(10);
    for (const name of ["preload.ts", "worker", "worker.js", ...embedded]) {
      await writeFile(join(hostile, name), shout);
    }
    const modules = ["@idk/bench", "@idk/storage", "@napi-rs/nice", "lz4-napi", "piscina"];
    for (const name of [
      ...modules,
      "sodium-native",
      "undici",
      "minio",
      "@aws-sdk/client-s3",
      "@aws-sdk/checksums",
      "@smithy/core",
    ]) {
      const at = join(hostile, "node_modules", name);
      await mkdir(at, { recursive: true });
      await writeFile(join(at, "index.js"), shout);
      const exports = { ".": "./index.js", "./*": "./index.js" };
      await writeFile(join(at, "package.json"), JSON.stringify({ name, exports }));
    }
    const home = join(folder, "home");
    await mkdir(home);
    env = { HOME: home, PATH: "/usr/bin:/bin" };
    await ok([idk, "init", "--store", join(folder, "store"), "--no-passphrase"], hostile, env);
  });

  const runIdk = (...args: string[]) => ok([idk, ...args], hostile, env);

  test("stores and fetches content, with its native libraries", async () => {
    expect(await runIdk("--version")).toContain("NaCl native");
    expect(await runIdk("doctor")).toMatch(/^ok +crypto +native: libsodium/mu);
    const small = await runIdk("put", "bunfig.toml");
    expect(await runIdk("get", small.trim())).toBe('preload = ["./preload.ts"]\n');
    const text = "the minutes\n".repeat(100_000);
    await writeFile(join(hostile, "minutes"), text);
    for (const compression of ["lz4", "zstd"]) {
      const address = await runIdk("put", "minutes", "--compress", compression);
      expect(await runIdk("get", address.trim())).toBe(text);
    }
  });

  test("writes the page that opens links", async () => {
    await runIdk("link", "--page", "page");
    await expectPage(join(hostile, "page"));
  });

  test("without libsodium uses the NaCl in JavaScript, and `idk doctor` explains it", async () => {
    const into = join(folder, "portable");
    await mkdir(into);
    const { target, bun, lz4 } = PLATFORMS.get("linux-x64")!;
    const { outfile } = await compileFor("linux-x64-musl", into, { target, bun, lz4 });
    expect(await ok([outfile, "--version"], hostile, env)).toContain("NaCl portable");
    const doctor = await ok([outfile, "doctor"], hostile, env);
    expect(doctor).toMatch(
      /^warning +crypto +portable: .*\n +→ libsodium is not available for musl/mu,
    );
    const address = (await runIdk("put", "bunfig.toml")).trim();
    const content = await ok([outfile, "get", address], hostile, env);
    expect(content).toBe('preload = ["./preload.ts"]\n');
  });

  test("seals and opens 64 MiB in threads", async () => {
    const large = crypto
      .getRandomValues(new Uint8Array(2 ** 16))
      .toHex()
      .repeat(2 ** 9);
    const child = Bun.spawn([idk, "put", "-", "--workers", "2"], {
      cwd: hostile,
      env,
      stdin: "pipe",
      stdout: "pipe",
    });
    void child.stdin.write(large);
    await child.stdin.flush();
    // Threads that cannot start end at once, and the command then works without.
    const started = Date.now();
    while ((await workersOf(child.pid)) < 2 && Date.now() - started < 20_000) await Bun.sleep(20);
    await Bun.sleep(500);
    expect(await workersOf(child.pid)).toBe(2);
    await child.stdin.end();
    const address = (await new Response(child.stdout).text()).trim();
    expect(await child.exited).toBe(0);
    await runIdk("get", address, "--workers", "2", "-o", "copy");
    expect(await Bun.file(join(hostile, "copy")).text()).toBe(large);
  });

  test("backs up and restores a folder in threads", async () => {
    const docs = join(hostile, "docs");
    await mkdir(docs);
    const names = ["a", "b", "c"];
    for (const name of names) await writeFile(join(docs, name), randomBytes(48 * 2 ** 20));
    const share = (...args: string[]) => threaded([idk, ...args, "--workers", "2"], hostile, env);
    // Threads that cannot start end at once, and the command then works without.
    expect(await share("backup", "docs", "--name", "docs")).toBeGreaterThan(0.5);
    expect(await share("restore", `docs:${docs}`, "--target", "back")).toBeGreaterThan(0.5);
    for (const name of names) {
      const [stored, restored] = await Promise.all([
        Bun.file(join(docs, name)).bytes(),
        Bun.file(join(hostile, "back", name)).bytes(),
      ]);
      expect(Buffer.compare(stored, restored)).toBe(0);
    }
  });

  test("creates many small files in a thread", async () => {
    const small = join(hostile, "small");
    await mkdir(small);
    const names = Array.from({ length: 2000 }, (_, at) => `file-${at}`);
    for (const name of names) await writeFile(join(small, name), name);
    await writeFile(join(hostile, "small-list"), await runIdk("put", "small"));
    const get = [idk, "get", "--from-file", "small-list", "--output-dir", "small-copy"];
    expect(await threaded(get, hostile, env, 1)).toBeGreaterThan(0.3);
    for (const name of names) {
      expect(await readFile(join(hostile, "small-copy", name), "utf8")).toBe(name);
    }
  });

  test("serves S3, with its threads for digests and the catalog", async () => {
    const [key, secret] = ["executable", randomBytes(20).toString("hex")];
    const credentials = join(folder, "credentials.toml");
    await writeFile(credentials, `[keys.${key}]\nsecret = "${secret}"\n`, { mode: 0o600 });
    const how = ["--listen", "127.0.0.1:0", "--credentials", credentials, "--digest-threads", "1"];
    const gateway = Bun.spawn([idk, "serve", "s3", ...how], { cwd: hostile, env, stderr: "pipe" });
    try {
      let messages = "";
      for await (const text of gateway.stderr.pipeThrough(new TextDecoderStream())) {
        messages += text;
        if (messages.includes("serving S3 at")) break;
      }
      const [, endpoint = ""] = /serving S3 at (\S+)/u.exec(messages) ?? [];
      const client = new S3Client({
        endpoint,
        region: "us-east-1",
        forcePathStyle: true,
        credentials: { accessKeyId: key, secretAccessKey: secret },
      });
      const at = { Bucket: "minutes", Key: "of-today" };
      await client.send(new CreateBucketCommand(at));
      const body = randomBytes(9 * 2 ** 20);
      await client.send(
        new PutObjectCommand({ ...at, Body: body, ChecksumAlgorithm: "CRC64NVME" }),
      );
      const { Body } = await client.send(new GetObjectCommand(at));
      expect(Buffer.compare(await Body!.transformToByteArray(), body)).toBe(0);
      // Without a thread for digests, the gateway would compute them itself.
      expect(await workersOf(gateway.pid)).toBe(2);
    } finally {
      gateway.kill();
    }
    expect(await gateway.exited).toBe(0);
  });

  test("lists an object store", async () => {
    const name = "0".repeat(64);
    using server = Bun.serve({
      port: 0,
      fetch: () =>
        new Response(
          `<ListBucketResult><Name>b</Name><IsTruncated>false</IsTruncated><Contents><Key>${name}</Key><Size>4096</Size></Contents></ListBucketResult>`,
        ),
    });
    const keys = { MINIO_ACCESS_KEY: "a", MINIO_SECRET_KEY: "b" };
    const store = `minio://127.0.0.1:${server.port}/b`;
    const listed = await ok([idk, "ls", "--store", store], hostile, { ...env, ...keys });
    expect(listed.trim()).toBe(name);
  });

  test("obeys no file of the current folder", async () => {
    expect(await runIdk("config")).not.toContain("obeyed");
    const missing = await run([idk, "bench"], hostile, env);
    expect(missing).toMatchObject({ code: 2, stdout: "" });
    expect(missing.stderr).toContain("which is not installed");
    // Nothing listens there, but everything that connects is loaded: of S3 without a region, the AWS SDK, and to
    // create a bucket on MinIO, its client.
    const [s3, minio] = ["s3://b?endpoint=http://127.0.0.1:1", "minio://127.0.0.1:1/bucket"];
    const commands = [
      ["ls", "--store", `${s3}&region=r`],
      ["ls", "--store", s3],
      ["ls", "--store", minio],
      ["store", "init", minio],
    ];
    const keys = {
      AWS_ACCESS_KEY_ID: "a",
      AWS_SECRET_ACCESS_KEY: "b",
      MINIO_ACCESS_KEY: "a",
      MINIO_SECRET_KEY: "b",
      IDK_RETRY_SECONDS: "0",
    };
    const runs = commands.map((args) => run([idk, ...args], hostile, { ...env, ...keys }));
    for (const { stdout, stderr } of await Promise.all(runs)) {
      expect(stdout).toBe("");
      expect(stderr).toContain("ECONNREFUSED");
    }
  });
});

slow(
  "a release has an archive for each platform, with the same bytes each time",
  async () => {
    const [first, second] = [join(folder, "first"), join(folder, "second")];
    for (const into of [first, second]) await release([...PLATFORMS.keys()], into);
    const sums = await readFile(join(first, "SHA256SUMS"), "utf8");
    expect(await readFile(join(second, "SHA256SUMS"), "utf8")).toBe(sums);
    await ok(["sha256sum", "--check", "--strict", "SHA256SUMS"], first);

    const archives = [...PLATFORMS.keys()].map(
      (name) => `idk-${VERSION}-${name}.${name.startsWith("windows-") ? "zip" : "tar.gz"}`,
    );
    expect((await readdir(first)).toSorted()).toEqual([...archives, "SHA256SUMS"].toSorted());
    expect(
      sums
        .trim()
        .split("\n")
        .map((line) => line.slice(66)),
    ).toEqual(archives.toSorted());
    for (const archive of archives) {
      const isZip = archive.endsWith(".zip");
      const list = isZip ? ["unzip", "-Z1", archive] : ["tar", "-tzf", archive];
      const names = (await ok(list, first)).trim().split("\n");
      const top = archive.replace(/\.zip$|\.tar\.gz$/u, "");
      const files = ["LICENSE", "LICENSES.txt", "completions/_idk", "completions/idk.bash"];
      const others = ["completions/idk.fish", "idk.1", "sbom.cdx.json", isZip ? "idk.exe" : "idk"];
      expect(names.filter((name) => !name.endsWith("/")).toSorted()).toEqual(
        [...files, ...others].map((name) => `${top}/${name}`).toSorted(),
      );
    }

    if (!runsHere) return;
    await ok(["tar", "-xzf", `idk-${VERSION}-linux-x64.tar.gz`], first);
    const version = await ok([join(first, `idk-${VERSION}-linux-x64/idk`), "--version"], first);
    expect(version).toStartWith(`idk ${VERSION} `);
  },
  1_200_000,
);

slow("a package that is not the one in bun.lock is not used", async () => {
  const { lz4 } = PLATFORMS.get("linux-x64-musl")!;
  const cached = join(root, `.cache/release/${lz4.slice(1).replace("/", "-")}-2.10.0.tgz`);
  expect(await Bun.file(cached).exists()).toBe(true);
  await writeFile(cached, "another package");
  const into = join(folder, "tampered");
  await mkdir(into);
  const refused = await compileFor("linux-x64-musl", into).catch(String);
  expect(refused).toContain("is not the package in bun.lock");
  // Downloaded again.
  expect((await compileFor("linux-x64-musl", into)).outfile).toBe(join(into, "idk"));
});

/** Runs a program that has to succeed, and returns for which share of its time it had these threads for work. */
async function threaded(
  argv: string[],
  cwd: string,
  env: NodeJS.ProcessEnv,
  threads = 2,
): Promise<number> {
  const child = Bun.spawn(argv, { cwd, env, stdout: "ignore", stderr: "pipe" });
  const messages = new Response(child.stderr).text();
  const seen: boolean[] = [];
  while (child.exitCode === null && child.signalCode === null) {
    seen.push((await workersOf(child.pid)) >= threads);
    await Bun.sleep(5);
  }
  const code = await child.exited;
  expect({ code, messages: code === 0 ? "" : await messages }).toEqual({ code: 0, messages: "" });
  return seen.filter(Boolean).length / seen.length;
}

/** How many of a process's threads are JavaScript workers. */
async function workersOf(pid: number): Promise<number> {
  // Threads, and the process itself, may end meanwhile.
  const threads = await readdir(`/proc/${pid}/task`).catch(() => []);
  const names = threads.map((id) =>
    readFile(`/proc/${pid}/task/${id}/comm`, "utf8").catch(() => ""),
  );
  return (await Promise.all(names)).filter((name) => name.trim() === "Worker").length;
}
