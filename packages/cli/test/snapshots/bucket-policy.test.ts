import { expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expectFailure, newFolder, runIdk } from "../support/cli.ts";
import { describeMinio } from "../support/minio.ts";
import { signedFetch } from "../support/signed-fetch.ts";

setDefaultTimeout(120_000);

/** No pack is shorter, and no record of these few files that long. */
const PACK_MIN = 4096;

/** The policy of docs/backup.md. */
function policyFor(bucket: string, prefix: string): string {
  const guide = readFileSync(new URL("../../../../docs/backup.md", import.meta.url), "utf8");
  const [, policy] = /^```json\n(.*?)^```/msu.exec(guide) ?? [];
  if (policy === undefined) throw new Error("docs/backup.md has no policy");
  return policy.replaceAll("BUCKET", bucket).replaceAll("PREFIX", prefix);
}

/** The secret key of someone's identity. */
function secretOf(home: string): string {
  const text = readFileSync(join(home, ".local/share/idk/identity.key"), "utf8");
  return /IDK-SECRET-KEY-1\S+/u.exec(text)![0];
}

await describeMinio(
  "a host that only writes, with the policy of docs/backup.md",
  (minio, bucket) => {
    const url = minio.url(bucket, "/attic");

    /** The home of someone, with the credentials that they have. */
    const newHome = (credentials: Readonly<Record<string, string>>) => {
      const home = newFolder();
      const env = {
        HOME: home,
        BUN_RUNTIME_TRANSPILER_CACHE_PATH: "0",
        IDK_RETRY_SECONDS: "0",
        ...credentials,
      };
      const idk = (...args: readonly string[]) => runIdk(args, { cwd: home, env });
      const ok = async (...args: readonly string[]) => {
        const result = await idk(...args);
        expect(`${result.code} ${result.code === 0 ? "" : result.stderr}`).toBe("0 ");
        return result.stdout;
      };
      return { home, idk, ok };
    };

    test("cannot be denied overwriting by a condition: MinIO does not know it", async () => {
      const policy = JSON.parse(policyFor(bucket, "attic")) as { Statement: object[] };
      const condition = { Null: { "s3:if-none-match": "false" } };
      Object.assign(policy.Statement[0]!, { Condition: condition });
      const refused = await minio.assumeRole(JSON.stringify(policy)).catch(String);
      expect(refused).toContain("invalid condition key");
    });

    test("backs up, and a thief of it reads and deletes nothing: what they overwrite keeps its older version", async () => {
      const owner = newHome(minio.env);
      await owner.ok("store", "init", url, "--versioning");
      await owner.ok("init", "--store", url, "--no-passphrase");
      await owner.ok("repo", "init");
      const role = await minio.assumeRole(policyFor(bucket, "attic"));
      const host = newHome(role);
      const writer = (await host.ok("keygen", "--writer", "-o", "host.key")).trim();
      const table = await owner.ok("repo", "allow", writer, "--names", "web1/*");
      const recipient = (await owner.ok("recipient")).trim();
      mkdirSync(join(host.home, ".config/idk"), { recursive: true });
      writeFileSync(
        join(host.home, ".config/idk/config.toml"),
        `recipients = ["${recipient}"]\n[store.main]\nurl = "${url}"\n\n` +
          table.replace("/etc/idk-backup/writer.key", join(host.home, "host.key")),
      );
      mkdirSync(join(host.home, "data"));
      writeFileSync(join(host.home, "data/name-of-one"), "the first content");
      await host.ok("backup", "data", "--name", "web1/data");
      writeFileSync(join(host.home, "data/two"), "the second");
      await host.ok("backup", "data", "--name", "web1/data");
      rmSync(join(host.home, "data/name-of-one"));
      await host.ok("backup", "data", "--name", "web1/data");
      const packsBefore = await minio.listKeys(bucket);

      // Whoever takes the host has its keys, credentials and caches, and nothing of a file that is gone:
      // not even with credentials that read everything.
      const files = readdirSync(host.home, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map(({ parentPath, name }) => join(parentPath, name));
      expect(files.length).toBeGreaterThan(4);
      for (const hidden of ["the first content", "name-of-one", secretOf(owner.home)]) {
        expect(files.filter((path) => readFileSync(path).includes(hidden))).toEqual([]);
      }
      const reader = newHome(minio.env);
      const own = join(host.home, "host.key");
      for (const args of [["snapshots"], ["restore", "web1/data", "--target", "stolen"]]) {
        const config = join(host.home, ".config/idk/config.toml");
        expectFailure(
          await reader.idk(...args, "--config", config, "-i", own),
          2,
          "this is a writer key, not an identity",
        );
        expectFailure(
          await reader.idk(...args, "--config", config),
          2,
          "this host has only a writer key, which cannot read",
        );
      }

      // Even with the owner's identity, the host's credentials read and delete nothing.
      const identity = join(owner.home, ".local/share/idk/identity.key");
      for (const args of [
        ["snapshots"],
        ["ls", "web1/data"],
        ["restore", "web1/data", "--target", "stolen"],
        ["prune"],
      ]) {
        expectFailure(await host.idk(...args, "-i", identity), 6, /do not allow it/u);
      }
      const address = /([0-9a-f]{64})$/u.exec(
        packsBefore.find((key) => !key.includes("/heads/"))!,
      )![1]!;
      expectFailure(await host.idk("rm", address, "--store", `${url}/repo`), 6, /do not allow it/u);
      expect(await minio.listKeys(bucket)).toEqual(packsBefore);

      // The policy does not deny overwriting. What it overwrites stays as an older version.
      const listed = await minio.getBucketConfig(bucket, "versions");
      const [, key] = [...listed.matchAll(/<Key>(.*?)<\/Key>.*?<Size>(\d+)<\/Size>/gsu)].find(
        ([, name, size]) => /repo\/[0-9a-f]{64}$/u.test(name!) && Number(size) >= PACK_MIN,
      )!;
      const pack = key!.slice(-64);
      const thief = { accessKey: role["MINIO_ACCESS_KEY"]!, secretKey: role["MINIO_SECRET_KEY"]! };
      const headers = { "x-amz-security-token": role["MINIO_SESSION_TOKEN"]! };
      const send = async (method: string, target: string): Promise<number> => {
        const at = new URL(target, minio.origin);
        const body = method === "PUT" ? "garbage" : "";
        const request = { method, url: at, service: "s3", body, headers } as const;
        return (await signedFetch(request, thief)).status;
      };
      const versionsOf = async (name: string): Promise<string[]> => {
        const versions = await minio.getBucketConfig(bucket, "versions");
        return [...versions.matchAll(/<Key>(.*?)<\/Key>.*?<VersionId>(.*?)<\/VersionId>/gsu)]
          .filter(([, each]) => each === name)
          .map(([, , id]) => id!);
      };
      expect(await send("PUT", `/${bucket}/${key}`)).toBe(200);
      const ids = await versionsOf(key!);
      expect(ids).toHaveLength(2);
      for (const id of ids) {
        expect(await send("GET", `/${bucket}/${key}?versionId=${id}`)).toBe(403);
        expect(await send("DELETE", `/${bucket}/${key}?versionId=${id}`)).toBe(403);
      }
      expect(await send("DELETE", `/${bucket}/${key}`)).toBe(403);

      // The owner finds it. To delete it would delete the intact version, too.
      const found = await owner.idk("check", "--read-data", "--json");
      expect(found.code).toBe(5);
      expect(found.stdout).toContain(`"pack":"${pack}","deleted":false`);
      const deleting = await owner.idk("check", "--read-data", "--delete-damaged");
      expectFailure(deleting, 2, /keeps versions.*delete the newest version/u);
      expect(await versionsOf(key!)).toEqual(ids);

      // What docs/backup.md does with `aws`: without the newest version everything is there.
      const [newest] = ids;
      const removed = await signedFetch(
        {
          method: "DELETE",
          url: new URL(`/${bucket}/${key}?versionId=${newest}`, minio.origin),
          service: "s3",
          body: "",
          headers: {},
        },
        minio.root,
      );
      expect(removed.status).toBe(204);
      const file = `web1/data~2:${join(host.home, "data/name-of-one")}`;
      expect(await owner.ok("cat", file)).toBe("the first content");
      await owner.ok("check", "--read-data");
    });
  },
);
