import { expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { minio as openMinio } from "@idk/storage/minio";
import { httpProxy } from "../../../../tests/servers/http-proxy.ts";
import type { Report } from "../../src/shards/report.ts";
import { createWorkspace, isolated, MAIN, noise, type Result, until } from "../support/cli.ts";
import { storeObjects } from "../support/gateway-objects.ts";
import { withoutTimes } from "../support/merged.ts";
import { describeMinio } from "../support/minio.ts";

setDefaultTimeout(180_000);

const BLOBS = 1400;
const SHARDS = [1, 2, 3, 4];

await describeMinio("four shards of a store in MinIO", (minio, bucket) => {
  /** Whether the server does not answer a request for this blob. */
  let isStalled: (name: string) => boolean = () => false;
  let stalled = 0;
  /** Blobs that the server does not return, and the code that it responds with. */
  const refused = new Set<string>();
  let refusal = "";
  const proxy = httpProxy(minio.origin, {
    respond({ method, url }) {
      const name = /\/([0-9a-f]{64})$/u.exec(url.pathname)?.[1];
      if (method !== "GET" || name === undefined) return undefined;
      if (refused.has(name)) {
        return new Response(`<Error><Code>${refusal}</Code></Error>`, { status: 403 });
      }
      if (!isStalled(name)) return undefined;
      stalled += 1;
      return new Response(new ReadableStream({ pull: () => new Promise(() => {}) }));
    },
  });
  /** Answers so many requests. */
  const stallAfter = (requests: number): ((name: string) => boolean) => {
    let answered = 0;
    return () => (answered += 1) > requests;
  };
  const urlOf = (name: string): string =>
    `minio://${proxy.endpoint.replace("http://", "")}/${name}?tls=0`;

  /** Runs all shards as processes of their own, kills the second on its way, and runs it again. */
  async function runShards(
    { folder, env, idk, path }: Awaited<ReturnType<typeof createWorkspace>>,
    args: readonly string[],
    given: Readonly<Record<string, string>>,
    stalls: (name: string) => boolean,
  ): Promise<Result> {
    const name = args[0]!;
    const report = (index: number): string => `${name}-${index}.json`;
    const shard = (index: number): string[] => [
      ...args,
      "--shard",
      `${index}/4`,
      "--report",
      report(index),
    ];
    const read = (index: number): Report =>
      JSON.parse(readFileSync(path(report(index)), "utf8")) as Report;

    [isStalled, stalled] = [stalls, 0];
    const child = Bun.spawn([process.execPath, MAIN, ...shard(2)], {
      cwd: folder,
      env: isolated({ ...env, ...given }),
      stdio: ["ignore", "ignore", "ignore"],
    });
    const isUnderWay = ({ position }: Report): boolean =>
      position?.after !== "" || (position.sound ?? "") !== "" || position.object !== undefined;
    await until(() => stalled > 0 && existsSync(path(report(2))) && isUnderWay(read(2)));
    child.kill("SIGKILL");
    await child.exited;
    isStalled = () => false;
    const { after } = read(2).position!;
    if (["verify", "copy"].includes(name)) expect(after).toMatch(/^[4-7][0-9a-f]{63}$/u);

    const early = await idk(["merge-reports", report(2)], { env: given });
    expect([early.code, early.stderr]).toEqual([
      2,
      `idk: shard 2/4 in ${report(2)} is not complete: run its command again to continue\n`,
    ]);
    const runs = await Promise.all(SHARDS.map((index) => idk(shard(index), { env: given })));
    expect(runs[1]!.stderr).toStartWith(
      `idk: shard 2/4 continues${after === "" ? "" : ` after ${after.slice(0, 12)}`}\n`,
    );
    // Work that is done is not done again, and the exit code is the same.
    const done = proxy.count("GET");
    const again = await idk(shard(2), { env: given });
    expect(again.stderr).toStartWith("idk: shard 2/4 is complete since ");
    expect(again.code).toBe(runs[1]!.code);
    expect(proxy.count("GET") - done).toBeLessThanOrEqual(4);
    const merged = await idk(["merge-reports", ...SHARDS.map(report).toReversed()]);
    return { ...merged, stdout: withoutTimes(merged.stdout) };
  }

  const failuresIn = (stdout: string): string[] =>
    stdout
      .split("\n")
      .filter((line) => /^[0-9a-f]{64} [a-z-]+: /u.test(line))
      .toSorted();

  test("come to the same as the whole: verify, and copy", async () => {
    const workspace = await createWorkspace();
    const { idk, ok, write, path } = workspace;
    const given = { env: { ...minio.env, IDK_STORE: urlOf(bucket) } };
    mkdirSync(path("files"));
    for (let at = 0; at < BLOBS; at++) write(`files/${at}`, `content ${at}`);
    await ok(["put", "files"], given);
    const roots = await minio.listKeys(bucket);
    const inSecond = roots.filter((name) => /^[4-7]/u.test(name)).length;
    const put = ["put", write("film", noise(2 ** 20 + 1, 5)), "--chunk-size", "256K"];
    const film = (await ok(put, given)).stdout.slice(0, 64);
    const all = await minio.listKeys(bucket);
    const chunks = all.filter((name) => !roots.includes(name) && name !== film);
    expect(chunks).toHaveLength(5);
    // Damaged, missing, and foreign: a blob of its own name that is none of ours.
    const damaged = roots.find((name) => name.startsWith("5"))!;
    await minio.putObject(bucket, damaged, "damaged");
    await minio.deleteObject(bucket, chunks[0]!);
    const foreign = new Bun.CryptoHasher("sha256").update("foreign").digest("hex");
    await minio.putObject(bucket, foreign, "foreign");

    const args = ["verify", "--deep"];
    const whole = await idk(args, given);
    // Two requests for each root.
    const merged = await runShards(workspace, args, given.env, stallAfter(2 * inSecond - 100));
    expect(failuresIn(whole.stdout)).toHaveLength(3);
    expect(failuresIn(merged.stdout)).toEqual(failuresIn(whole.stdout));
    const [summary = "", error] = whole.stderr.trim().split("\n");
    expect(merged.stdout.trim().split("\n").at(-1)).toBe(summary);
    expect([merged.code, merged.stderr]).toEqual([whole.code, `${error}\n`]);
    expect(whole.code).toBe(5);

    const [one, four] = [await minio.createBucket(), await minio.createBucket()];
    const copy = (to: string): string[] => ["copy", "--from", urlOf(bucket), "--to", urlOf(to)];
    const copied = await idk(copy(one), given);
    const parts = await runShards(workspace, copy(four), given.env, stallAfter(inSecond - 50));
    expect(await minio.listKeys(four)).toEqual(await minio.listKeys(one));
    expect(await minio.listKeys(four)).toHaveLength(all.length - 2);
    expect(failuresIn(copied.stdout)).toHaveLength(2);
    expect(failuresIn(parts.stdout)).toEqual(failuresIn(copied.stdout));
    expect([parts.code, parts.stderr]).toEqual([
      copied.code,
      `${copied.stderr.trim().split("\n").at(-1)}\n`,
    ]);
    // The next run finds blobs there that were copied, but not recorded, before the kill.
    const [, blobs = "", skipped = ""] =
      /^copied (\d+) blobs, .*; (\d+) already there; 2 failed$/mu.exec(parts.stdout) ?? [];
    expect(Number(blobs) + Number(skipped)).toBe(all.length - 2);
  });

  test("come to the same as the whole: check", async () => {
    const workspace = await createWorkspace();
    const { idk, ok, write, path } = workspace;
    const own = await minio.createBucket();
    const given = { env: { ...minio.env, IDK_STORE: urlOf(own) } };
    mkdirSync(path("docs"));
    /** The packs of files, which are the large blobs. */
    const packs = async (): Promise<string[]> => {
      const found: string[] = [];
      for (const key of await minio.listKeys(own)) {
        const name = /^repo\/([0-9a-f]{64})$/u.exec(key)?.[1];
        if (name !== undefined && (await minio.getObject(own, key)).length > 2 ** 18)
          found.push(name);
      }
      return found;
    };
    const isSecond = (name: string): boolean => /^[4-7]/u.test(name);
    let all: string[] = [];
    const areEnough = (second: number): boolean => second >= 2 && all.length - second >= 6;
    for (let at = 0; !areEnough(all.filter(isSecond).length); at++) {
      write(`docs/${at}`, noise(2 ** 19, at));
      await ok(["backup", "docs", "--name", "docs"], given);
      all = await packs();
    }
    const [damaged = "", missing = ""] = all.filter((name) => !isSecond(name));
    await minio.putObject(own, `repo/${damaged}`, new Uint8Array(2 ** 19));
    await minio.deleteObject(own, `repo/${missing}`);

    const args = ["check", "--read-data", "--no-server-checksums"];
    const whole = await idk(args, given);
    expect(whole.stderr).toMatch(/check found 2 missing or damaged packs and \d+ files in such/u);
    const served = new Set<string>();
    const merged = await runShards(workspace, args, given.env, (name) => {
      if (!all.includes(name) || served.size > 0) return all.includes(name);
      return served.add(name).size === 0;
    });
    const sorted = (text: string): string[] => text.trim().split("\n").toSorted();
    const [summary = "", ...steps] = whole.stderr.trim().split("\n");
    expect(sorted(merged.stdout)).toEqual(sorted(`${whole.stdout}${summary}`));
    expect([merged.code, merged.stderr]).toEqual([5, `${steps.at(-1)}\n`]);
    expect(whole.code).toBe(5);
  });

  test("come to the same as the whole: gateway check", async () => {
    const workspace = await createWorkspace();
    const own = await minio.createBucket();
    const given = { env: { ...minio.env, IDK_STORE: urlOf(own) } };
    const { accessKey, secretKey } = minio.root;
    const place = { endpoint: minio.origin, bucket: own, prefix: "s3", accessKey, secretKey };
    const { roots } = await storeObjects(workspace, openMinio(place), 64);
    const isSecond = (name: string): boolean => /^[4-7]/u.test(name);
    const [damaged = "", missing = ""] = roots.filter((name) => !isSecond(name));
    await minio.putObject(own, `s3/${damaged}`, "damaged");
    await minio.deleteObject(own, `s3/${missing}`);

    const args = ["gateway", "check", "--deep", "--catalog", "catalog.sqlite"];
    const whole = await workspace.idk(args, given);
    const first = roots.find(isSecond);
    const merged = await runShards(workspace, args, given.env, (name) => name !== first);
    const sorted = (text: string): string[] => text.trim().split("\n").toSorted();
    expect(sorted(whole.stdout)).toHaveLength(2);
    expect(sorted(merged.stdout)).toEqual(sorted(`${whole.stdout}checked 64 objects`));
    expect([merged.code, merged.stderr]).toEqual([5, whole.stderr]);
    expect(whole.code).toBe(5);
  });

  test("go on past blobs that the server refuses, and try them again: verify, and copy", async () => {
    const { idk, ok, write, path } = await createWorkspace();
    const own = await minio.createBucket();
    const targets = [await minio.createBucket(), await minio.createBucket()] as const;
    const given = { env: { ...minio.env, IDK_STORE: urlOf(own) } };
    mkdirSync(path("docs"));
    write("docs/a", noise(1000, 1));
    await ok(["backup", "docs", "--name", "docs"], given);
    for (let at = 0; at < 8; at++) await ok(["put", write(`${at}`, noise(1000, at))], given);
    const keys = await minio.listKeys(own);
    const blobs = keys.filter((key) => /(?:^|\/)[0-9a-f]{64}$/u.test(key));
    const [one = "", two = ""] = [
      blobs.find((key) => key.startsWith("repo/")),
      blobs.find((key) => !key.includes("/")),
    ];

    const copyTo = (bucket: string) => ["copy", "--from", urlOf(own), "--to", urlOf(bucket)];
    for (const [name, args, code] of [
      ["archived", ["verify"], "InvalidObjectState"],
      ["expired", ["verify"], "ExpiredToken"],
      ["copied", copyTo(targets[0]), "InvalidObjectState"],
      ["denied", copyTo(targets[1]), "AccessDenied"],
    ] as const) {
      refusal = code;
      const run = () => idk([...args, "--shard", "1/1", "--report", `${name}.json`], given);
      for (const key of [one, two]) refused.add(key.slice(-64));
      const first = await run();
      expect(first.code).toBe(6);
      expect(failuresIn(first.stdout)).toHaveLength(2);
      const early = await idk(["merge-reports", `${name}.json`]);
      expect(early.code).toBe(6);
      expect(failuresIn(early.stdout)).toEqual(failuresIn(first.stdout));
      expect(early.stderr).toContain(
        "idk: note: the store did not answer for some blobs of shard 1 of 1: run its command again",
      );
      refused.clear();
      const gets = proxy.count("GET");
      const second = await run();
      expect(second.code).toBe(0);
      expect(second.stderr).toContain(
        "idk: shard 1/1 continues with 2 blobs that the store did not answer for\n",
      );
      expect(proxy.count("GET") - gets).toBeLessThan(blobs.length);
      const merged = await ok(["merge-reports", `${name}.json`]);
      expect(merged.stderr).toBe("");
      if (args[0] === "copy") continue;
      expect(withoutTimes(merged.stdout)).toBe((await ok(args, given)).stderr);
    }
    const isBlob = (key: string): boolean => blobs.includes(key);
    for (const target of targets) {
      expect((await minio.listKeys(target)).filter(isBlob)).toEqual(blobs);
    }
  });

  test("stop if the server refuses many blobs in a row, in several batches too: verify", async () => {
    const { idk, path } = await createWorkspace();
    const own = await minio.createBucket();
    const given = { env: { ...minio.env, IDK_STORE: urlOf(own) } };
    // Two batches of eight.
    const names = Array.from({ length: 16 }, (_, at) => at.toString(16).repeat(64));
    const blob = new Uint8Array(2 ** 24);
    for (const name of names) await minio.putObject(own, name, blob);
    for (const name of names) refused.add(name);
    refusal = "ExpiredToken";
    const result = await idk(["verify", "--shard", "1/1", "--report", "stopped.json"], given);
    refused.clear();
    expect(result.code).toBe(6);
    expect(result.stderr).toContain("idk: stopped: the store failed 16 blobs in a row\n");
    const { position, failed } = JSON.parse(readFileSync(path("stopped.json"), "utf8")) as Report;
    expect([position?.after, failed]).toEqual([names[7]!, { permission: 8 }]);
  });
});
