import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { createHash, randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import { skipIfMissing } from "../../servers/require-server.ts";
import {
  type GatewayHome,
  gatewayHome,
  type RunningGateway,
  SCHEMES,
  serveOver,
} from "./running-gateway.ts";

setDefaultTimeout(240_000);

const MiB = 2 ** 20;

/** The programs that `script/test` installs. */
const PROGRAMS = {
  aws: process.env["IDK_CLIENT_AWS"],
  rclone: process.env["IDK_CLIENT_RCLONE"],
  s3cmd: process.env["IDK_CLIENT_S3CMD"],
  s5cmd: process.env["IDK_CLIENT_S5CMD"],
  restic: process.env["IDK_CLIENT_RESTIC"],
} as const;

type Program = keyof typeof PROGRAMS;

/** Files of all kinds: empty, small, in parts, and with names that have to be encoded. */
const FILES: Readonly<Record<string, Buffer>> = {
  "empty.txt": Buffer.alloc(0),
  "small.txt": Buffer.from("small\n"),
  "folder/a b+c&d.txt": randomBytes(1000),
  "folder/ü/日本.bin": randomBytes(70_000),
  "folder-b/medium.bin": randomBytes(2 * MiB),
  "large.bin": randomBytes(21 * MiB + 5),
};

const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

describe.each(SCHEMES)("programs over %s", (scheme, missing) => {
  skipIfMissing(missing)("work unchanged:", () => {
    let home: GatewayHome;
    let gateway: RunningGateway;
    let env: Record<string, string>;

    beforeAll(async () => {
      home = await gatewayHome();
      gateway = await serveOver(home, scheme);
      for (const [name, bytes] of Object.entries(FILES)) {
        await Bun.write(home.path(`files/${name}`), bytes);
      }
      env = {
        PATH: process.env["PATH"] ?? "",
        HOME: home.folder,
        AWS_ACCESS_KEY_ID: gateway.accessKeyId,
        AWS_SECRET_ACCESS_KEY: gateway.secretAccessKey,
        AWS_DEFAULT_REGION: "us-east-1",
        AWS_REGION: "us-east-1",
        AWS_ENDPOINT_URL: gateway.endpoint,
        S3_ENDPOINT_URL: gateway.endpoint,
        ...(gateway.certificate && { AWS_CA_BUNDLE: gateway.certificate }),
        RCLONE_CONFIG: home.path("rclone.conf"),
        RCLONE_CONFIG_GW_TYPE: "s3",
        RCLONE_CONFIG_GW_PROVIDER: "Other",
        RCLONE_CONFIG_GW_ENDPOINT: gateway.endpoint,
        RCLONE_CONFIG_GW_ACCESS_KEY_ID: gateway.accessKeyId,
        RCLONE_CONFIG_GW_SECRET_ACCESS_KEY: gateway.secretAccessKey,
        RCLONE_CONFIG_GW_CHUNK_SIZE: "5Mi",
        RCLONE_CONFIG_GW_UPLOAD_CUTOFF: "8Mi",
        ...(gateway.certificate && { RCLONE_CA_CERT: gateway.certificate }),
        RESTIC_PASSWORD: "restic's own",
        RESTIC_REPOSITORY: `s3:${gateway.endpoint}/restic-clients/some/folder`,
        RESTIC_CACHE_DIR: home.path("restic-cache"),
        ...(gateway.certificate && { RESTIC_CACERT: gateway.certificate }),
      };
    });
    afterAll(async () => {
      await home[Symbol.asyncDispose]();
    });

    /** Runs a program, which must succeed. Returns all that it prints. */
    async function run(program: Program, ...args: readonly string[]): Promise<string> {
      const child = Bun.spawn([PROGRAMS[program]!, ...args], {
        env,
        cwd: home.folder,
        stdin: "ignore",
        stdout: "pipe",
        stderr: "pipe",
      });
      const [stdout, stderr, code] = await Promise.all([
        new Response(child.stdout).text(),
        new Response(child.stderr).text(),
        child.exited,
      ]);
      const shown = `${program} ${args.join(" ")}\n${stdout}${stderr}`;
      expect([code, code === 0 ? "" : shown]).toEqual([0, ""]);
      return stdout + stderr;
    }

    /** Whether a folder has the same files as `files`. */
    async function expectFiles(folder: string): Promise<void> {
      for (const [name, bytes] of Object.entries(FILES)) {
        const found = await Bun.file(home.path(`${folder}/${name}`)).bytes();
        expect([name, sha256(found)]).toEqual([name, sha256(bytes)]);
      }
      await rm(home.path(folder), { recursive: true });
    }

    const using = (program: Program): ReturnType<typeof skipIfMissing> =>
      skipIfMissing(PROGRAMS[program] === undefined ? [program] : []);

    using("aws")("the AWS CLI", () => {
      test("copies, syncs twice, lists and deletes", async () => {
        await run("aws", "s3", "mb", "s3://aws-clients");
        const first = await run("aws", "s3", "sync", "files", "s3://aws-clients/files");
        expect(first.match(/^upload:/gmu) ?? first.match(/upload:/gu)).not.toBeNull();
        expect(await run("aws", "s3", "sync", "files", "s3://aws-clients/files")).toBe("");
        await run("aws", "s3", "sync", "s3://aws-clients/files", "back");
        await expectFiles("back");
        const listed = await run(
          "aws",
          "s3",
          "ls",
          "--recursive",
          "--summarize",
          "s3://aws-clients",
        );
        expect(listed).toContain("Total Objects: 6");
        await run("aws", "s3", "cp", "s3://aws-clients/files/large.bin", "s3://aws-clients/copy");
        await run("aws", "s3", "mv", "s3://aws-clients/copy", "moved.bin");
        expect(sha256(await Bun.file(home.path("moved.bin")).bytes())).toBe(
          sha256(FILES["large.bin"]!),
        );
        await run("aws", "s3", "rb", "--force", "s3://aws-clients");
        expect(await run("aws", "s3", "ls")).not.toContain("aws-clients");
      });
    });

    using("rclone")("rclone", () => {
      test("syncs, checks clean, and moves nothing the second time", async () => {
        // Without the file, it says so each time.
        await Bun.write(home.path("rclone.conf"), "");
        await run("rclone", "mkdir", "gw:rclone-clients");
        await run("rclone", "sync", "files", "gw:rclone-clients/files");
        await run("rclone", "check", "--download", "files", "gw:rclone-clients/files");
        const checked = await run("rclone", "check", "files", "gw:rclone-clients/files");
        expect(checked).toContain("0 differences found");
        const again = await run("rclone", "sync", "-v", "files", "gw:rclone-clients/files");
        expect(again).toContain("There was nothing to transfer");
        await run("rclone", "sync", "gw:rclone-clients/files", "rclone-back");
        await expectFiles("rclone-back");
        await run(
          "rclone",
          "moveto",
          "gw:rclone-clients/files/small.txt",
          "gw:rclone-clients/m.txt",
        );
        expect(await run("rclone", "cat", "gw:rclone-clients/m.txt")).toBe("small\n");
        await run("rclone", "purge", "gw:rclone-clients");
      });
    });

    using("s3cmd")("s3cmd", () => {
      test("puts, syncs twice, gets and deletes", async () => {
        const { host } = new URL(gateway.endpoint);
        const s3cmd = async (...args: readonly string[]): Promise<string> =>
          run(
            "s3cmd",
            `--config=${home.path("none.cfg")}`,
            `--access_key=${gateway.accessKeyId}`,
            `--secret_key=${gateway.secretAccessKey}`,
            `--host=${host}`,
            `--host-bucket=${host}`,
            "--multipart-chunk-size-mb=5",
            "--no-progress",
            ...(gateway.certificate
              ? ["--ssl", `--ca-certs=${gateway.certificate}`]
              : ["--no-ssl"]),
            ...args,
          );
        await Bun.write(home.path("none.cfg"), "[default]\n");
        await s3cmd("mb", "s3://s3cmd-clients");
        await s3cmd("sync", "files/", "s3://s3cmd-clients/files/");
        const again = await s3cmd("sync", "files/", "s3://s3cmd-clients/files/");
        expect(again).not.toContain("upload:");
        await Bun.$`mkdir ${home.path("s3cmd-back")}`;
        await s3cmd("sync", "s3://s3cmd-clients/files/", "s3cmd-back/");
        await expectFiles("s3cmd-back");
        expect(await s3cmd("info", "s3://s3cmd-clients/files/small.txt")).toContain("MD5 sum");
        await s3cmd("cp", "s3://s3cmd-clients/files/small.txt", "s3://s3cmd-clients/copy.txt");
        await s3cmd("del", "--recursive", "--force", "s3://s3cmd-clients");
        await s3cmd("rb", "s3://s3cmd-clients");
      });
    });

    using("s5cmd")("s5cmd", () => {
      test("copies, syncs twice, reads and deletes", async () => {
        await run("s5cmd", "mb", "s3://s5cmd-clients");
        await run("s5cmd", "cp", "--part-size", "5", "files/", "s3://s5cmd-clients/files/");
        const again = await run("s5cmd", "sync", "files/", "s3://s5cmd-clients/files/");
        expect(again).not.toContain("cp ");
        await run("s5cmd", "cp", "s3://s5cmd-clients/files/*", "s5cmd-back/");
        await expectFiles("s5cmd-back");
        expect(await run("s5cmd", "cat", "s3://s5cmd-clients/files/small.txt")).toBe("small\n");
        await run("s5cmd", "rm", "s3://s5cmd-clients/*");
        await run("s5cmd", "rb", "s3://s5cmd-clients");
      });
    });

    using("restic")("restic", () => {
      test("makes, checks, restores and prunes a repository", async () => {
        await run("restic", "init");
        await run("restic", "backup", "files");
        await Bun.write(home.path("files/small.txt"), "changed\n");
        await run("restic", "backup", "files");
        await Bun.write(home.path("files/small.txt"), FILES["small.txt"]!);
        await run("restic", "check", "--read-data");
        const { length } = JSON.parse(await run("restic", "snapshots", "--json")) as unknown[];
        expect(length).toBe(2);
        await run("restic", "forget", "--keep-last", "1", "--prune");
        await run("restic", "check", "--read-data");
        await run("restic", "restore", "latest:files", "--target", "restic-back");
        expect(await Bun.file(home.path("restic-back/small.txt")).text()).toBe("changed\n");
        await Bun.write(home.path("restic-back/small.txt"), FILES["small.txt"]!);
        await expectFiles("restic-back");
      });
    });

    test("no request failed inside", async () => {
      await gateway.stop();
      const log = await gateway.log();
      expect(log.filter(({ status }) => Number(status) >= 500)).toEqual([]);
      expect(log.filter(({ fault }) => fault !== undefined)).toEqual([]);
      expect(JSON.stringify(log)).not.toContain(gateway.secretAccessKey);
    });
  });
});
