import { expect, setDefaultTimeout, test } from "bun:test";
import { createHash } from "node:crypto";
import { elementOf, startGateway } from "./running.ts";

setDefaultTimeout(120_000);

const CONTENT = "content";
const SHA1 = createHash("sha1").update(CONTENT).digest("base64");

test("a copy gets the checksum that is asked for", async () => {
  await using running = await startGateway();
  const { send } = running;
  await send("PUT", "/main/k", { body: CONTENT, headers: { "x-amz-meta-a": "1" } });
  const copy = { "x-amz-copy-source": "/main/k", "x-amz-checksum-algorithm": "SHA1" };
  for (const target of ["/main/copy", "/main/k"]) {
    const { text } = await send("PUT", target, { headers: copy });
    expect(elementOf(text, "ChecksumSHA1")).toBe(SHA1);
    const asked = { "x-amz-checksum-mode": "ENABLED" };
    const { headers } = await send("HEAD", target, { headers: asked });
    expect([headers["x-amz-checksum-sha1"], headers["x-amz-meta-a"]]).toEqual([SHA1, "1"]);
  }
  const unknown = { ...copy, "x-amz-copy-source": "/main/none", "x-amz-checksum-algorithm": "MD4" };
  expect((await send("PUT", "/main/copy", { headers: unknown })).code).toBe("InvalidRequest");
  const same = { "x-amz-copy-source": "/main/k" };
  expect((await send("PUT", "/main/k", { headers: same })).code).toBe("InvalidRequest");
  const stored = { ...same, "x-amz-storage-class": "STANDARD_IA" };
  expect((await send("PUT", "/main/k", { headers: stored })).status).toBe(200);
});

test("encryption that was asked for is told", async () => {
  await using running = await startGateway();
  const { send } = running;
  const name = "x-amz-server-side-encryption";
  const put = await send("PUT", "/b/k", { body: CONTENT, headers: { [name]: "AES256" } });
  expect(put.headers[name]).toBe("AES256");
  expect((await send("HEAD", "/b/k")).headers[name]).toBe("AES256");
  const created = await send("POST", "/b/m?uploads", { headers: { [name]: "AES256" } });
  expect(created.headers[name]).toBe("AES256");
  expect((await send("PUT", "/b/k", { body: CONTENT })).headers[name]).toBeUndefined();
});

test("keys of clients are refused wherever they would not be used", async () => {
  await using running = await startGateway();
  const { send } = running;
  await send("PUT", "/b/k", { body: CONTENT });
  const headers = { "x-amz-server-side-encryption-customer-algorithm": "AES256" };
  expect((await send("GET", "/b/k", { headers })).code).toBe("InvalidRequest");
  expect((await send("HEAD", "/b/k", { headers })).status).toBe(400);
  const part = await send("PUT", "/b/k?partNumber=1&uploadId=x", { body: CONTENT, headers });
  expect(part.code).toBe("NotImplemented");
});

test("a source that cannot be is refused before anything is looked for", async () => {
  await using running = await startGateway();
  for (const target of ["/none/k", "/none/k?partNumber=1&uploadId=x"]) {
    for (const source of ["b", "B_/k", ""]) {
      const headers = { "x-amz-copy-source": source };
      expect((await running.send("PUT", target, { headers })).code).toBe("InvalidArgument");
    }
  }
});

test("a part's number is checked before there is an object", async () => {
  await using running = await startGateway();
  for (const number of ["0", "10001", "x", "-1"]) {
    const { code } = await running.send("GET", `/b/none?partNumber=${number}`);
    expect(code).toBe("InvalidArgument");
  }
  expect((await running.send("GET", "/b/none?partNumber=1")).code).toBe("NoSuchKey");
});
