import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { createHash } from "node:crypto";
import { type Answer, elements, encodeValue } from "../s3-requests.ts";
import { type Attacked, attackedGateway, BUCKET, CLIENT_MAX, SLOW } from "./attacked.ts";

setDefaultTimeout(120_000);

/** What others may wait meanwhile, in ms. The machine is busy with the attack as well. */
const WAIT_MAX = SLOW ? 1000 : CLIENT_MAX;
const AT_ONCE = 20;

let attacked: Attacked;
let upload = "";
beforeAll(async () => {
  attacked = await attackedGateway();
  await attacked.requests.send("PUT", `/${BUCKET}/k`, { body: "content" });
  const { body } = await attacked.requests.send("POST", `/${BUCKET}/parts?uploads`);
  upload = encodeValue(elements(body, "UploadId")[0]!);
});
afterAll(async () => {
  await attacked[Symbol.asyncDispose]();
});

/** Requests with a body of XML: their method and target, and the names of elements that repeat. */
const OPERATIONS: readonly (readonly [string, () => string, readonly [string, string]])[] = [
  ["POST", () => `/${BUCKET}?delete`, ["Delete", "Object"]],
  ["POST", () => `/${BUCKET}/parts?uploadId=${upload}`, ["CompleteMultipartUpload", "Part"]],
  ["PUT", () => `/${BUCKET}/k?tagging`, ["Tagging", "TagSet"]],
  ["PUT", () => "/new-bucket", ["CreateBucketConfiguration", "LocationConstraint"]],
];

const entities = Array.from(
  { length: 9 },
  (_, index) => `<!ENTITY e${index + 1} "${`&e${index};`.repeat(10)}">`,
).join("");

type Bomb = (root: string, inner: string) => string | Uint8Array;
const BOMBS: readonly (readonly [string, Bomb])[] = [
  [
    "a billion laughs",
    (root) => `<!DOCTYPE b [<!ENTITY e0 "ha">${entities}]><${root}><Key>&e9;</Key></${root}>`,
  ],
  [
    "a long entity, many times",
    (root) =>
      `<!DOCTYPE b [<!ENTITY e "${"x".repeat(50_000)}">]><${root}>${"&e;".repeat(5000)}</${root}>`,
  ],
  [
    "a file of the machine",
    (root) =>
      `<!DOCTYPE b [<!ENTITY e SYSTEM "file:///etc/passwd">]><${root}><Key>&e;</Key></${root}>`,
  ],
  [
    "an address of the network",
    (root) => `<!DOCTYPE b SYSTEM "http://127.0.0.1:1/b.dtd"><${root}></${root}>`,
  ],
  [
    "a file to be included",
    (root) =>
      `<${root} xmlns:xi="http://www.w3.org/2001/XInclude"><xi:include href="/etc/passwd" parse="text"/></${root}>`,
  ],
  ["elements without end", (root) => `<${root}>${"<a>".repeat(300_000)}`],
  [
    "elements in elements",
    (root) => `<${root}>${"<a>".repeat(20_000)}${"</a>".repeat(20_000)}</${root}>`,
  ],
  [
    "a hundred thousand elements",
    (root, inner) => `<${root}>${`<${inner}/>`.repeat(100_000)}</${root}>`,
  ],
  [
    "a hundred thousand attributes",
    (root) =>
      `<${root} ${Array.from({ length: 100_000 }, (_, index) => `a${index}="b"`).join(" ")}/>`,
  ],
  ["a name without end", (root) => `<${root}><${"a".repeat(1_000_000)}/></${root}>`],
  ["references without end", (root) => `<${root}><Key>${"&#120;".repeat(400_000)}</Key></${root}>`],
  ["broken references", (root) => `<${root}><Key>${"&".repeat(1_000_000)}</Key></${root}>`],
  ["comments without end", (root) => `<${root}>${"<!-- ".repeat(300_000)}</${root}>`],
  ["sections without end", (root) => `<${root}>${"<![CDATA[".repeat(200_000)}</${root}>`],
  ["blanks in tags", (root) => `<${root}><a${" ".repeat(500_000)}b</${root}>`],
  ["UTF-16", (root) => Buffer.from(`\u{feff}<${root}></${root}>`, "utf16le")],
  [
    "bytes that are no text",
    (root) => Buffer.concat([Buffer.from(`<${root}>`), Buffer.alloc(100_000, 0xff)]),
  ],
  ["more than is allowed", (root) => `<${root}>${" ".repeat(5_000_000)}</${root}>`],
];

test.each(BOMBS)("%s is refused, and delays nobody", async (_, make) => {
  let isOver = false;
  const waits: number[] = [];
  const others = (async () => {
    while (!isOver) {
      const start = performance.now();
      const { status } = await attacked.requests.send("GET", `/${BUCKET}/k`);
      waits.push(performance.now() - start);
      expect(status).toBe(200);
      await Bun.sleep(10);
    }
  })();
  for (const [method, target, [root, inner]] of OPERATIONS) {
    const body = make(root, inner);
    const headers = { "content-md5": createHash("md5").update(body).digest("base64") };
    // On a slow machine, some wait too long for the memory of others, and are told to come back.
    const send = async (tries = SLOW ? 1 : 5): Promise<Answer> => {
      const answer = await attacked.requests.send(method, target(), { headers, body });
      if (answer.code !== "SlowDown" || tries === 1) return answer;
      await Bun.sleep(200);
      return send(tries - 1);
    };
    const answers = await Promise.all(
      Array.from({ length: AT_ONCE }, async () => send().catch(() => undefined)),
    );
    for (const answer of answers) {
      // A body that is far too long is not read, and its connection may end first.
      if (answer === undefined) continue;
      expect([target(), answer.status]).toEqual([target(), 400]);
      expect(answer.body.toString()).not.toContain("root:");
      expect(answer.body.length).toBeLessThan(2000);
    }
  }
  isOver = true;
  await others;
  expect(waits.length).toBeGreaterThan(0);
  expect(Math.max(...waits)).toBeLessThan(WAIT_MAX);
});

test("nothing of this was a fault of the gateway, and nothing has changed", async () => {
  expect(await attacked.keys()).toEqual(["k"]);
  expect((await attacked.requests.send("HEAD", "/new-bucket")).status).toBe(404);
  const { body } = await attacked.requests.send("GET", `/${BUCKET}/k?tagging`);
  expect(elements(body, "Key")).toEqual([]);
  const log = await attacked.stop();
  const faults = log.filter(
    ({ fault, code }) => fault !== undefined && (SLOW || code !== "SlowDown"),
  );
  expect(faults).toEqual([]);
});
