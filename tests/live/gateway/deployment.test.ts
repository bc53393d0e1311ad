import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import {
  CompleteMultipartUploadCommand,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
} from "@aws-sdk/client-s3";
import { inNewFolder, root, run } from "../../documents.ts";
import { requireServer, serverUrl, skipIfMissing } from "../../servers/require-server.ts";
import { freePort } from "../../servers/server-process.ts";
import { type GatewayHome, gatewayHome, type RunningGateway } from "./running-gateway.ts";

setDefaultTimeout(120_000);

const FOLDER = join(root, "packaging/gateway");
const read = async (name: string): Promise<string> => Bun.file(join(FOLDER, name)).text();

interface Service {
  readonly image: string;
  readonly command?: string | readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly healthcheck?: { readonly test?: readonly unknown[] };
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
}
interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly networks: {
    readonly default: { readonly ipam: { readonly config: readonly { subnet: string }[] } };
  };
}

/** Flags of a command that its help does not have. */
async function unknownFlags(command: string, flags: readonly string[]): Promise<string[]> {
  return inNewFolder(async (folder) => {
    const { stdout, exitCode } = await run(folder, ["idk", ...command.split(" "), "--help"]);
    expect(exitCode).toBe(0);
    return flags.filter((flag) => !new RegExp(`${flag}(?![a-z-])`, "u").test(stdout));
  });
}

const flagsOf = (text: string): string[] => text.match(/(?<=\s)--[a-z][a-z0-9-]+/gu) ?? [];

const { services, networks } = Bun.YAML.parse(await read("compose.yml")) as Compose;

