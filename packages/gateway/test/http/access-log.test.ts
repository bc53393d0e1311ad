import { expect, test } from "bun:test";
import { accessLine, redactTarget } from "../../src/http/access-log.ts";
import { addressOf, hostBucketOf, levelOf } from "../../src/http/address.ts";
import { createMetrics } from "../../src/http/metrics.ts";
import { unknownProgress } from "../../src/serving/log.ts";

test("the log has no signature of a presigned URL", () => {
  const secrets = [
    "/b/k?X-Amz-Signature=SECRET&X-Amz-Expires=60",
    "/b/k?x-amz-signature=SECRET",
    "/b/k?X%2DAmz%2DSignature=SECRET",
    "/b/k?%58-Amz-Credential=SECRET&X-Amz-Security-Token=SECRET",
    "/b/k?AWSAccessKeyId=AKIA&Expires=1&Signature=SECRET",
    "/b/k?a=1&Signature=SECRET?x",
    "/b/k?X-Amz-Expires=60&amp;X-Amz-Signature=SECRET",
    "/b/k??X-Amz-Signature=SECRET",
    "/b/k?a=1;X-Amz-Signature=SECRET",
    "/b/k?a=1%26X-Amz-Signature%3DSECRET",
    "/b/k?X-Amz-Signature%3DSECRET",
    "/b/k?X%2DAmz%2DSignature=%ZZSECRET",
    "/b/k%3FX-Amz-Expires=60&X-Amz-Signature=SECRET",
    "/b/k%3fX-Amz-Signature=SECRET",
    "/b/k%3Fcontinuation-token=1?X-Amz-Signature=SECRET",
    "/b/k&X-Amz-Signature=SECRET",
    "/b/k&amp;X-Amz-Signature=SECRET",
    "/b/k%26X-Amz-Signature%3DSECRET",
    "/b/k?continuation-token%3Dx%26X-Amz-Signature%3DSECRET",
  ];
  for (const target of secrets) expect(redactTarget(target)).not.toContain("SECRET");
  expect(redactTarget(secrets[0]!)).toBe("/b/k?X-Amz-Signature=REDACTED&X-Amz-Expires=60");
  const harmless =
    "/b/Signature=1?prefix=a%20b&x&continuation-token=k1%2B%2F%3D%3D&X-Amz-SignedHeaders=host";
  expect(redactTarget(harmless)).toBe(harmless);
});

test("a request is one line of the log, whatever the client sends", () => {
  const line = accessLine({
    time: Date.UTC(2026, 10, 23),
    id: "0123456789ABCDEF",
    remote: "127.0.0.1",
    client: undefined,
    accessKey: undefined,
    operation: "GetObject",
    method: "GET",
    target: "/b/k\n{}",
    userAgent: 'a"\u2028\n',
    status: 200,
    code: undefined,
    received: 0,
    sent: 5,
    durationMs: 1.6,
    fault: undefined,
  });
  expect(line).not.toContain("\n");
  expect(JSON.parse(line)).toMatchObject({
    time: "2026-11-23T00:00:00.000Z",
    target: "/b/k\n{}",
    durationMs: 2,
  });
});

test("what a stranger sends takes neither long nor much of the log", () => {
  const target = `/b?${"token".repeat(200_000)}`;
  const start = performance.now();
  redactTarget(target);
  // A search that is quadratic takes minutes.
  expect(performance.now() - start).toBeLessThan(2000);
  const line = accessLine({
    ...unknownProgress(),
    time: 0,
    id: "0123456789ABCDEF",
    remote: "127.0.0.1",
    method: "GET",
    target,
    userAgent: "x".repeat(30_000),
    status: 403,
    received: 0,
    sent: 0,
    durationMs: 0,
  });
  expect(line.length).toBeLessThan(10_000);
});

test("a bucket is in the path or in the host", () => {
  const of = (rawPath: string, host?: string) => {
    const bucket = hostBucketOf(host, "s3.example.com");
    const address = addressOf(
      { method: "GET", rawPath, query: new Map(), headers: new Map() },
      bucket,
    );
    return [levelOf(address), address.bucketName, Buffer.from(address.key).toString()];
  };
  expect(of("/")).toEqual(["service", "", ""]);
  expect(of("/b")).toEqual(["bucket", "b", ""]);
  expect(of("/b/")).toEqual(["bucket", "b", ""]);
  expect(of("/b//x/./../y/")).toEqual(["object", "b", "/x/./../y/"]);
  expect(of("/b/%2e%2E/%C3%A9")).toEqual(["object", "b", "../é"]);
  expect(of("/", "b.c.S3.example.com:9000")).toEqual(["bucket", "b.c", ""]);
  expect(of("//x", "b.s3.example.com")).toEqual(["object", "b", "/x"]);
  expect(of("/b", "s3.example.com")).toEqual(["bucket", "b", ""]);
  expect(of("/b", "other.example.com")).toEqual(["bucket", "b", ""]);
});

test("metrics are in Prometheus' format", () => {
  const metrics = createMetrics();
  const observed = { operation: "GetObject", status: 200, received: 1, sent: 10 };
  for (const durationMs of [4, 20, 400_000]) metrics.request({ ...observed, durationMs });
  metrics.request({ ...observed, status: undefined, durationMs: 1 });
  metrics.backend("put")("failed");
  metrics.backend("get");
  const lines = metrics.text([{ name: "uploads", help: "Uploads.", value: 3 }]).split("\n");
  for (const line of [
    'idk_gateway_requests_total{operation="GetObject",status="200"} 3',
    'idk_gateway_requests_total{operation="GetObject",status="gone"} 1',
    'idk_gateway_sent_bytes_total{operation="GetObject"} 40',
    'idk_gateway_request_seconds_bucket{operation="GetObject",le="0.005"} 1',
    'idk_gateway_request_seconds_bucket{operation="GetObject",le="0.025"} 2',
    'idk_gateway_request_seconds_bucket{operation="GetObject",le="300"} 2',
    'idk_gateway_request_seconds_bucket{operation="GetObject",le="+Inf"} 3',
    'idk_gateway_backend_requests_total{call="put",outcome="failed"} 1',
    'idk_gateway_backend_request_seconds_count{call="put"} 1',
    "idk_gateway_backend_requests_running 1",
    "# TYPE idk_gateway_uploads gauge",
    "idk_gateway_uploads 3",
  ]) {
    expect(lines).toContain(line);
  }
});
