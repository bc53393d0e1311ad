import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { createHash, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { Agent } from "node:https";
import { Readable } from "node:stream";
import { crc32 } from "node:zlib";
import {
  CompleteMultipartUploadCommand,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
} from "@aws-sdk/client-s3";
import { Client as MinioClient } from "minio";
import { skipIfMissing } from "../../servers/require-server.ts";
import {
  type GatewayHome,
  gatewayHome,
  type RunningGateway,
  SCHEMES,
  serveOver,
} from "./running-gateway.ts";

setDefaultTimeout(120_000);

const MiB = 2 ** 20;
const BUCKET = "clients";
/** Characters that have a meaning in URLs, XML or paths. */
const KEYS = [
  "plain.txt",
  "a b+c&d=e%2F.txt",
  "ü/日本/🙂",
  "a//b",
  "a/./b/../c",
  "//lead",
  "<x>'\"",
  "tail/",
];
const md5 = (bytes: Uint8Array): string => createHash("md5").update(bytes).digest("hex");

describe.each(SCHEMES)("clients in JavaScript over %s", (scheme, missing) => {
  skipIfMissing(missing)("work unchanged:", () => {
    let home: GatewayHome;
    let gateway: RunningGateway;
    let sdk: S3Client;
    const content = randomBytes(12 * MiB + 7);

    beforeAll(async () => {
      home = await gatewayHome();
      gateway = await serveOver(home, scheme);
      const { endpoint, certificate, accessKeyId, secretAccessKey } = gateway;
      const ca = certificate === undefined ? undefined : readFileSync(certificate);
      sdk = new S3Client({
        endpoint,
        region: "us-east-1",
        forcePathStyle: true,
        credentials: { accessKeyId, secretAccessKey },
        ...(ca && { requestHandler: { httpsAgent: new Agent({ ca }) } }),
      });
      await sdk.send(new CreateBucketCommand({ Bucket: BUCKET }));
    });
    afterAll(async () => {
      await home[Symbol.asyncDispose]();
    });

    const read = async (key: string, range?: string): Promise<Uint8Array> => {
      const { Body } = await sdk.send(
        new GetObjectCommand({ Bucket: BUCKET, Key: key, ...(range && { Range: range }) }),
      );
      return Body!.transformToByteArray();
    };
    const keys = async (prefix = ""): Promise<(string | undefined)[]> => {
      const { Contents = [] } = await sdk.send(
        new ListObjectsV2Command({ Bucket: BUCKET, Prefix: prefix }),
      );
      return Contents.map(({ Key }) => Key);
    };

    describe("@aws-sdk/client-s3", () => {
      test.each(KEYS)("stores, lists, reads and deletes the key %s", async (name) => {
        const key = `sdk/${name}`;
        const body = Buffer.from(`content of ${name}`);
        const put = await sdk.send(
          new PutObjectCommand({ Bucket: BUCKET, Key: key, Body: body, Metadata: { name: "x y" } }),
        );
        expect(put.ETag).toBe(`"${md5(body)}"`);
        // The default of the SDK, which the gateway has compared.
        expect(put.ChecksumCRC32).toBeString();
        expect(Buffer.from(await read(key)).equals(body)).toBe(true);
        const head = await sdk.send(
          new HeadObjectCommand({ Bucket: BUCKET, Key: key, ChecksumMode: "ENABLED" }),
        );
        expect(head).toMatchObject({
          ContentLength: body.length,
          ETag: put.ETag,
          Metadata: { name: "x y" },
          ChecksumCRC32: put.ChecksumCRC32,
        });
        expect(await keys("sdk/")).toEqual([key]);
        const { Deleted } = await sdk.send(
          new DeleteObjectsCommand({ Bucket: BUCKET, Delete: { Objects: [{ Key: key }] } }),
        );
        expect(Deleted).toEqual([{ Key: key }]);
        expect(await keys("sdk/")).toEqual([]);
      });

      test("stores a stream, and reads any range of it", async () => {
        await sdk.send(
          new PutObjectCommand({
            Bucket: BUCKET,
            Key: "stream",
            // The client only sends it as a stream of signed or unsigned chunks with a trailer.
            Body: Readable.from([content.subarray(0, MiB), content.subarray(MiB)]),
            ContentLength: content.length,
          }),
        );
        expect(md5(await read("stream"))).toBe(md5(content));
        for (const [first, last] of [
          [0, 0],
          [MiB - 1, MiB],
          [3_000_000, 9_000_000],
          [content.length - 5, content.length - 1],
        ] as const) {
          const part = await read("stream", `bytes=${first}-${last}`);
          expect(md5(part)).toBe(md5(content.subarray(first, last + 1)));
        }
      });

      test("uploads in parts, in any order", async () => {
        const target = { Bucket: BUCKET, Key: "parts" };
        const { UploadId } = await sdk.send(
          new CreateMultipartUploadCommand({ ...target, ChecksumAlgorithm: "CRC32" }),
        );
        const size = 5 * MiB;
        const Parts = await Promise.all(
          [3, 1, 2].map(async (PartNumber) => {
            const Body = content.subarray((PartNumber - 1) * size, PartNumber * size);
            const part = { ...target, UploadId, PartNumber, Body };
            const { ETag, ChecksumCRC32 } = await sdk.send(new UploadPartCommand(part));
            return { PartNumber, ETag, ChecksumCRC32 };
          }),
        );
        const inOrder = Parts.toSorted((a, b) => a.PartNumber - b.PartNumber);
        const sums = inOrder.map((part) => Buffer.from(part.ChecksumCRC32!, "base64"));
        const sum = Buffer.alloc(4);
        sum.writeUInt32BE(crc32(Buffer.concat(sums)));
        const complete = {
          ...target,
          UploadId,
          MultipartUpload: { Parts: inOrder },
          // Of the object, and not of the request's body.
          ChecksumCRC32: sum.toString("base64"),
        };
        const { ETag } = await sdk.send(new CompleteMultipartUploadCommand(complete));
        const digests = [0, 1, 2].map((part) =>
          createHash("md5")
            .update(content.subarray(part * size, (part + 1) * size))
            .digest(),
        );
        expect(ETag).toBe(`"${md5(Buffer.concat(digests))}-3"`);
        expect(md5(await read("parts"))).toBe(md5(content));
      });

      test("lets one of many conditional writes win", async () => {
        const outcomes = await Promise.all(
          Array.from({ length: 16 }, async (_, index) => {
            const put = { Bucket: BUCKET, Key: "once", Body: `${index}`, IfNoneMatch: "*" };
            return sdk.send(new PutObjectCommand(put)).then(
              () => index,
              (error: unknown) => error,
            );
          }),
        );
        const won = outcomes.filter((outcome) => typeof outcome === "number");
        expect(won).toHaveLength(1);
        expect(Buffer.from(await read("once")).toString()).toBe(`${won[0]}`);
      });
    });

    test("Bun's S3 client", async () => {
      const { endpoint, accessKeyId, secretAccessKey, certificate } = gateway;
      // It has no option for certificates, so it runs in a process with a variable for them.
      const program = `
        const { S3Client } = Bun;
        const s3 = new S3Client({ ...${JSON.stringify({ endpoint, accessKeyId, secretAccessKey })}, bucket: "${BUCKET}" });
        const content = new Uint8Array(${12 * MiB}).map((_, index) => index % 251);
        await s3.write("bun/ü b", "hello");
        const writer = s3.file("bun/large").writer({ partSize: ${5 * MiB} });
        for (let at = 0; at < content.length; at += ${MiB}) writer.write(content.subarray(at, at + ${MiB}));
        await writer.end();
        const same = Buffer.from(await s3.file("bun/large").arrayBuffer()).equals(Buffer.from(content));
        const part = await s3.file("bun/large").slice(${6 * MiB}, ${6 * MiB} + 10).text();
        const { contents } = await s3.list({ prefix: "bun/" });
        const presigned = await fetch(s3.presign("bun/ü b"), { tls: { ca: process.env.CA && await Bun.file(process.env.CA).text() } });
        console.log(JSON.stringify([await s3.file("bun/ü b").text(), same, part.length, contents.map(({ key }) => key), await presigned.text()]));
        await s3.delete("bun/large");
      `;
      const child = Bun.spawn([process.execPath, "-e", program], {
        env: {
          PATH: process.env["PATH"] ?? "",
          ...(certificate && { NODE_EXTRA_CA_CERTS: certificate, CA: certificate }),
        },
        stdout: "pipe",
        stderr: "pipe",
      });
      const [stdout, stderr] = await Promise.all([
        new Response(child.stdout).text(),
        new Response(child.stderr).text(),
      ]);
      expect(stderr).toBe("");
      expect(JSON.parse(stdout)).toEqual(["hello", true, 10, ["bun/large", "bun/ü b"], "hello"]);
    });

    test("minio-js", async () => {
      const { endpoint, accessKeyId, secretAccessKey, certificate } = gateway;
      const { hostname, port } = new URL(endpoint);
      const minio = new MinioClient({
        endPoint: hostname,
        port: Number(port),
        useSSL: certificate !== undefined,
        accessKey: accessKeyId,
        secretKey: secretAccessKey,
        region: "us-east-1",
        ...(certificate && { transportAgent: new Agent({ ca: readFileSync(certificate) }) }),
      });
      expect(await minio.bucketExists(BUCKET)).toBe(true);
      expect(await minio.bucketExists("missing")).toBe(false);
      const stored = await minio.putObject(BUCKET, "minio/small", Buffer.from("hello"), 5, {
        "content-type": "text/x",
        "x-amz-meta-name": "value",
      });
      expect(stored.etag).toBe(md5(Buffer.from("hello")));
      const stat = await minio.statObject(BUCKET, "minio/small");
      expect(stat).toMatchObject({
        size: 5,
        metaData: { "content-type": "text/x", name: "value" },
      });
      await minio.putObject(BUCKET, "minio/large", Readable.from([content]));
      const hash = createHash("md5");
      for await (const piece of await minio.getObject(BUCKET, "minio/large")) {
        hash.update(piece as Uint8Array);
      }
      expect(hash.digest("hex")).toBe(md5(content));
      const names: (string | undefined)[] = [];
      for await (const item of minio.listObjectsV2(BUCKET, "minio/", true)) {
        names.push((item as { name?: string }).name);
      }
      expect(names).toEqual(["minio/large", "minio/small"]);
      await minio.removeObjects(BUCKET, ["minio/large", "minio/small"]);
      expect(await keys("minio/")).toEqual([]);
    });

    test("no request failed inside, and no secret is in the log", async () => {
      await gateway.stop();
      const log = await gateway.log();
      expect(log.length).toBeGreaterThan(20);
      expect(log.filter(({ status }) => Number(status) >= 500)).toEqual([]);
      expect(log.filter(({ fault }) => fault !== undefined)).toEqual([]);
      const text = JSON.stringify(log);
      expect(text).not.toContain(gateway.secretAccessKey);
      expect(text).not.toMatch(/X-Amz-Signature=(?!REDACTED)/u);
    });
  });
});
