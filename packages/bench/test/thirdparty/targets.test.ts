import { expect, test } from "bun:test";
import { isMet } from "../../src/harness/measure.ts";
import { peerTargets } from "../../thirdparty/targets.ts";

const competitors = ["rclone crypt", "age | aws s3 cp", "restic"];
const put = { idk: 1, "rclone crypt": 2, "rclone plain": 0.5, "age | aws s3 cp": 1, restic: 3 };
const get = { idk: 1, "rclone crypt": 1.2, "rclone plain": 0.5, "age | aws s3 cp": 2, restic: 2 };
const missed = (slower: Partial<typeof put>, slowerGet: Partial<typeof get> = {}) =>
  peerTargets({ ...put, ...slower }, { ...get, ...slowerGet }, competitors)
    .filter((target) => !isMet(target))
    .map(({ name }) => name);

test("twice rclone crypt and restic, and as fast as age, are enough", () => {
  expect(missed({})).toEqual([]);
});

test("each of them can be missed by itself", () => {
  expect(missed({ "rclone crypt": 1.9 })).toEqual(["put, times the speed of rclone crypt"]);
  expect(missed({ restic: 1.9 })).toEqual(["put, times the speed of restic"]);
  expect(missed({ "age | aws s3 cp": 0.9 })).toEqual(["put, times the speed of age | aws s3 cp"]);
});

test("a get is compared with the fastest who encrypts", () => {
  expect(missed({}, { restic: 1.1 })).toEqual(["get, times the speed of the fastest, restic"]);
  expect(missed({}, { "rclone plain": 0.1 })).toEqual([]);
});
