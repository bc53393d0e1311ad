import { describe, expect, test } from "bun:test";
import { requireServer } from "../../../../../tests/servers/require-server.ts";
import { minioServer } from "../../../../../tests/servers/s3-servers.ts";
import { serverClock } from "../../../src/backend/s3/http/connection.ts";
import { rejects } from "../rejects.ts";
import {
  bucketForAll,
  errorResponse,
  objectResponse,
  on,
  recording,
  served,
  xmlResponse,
} from "./fixtures.ts";

const CHAIN = "0123456789abcdef0123456789abcdef";
const NAMES = ["1", "2", "3", "4"].map((n) => `${CHAIN}/fffffe5e11a9a1f${n}-${"ab".repeat(32)}`);
const NAME = NAMES[0]!;
const TIME = "2026-05-04T12:00:00.000Z";

const entry = (key: string, time = TIME) =>
  `<Contents><Key>${key}</Key><Size>0</Size><LastModified>${time}</LastModified></Contents>`;
const LAST = "<IsTruncated>false</IsTruncated>";
const MORE = "<IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>";

describe("a put", () => {
  /** A server that responds to conditional puts with a status. */
  const conditional = (status: number) => {
    const puts: (string | null)[] = [];
    const answer = ({ headers }: Request) => {
      const condition = headers.get("if-none-match");
      puts.push(condition);
      if (condition === null || status === 200) return objectResponse();
      return errorResponse(status, status === 501 ? "NotImplemented" : "Refused");
    };
    return { puts, answer };
  };

  test.each([
    ["is one request if the marker is new", 200, ["*"], ["*"]],
    ["succeeds if the marker is there", 412, ["*"], ["*"]],
    ["is plain if another one is in progress", 409, ["*", null], ["*", null]],
    ["is plain from then on if a policy forbids conditions", 403, ["*", null], [null]],
    ["is plain from then on if the server has no conditions", 501, ["*", null], [null]],
    ["is plain from then on if the server rejects conditions", 400, ["*", null], [null]],
  ])("%s", async (_, status, first, second) => {
    const { puts, answer } = conditional(status);
    using fake = served(answer);
    await fake.backend.putMarker!(NAME);
    expect(puts.splice(0)).toEqual(first);
    await fake.backend.putMarker!(NAME);
    expect(puts).toEqual(second);
  });

  test("fails as other puts do", async () => {
    using fake = served(() => errorResponse(403, "AccessDenied"));
    const action = `store the marker bucket/repo/heads/${NAME}`;
    using inRepository = served(() => errorResponse(403, "AccessDenied"), { prefix: "repo" });
    await rejects(inRepository.backend.putMarker!(NAME), "permission", action);
    await rejects(fake.backend.putMarker!("../x"), "usage", "a marker's name must be");
    await rejects(fake.backend.deleteMarker!(`${NAME}/..`), "usage", "a marker's name must be");
  });
});

describe("a listing", () => {
  const queries: Record<string, string>[] = [];
  const pages = (...contents: string[]) => {
    queries.length = 0;
    return ({ url }: Request) => {
      queries.push(Object.fromEntries(new URL(url).searchParams));
      const last = queries.length >= contents.length;
      return xmlResponse(contents[queries.length - 1]! + (last ? LAST : MORE));
    };
  };
  const keys = NAMES.map((name) => `repo/heads/${name}`);

  test("for the newest is one request for one key", async () => {
    using fake = served(pages(entry(keys[1]!), entry(keys[2]!)), { prefix: "repo" });
    const after = `${CHAIN}/fffffe5e11a9a1f1`;
    const found = await Array.fromAsync(
      fake.backend.listMarkers!(`${CHAIN}/`, { after, limit: 1 }),
    );
    expect(found).toEqual([{ name: NAMES[1]!, storedAt: Date.parse(TIME) }]);
    expect(queries).toEqual([
      {
        "list-type": "2",
        "encoding-type": "url",
        "max-keys": "1",
        prefix: `repo/heads/${CHAIN}/`,
        "start-after": `repo/heads/${after}`,
      },
    ]);
  });

  test("asks for full pages once something else is in the way", async () => {
    using fake = served(pages(entry(`repo/heads/${CHAIN}/README`), entry(keys[2]!)), {
      prefix: "repo",
    });
    const found = await Array.fromAsync(fake.backend.listMarkers!("", { limit: 1 }));
    expect(found.map(({ name }) => name)).toEqual([NAMES[2]!]);
    expect(queries.map((query) => query["max-keys"])).toEqual(["1", "1000"]);
  });

  test("skips what is not a marker, and what it did not ask for", async () => {
    const foreign = ["repo/heads/", `repo/heads/${CHAIN}/`, `${keys[1]}0`, `repo/${NAME}`, `x/${keys[1]}`]; // prettier-ignore
    using fake = served(pages([...foreign, keys[0]!, keys[2]!].map((key) => entry(key)).join("")), {
      prefix: "repo",
    });
    const found = await Array.fromAsync(fake.backend.listMarkers!(CHAIN, { after: NAME }));
    expect(found.map(({ name }) => name)).toEqual([NAMES[2]!]);
  });

  test.each([
    ["out of order", entry(keys[2]!) + entry(keys[1]!), "not a valid ListObjectsV2 result"],
    ["without a time", entry(keys[1]!, ""), "does not report when it was stored"],
    ["with a time that is no date", entry(keys[1]!, "soon"), "does not report when it was stored"],
  ])("%s is an error", async (_, page, message) => {
    using fake = served(pages(page), { prefix: "repo" });
    await rejects(Array.fromAsync(fake.backend.listMarkers!("")), "unavailable", message);
  });
});

