import { expect, setDefaultTimeout, test } from "bun:test";
import { type Answer, elements, encodeValue, type S3Requests } from "../s3-requests.ts";
import { overEachCatalog } from "./each-catalog.ts";

setDefaultTimeout(180_000);

const WRITERS = 64;
const BUCKET = "races";
/** What those are told who do not win. */
const REFUSALS = new Set(["ConditionalRequestConflict", "PreconditionFailed"]);

/** The races of 64 clients, each of which uses one of the gateways. */
function races(gateways: () => readonly S3Requests[]): void {
  const clientOf = (writer: number): S3Requests => gateways()[writer % gateways().length]!;
  const contentOf = (writer: number, size: number): Buffer => Buffer.alloc(size, `${writer}, `);
  const all = async <T>(run: (writer: number) => Promise<T>): Promise<T[]> =>
    Promise.all(Array.from({ length: WRITERS }, async (_, writer) => run(writer)));

  /** Expects one winner, whose content every gateway has. */
  const expectOne = async (
    key: string,
    answers: readonly Answer[],
    size: number,
  ): Promise<number> => {
    const winners = answers.flatMap(({ code, status }, writer) =>
      status === 200 && code === undefined ? [writer] : [],
    );
    const refusals = answers.map(({ code }) => code).filter((code) => code !== undefined);
    expect(winners).toHaveLength(1);
    expect(refusals).toHaveLength(WRITERS - 1);
    expect(refusals.filter((code) => !REFUSALS.has(code))).toEqual([]);
    for (const requests of gateways()) {
      const { status, body } = await requests.send("GET", `/${BUCKET}/${key}`);
      expect(status).toBe(200);
      expect(body.equals(contentOf(winners[0]!, size))).toBe(true);
    }
    return winners[0]!;
  };

  test.each([
    ["inline", 5000, 5],
    ["with a manifest", 1_300_000, 2],
  ])("If-None-Match of an object %s", async (kind, size, rounds) => {
    for (let round = 0; round < rounds; round += 1) {
      const key = `new-${kind.replaceAll(" ", "-")}-${round}`;
      const answers = await all(async (writer) =>
        clientOf(writer).send("PUT", `/${BUCKET}/${key}`, {
          headers: { "if-none-match": "*" },
          body: contentOf(writer, size),
        }),
      );
      await expectOne(key, answers, size);
    }
  });

  test("If-Match of what all of them have read", async () => {
    const first = await clientOf(0).send("PUT", `/${BUCKET}/changed`, { body: "first" });
    let etag = first.etag;
    for (let round = 0; round < 3; round += 1) {
      const size = 1000 + round;
      const headers = { "if-match": `"${etag}"` };
      const answers = await all(async (writer) =>
        clientOf(writer).send("PUT", `/${BUCKET}/changed`, {
          headers,
          body: contentOf(writer, size),
        }),
      );
      const winner = await expectOne("changed", answers, size);
      etag = answers[winner]!.etag;
    }
  });

  test("If-None-Match of a Complete", async () => {
    const target = `/${BUCKET}/parts`;
    const bodies = await all(async (writer) => {
      const client = clientOf(writer);
      const begun = await client.send("POST", `${target}?uploads`);
      const upload = encodeValue(elements(begun.body, "UploadId")[0]!);
      const body = contentOf(writer, 70_000);
      const part = await client.send("PUT", `${target}?partNumber=1&uploadId=${upload}`, { body });
      return { upload, etag: part.etag };
    });
    const answers = await all(async (writer) => {
      const { upload, etag } = bodies[writer]!;
      // A gateway that is not the part's.
      return clientOf(writer + 1).send("POST", `${target}?uploadId=${upload}`, {
        headers: { "if-none-match": "*" },
        body: `<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>${etag}</ETag></Part></CompleteMultipartUpload>`,
      });
    });
    await expectOne("parts", answers, 70_000);
  });

  test("If-Match of a deletion", async () => {
    const { etag } = await clientOf(0).send("PUT", `/${BUCKET}/deleted`, { body: "once" });
    const headers = { "if-match": `"${etag}"` };
    const answers = await all(async (writer) =>
      clientOf(writer).send("DELETE", `/${BUCKET}/deleted`, { headers }),
    );
    expect(answers.filter(({ status }) => status === 204)).toHaveLength(1);
    expect((await clientOf(0).send("GET", `/${BUCKET}/deleted`)).status).toBe(404);
  });
}

overEachCatalog("one of 64 conditional writes wins", BUCKET, races);
