import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { newFolder, runIdk } from "../support/cli.ts";
import { httpProxy } from "../../../../tests/servers/http-proxy.ts";
import { describeMinio } from "../support/minio.ts";
import { json, newUser, treeOf } from "../support/new-user.ts";

/* What commands for whole stores do with the repository of snapshots in one. */

setDefaultTimeout(120_000);

/** The files of the blobs of a repository. */
const blobsIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /^[0-9a-f]{64}$/u.test(entry.name))
    .map(({ parentPath, name }) => join(parentPath, name));

describe("copy", () => {
  test("copies the whole repository without a key, and everything is restored from the copy", async () => {
    const { home, docs, ok, identity, store } = await newUser();
    writeFileSync(join(home, "alone"), "a file by itself");
    const address = (await ok(["put", "alone"])).stdout.trim();
    await ok(["backup", "docs", "--name", "home"]);
    writeFileSync(join(docs, "more"), "more");
    await ok(["backup", "docs", "--name", "home"]);
    renameSync(identity, join(home, "kept.key"));
    const copied = await ok(["copy", "--from", store, "--to", "./copy"]);
    expect(copied.stderr).toMatch(
      /^copied \d+ blobs, .*; none failed; with the repository of snapshots \(\d+ markers\)\n$/u,
    );
    const [again] = json(await ok(["copy", "--from", store, "--to", "./copy", "--json"]));
    expect(again).toMatchObject({ copied: 0, failed: 0 });
    expect(again!["markers"]).toBeGreaterThanOrEqual(4);

    // The machine and its store are gone.
    const other = newFolder();
    renameSync(join(home, "kept.key"), join(other, "me.key"));
    renameSync(join(home, "copy"), join(other, "copy"));
    const before = treeOf(docs);
    rmSync(home, { recursive: true });
    const idk = (...args: readonly string[]) =>
      runIdk([...args, "--store", "./copy", "-i", "me.key"], { cwd: other });
    expect(json(await idk("snapshots", "--json"))).toHaveLength(2);
    const restored = await idk("restore", `home:${docs}`, "--target", "back", "--verify");
    expect([restored.code, restored.stderr]).toEqual([0, ""]);
    expect(treeOf(join(other, "back"))).toEqual(before);
    expect((await idk("check", "--read-data")).code).toBe(0);
    expect((await idk("get", address)).stdout).toBe("a file by itself");
  });

  test("lists no snapshot in the copy whose blobs are not all there", async () => {
    const { ok, idk, store, identity } = await newUser();
    await ok(["backup", "docs", "--name", "home"]);
    const [damaged] = blobsIn(join(store, "repo"));
    writeFileSync(damaged!, "damage");
    const copied = await idk(["copy", "--from", store, "--to", "./copy"]);
    expect(copied.code).toBe(5);
    expect(copied.stderr).toContain("no new snapshot is listed in the copy");
    const listed = await idk(["snapshots", "--store", "./copy", "-i", identity]);
    expect(listed.code).not.toBe(0);
    expect(listed.stdout).toBe("");
  });

  test("of named blobs leaves the repository where it is", async () => {
    const { home, ok, store } = await newUser();
    await ok(["backup", "docs"]);
    writeFileSync(join(home, "alone"), "a file by itself");
    const address = (await ok(["put", "alone"])).stdout.trim();
    await ok(["copy", address, "--from", store, "--to", "./copy"]);
    expect(readdirSync(join(home, "copy"))).toEqual([address.slice(0, 2)]);
  });
});

describe("verify", () => {
  test("checks the blobs of the repository, too, without a key", async () => {
    const { ok, idk, store, identity, home } = await newUser();
    await ok(["backup", "docs"]);
    const blobs = blobsIn(join(store, "repo"));
    const deep = await ok(["verify", "--deep"]);
    expect(deep.stderr).toContain(`checked ${blobs.length} blobs`);
    renameSync(identity, join(home, "kept.key"));
    const whole = await ok(["verify"]);
    expect(whole.stderr).toContain(`checked ${blobs.length} blobs, `);
    expect(whole.stderr).toEndWith(
      `none failed; ${blobs.length} of the blobs belong to snapshots, which \`idk check\` checks as a whole\n`,
    );
    expect(json(await ok(["verify", "--json"]))).toHaveLength(blobs.length);
    const damaged = blobs[0]!;
    const bytes = readFileSync(damaged);
    bytes[bytes.length - 1]! ^= 1;
    writeFileSync(damaged, bytes);
    const found = await idk(["verify"]);
    expect(found.code).toBe(5);
    expect(found.stdout).toStartWith(`${damaged.slice(-64)} address: `);
    expect(found.stderr).toContain(`1 of ${blobs.length} blobs failed`);
  });
});