describe("the server's time", () => {
  const noon = "Mon, 04 May 2026 12:00:00 GMT";

  test("runs on from the last response, for a minute, by a clock that nobody sets", () => {
    let elapsed = 1000;
    const clock = serverClock(
      () => 0,
      () => elapsed,
    );
    expect(clock.time()).toBeUndefined();
    clock.observe(noon);
    elapsed += 60_000;
    expect(clock.time()).toBe(Date.parse(noon) + 60_500);
    elapsed += 1;
    expect(clock.time()).toBeUndefined();
  });

  test.each([200, 403, 404])("takes one request, which may be answered with %d", async (status) => {
    const methods: string[] = [];
    using fake = served(({ method }) => {
      methods.push(method);
      return new Response(null, { status, headers: { date: noon } });
    });
    const time = await fake.backend.currentTime!();
    expect(time - Date.parse(noon)).toBeWithin(0, 2000);
    expect(await fake.backend.currentTime!()).toBeGreaterThanOrEqual(time);
    expect(methods).toEqual(["HEAD"]);
  });

  test("takes no request after another call", async () => {
    let requests = 0;
    using fake = served(() => {
      requests += 1;
      return xmlResponse(LAST);
    });
    await Array.fromAsync(fake.backend.listMarkers!("", { limit: 1 }));
    await fake.backend.currentTime!();
    expect(requests).toBe(1);
  });

  test("fails if the server fails, or does not tell it", async () => {
    using failing = served(() => errorResponse(503, "SlowDown"));
    const error = await rejects(failing.backend.currentTime!(), "unavailable", "get the time");
    expect(error.transient).toBe(true);
    using silent = served(() => new Response(null, { status: 404, headers: { date: "soon" } }));
    await rejects(silent.backend.currentTime!(), "unavailable", "no Date header");
  });
});

requireServer("minio")("on MinIO", () => {
  const bucket = bucketForAll();

  test("a store and the repository below it do not see each other", async () => {
    const store = on(bucket());
    const repository = on(bucket(), { prefix: "store/repo" });
    const blob = "ab".repeat(32);
    await store.put(blob, Uint8Array.of(1));
    await repository.put(blob, Uint8Array.of(1, 2));
    await repository.putMarker!(NAME);
    await store.putMarker!(NAMES[1]!);

    const listed = async (backend: typeof store) => [
      (await Array.fromAsync(backend.list(""))).map(({ size }) => size),
      (await Array.fromAsync(backend.listMarkers!(""))).map(({ name }) => name),
    ];
    expect(await listed(store)).toEqual([[1], [NAMES[1]!]]);
    expect(await listed(repository)).toEqual([[2], [NAME]]);
    await store.delete(blob);
    await store.deleteMarker!(NAMES[1]!);
    expect(await listed(store)).toEqual([[], []]);
    expect(await listed(repository)).toEqual([[2], [NAME]]);
  });

  test("a marker is put in one request, and keeps the time of the first put", async () => {
    using front = recording(minioServer());
    const backend = on(bucket(), { prefix: "conditional", endpoint: front.endpoint });
    await backend.putMarker!(NAME);
    const [first] = await Array.fromAsync(backend.listMarkers!(""));
    await Bun.sleep(1100);
    front.requests.length = 0;
    await backend.putMarker!(NAME);
    expect(front.requests.map(({ method }) => method)).toEqual(["PUT"]);
    expect(await Array.fromAsync(backend.listMarkers!(""))).toEqual([first!]);
  });
});
