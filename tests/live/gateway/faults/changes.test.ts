import { expect, setDefaultTimeout, test } from "bun:test";
import type { S3Requests } from "../s3-requests.ts";
import { overEachCatalog } from "./each-catalog.ts";

setDefaultTimeout(180_000);

const CLIENTS = 64;
const BUCKET = "changes";
/** In ms. */
const DURATION = 3000;

/** What a client may be told. A copy shares the content of its source, which may be replaced again and again. */
const EXPECTED: Readonly<Record<string, readonly string[]>> = {
  put: ["200"],
  "conditional put": ["200", "409 ConditionalRequestConflict", "412 PreconditionFailed"],
  "copy onto itself": ["200"],
  copy: ["200", "409 OperationAborted"],
  tags: ["200"],
};

/** 64 clients that put, copy and change a few objects as fast as they can, each at one of the gateways. */
function changes(gateways: () => readonly S3Requests[]): void {
  test.each([
    ["16 keys", 16],
    ["one key", 1],
  ])("of %s", async (name, count) => {
    const targets = Array.from(
      { length: count },
      (_, i) => `/${BUCKET}/${name.replaceAll(" ", "-")}-${i}`,
    );
    for (const target of targets) await gateways()[0]!.send("PUT", target, { body: "first" });
    const answers: Record<string, Record<string, number>> = {};
    const end = performance.now() + DURATION;
    const runClient = async (client: number): Promise<void> => {
      const requests = gateways()[client % gateways().length]!;
      const oneOf = <T>(list: readonly T[]): T => list[Math.floor(Math.random() * list.length)]!;
      for (let round = 0; performance.now() < end; round += 1) {
        const chosen = oneOf(Object.keys(EXPECTED));
        const target = oneOf(targets);
        const source = chosen === "copy" ? oneOf(targets) : target;
        const kind = chosen === "copy" && source === target ? "copy onto itself" : chosen;
        const body = Buffer.alloc(round % 8 === 0 ? 1_100_000 : 1000, `${client} ${round}, `);
        const copies = kind.startsWith("copy") && {
          "x-amz-copy-source": source,
          "x-amz-metadata-directive": "REPLACE",
          "x-amz-meta-round": `${client} ${round}`,
        };
        const headers = { ...copies, ...(kind === "conditional put" && { "if-match": "*" }) };
        const tags = `<Tagging><TagSet><Tag><Key>a</Key><Value>${round}</Value></Tag></TagSet></Tagging>`;
        const { status, code } =
          kind === "tags"
            ? await requests.send("PUT", `${target}?tagging`, { body: tags })
            : await requests.send("PUT", target, { headers, body: copies ? "" : body });
        const answer = code === undefined ? `${status}` : `${status} ${code}`;
        const counts = (answers[kind] ??= {});
        counts[answer] = (counts[answer] ?? 0) + 1;
      }
    };
    await Promise.all(Array.from({ length: CLIENTS }, async (_, client) => runClient(client)));
    const unexpected = Object.entries(answers).filter(([kind, counts]) =>
      Object.keys(counts).some((answer) => !EXPECTED[kind]!.includes(answer)),
    );
    expect(unexpected).toEqual([]);
    // Some requests of each kind succeeded.
    const done = Object.keys(answers).filter((kind) => answers[kind]!["200"] !== undefined);
    expect(done).toEqual(expect.arrayContaining(Object.keys(answers)));
  });
}

overEachCatalog("64 clients are refused nothing", BUCKET, changes);
