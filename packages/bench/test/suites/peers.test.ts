import { expect, test } from "bun:test";
import { lookup, measurementOf } from "../../src/harness/results.ts";
import { missingPeers } from "../../src/suites/command/peer-programs.ts";
import { targetsFor } from "../../src/suites/command/peers.ts";
import { suites } from "../../src/suites.ts";

const MIB = 2 ** 20;
const put = { idk: 1, "rclone crypt": 1.64, "rclone plain": 1, "age | aws s3 cp": 1.06, restic: 2 };
const get = { idk: 1, "rclone crypt": 1.06, "rclone plain": 0.5, "age | aws s3 cp": 2, restic: 2 };

/** The targets that are missed with these seconds by program. */
function missed(
  slower: Partial<typeof put>,
  slowerGet: Partial<typeof get> = {},
  peakRss = 200 * MIB,
) {
  const measurements = Object.entries({
    put: { ...put, ...slower },
    get: { ...get, ...slowerGet },
  }).flatMap(([way, table]) =>
    Object.entries(table).map(([program, seconds]) => {
      const name = `${way} ${program}, 1 MiB`;
      const samples = Array.from({ length: 5 }, () => ({ seconds, peakRss }));
      return measurementOf({ name, series: name }, samples);
    }),
  );
  return targetsFor(MIB, lookup(measurements))
    .filter(({ verdict }) => verdict !== "met")
    .map(({ name }) => name);
}

test("each target can be missed alone", () => {
  expect(missed({})).toEqual([]);
  const speed = (peer: string) => [`put idk, 1 MiB: speed relative to ${peer}`];
  expect(missed({ "rclone crypt": 1.2 })).toEqual(speed("rclone crypt"));
  expect(missed({ restic: 1.5 })).toEqual(speed("restic"));
  expect(missed({ "age | aws s3 cp": 0.8 })).toEqual(speed("age | aws s3 cp"));
});

test("a get is compared with the fastest program that encrypts", () => {
  const fastest = "get idk, 1 MiB: speed relative to the fastest that encrypts";
  expect(missed({}, { restic: 0.7 })).toEqual([fastest]);
  expect(missed({}, { "rclone plain": 0.1 })).toEqual([]);
});

test("the peak memory of idk has a bound", () => {
  expect(missed({}, {}, 257 * MIB)).toHaveLength(2);
});

test("without the programs, the suite is skipped and names what to run", () => {
  const suite = suites.find(({ name }) => name === "peers")!;
  expect(suite.missing?.({})).toContain("script/peers run");
  const paths = ["RCLONE", "AGE", "AGE_KEYGEN", "RESTIC", "KOPIA", "AWS"];
  const env = Object.fromEntries(paths.map((name) => [`IDK_PEER_${name}`, `/bin/${name}`]));
  expect(missingPeers(env)).toBeUndefined();
  expect(missingPeers({ ...env, IDK_PEER_RESTIC: "" })).toStartWith("IDK_PEER_RESTIC not set");
});
