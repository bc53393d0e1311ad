import { describe, expect, test } from "bun:test";
import { lookup, measurementOf } from "../../src/harness/results.ts";
import { missingPeers } from "../../src/suites/command/peer-programs.ts";
import { targetsFor } from "../../src/suites/command/peers.ts";
import { suites } from "../../src/suites.ts";

const MIB = 2 ** 20;
const NEAR = {
  put: { idk: 1, "rclone crypt": 1.64, "age | aws s3 cp": 1.06, restic: 2, bare: 0.8 },
  get: { idk: 1, "rclone crypt": 1, "age | aws s3 cp": 1.25, restic: 1.35, bare: 0.4 },
  "get without sync": { "rclone crypt": 0.9 },
  "get to standard output": { idk: 1, "rclone crypt": 0.96 },
} as const;
type Seconds = { readonly [Way in keyof typeof NEAR]?: Readonly<Record<string, number>> };

type Given = { where?: Parameters<typeof targetsFor>[2]; peakRss?: number };

/** The targets that are missed with these seconds by program, of which all others are those above. */
function missed(slower: Seconds, { where = "near", peakRss = 200 * MIB }: Given = {}) {
  const measurements = Object.entries(NEAR).flatMap(([way, table]) =>
    Object.entries({ ...table, ...slower[way as keyof Seconds] }).flatMap(([program, seconds]) =>
      // Near, only the fastest bare transfer counts; far away, the one with as many in flight as idk has.
      (program === "bare" ? [4, 8, 16] : [undefined]).map((inFlight) => {
        const bare = `bare requests, ${inFlight} in flight`;
        const name = `${way} ${inFlight === undefined ? program : bare}, 1 MiB`;
        const own = inFlight === undefined || inFlight === 8 ? seconds : 9;
        const samples = Array.from({ length: 5 }, () => ({ seconds: own, peakRss }));
        return measurementOf({ name, series: name }, samples);
      }),
    ),
  );
  return targetsFor(MIB, lookup(measurements), where)
    .filter(({ verdict }) => verdict !== "met")
    .map(({ name }) => name.replace(" idk, 1 MiB: speed relative to", ":"));
}

describe("each target can be missed alone", () => {
  const near: [Seconds, string][] = [
    [{ put: { "rclone crypt": 1.2 } }, "put: rclone crypt"],
    [{ put: { restic: 1.5 } }, "put: restic"],
    [{ put: { "age | aws s3 cp": 0.8 } }, "put: age | aws s3 cp"],
    [{ put: { bare: 0.5 } }, "put: bare requests"],
    [{ get: { "age | aws s3 cp": 0.9 } }, "get: age | aws s3 cp"],
    [{ get: { restic: 0.9 } }, "get: restic"],
    [{ "get without sync": { "rclone crypt": 0.5 } }, "get: rclone crypt, which does not sync"],
    [{ "get to standard output": { "rclone crypt": 0.7 } }, "get to standard output: rclone crypt"],
  ];
  test("by nothing if the store is near or far", () => {
    expect(missed({})).toEqual([]);
    expect(missed({}, { where: "far" })).toEqual([]);
    expect(missed({}, { where: "line" })).toEqual([]);
  });
  test.each(near)("%p", (slower, name) => expect(missed(slower)).toEqual([name]));

  const far: [Seconds, string][] = [
    [{ put: { "rclone crypt": 1.1 } }, "put: rclone crypt"],
    [{ put: { bare: 0.5 } }, "put: bare requests, 8 in flight"],
    [{ get: { bare: 0.3 } }, "get: bare requests, 8 in flight"],
    [{ "get without sync": { "rclone crypt": 0.5 } }, "get: rclone crypt, which does not sync"],
  ];
  test.each(far)("far away: %p", (slower, name) =>
    expect(missed(slower, { where: "far" })).toEqual([name]),
  );
});

test("over a line that all fill, a put need not be faster than another", () => {
  const put = { "rclone crypt": 1.1 };
  expect(missed({ put }, { where: "line" })).toEqual([]);
  expect(missed({ put: { "rclone crypt": 0.7 } }, { where: "line" })).toEqual([
    "put: rclone crypt",
  ]);
});

test("the peak memory of idk has a bound", () => {
  expect(missed({}, { peakRss: 257 * MIB })).toHaveLength(3);
});

test("without the programs, the suite is skipped and names what to run", () => {
  const suite = suites.find(({ name }) => name === "peers")!;
  expect(suite.missing?.({})).toContain("script/peers run");
  const paths = ["RCLONE", "AGE", "AGE_KEYGEN", "RESTIC", "KOPIA", "AWS"];
  const env = Object.fromEntries(paths.map((name) => [`IDK_PEER_${name}`, `/bin/${name}`]));
  expect(missingPeers(env)).toBeUndefined();
  expect(missingPeers({ ...env, IDK_PEER_RESTIC: "" })).toStartWith("IDK_PEER_RESTIC not set");
});