describe("packaging/gateway/compose.yml", () => {
  test("has two gateways that differ in nothing, over PostgreSQL and MinIO", () => {
    expect(Object.keys(services).toSorted()).toEqual(
      ["balancer", "bucket", "gateway1", "gateway2", "minio", "postgres"].toSorted(),
    );
    expect(services["gateway1"]).toEqual(services["gateway2"]);
  });

  test("has only strings as arguments: one with `: ` is a mapping unless it is quoted", () => {
    for (const { command, healthcheck } of Object.values(services)) {
      for (const argument of [command ?? [], healthcheck?.test ?? []].flat()) {
        expect(argument).toBeTypeOf("string");
      }
    }
  });

  test("pins every image by its version", () => {
    for (const [name, { image }] of Object.entries(services)) {
      if (image === "${IDK_IMAGE:-idk-gateway}") continue;
      expect([name, image]).toEqual([name, expect.stringMatching(/:(?:RELEASE\.)?\d+[\d.T-]+/u)]);
    }
  });

  test("has the same MinIO as the one for development", async () => {
    const other = Bun.YAML.parse(
      await Bun.file(join(root, "docker-compose.yml")).text(),
    ) as Compose;
    expect(services["minio"]!.image).toBe(other.services["minio"]!.image);
  });

  test("has only flags that exist, and trusts its own network", async () => {
    const command = services["gateway1"]!.command as readonly string[];
    expect(command.slice(0, 2)).toEqual(["serve", "s3"]);
    expect(await unknownFlags("serve s3", flagsOf(` ${command.join(" ")}`))).toEqual([]);
    expect(command).toContain(`--trusted-proxy=${networks.default.ipam.config[0]!.subnet}`);
  });

  test("has every variable that is not set in its example", async () => {
    const used = (await read("compose.yml")).matchAll(/\$\{([A-Z_]+):\?/gu);
    const names = new Set(Array.from(used, ([, name]) => name!));
    const set = (await read("env.example")).match(/^[A-Z_]+(?==)/gmu);
    expect(set?.toSorted()).toEqual([...names].toSorted());
  });

  test("runs the Bun that the project pins", async () => {
    const { packageManager } = (await Bun.file(join(root, "package.json")).json()) as {
      packageManager: string;
    };
    const images = (await read("Dockerfile")).match(/^FROM \S+/gmu)!;
    const image = `FROM docker.io/oven/${packageManager.replace("@", ":")}-slim`;
    expect(new Set(images)).toEqual(new Set([image]));
  });
});

describe("the units of packaging/gateway", () => {
  const UNITS = ["idk-gateway.service", "idk-gateway-gc.service", "idk-gateway-gc.timer"] as const;

  test("have only flags that exist", async () => {
    for (const unit of UNITS.slice(0, 2)) {
      const text = (await read(unit)).replaceAll("\\\n", " ");
      const [, line] = /^ExecStart=\/usr\/local\/bin\/idk (.*)$/mu.exec(text)!;
      const [command] = /^(?:serve s3|gateway gc)/u.exec(line!)!;
      expect(flagsOf(line!).length).toBeGreaterThan(0);
      expect(await unknownFlags(command, flagsOf(line!))).toEqual([]);
    }
  });

  skipIfMissing(Bun.which("systemd-analyze") === null ? ["systemd-analyze"] : [])(
    "for systemd",
    () => {
      test("are verified by systemd-analyze without a remark", () =>
        inNewFolder(async (folder) => {
          for (const unit of UNITS) {
            const text = (await read(unit)).replaceAll("/usr/local/bin/idk", process.execPath);
            await Bun.write(join(folder, unit), text);
          }
          const verify = [
            "systemd-analyze",
            "verify",
            "--man=no",
            ...UNITS.map((unit) => `./${unit}`),
          ];
          // It exits with 0 though it does not know a setting.
          expect(await run(folder, verify)).toEqual({ stdout: "", stderr: "", exitCode: 0 });
        }));
    },
  );
});

const haproxy = Bun.which("haproxy", { PATH: `${process.env["PATH"]}:/usr/sbin` });

skipIfMissing(haproxy === null ? ["haproxy"] : [])("packaging/gateway/haproxy.cfg", () => {
  requireServer("postgres")("before two gateways over one PostgreSQL", () => {
    const keys = { accessKeyId: "TEST", secretAccessKey: "a secret of this test" };
    let home: GatewayHome;
    let gateways: RunningGateway[];
    let balancer: Bun.Subprocess<"ignore", "pipe", "pipe">;
    let endpoint: string;
    let s3: S3Client;
    let sql: Bun.SQL;
    const database = `deployment_${crypto.randomUUID().replaceAll("-", "")}`;

    beforeAll(async () => {
      home = await gatewayHome();
      const server = serverUrl("postgres")!;
      sql = new Bun.SQL(server.href);
      await sql.unsafe(`CREATE DATABASE ${database}`);
      const catalog = new URL(server);
      catalog.pathname = `/${database}`;
      const file = home.path("keys.toml");
      await Bun.write(file, `[keys.TEST]\nsecret = "${keys.secretAccessKey}"\n`);
      await Bun.$`chmod 600 ${file}`;
      const options = ["--credentials", file, "--catalog", catalog.href];
      const proxies = ["--trusted-proxy", "127.0.0.1"];
      gateways = [
        await home.serve(...options, ...proxies),
        await home.serve(...options, ...proxies),
      ];
      const port = await freePort();
      // The names and the resolver of Docker's network.
      const config = (await read("haproxy.cfg"))
        .replace(/^resolvers docker\n.*\n/mu, "")
        .replace(" init-addr libc,none resolvers docker", "")
        .replace("bind :9000", `bind 127.0.0.1:${port}`)
        .replaceAll(
          /gateway(\d):9000/gu,
          (_, n: string) => new URL(gateways[Number(n) - 1]!.endpoint).host,
        );
      await Bun.write(home.path("haproxy.cfg"), config);
      balancer = Bun.spawn([haproxy!, "-f", home.path("haproxy.cfg")], {
        stdin: "ignore",
        stdout: "pipe",
        stderr: "pipe",
      });
      endpoint = `http://127.0.0.1:${port}`;
      s3 = new S3Client({ endpoint, region: "us-east-1", forcePathStyle: true, credentials: keys });
      while (!(await fetch(`${endpoint}/readyz`).catch(() => undefined))?.ok) {
        expect(balancer.exitCode).toBeNull();
        await Bun.sleep(50);
      }
      await s3.send(new CreateBucketCommand({ Bucket: "shared" }));
    });
    afterAll(async () => {
      balancer.kill();
      await balancer.exited;
      await home[Symbol.asyncDispose]();
      await sql.unsafe(`DROP DATABASE ${database} WITH (FORCE)`);
      await sql.close();
    });

    const text = async (Key: string): Promise<string> =>
      (await s3.send(new GetObjectCommand({ Bucket: "shared", Key }))).Body!.transformToString();

    /** Waits for a line of a gateway's access log that contains a text. */
    async function logged(gateway: RunningGateway, wanted: string): Promise<string> {
      for (let tries = 0; tries < 50; tries++) {
        const lines = (await gateway.log()).map((record) => JSON.stringify(record));
        const line = lines.find((text) => text.includes(wanted));
        if (line !== undefined) return line;
        await Bun.sleep(100);
      }
      throw new Error(`no line of the log has ${wanted}`);
    }

    test("passes every key on as it is", async () => {
      for (const Key of [
        "a//b",
        "a/./b",
        "//lead",
        "a%2Fb",
        "a b+c&d=e",
        "ü/日本/🙂",
        "tail/",
        "a?b#c",
      ]) {
        await s3.send(new PutObjectCommand({ Bucket: "shared", Key, Body: Key }));
        expect(await text(Key)).toBe(Key);
      }
    });

    test("lets parts of one upload reach both gateways", async () => {
      const target = { Bucket: "shared", Key: "parts" };
      const { UploadId } = await s3.send(new CreateMultipartUploadCommand(target));
      const part = "0123456789abcdef".repeat(5 * 2 ** 16);
      const Parts = await Promise.all(
        [1, 2, 3, 4].map(async (PartNumber) => {
          const Body = part.replaceAll("0", `${PartNumber}`);
          const sent = { ...target, UploadId, PartNumber, Body };
          const { ETag } = await s3.send(new UploadPartCommand(sent));
          return { PartNumber, ETag };
        }),
      );
      await s3.send(
        new CompleteMultipartUploadCommand({ ...target, UploadId, MultipartUpload: { Parts } }),
      );
      expect(await text("parts")).toBe(
        [1, 2, 3, 4].map((n) => part.replaceAll("0", `${n}`)).join(""),
      );
      for (const gateway of gateways) await logged(gateway, '"operation":"UploadPart"');
    });

    test("passes on no address that a client invents", async () => {
      const headers = { "x-forwarded-for": "203.0.113.9", "x-forwarded-proto": "https" };
      const url = `${endpoint}/shared/invented?Signature=${"a".repeat(28)}`;
      expect((await fetch(url, { headers })).status).toBe(403);
      const line = await Promise.any(gateways.map(async (each) => logged(each, "/invented")));
      expect(line).not.toContain("203.0.113.9");
    });

    test("passes on as many headers as the gateways take", async () => {
      const headers = Object.fromEntries(
        Array.from({ length: 150 }, (_, index) => [`x-amz-meta-${index}`, "x".repeat(180)]),
      );
      for (const base of [gateways[0]!.endpoint, endpoint]) {
        const response = await fetch(`${base}/shared/headers`, { headers });
        expect([response.status, await response.text()]).toEqual([
          403,
          expect.stringContaining("<Code>AccessDenied</Code>"),
        ]);
      }
    });

    test("loses no acknowledged object when a gateway is killed", async () => {
      const stored: string[] = [];
      let isOver = false;
      const writers = Array.from({ length: 8 }, async (_, writer) => {
        for (let n = 0; !isOver; n++) {
          const Key = `killed/${writer}/${n}`;
          const put = new PutObjectCommand({ Bucket: "shared", Key, Body: Key });
          await s3.send(put).then(
            () => stored.push(Key),
            () => undefined,
          );
        }
      });
      await Bun.sleep(1500);
      while (stored.length === 0) await Bun.sleep(50);
      await gateways[0]!.stop("SIGKILL");
      const before = stored.length;
      await Bun.sleep(6000);
      while (stored.length === before) await Bun.sleep(50);
      isOver = true;
      await Promise.all(writers);
      for (const Key of stored) expect(await text(Key)).toBe(Key);
      const { Contents } = await s3.send(
        new ListObjectsV2Command({ Bucket: "shared", Prefix: "killed/", MaxKeys: 1 }),
      );
      expect(Contents).toHaveLength(1);
    });

    test("ends with nothing secret in the balancer's log", async () => {
      balancer.kill();
      const log = await new Response(balancer.stdout).text();
      expect(log).toContain("/shared/invented");
      expect(log).not.toMatch(/Signature|\?/u);
    });
  });
});
