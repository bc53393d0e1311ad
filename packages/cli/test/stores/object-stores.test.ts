import { describe, expect, test } from "bun:test";
import {
  createWorkspace,
  expectFailure,
  isolated,
  MAIN,
  newFolder,
  noise,
  runIdk,
  sameBytes,
} from "../support/cli.ts";
import { describeMinio, expectNoCredentials } from "../support/minio.ts";

const MISSING = "f".repeat(64);
// A port outside the ephemeral range, so that no other test's server listens on it.
const NOWHERE = "minio://127.0.0.1:1/attic";

const workspace = await createWorkspace();

await describeMinio("a store in MinIO", (minio, bucket) => {
  const url = minio.url(bucket, "/attic");
  const env = { ...minio.env, IDK_STORE: url, IDK_RETRY_SECONDS: "1" };
  const idk: typeof workspace.idk = async (args, options = {}) => {
    const given = { ...env, ...options.env };
    const result = await workspace.idk(args, { ...options, env: given });
    expectNoCredentials(result, given);
    return result;
  };
  const ok: typeof workspace.ok = async (args, options) => {
    const result = await idk(args, options);
    expect(`${result.code} ${result.code === 0 ? "" : result.stderr}`).toBe("0 ");
    return result;
  };
  const spawn = (args: readonly string[], given: Record<string, string>) =>
    Bun.spawn([process.execPath, MAIN, ...args], {
      cwd: workspace.folder,
      env: isolated({ ...workspace.env, ...given }),
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    });
  const put = async (content: Uint8Array | string, ...args: string[]): Promise<string> =>
    (await ok(["put", "-", ...args], { stdin: content })).stdout.trim();

  test("put, get, stat, verify, rewrap, ls and rm", async () => {
    const content = noise(2 ** 20 + 1);
    const address = await put(content, "--chunk-size", "256K", "--name", "noise");
    const keys = await minio.listKeys(bucket);
    expect(keys).toContain(`attic/${address}`);
    for (const key of keys) expect(key).toMatch(/^attic\/[0-9a-f]{64}$/u);

    const got = await ok(["get", address]);
    expect(sameBytes(got.bytes, content)).toBe(true);
    const part = await ok(["get", address, "--range", "300000-300100"]);
    expect(sameBytes(part.bytes, content.subarray(300_000, 300_100))).toBe(true);
    expect((await ok(["stat", address])).stdout).toContain('"noise"');

    const deep = await ok(["verify", "--deep"]);
    expect(deep.stderr).toContain("none failed");
    const other = (await ok(["keygen", "-o", "other.key"])).stdout.trim();
    const shared = (await ok(["rewrap", address, "-r", other])).stdout.trim();
    const theirs = await ok(["get", shared, "-i", "other.key"]);
    expect(sameBytes(theirs.bytes, content)).toBe(true);

    const listed = (await ok(["ls"])).stdout.trim().split("\n");
    expect(listed.map((name) => `attic/${name}`).toSorted()).toEqual(
      (await minio.listKeys(bucket)).toSorted(),
    );
    await ok(["rm", shared]);
    await ok(["rm", address, "--tree"]);
    expect((await ok(["ls"])).stdout).toBe("");
    expectFailure(await idk(["get", address]), 3, address);
    expectFailure(await idk(["rm", address]), 3, address);
  });

  test("put reports what the store already has", async () => {
    workspace.write("dedup", noise(32, 5));
    const content = noise(5 * 2 ** 18);
    workspace.write("same", content);
    const args = ["--chunk-size", "256K", "--no-padding", "--dedup-secret", "dedup"];
    const numbers = async (...more: string[]) =>
      JSON.parse((await ok(["put", "same", ...args, ...more, "--json"])).stdout) as object;
    const bytes = content.length;
    expect(await numbers()).toMatchObject({ bytes, chunks: 5, newBytes: bytes, sentBlobs: 6 });
    expect(await numbers()).toMatchObject({ skippedChunks: 5, skippedBytes: bytes, sentBlobs: 0 });
    const skipped = "skipped 5 of 5 chunks, 1310720 bytes (1.3 MiB), already in the store";
    const again = await ok(["put", "same", ...args]);
    expect(again.stderr).toBe(`idk: ${skipped}\n`);
    const both = await ok(["put", "same", "dedup", ...args]);
    expect(both.stderr).toBe(`stored 2 files, 1310752 bytes (1.3 MiB); ${skipped}; none failed\n`);
    for (const line of both.stdout.trim().split("\n")) {
      await ok(["rm", line.slice(0, 64), "--tree", "--force"]);
    }
  });

  test("verify --server-checksums and --attested download nothing that has a server checksum", async () => {
    const address = await put("attested");
    // Not written by idk: no checksum, and not a blob.
    const foreign = "0".repeat(64);
    await minio.putObject(bucket, `attic/${foreign}`, "never was a blob");
    const sound = await ok(["verify", "--server-checksums", address]);
    expect(sound.stderr).toMatch(
      /^checked 1 blob, .*: 1 by server checksum, 0 downloaded; none failed\n/u,
    );
    const json = await ok(["verify", "--attested", address, "--json"]);
    expect(JSON.parse(json.stdout)).toMatchObject({ ok: true, address, attested: true });
    const read = await ok(["verify", address, "--json"]);
    expect(JSON.parse(read.stdout)).toMatchObject({ ok: true, kind: "root", attested: false });

    const all = await idk(["verify", "--server-checksums"]);
    expect(all.stdout).toMatch(new RegExp(`^${foreign} address: [^\\n]+\\n$`, "u"));
    expect(all.stderr).toContain("1 by server checksum, 0 downloaded; 1 failed");
    expect(all.code).toBe(5);
    await ok(["rm", foreign]);
    await ok(["rm", address]);
  });

  test("verify --complete takes the server's checksums of chunks, and misses none", async () => {
    const { stdout } = await ok(["put", "-", "--chunk-size", "256K"], {
      stdin: noise(2 ** 20 + 1),
    });
    const address = stdout.trim();
    const complete = await ok(["verify", "--complete", address]);
    expect(complete.stderr).toContain(
      ": 5 of 5 chunks by server checksum, 0 by size; none failed\n",
    );
    const chunk = (await ok(["ls"])).stdout
      .trim()
      .split("\n")
      .find((name) => name !== address)!;
    await ok(["rm", chunk]);
    const missing = await idk(["verify", "--complete", address]);
    expect(missing.stdout).toBe(
      `${address} not-found: the store has no blob ${chunk}, a chunk of ${address}\n`,
    );
    expect(missing.code).toBe(3);
    await ok(["rm", address, "--tree"]);
  });

  test("requests encryption at rest and shows it", async () => {
    const encrypted = `${url}?sse=AES256`;
    const { stdout } = await ok(["put", "-", "--store", encrypted], { stdin: "twice" });
    const address = stdout.trim();
    expect((await ok(["stat", address])).stdout).toMatch(/^encryption {2}AES256, by the store$/mu);
    const json = await ok(["stat", address, "--json"]);
    expect(JSON.parse(json.stdout)).toMatchObject({ encryption: "AES256" });
    expectFailure(
      await idk(["ls"], { env: { IDK_SSE_C_KEY: "0f".repeat(32) } }),
      2,
      "needs an https:// endpoint",
    );
    await ok(["rm", address]);
  });

  test.each<[what: string, key: Uint8Array | string | undefined, message: string]>([
    ["missing", undefined, "cannot read the SSE-C key file sse.key: no such file"],
    ["too short", "short", "SSE-C key file sse.key must contain 32 bytes or 64 hexadecimal digits"],
    // The key was read; without TLS it must not be sent.
    ["sound", noise(32), "needs an https:// endpoint"],
    ["hexadecimal", `${"0f".repeat(32)}\n`, "needs an https:// endpoint"],
  ])("an SSE-C key file that is %s", async (_, key, message) => {
    if (key !== undefined) workspace.write("sse.key", key);
    expectFailure(await idk(["ls", "--store", `${url}?sse-c-key=sse.key`]), 2, message);
  });

  test("s3:// reaches the same store", async () => {
    const address = await put("two ways in");
    const s3 = { ...minio.awsEnv, IDK_STORE: minio.s3Url(bucket, "/attic") };
    expect((await ok(["get", address], { env: s3 })).stdout).toBe("two ways in");
    await ok(["rm", address], { env: s3 });
    expect((await ok(["ls"])).stdout).toBe("");
  });

  test("two stores in one bucket are separate", async () => {
    const address = await put("here");
    const elsewhere = { IDK_STORE: minio.url(bucket, "/cellar") };
    expect((await ok(["ls"], { env: elsewhere })).stdout).toBe("");
    expectFailure(await idk(["get", address], { env: elsewhere }), 3, address);
    await ok(["rm", address]);
  });

  describe("lists of any length", () => {
    const long = minio.url(bucket, "/long");
    const names = Array.from({ length: 1203 }, (_, index) => index.toString(16).padStart(64, "0"));

    test("are listed completely", async () => {
      for (let at = 0; at < names.length; at += 50) {
        const part = names.slice(at, at + 50);
        await Promise.all(part.map((name) => minio.putObject(bucket, `long/${name}`, "x")));
      }
      const { stdout } = await ok(["ls", "--store", long]);
      expect(stdout.trim().split("\n").toSorted()).toEqual(names);
    });

    test("end when the reader closes the pipe", async () => {
      const result = await runIdk(["ls", "--store", long], { cwd: workspace.folder, env });
      expect(result.code).toBe(0);
      const script = `{ "$0" "$1" ls --json --store "${long}"; echo $? >&2; } | head -c1 | wc -c`;
      const child = Bun.spawn(["sh", "-c", script, process.execPath, MAIN], {
        cwd: workspace.folder,
        env: isolated(env),
        stdout: "pipe",
        stderr: "pipe",
      });
      const [stdout, stderr] = await Promise.all([
        new Response(child.stdout).text(),
        new Response(child.stderr).text(),
      ]);
      expect([stdout.trim(), stderr]).toEqual(["1", "141\n"]);
    });
  });

  describe("failures", () => {
    test.each<[what: string, change: Record<string, string>]>([
      ["a wrong secret key", { MINIO_SECRET_KEY: "wrong-secret-key" }],
      ["a wrong access key", { MINIO_ACCESS_KEY: "wrong-access-key" }],
    ])("%s", async (_, change) => {
      for (const args of [["ls"], ["get", MISSING], ["verify"], ["put", "me.key"]]) {
        expectFailure(await idk(args, { env: change }), 6, /access key|credentials/u);
      }
      const json = await idk(["ls", "--json"], { env: change });
      expect(JSON.parse(json.stderr)).toMatchObject({ error: { code: "permission" } });
    });

    test("a missing bucket", async () => {
      const there = { IDK_STORE: minio.url("idk-cli-no-such-bucket") };
      for (const args of [["ls"], ["get", MISSING], ["rm", MISSING], ["put", "me.key"]]) {
        expectFailure(await idk(args, { env: there }), 6, /bucket/u);
      }
    });

    test("an unreachable server, within the retry budget", async () => {
      const there = { IDK_STORE: NOWHERE, IDK_RETRY_SECONDS: "0.2" };
      const start = performance.now();
      const result = await idk(["ls"], { env: there });
      expect(result.code).toBe(6);
      expect(result.stderr).toMatch(/refused the connection \(ECONNREFUSED\)/u);
      expect(performance.now() - start).toBeLessThan(20_000);

      const patient = await idk(["ls"], { env: { ...there, IDK_RETRY_SECONDS: "2" } });
      expect(patient.stderr).toMatch(/^idk: retrying in \d\.\d s: /u);
      expect(
        patient.stderr.split("\n").filter((line) => line.includes("retrying")).length,
      ).toBeLessThanOrEqual(3);
      const json = await idk(["ls", "--json"], { env: { ...there, IDK_RETRY_SECONDS: "0" } });
      expect(JSON.parse(json.stderr)).toMatchObject({ error: { code: "unavailable" } });
    });

    test.each<[what: string, change: Record<string, string>]>([
      ["a refusal", { MINIO_SECRET_KEY: "wrong-secret-key" }],
      ["a bucket that is not there", { IDK_STORE: minio.url("idk-cli-no-such-bucket") }],
      ["no server", { IDK_STORE: NOWHERE, IDK_RETRY_SECONDS: "0" }],
      ["a refusal of s3://", { ...minio.awsEnv, AWS_SECRET_ACCESS_KEY: "wrong-secret-key" }],
    ])("the stack of %s shows no credentials", async (_, change) => {
      const s3 = "AWS_SECRET_ACCESS_KEY" in change ? { IDK_STORE: minio.s3Url(bucket) } : {};
      const given = { ...env, ...s3, ...change, IDK_DEBUG: "1" };
      for (const args of [["ls"], ["get", MISSING], ["put", "me.key"]]) {
        const child = spawn(args, given);
        const [stdout, stderr] = await Promise.all([
          new Response(child.stdout).text(),
          new Response(child.stderr).text(),
        ]);
        expect(stderr).toContain("StorageError");
        expectNoCredentials({ stdout, stderr }, given);
      }
    });

    test("Ctrl-C ends waiting for a server", async () => {
      const child = spawn(["ls"], {
        ...env,
        IDK_STORE: NOWHERE,
        IDK_RETRY_SECONDS: "60",
      });
      const stderr = child.stderr.getReader();
      // The first output comes with a retry.
      await stderr.read();
      const start = performance.now();
      child.kill("SIGINT");
      expect(await child.exited).toBe(130);
      expect(performance.now() - start).toBeLessThan(20_000);
    });

    test("no credentials at all", async () => {
      const cwd = newFolder();
      expectFailure(await runIdk(["ls", "--store", url], { cwd }), 2, /MINIO_ACCESS_KEY/u);
      const s3 = minio.s3Url(bucket);
      // Only these variables, so that the SDK does not query the machine's role over the network.
      const chain = { AWS_EC2_METADATA_DISABLED: "true", IDK_RETRY_SECONDS: "0" };
      expectFailure(
        await runIdk(["ls", "--store", s3], { cwd, env: chain }),
        6,
        /AWS_ACCESS_KEY_ID/u,
      );
    });
  });
});

describe("minio:// to another machine", () => {
  const keys = { MINIO_ACCESS_KEY: "ada", MINIO_SECRET_KEY: "lovelace", IDK_RETRY_SECONDS: "0" };
  const WARNING = /^idk: no TLS to storage\.invalid: others on the network can see/gmu;

  test("warns once if it uses plain HTTP", async () => {
    const url = "minio://storage.invalid/attic";
    for (const [args, env, warnings] of [
      [["ls", "--store", `${url}?tls=0`], {}, 1],
      [["copy", "--from", `${url}?tls=0`, "--to", `${url}/b?tls=0`], {}, 1],
      [["ls", "--store", url], { MINIO_USE_SSL: "0" }, 1],
      [["store", "init", `${url}?tls=0`], {}, 1],
      [["ls", "--store", url], {}, 0],
      [["ls", "--store", "minio://127.0.0.1:1/attic"], {}, 0],
    ] as const) {
      const { stderr } = await workspace.idk(args, { env: { ...keys, ...env } });
      expect(stderr.match(WARNING) ?? []).toHaveLength(warnings);
    }
  }, 60_000);
});