describe("doctor", () => {
  const rows = (stdout: string) =>
    stdout.split("\n").filter((line) => /^\w+ +(?:repository|writer key) /u.test(line));

  test("names the repository, the writer key with its names, and the last snapshot", async () => {
    const { ok, idk, writer, identity } = await newUser();
    expect(rows((await ok(["doctor"])).stdout)).toEqual([]);
    await ok(["backup", "docs", "--name", "home"]);
    const [key, found, ...others] = rows((await ok(["doctor"])).stdout);
    expect(key).toContain(`${writer}: idk-writer1`);
    expect(key).toMatch(/, writes ".*\/\*", "home"$/u);
    expect(found).toMatch(/^ok +repository +[0-9a-f]{32}; last snapshot home of .* UTC$/u);
    expect(others).toEqual([]);

    // Without a key, from what this machine remembers.
    renameSync(identity, `${identity}.away`);
    const [, remembered] = rows((await idk(["doctor"])).stdout);
    expect(remembered).toMatch(/; the last that this machine knows is home of .* UTC$/u);
    renameSync(`${identity}.away`, identity);

    const writerText = /^# writer: (\S+)$/mu.exec(readFileSync(writer, "utf8"))![1]!;
    await ok(["repo", "revoke", writerText]);
    const revoked = await ok(["doctor"]);
    expect(revoked.stdout).toContain("the owner does not let it write any snapshot");
    rmSync(writer);
    const gone = await idk(["doctor"]);
    expect(gone.code).toBe(2);
    expect(rows(gone.stdout)[0]).toMatch(/^FAILED +writer key +cannot read the writer key file/u);
  });

  test("finds one that the configuration does not have", async () => {
    const { ok, config, idk, store } = await newUser();
    await ok(["backup", "docs"]);
    const text = readFileSync(config, "utf8");
    writeFileSync(config, text.slice(0, text.indexOf("\n[store.main.repository]")));
    expect((await ok(["doctor"])).stdout).toMatch(/^warning +repository +it is not in /mu);
    writeFileSync(config, text);
    renameSync(join(store, "repo"), join(store, "away"));
    const gone = await idk(["doctor"]);
    expect(gone.code).toBe(6);
    expect(gone.stdout).toMatch(/^FAILED +repository +the folder .* does not exist/mu);
  });
});

await describeMinio("a store on MinIO", (minio, bucket) => {
  test("is copied to a folder and back, verified and named with its repository, if it has one", async () => {
    const { docs, ok, home } = await newUser();
    const url = minio.url(bucket, "/attic");
    const run = (...args: readonly string[]) => ok(args, { ...minio.env });
    await run("put", "docs/notes.txt", "--store", url);
    const without = await run("copy", "--from", url, "--to", "./plain");
    expect(without.stderr).not.toContain("repository");
    expect((await run("doctor", "--store", url)).stdout).not.toMatch(/^\w+ +repository/mu);

    await run("backup", "docs", "--store", url, "--name", "home");
    const { stderr } = await run("verify", "--store", url);
    expect(stderr).toMatch(/none failed; \d+ of the blobs belong to snapshots, /u);
    expect((await run("doctor", "--store", url)).stdout).toMatch(/; last snapshot home of /u);
    await run("copy", "--from", url, "--to", "./copy");
    // As after the bucket was lost.
    const again = minio.url(bucket, "/again");
    const back = await run("copy", "--from", "./copy", "--to", again);
    expect(back.stderr).toContain("with the repository of snapshots");
    await run("restore", `home:${docs}`, "--target", "back", "--verify", "--store", again);
    expect(treeOf(join(home, "back"))).toEqual(treeOf(docs));
    await run("check", "--store", again);
  });

  test("warns of a blob that went away during a copy, unless a prune may have deleted it", async () => {
    const { ok } = await newUser();
    const url = minio.url(bucket, "/raced");
    await ok(["backup", "docs", "--store", url, "--name", "home"], { ...minio.env });
    const keys = await minio.listKeys(bucket);
    const lost = keys
      .find((key) => /^raced\/repo\/(?!heads).*[0-9a-f]{64}$/u.test(key))!
      .slice(-64);
    const state = { isMissed: false, isPruned: false };
    // Listed with all others, but gone when it is read and when it is looked for.
    using front = httpProxy(minio.origin, {
      respond({ method, url: { pathname, searchParams } }) {
        const prefix = searchParams.get("prefix") ?? "";
        state.isMissed ||= prefix.endsWith(lost);
        const isGone = prefix.endsWith("/heads/") && state.isMissed && state.isPruned;
        if (isGone || prefix.endsWith(lost)) return new Response(NO_KEYS);
        return method === "GET" && pathname.endsWith(lost)
          ? new Response("<Error><Code>NoSuchKey</Code></Error>", { status: 404 })
          : undefined;
      },
    });
    const from = url.replace(minio.host, new URL(front.endpoint).host);
    for (const isPruned of [false, true]) {
      Object.assign(state, { isMissed: false, isPruned });
      const to = `./raced-${isPruned}`;
      const { stderr } = await ok(["copy", "--from", from, "--to", to], { ...minio.env });
      expect(stderr).toContain("1 removed during the copy");
      const warning =
        "idk: warning: 1 blob of the repository was removed during the copy, but no snapshot was: run `idk check` on the copy\n";
      expect(stderr.includes(warning)).toBe(!isPruned);
    }
  });
});

const NO_KEYS = "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>";
