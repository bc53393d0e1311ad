import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { Agent, request } from "node:http";
import { connect } from "node:net";
import { elementOf, type Running, signedHeaders, startGateway } from "./running.ts";

setDefaultTimeout(120_000);

/** Sends an unsigned request. */
async function ask(
  { gateway }: Running,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<readonly [status: number, text: string]> {
  const response = await fetch(`${gateway.url}${path}`, { headers });
  return [response.status, await response.text()];
}

/** Resolves once the log has a line. */
async function logged({ log }: Running): Promise<Record<string, unknown>> {
  while (log.length === 0) await Bun.sleep(5);
  return log.at(-1)!;
}

describe("whoever is not authenticated", () => {
  test("causes one check of the store, however many times it asks", async () => {
    let checks = 0;
    await using running = await startGateway({
      checkStore: async () => {
        checks += 1;
        await Bun.sleep(50);
      },
    });
    const asked = Array.from({ length: 100 }, async () => ask(running, "/readyz"));
    for (const [status] of await Promise.all(asked)) expect(status).toBe(200);
    expect(checks).toBe(1);
  });

  test("gets no metrics through a proxy on this machine", async () => {
    await using running = await startGateway();
    expect((await ask(running, "/metrics"))[0]).toBe(200);
    for (const name of ["X-Forwarded-For", "Forwarded", "Via"]) {
      expect((await ask(running, "/metrics", { [name]: "192.0.2.1" }))[0]).toBe(403);
    }
  });

  test("is logged with what it sent, if that is not HTTP, a few times a second", async () => {
    await using running = await startGateway();
    const port = Number(new URL(running.gateway.url).port);
    for (let index = 0; index < 40; index += 1) {
      const socket = connect(port, "127.0.0.1");
      socket.on("error", () => {});
      socket.resume();
      socket.write("nonsense\r\n\r\n");
      await new Promise((resolve) => {
        socket.on("close", resolve);
      });
    }
    expect(running.log.length).toBeGreaterThan(0);
    expect(running.log.length).toBeLessThan(40);
    expect(running.log[0]).toMatchObject({ status: 400, id: expect.stringMatching(/^\w{16}$/u) });
    const [, metrics] = await ask(running, "/metrics");
    expect(metrics).toContain('requests_total{operation="malformed",status="400"} 40\n');
  });
});

test("a trusted proxy tells the client and its scheme", async () => {
  await using running = await startGateway({ trustedProxies: ["127.0.0.1"] });
  const { send } = running;
  const headers = { "x-forwarded-for": "192.0.2.7", "x-forwarded-proto": "https" };
  const created = await send("POST", "/b/k?uploads");
  const id = elementOf(created.text, "UploadId");
  const part = await send("PUT", `/b/k?partNumber=1&uploadId=${id}`, { body: "content" });
  const body = `<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>${String(part.headers["etag"])}</ETag></Part></CompleteMultipartUpload>`;
  const done = await send("POST", `/b/k?uploadId=${id}`, { body, headers });
  expect(elementOf(done.text, "Location")).toBe(
    `${running.gateway.url.replace("http:", "https:")}/b/k`,
  );
  expect(running.log.at(-1)).toMatchObject({ remote: "127.0.0.1", client: "192.0.2.7" });
});

test("a client that leaves is no fault", async () => {
  await using running = await startGateway();
  const { hostname, port, host } = new URL(running.gateway.url);
  const signed = signedHeaders({ method: "PUT", target: "/b/k", host });
  const headers = { ...signed, "content-length": "1000000", expect: "100-continue" };
  const upload = request({ hostname, port, method: "PUT", path: "/b/k", headers });
  upload.on("error", () => {});
  upload.flushHeaders();
  // Then the gateway reads the body.
  await new Promise((resolve) => upload.on("continue", resolve));
  upload.write("begin");
  await Bun.sleep(100);
  upload.destroy();
  const line = await logged(running);
  expect([line["status"], line["code"], line["fault"]]).toEqual([undefined, undefined, undefined]);
});

test("metrics tell what waits", async () => {
  await using running = await startGateway();
  const [, text] = await ask(running, "/metrics");
  for (const name of [
    "requests_running 1",
    "requests_queued 0",
    "digest_bodies 0",
    "claims 0",
    "catalog_writes_queued 0",
    "backend_requests_running 0",
  ]) {
    expect(text).toContain(`idk_gateway_${name}\n`);
  }
});

test("a gateway that is not ready yet says so to those who may know", async () => {
  let starting: string | undefined = "The files are being listed.";
  await using running = await startGateway({ starting: () => starting });
  expect((await ask(running, "/readyz"))[0]).toBe(503);
  expect((await ask(running, "/healthz"))[0]).toBe(200);
  expect(elementOf((await ask(running, "/b/k"))[1], "Code")).toBe("AccessDenied");
  const waiting = await running.send("GET", "/b?list-type=2");
  expect([waiting.status, waiting.headers["retry-after"]]).toEqual([503, "1"]);
  expect(elementOf(waiting.text, "Message")).toBe(starting);
  starting = undefined;
  expect((await running.send("GET", "/b?list-type=2")).status).toBe(200);
});

test("answers have both ids of a request", async () => {
  await using running = await startGateway();
  const { headers } = await running.send("GET", "/b/none");
  expect(headers["x-amz-id-2"]).toBe(headers["x-amz-request-id"]);
});

test("requests of a connection that is kept are all answered", async () => {
  await using running = await startGateway();
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const sent = Array.from({ length: 20 }, async () => running.send("GET", "/b/none", { agent }));
  for (const { code } of await Promise.all(sent)) expect(code).toBe("NoSuchKey");
  agent.destroy();
});

describe("a region", () => {
  test("that is configured is the only one", async () => {
    await using running = await startGateway({ region: "eu-test-1" });
    const { send } = running;
    const refused = await send("GET", "/");
    expect([refused.code, elementOf(refused.text, "Region")]).toEqual([
      "AuthorizationHeaderMalformed",
      "eu-test-1",
    ]);
    const region = "eu-test-1";
    expect((await send("GET", "/", { region })).status).toBe(200);
    const bodyOf = (name: string): string =>
      `<CreateBucketConfiguration><LocationConstraint>${name}</LocationConstraint></CreateBucketConfiguration>`;
    const other = await send("PUT", "/other", { region, body: bodyOf("us-test-1") });
    expect(other.code).toBe("InvalidLocationConstraint");
    expect((await send("PUT", "/same", { region, body: bodyOf(region) })).status).toBe(200);
  });

  test("is any, if none is configured", async () => {
    await using running = await startGateway();
    expect((await running.send("GET", "/", { region: "anywhere" })).status).toBe(200);
  });
});

test("URLs of V2 can be refused", async () => {
  await using running = await startGateway({ presignedV2: false });
  const [status, text] = await ask(running, "/b/k?AWSAccessKeyId=A&Expires=1&Signature=x");
  expect([status, elementOf(text, "Code")]).toEqual([400, "InvalidRequest"]);
});

describe("a body of XML", () => {
  test("is as long as its kind needs", async () => {
    await using running = await startGateway();
    const body = `<Tagging>${" ".repeat(70_000)}<TagSet/></Tagging>`;
    expect((await running.send("PUT", "/b/k?tagging", { body })).code).toBe("EntityTooLarge");
    expect((await running.send("PUT", "/other", { body })).code).toBe("EntityTooLarge");
  });
});

describe("lists", () => {
  test("name the next marker, and no version of a common prefix", async () => {
    await using running = await startGateway();
    const { send } = running;
    for (const key of ["a", "b/1", "c"]) await send("PUT", `/b/${key}`, { body: "" });
    expect(elementOf((await send("GET", "/b?max-keys=1")).text, "NextMarker")).toBe("a");
    const versions = async (count: number): Promise<readonly (string | undefined)[]> => {
      const { text } = await send("GET", `/b?versions&delimiter=%2F&max-keys=${count}`);
      return [elementOf(text, "NextKeyMarker"), elementOf(text, "NextVersionIdMarker")];
    };
    expect(await versions(1)).toEqual(["a", "null"]);
    expect(await versions(2)).toEqual(["b/", undefined]);
  });
});

test("short content without a checksum gets one", async () => {
  await using running = await startGateway();
  const { send } = running;
  const { headers } = await send("PUT", "/b/k", { body: "123456789" });
  // The check value of CRC-64/NVME is ae8b14860a799888.
  expect(headers["x-amz-checksum-crc64nvme"]).toBe("rosUhgp5mIg=");
});
